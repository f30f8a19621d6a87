//! The cells of all built-in kinds.

use fieldmanager_structural::GroupVersionKind;

use super::cell::Cell::{self, Age, Call, Cells, Count, Flag, Name, Number, Text, TextOr};
use super::{
    access, autoscaling, core, events, network, nodes, pods, policies, storage, workloads,
};

/// The cells of kube-apiserver's printer for kinds without one.
const OTHERS: &[Cell] = &[Name, Call(core::created)];

/// The cells of a kind, in the order of its columns. Columns are recorded from kube-apiserver, so the cells of a kind have
/// their number and their order.
pub(super) fn cells(kind: &GroupVersionKind) -> &'static [Cell] {
    let (group, kind) = (kind.group.as_str(), kind.kind.as_str());
    match group {
        "" | "events.k8s.io" => cells_of_core(kind),
        "apps"
        | "autoscaling"
        | "batch"
        | "policy"
        | "scheduling.k8s.io"
        | "coordination.k8s.io" => cells_of_workloads(group, kind),
        "networking.k8s.io"
        | "discovery.k8s.io"
        | "storage.k8s.io"
        | "storagemigration.k8s.io"
        | "node.k8s.io"
        | "resource.k8s.io" => cells_of_infrastructure(group, kind),
        _ => cells_of_policies(group, kind),
    }
}

fn cells_of_core(kind: &str) -> &'static [Cell] {
    match kind {
        "ComponentStatus" => &[Name, Cells(core::component)],
        "ConfigMap" => &[Name, Call(core::config_map), Age],
        "Endpoints" => &[Name, Call(network::endpoints), Age],
        "Event" => &[Cells(events::event)],
        "Namespace" => &[Name, Text("status.phase"), Age],
        "Node" => &[Name, Cells(nodes::node)],
        "PersistentVolume" => &[Name, Cells(storage::volume)],
        "PersistentVolumeClaim" => &[Name, Cells(storage::claim)],
        "Pod" => &[Name, Cells(pods::pod)],
        "PodTemplate" => &[Name, Cells(workloads::pod_template)],
        "ReplicationController" => &[
            Name,
            Number("spec.replicas"),
            Number("status.replicas"),
            Number("status.readyReplicas"),
            Age,
            Cells(workloads::controller_template),
        ],
        "ResourceQuota" => &[Name, Cells(core::quota), Age],
        "Secret" => &[Name, Text("type"), Count("data"), Age],
        "ServiceAccount" => &[Name, Age],
        "Service" => &[Name, Cells(network::service)],
        _ => OTHERS,
    }
}

/// Workloads, and what decides about their pods.
fn cells_of_workloads(group: &str, kind: &str) -> &'static [Cell] {
    match (group, kind) {
        ("apps", "ControllerRevision") => {
            &[Name, Call(workloads::controller), Number("revision"), Age]
        }
        ("apps", "DaemonSet") => &[Name, Cells(workloads::daemon_set)],
        ("apps", "Deployment") => &[Name, Cells(workloads::deployment)],
        ("apps", "ReplicaSet") => &[
            Name,
            Number("spec.replicas"),
            Number("status.replicas"),
            Number("status.readyReplicas"),
            Age,
            Cells(workloads::template),
        ],
        ("apps", "StatefulSet") => &[Name, Cells(workloads::stateful_set)],
        ("autoscaling", "HorizontalPodAutoscaler") => &[Name, Cells(autoscaling::autoscaler), Age],
        ("batch", "CronJob") => &[Name, Cells(workloads::cron_job)],
        ("batch", "Job") => &[Name, Cells(workloads::job)],

        // The bounds of a budget are numbers or percentages, or absent.
        ("policy", "PodDisruptionBudget") => &[
            Name,
            Call(workloads::min_available),
            Call(workloads::max_unavailable),
            Number("status.disruptionsAllowed"),
            Age,
        ],
        ("scheduling.k8s.io", "PriorityClass") => &[
            Name,
            Number("value"),
            Flag("globalDefault"),
            Age,
            Text("preemptionPolicy"),
        ],
        ("coordination.k8s.io", "Lease") => &[Name, Text("spec.holderIdentity"), Age],
        _ => OTHERS,
    }
}

