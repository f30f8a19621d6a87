//! The plugins that kube-apiserver has.

/// The names of the plugins that this server has, in the order in which kube-apiserver runs them.
///
/// Behaviour: `AllOrderedPlugins` of `k8s.io/kubernetes/pkg/kubeapiserver/options/plugins.go`.
pub const NAMES: [&str; 0] = [];

/// The names of all plugins of kube-apiserver, in the order in which it runs them.
///
/// Behaviour: `AllOrderedPlugins` of `k8s.io/kubernetes/pkg/kubeapiserver/options/plugins.go`.
pub const KNOWN: [&str; 39] = [
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceLifecycle",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurity",
    "PodNodeSelector",
    "Priority",
    "DefaultTolerationSeconds",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PodGroupProtection",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
    "PodTopologyLabels",
    "NodeDeclaredFeatureValidator",
    "PodResizeValidator",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
];

/// The plugins, in the order in which kube-apiserver runs them.
pub fn all() -> Vec<std::sync::Arc<dyn crate::Admission>> {
    Vec::new()
}
