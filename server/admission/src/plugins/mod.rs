//! The plugins that kube-apiserver has.

/// The names of the plugins that this server has, in the order in which kube-apiserver runs them.
///
/// Behaviour: `AllOrderedPlugins` of `k8s.io/kubernetes/pkg/kubeapiserver/options/plugins.go`.
pub const NAMES: [&str; 0] = [];

/// The plugins, in the order in which kube-apiserver runs them.
pub fn all() -> Vec<std::sync::Arc<dyn crate::Admission>> {
    Vec::new()
}
