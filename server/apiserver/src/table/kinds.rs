//! The cells of all built-in kinds.

use fieldmanager_structural::GroupVersionKind;

use super::cell::Cell::{self, Age, Call, Cells, Count, Flag, Name, Number, Text, TextOr};
use super::{
    access, autoscaling, core, events, network, nodes, pods, policies, storage, workloads,
};

/// The cells of a kind, in the order of its columns.
pub(super) fn cells(kind: &GroupVersionKind) -> &'static [Cell] {
    // Columns are recorded from kube-apiserver, so the cells of a kind have their number and their order.
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "ComponentStatus") => &[Name, Cells(core::component)],
        ("", "ConfigMap") => &[Name, Call(core::config_map), Age],
        ("", "Endpoints") => &[Name, Call(network::endpoints), Age],
        ("" | "events.k8s.io", "Event") => &[Cells(events::event)],
        ("", "Namespace") => &[Name, Text("status.phase"), Age],
        ("", "Node") => &[Name, Cells(nodes::node)],
        ("", "PersistentVolume") => &[Name, Cells(storage::volume)],
        ("", "PersistentVolumeClaim") => &[Name, Cells(storage::claim)],
        ("", "Pod") => &[Name, Cells(pods::pod)],
        ("", "PodTemplate") => &[Name, Cells(workloads::pod_template)],
        ("", "ReplicationController") => &[
            Name,
            Number("spec.replicas"),
            Number("status.replicas"),
            Number("status.readyReplicas"),
            Age,
            Cells(workloads::controller_template),
        ],
        ("", "ResourceQuota") => &[Name, Cells(core::quota), Age],
        ("", "Secret") => &[Name, Text("type"), Count("data"), Age],
        ("", "ServiceAccount") => &[Name, Age],
        ("", "Service") => &[Name, Cells(network::service)],
        ("apiregistration.k8s.io", "APIService") => &[Name, Cells(core::api_service), Age],
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
        ("networking.k8s.io", "IngressClass") => &[Cells(network::ingress_class), Age],
        ("networking.k8s.io", "Ingress") => &[Name, Cells(network::ingress), Age],
        ("networking.k8s.io", "IPAddress") => &[Name, Call(network::ip_address), Age],
        ("networking.k8s.io", "NetworkPolicy") => &[Name, Call(network::policy), Age],
        ("networking.k8s.io", "ServiceCIDR") => &[Name, Call(network::service_cidr), Age],
        ("policy", "PodDisruptionBudget") => &[
            Name,
            Call(workloads::min_available),
            Call(workloads::max_unavailable),
            Number("status.disruptionsAllowed"),
            Age,
        ],
        ("rbac.authorization.k8s.io", "ClusterRoleBinding" | "RoleBinding") => {
            &[Name, Cells(access::binding)]
        }
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
        ("scheduling.k8s.io", "PriorityClass") => &[
            Name,
            Number("value"),
            Flag("globalDefault"),
            Age,
            Text("preemptionPolicy"),
        ],
        ("coordination.k8s.io", "Lease") => &[Name, Text("spec.holderIdentity"), Age],
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
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => &[Name, Cells(policies::flow_schema)],
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            &[Name, Cells(policies::priority_level), Age]
        }
        ("storagemigration.k8s.io", "StorageVersionMigration") => {
            &[Name, Cells(storage::migration)]
        }

        // kube-apiserver's printer for kinds without one.
        _ => &[Name, Call(core::created)],
    }
}