/// Networks, storage, nodes and devices.
fn cells_of_infrastructure(group: &str, kind: &str) -> &'static [Cell] {
    match (group, kind) {
        ("networking.k8s.io", "IngressClass") => &[Cells(network::ingress_class), Age],
        ("networking.k8s.io", "Ingress") => &[Name, Cells(network::ingress), Age],
        ("networking.k8s.io", "IPAddress") => &[Name, Call(network::ip_address), Age],
        ("networking.k8s.io", "NetworkPolicy") => &[Name, Call(network::policy), Age],
        ("networking.k8s.io", "ServiceCIDR") => &[Name, Call(network::service_cidr), Age],

        // The name of a class of storage says whether it is the default.
        ("storage.k8s.io", "CSIDriver") => &[Name, Cells(storage::driver), Age],
        ("storage.k8s.io", "CSINode") => &[Name, Count("spec.drivers"), Age],
        ("storage.k8s.io", "StorageClass") => &[Cells(storage::class), Age],
        ("storage.k8s.io", "VolumeAttachment") => &[
            Name,
            Text("spec.attacher"),
            Text("spec.source.persistentVolumeName"),
            Text("spec.nodeName"),
            Flag("status.attached"),
            Age,
        ],
        ("storage.k8s.io", "VolumeAttributesClass") => &[Name, Text("driverName"), Age],
        ("node.k8s.io", "RuntimeClass") => &[Name, Text("handler"), Age],
        ("discovery.k8s.io", "EndpointSlice") => &[Name, Cells(network::endpoint_slice), Age],
        ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => &[Name, Age],
        ("resource.k8s.io", "DeviceTaintRule") => &[Name, Cells(nodes::taint_rule), Age],
        ("resource.k8s.io", "ResourceClaim") => &[Name, Call(nodes::claim), Age],
        ("resource.k8s.io", "ResourceSlice") => &[
            Name,
            Text("spec.nodeName"),
            Text("spec.driver"),
            Text("spec.pool.name"),
            Age,
        ],
        ("storagemigration.k8s.io", "StorageVersionMigration") => {
            &[Name, Cells(storage::migration)]
        }
        _ => OTHERS,
    }
}

/// Access, admission and the server itself.
fn cells_of_policies(group: &str, kind: &str) -> &'static [Cell] {
    match (group, kind) {
        ("apiregistration.k8s.io", "APIService") => &[Name, Cells(core::api_service), Age],
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            &[Name, Age, Cells(access::signing_request)]
        }
        ("certificates.k8s.io", "ClusterTrustBundle") => {
            &[Name, TextOr("spec.signerName", "<none>")]
        }
        ("certificates.k8s.io", "PodCertificateRequest") => &[
            Name,
            Text("spec.podName"),
            Text("spec.serviceAccountName"),
            Text("spec.nodeName"),
            Text("spec.signerName"),
            Cells(access::pod_certificate),
        ],
        ("rbac.authorization.k8s.io", "ClusterRoleBinding" | "RoleBinding") => {
            &[Name, Cells(access::binding)]
        }

        // Webhooks and policies of both sorts have the same columns, apart from what is counted.
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => &[Name, Count("webhooks"), Age],
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => &[
            Name,
            Count("spec.validations"),
            Call(policies::param_kind),
            Age,
        ],
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => &[
            Name,
            Count("spec.mutations"),
            Call(policies::param_kind),
            Age,
        ],
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding",
        ) => &[
            Name,
            Text("spec.policyName"),
            Call(policies::param_ref),
            Age,
        ],
        ("apiextensions.k8s.io", "CustomResourceDefinition") => &[Name, Cells(core::definition)],
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => &[Name, Cells(policies::flow_schema)],
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            &[Name, Cells(policies::priority_level), Age]
        }
        _ => OTHERS,
    }
}
