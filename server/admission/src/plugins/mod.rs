//! The plugins that kube-apiserver has.

/// The names of the plugins that this server has, in the order in which kube-apiserver runs them.
///
/// Behaviour: `AllOrderedPlugins` of `k8s.io/kubernetes/pkg/kubeapiserver/options/plugins.go`.
pub const NAMES: [&str; 0] = [];
