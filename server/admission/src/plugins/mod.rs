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
mod priority;
mod quota;
mod resize;
mod runtime_class;

use std::future::ready;
use std::sync::Arc;

pub use quota::{ResourceQuota, recount};

use crate::{Admission, AdmissionRequest, Admitted, Answer, Cluster, Operation};

pub use crate::pod_security::PodSecurity;

/// The names of the plugins that this server has, in the order in which kube-apiserver runs them.
///
/// Behaviour: `AllOrderedPlugins` of `k8s.io/kubernetes/pkg/kubeapiserver/options/plugins.go`.
pub const NAMES: [&str; 18] = [
    "LimitRanger",
    "TaintNodesByCondition",
    "PodSecurity",
    "Priority",
    "DefaultTolerationSeconds",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "PodTopologyLabels",
    "NodeDeclaredFeatureValidator",
    "PodResizeValidator",
    "ResourceQuota",
];

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

/// The plugins with their names, in the order of [`NAMES`].
///
/// ```
/// use fieldmanager_admission::plugins::{NAMES, all};
/// let plugins = all();
/// assert!(plugins.iter().map(|(name, _)| *name).eq(NAMES));
/// assert!(plugins.iter().all(|(name, plugin)| plugin.name() == *name));
/// ```
pub fn all() -> Vec<(&'static str, Arc<dyn Admission>)> {
    let plugins: [Arc<dyn Admission>; NAMES.len()] = [
        Arc::new(limit_ranger::LIMIT_RANGER),
        Arc::new(nodes::TAINT_NODES_BY_CONDITION),
        Arc::new(PodSecurity),
        Arc::new(priority::PRIORITY),
        Arc::new(nodes::DEFAULT_TOLERATION_SECONDS),
        Arc::new(classes::DEFAULT_STORAGE_CLASS),
        Arc::new(classes::STORAGE_OBJECT_IN_USE_PROTECTION),
        Arc::new(classes::PERSISTENT_VOLUME_CLAIM_RESIZE),
        Arc::new(runtime_class::RUNTIME_CLASS),
        Arc::new(certificates::CERTIFICATE_APPROVAL),
        Arc::new(certificates::CERTIFICATE_SIGNING),
        Arc::new(certificates::CLUSTER_TRUST_BUNDLE_ATTEST),
        Arc::new(certificates::CERTIFICATE_SUBJECT_RESTRICTION),
        Arc::new(classes::DEFAULT_INGRESS_CLASS),
        Arc::new(nodes::POD_TOPOLOGY_LABELS),
        Arc::new(resize::NODE_DECLARED_FEATURE_VALIDATOR),
        Arc::new(resize::POD_RESIZE_VALIDATOR),
        Arc::new(ResourceQuota::default()),
    ];
    NAMES.into_iter().zip(plugins).collect()
}

/// One of the two steps of a plugin.
type Step = for<'a> fn(AdmissionRequest<'a>, &'a dyn Cluster) -> Answer<'a>;

/// A plugin without a state.
struct Plugin {
    name: &'static str,
    handles: fn(&AdmissionRequest<'_>) -> bool,
    mutate: Option<Step>,
    validate: Option<Step>,
}

impl Admission for Plugin {
    fn name(&self) -> &str {
        self.name
    }

    fn handles(&self, request: &AdmissionRequest<'_>) -> bool {
        (self.handles)(request)
    }

    fn mutate<'a>(&'a self, request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> Answer<'a> {
        run(self.mutate, request, cluster)
    }

    fn validate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> Answer<'a> {
        run(self.validate, request, cluster)
    }
}

fn run<'a>(
    step: Option<Step>,
    request: AdmissionRequest<'a>,
    cluster: &'a dyn Cluster,
) -> Answer<'a> {
    match step {
        Some(step) => step(request, cluster),
        None => Box::pin(ready(Ok(Admitted::default()))),
    }
}

/// Whether a request makes an object.
fn is_create(request: &AdmissionRequest<'_>) -> bool {
    request.operation == Operation::Create
}

/// Whether a request makes or changes an object.
fn is_write(request: &AdmissionRequest<'_>) -> bool {
    matches!(request.operation, Operation::Create | Operation::Update)
}
