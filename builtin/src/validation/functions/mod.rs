//! The checks of kinds, in the order of Kubernetes, by family.

mod access;
mod autoscaling;
mod claim;
mod classes;
mod config;
pub(super) mod field;
mod formats;
mod jobs;
mod network;
mod pods;
mod resource_names;
mod selector;
mod service;
mod storage;
mod volume_source;
mod workloads;

use fieldmanager_structural::internal::NameSyntax;

use self::field::Field;
use crate::place::Errors;

/// The checks of an object besides those of its metadata.
type Checks = fn(&Field<'_>, &mut Errors);

/// The checks of a kind, or of an update of one of its subresources.
pub(super) fn checks(kind: &str, subresource: &str) -> Option<Checks> {
    Some(match (kind, subresource) {
        ("v1/Pod", "") => pods::pod,
        ("v1/Pod", "status") => pods::pod_status,
        ("v1/Pod", "ephemeralcontainers") => pods::ephemeral_containers,
        ("v1/PodTemplate", "") => pods::pod_template,
        ("v1/ReplicationController", "") => workloads::controller,
        ("v1/ReplicationController" | "apps/v1/ReplicaSet", "status") => workloads::controller_status,
        ("apps/v1/ControllerRevision", "") => workloads::revision,
        ("apps/v1/DaemonSet", "") => workloads::daemon_set,
        ("apps/v1/DaemonSet", "status") => workloads::daemon_set_status,
        ("apps/v1/Deployment", "") => workloads::deployment,
        ("apps/v1/Deployment", "status") => workloads::deployment_status,
        ("apps/v1/ReplicaSet", "") => workloads::replica_set,
        ("apps/v1/StatefulSet", "") => workloads::stateful_set,
        ("apps/v1/StatefulSet", "status") => workloads::stateful_set_status,
        ("batch/v1/CronJob", "") => jobs::cron_job,
        ("batch/v1/Job", "") => jobs::job,
        ("batch/v1/Job", "status") => jobs::job_status,
        ("autoscaling/v1/Scale", "") => config::scale,
        ("autoscaling/v1/HorizontalPodAutoscaler", "") => autoscaling::autoscaler_v1,
        ("autoscaling/v1/HorizontalPodAutoscaler", "status") => autoscaling::autoscaler_v1_status,
        ("autoscaling/v2/HorizontalPodAutoscaler", "") => autoscaling::autoscaler,
        ("autoscaling/v2/HorizontalPodAutoscaler", "status") => autoscaling::autoscaler_status,
        ("policy/v1/PodDisruptionBudget", "") => classes::budget,
        ("policy/v1/PodDisruptionBudget", "status") => classes::budget_status,
        ("scheduling.k8s.io/v1/PriorityClass", "") => classes::priority_class,
        ("node.k8s.io/v1/RuntimeClass", "") => classes::runtime_class,
        ("flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration", "") => classes::priority_level,
        ("flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration", "status") => {
            classes::priority_level_status
        }
        ("v1/ConfigMap", "") => config::config_map,
        ("v1/Event", "") => config::core_event,
        ("v1/LimitRange", "") => config::limits,
        ("v1/Namespace", "") => config::namespace,
        ("v1/ResourceQuota", "") => config::quota,
        ("v1/Secret", "") => config::secret,
        ("coordination.k8s.io/v1/Lease", "") => config::lease,
        ("events.k8s.io/v1/Event", "") => config::event,
        ("v1/Endpoints", "") => network::endpoints,
        ("v1/Service", "") => service::service,
        ("v1/Service", "status") => service::service_status,
        ("discovery.k8s.io/v1/EndpointSlice", "") => network::endpoint_slice,
        ("networking.k8s.io/v1/Ingress", "") => network::ingress,
        ("networking.k8s.io/v1/IngressClass", "") => network::ingress_class,
        ("networking.k8s.io/v1/NetworkPolicy", "") => network::network_policy,
        ("v1/Node", "" | "status") => storage::node,
        ("v1/PersistentVolume", "") => storage::volume,
        ("v1/PersistentVolumeClaim", "") => storage::volume_claim,
        ("storage.k8s.io/v1/CSIDriver", "") => storage::driver,
        ("storage.k8s.io/v1/StorageClass", "") => storage::storage_class,
        ("rbac.authorization.k8s.io/v1/ClusterRole", "") => access::cluster_role,
        ("rbac.authorization.k8s.io/v1/ClusterRoleBinding", "") => access::cluster_role_binding,
        ("rbac.authorization.k8s.io/v1/Role", "") => access::role,
        ("rbac.authorization.k8s.io/v1/RoleBinding", "") => access::role_binding,
        _ => return None,
    })
}

/// The syntax of the names of a kind.
pub(super) fn name_syntax(kind: &str) -> NameSyntax {
    match kind {
        "v1/Namespace" | "v1/Service" | "apps/v1/StatefulSet" => NameSyntax::Label,
        "v1/Event" | "policy/v1/PodDisruptionBudget" => NameSyntax::PathSegment,
        _ if kind.starts_with("rbac.authorization.k8s.io/") => NameSyntax::PathSegment,
        _ => NameSyntax::Subdomain,
    }
}
