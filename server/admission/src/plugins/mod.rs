//! The plugins that kube-apiserver has.
//!
//! NamespaceLifecycle is a part of the API server. PodGroupProtection and what Priority makes of groups of Pods need
//! features that are off by default.

mod amounts;
mod certificates;
mod classes;
mod limit_ranger;
mod nodes;
mod object;
mod plugin;
mod priority;
mod quota;
mod resize;
mod runtime_class;

use std::sync::Arc;

pub use self::quota::recount;
use crate::Admission;

pub use crate::pod_security::PodSecurity;

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

/// Declares the plugins, in the order in which they run.
macro_rules! plugins {
    ($($name:literal => $plugin:expr,)*) => {
        /// The names of the plugins that this server has, in the order in which kube-apiserver runs them.
        ///
        /// Behaviour: `AllOrderedPlugins` of `k8s.io/kubernetes/pkg/kubeapiserver/options/plugins.go`.
        pub const NAMES: [&str; [$($name),*].len()] = [$($name),*];

        /// The plugins with their names, in the order of [`NAMES`].
        ///
        /// ```
        /// use fieldmanager_admission::plugins::{NAMES, all};
        /// let plugins = all();
        /// assert!(plugins.iter().map(|(name, _)| *name).eq(NAMES));
        /// assert!(plugins.iter().all(|(name, plugin)| plugin.name() == *name));
        /// ```
        pub fn all() -> Vec<(&'static str, Arc<dyn Admission>)> {
            vec![$(($name, Arc::new($plugin))),*]
        }
    };
}

plugins! {
    "LimitRanger" => limit_ranger::LIMIT_RANGER,
    "TaintNodesByCondition" => nodes::TAINT_NODES_BY_CONDITION,
    "PodSecurity" => PodSecurity,
    "Priority" => priority::PRIORITY,
    "DefaultTolerationSeconds" => nodes::DEFAULT_TOLERATION_SECONDS,
    "DefaultStorageClass" => classes::DEFAULT_STORAGE_CLASS,
    "StorageObjectInUseProtection" => classes::STORAGE_OBJECT_IN_USE_PROTECTION,
    "PersistentVolumeClaimResize" => classes::PERSISTENT_VOLUME_CLAIM_RESIZE,
    "RuntimeClass" => runtime_class::RUNTIME_CLASS,
    "CertificateApproval" => certificates::CERTIFICATE_APPROVAL,
    "CertificateSigning" => certificates::CERTIFICATE_SIGNING,
    "ClusterTrustBundleAttest" => certificates::CLUSTER_TRUST_BUNDLE_ATTEST,
    "CertificateSubjectRestriction" => certificates::CERTIFICATE_SUBJECT_RESTRICTION,
    "DefaultIngressClass" => classes::DEFAULT_INGRESS_CLASS,
    "PodTopologyLabels" => nodes::POD_TOPOLOGY_LABELS,
    "NodeDeclaredFeatureValidator" => resize::NODE_DECLARED_FEATURE_VALIDATOR,
    "PodResizeValidator" => resize::POD_RESIZE_VALIDATOR,
    "ResourceQuota" => quota::ResourceQuota::default(),
}
