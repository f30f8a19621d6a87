//! Warnings about objects of built-in kinds, which the API server sends in `Warning` headers.

mod bounded;
mod fields;
mod network;
mod paths;
mod pods;
mod storage;
mod workloads;

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::table::name_of;

/// The warnings about the objects of a kind, from a new object and the live one.
type Function = fn(&Value, Option<&Value>) -> Vec<String>;

/// The functions by kind.
const FUNCTIONS: &[(&str, Function)] = &[
    ("v1/Pod", pods::pod),
    ("v1/PodTemplate", workloads::pod_template),
    ("v1/ReplicationController", workloads::controller),
    ("apps/v1/DaemonSet", workloads::daemons),
    ("apps/v1/Deployment", workloads::replicas),
    ("apps/v1/ReplicaSet", workloads::replicas),
    ("apps/v1/StatefulSet", workloads::stateful),
    ("batch/v1/CronJob", workloads::schedule),
    ("batch/v1/Job", workloads::job),
    ("discovery.k8s.io/v1/EndpointSlice", network::endpoint_slice),
    ("networking.k8s.io/v1/Ingress", network::ingress),
    ("networking.k8s.io/v1/NetworkPolicy", network::network_policy),
    ("node.k8s.io/v1/RuntimeClass", network::runtime_class),
    ("storage.k8s.io/v1/CSIDriver", storage::driver),
    ("v1/Endpoints", network::endpoints),
    ("v1/Node", network::node),
    ("v1/PersistentVolume", storage::volume),
    ("v1/PersistentVolumeClaim", storage::claim),
    ("v1/Service", network::service),
];

/// The warnings about a new object, or about a change of the live one, in the order of kube-apiserver.
pub fn warnings(kind: &GroupVersionKind, object: &Value, live: Option<&Value>) -> Vec<String> {
    let name = name_of(kind);
    let found = FUNCTIONS.iter().find(|(kind, _)| *kind == name);
    found.map(|(_, function)| function(object, live)).unwrap_or_default()
}
