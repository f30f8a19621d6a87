//! The kinds of the core group.

use fieldmanager_structural::internal::NameSyntax;

use super::description::{
    DerivedLabel, KindDescription, MetadataChecks, NAME, NAMESPACE, StoredForm, UNSUPPORTED_LABEL,
};
use crate::validation::functions as checks;
use crate::warnings;

pub(super) const KINDS: &[KindDescription] = &[
    KindDescription::of("", &["v1"], "Binding"),
    KindDescription {
        deprecation: Some("v1 ComponentStatus is deprecated in v1.19+"),
        is_probed: true,
        ..KindDescription::of("", &["v1"], "ComponentStatus")
    },
    KindDescription {
        checks: checks::config::config_map,
        stored_as: StoredForm::ProtobufWithBytes("binaryData"),
        ..KindDescription::of("", &["v1"], "ConfigMap")
    },
    KindDescription {
        checks: checks::network::endpoints,
        warnings: warnings::network::endpoints,
        deprecation: Some(
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        ),
        ..KindDescription::of("", &["v1"], "Endpoints")
    },
    KindDescription {
        checks: checks::config::core_event,
        name_syntax: NameSyntax::PathSegment,
        metadata: MetadataChecks::Last,
        labels: &[
            NAME,
            NAMESPACE,
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "type",
        ],
        derived_labels: &[DerivedLabel {
            label: "source",
            paths: &["source.component", "reportingComponent"],
            absent: "",
        }],
        label_fault: UNSUPPORTED_LABEL,
        has_no_dependents: true,
        accepts_any_prefix: true,
        ..KindDescription::of("", &["v1"], "Event")
    },
    KindDescription {
        checks: checks::limits::limits,
        is_named_by_uid: true,
        ..KindDescription::of("", &["v1"], "LimitRange")
    },
    KindDescription {
        checks: checks::config::namespace,
        subresource_checks: &[
            ("status", checks::config::namespace_status),
            ("finalize", checks::config::finalized_namespace),
        ],
        name_syntax: NameSyntax::Label,
        is_defaulted_when_stored: true,
        is_namespace: true,
        returns_deleted: true,
        labels: &[NAME, "status.phase"],
        label_fault: UNSUPPORTED_LABEL,
        ..KindDescription::of("", &["v1"], "Namespace")
    },
    KindDescription {
        checks: checks::nodes::node,
        subresource_checks: &[("status", checks::nodes::node)],
        warnings: warnings::network::node,
        labels: &[NAME],
        derived_labels: &[DerivedLabel {
            label: "spec.unschedulable",
            paths: &["spec.unschedulable"],
            absent: "false",
        }],
        label_fault: UNSUPPORTED_LABEL,
        ..KindDescription::of("", &["v1"], "Node")
    },
    KindDescription {
        checks: checks::storage::volume,
        subresource_checks: &[("status", checks::storage::volume_status)],
        warnings: warnings::storage::volume,
        has_phase_time: true,
        returns_deleted: true,
        ..KindDescription::of("", &["v1"], "PersistentVolume")
    },
    KindDescription {
        checks: checks::storage::volume_claim,
        subresource_checks: &[("status", checks::claim::claim_status)],
        warnings: warnings::storage::claim,
        returns_deleted: true,
        ..KindDescription::of("", &["v1"], "PersistentVolumeClaim")
    },
    KindDescription {
        checks: checks::pods::pod,
        subresource_checks: &[
            ("status", checks::pods::pod_status),
            ("ephemeralcontainers", checks::pods::ephemeral_containers),
            ("resize", checks::pods::resized_pod),
        ],
        warnings: warnings::pods::pod,
        has_grace_period: true,
        returns_deleted: true,
        labels: &[
            NAME,
            NAMESPACE,
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.nominatedNodeName",
        ],
        derived_labels: &[
            DerivedLabel {
                label: "spec.hostNetwork",
                paths: &["spec.hostNetwork"],
                absent: "false",
            },
            DerivedLabel {
                label: "spec.host",
                paths: &["spec.nodeName"],
                absent: "",
            },
            DerivedLabel {
                label: "status.podIP",
                paths: &["status.podIPs.0.ip"],
                absent: "",
            },
            DerivedLabel {
                label: "status.podIPs",
                paths: &[],
                absent: "",
            },
        ],
        label_fault: UNSUPPORTED_LABEL,
        ..KindDescription::of("", &["v1"], "Pod")
    },
    KindDescription {
        checks: checks::pods::pod_template,
        warnings: warnings::workloads::pod_template,
        returns_deleted: true,
        accepts_any_prefix: true,
        ..KindDescription::of("", &["v1"], "PodTemplate")
    },
    KindDescription {
        checks: checks::workloads::controller,
        subresource_checks: &[("status", checks::workload_status::controller)],
        warnings: warnings::workloads::controller,
        is_defaulted_when_stored: true,
        keeps_dependents: true,
        labels: &[NAME, NAMESPACE],
        derived_labels: &[DerivedLabel {
            label: "status.replicas",
            paths: &["status.replicas"],
            absent: "0",
        }],
        label_fault: UNSUPPORTED_LABEL,
        name_faults: Some(checks::names::without_prefix),
        accepts_any_prefix: true,
        ..KindDescription::of("", &["v1"], "ReplicationController")
    },
    KindDescription {
        checks: checks::config::quota,
        subresource_checks: &[("status", checks::config::quota_status)],
        warnings: warnings::config::quota,
        returns_deleted: true,
        accepts_any_prefix: true,
        ..KindDescription::of("", &["v1"], "ResourceQuota")
    },
    KindDescription {
        checks: checks::config::secret,
        warnings: warnings::config::secret,
        stored_as: StoredForm::ProtobufWithBytes("data"),
        labels: &[NAME, NAMESPACE, "type"],
        label_fault: UNSUPPORTED_LABEL,
        ..KindDescription::of("", &["v1"], "Secret")
    },
    KindDescription {
        checks: checks::service::service,
        subresource_checks: &[("status", checks::service::service_status)],
        name_syntax: NameSyntax::Label,
        warnings: warnings::network::service,
        has_allocations: true,
        returns_deleted: true,
        unserved: "it has no connection to Pods",
        labels: &[NAME, NAMESPACE, "spec.clusterIP", "spec.type"],
        label_fault: UNSUPPORTED_LABEL,
        accepts_any_prefix: true,
        ..KindDescription::of("", &["v1"], "Service")
    },
    KindDescription {
        returns_deleted: true,
        ..KindDescription::of("", &["v1"], "ServiceAccount")
    },
];
