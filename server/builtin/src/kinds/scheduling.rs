//! Kinds by which Pods get nodes and devices, leases, and events.

use super::description::{KindDescription, MetadataChecks, NAME, NAMESPACE, UNSUPPORTED_LABEL};
use crate::validation::functions as checks;
use crate::warnings;

pub(super) const KINDS: &[KindDescription] = &[
    KindDescription {
        checks: checks::classes::priority_class,
        accepts_any_prefix: true,
        ..KindDescription::of("scheduling.k8s.io", &["v1"], "PriorityClass")
    },
    KindDescription {
        checks: checks::classes::runtime_class,
        metadata: MetadataChecks::AnyFinalizer,
        warnings: warnings::network::runtime_class,
        ..KindDescription::of("node.k8s.io", &["v1"], "RuntimeClass")
    },
    KindDescription {
        checks: checks::devices::class,
        name_faults: Some(checks::names::without_prefix),
        returns_deleted: true,
        accepts_any_prefix: true,
        ..KindDescription::of(
            "resource.k8s.io",
            &["v1", "v1beta1", "v1beta2"],
            "DeviceClass",
        )
    },
    KindDescription {
        checks: checks::devices::taint_rule,
        subresource_checks: &[("status", checks::devices::taint_rule_status)],
        accepts_any_prefix: true,
        ..KindDescription::of(
            "resource.k8s.io",
            &["v1", "v1alpha3", "v1beta2"],
            "DeviceTaintRule",
        )
    },
    KindDescription {
        checks: checks::devices::claim,
        subresource_checks: &[("status", checks::devices::claim_status)],
        returns_deleted: true,
        ..KindDescription::of(
            "resource.k8s.io",
            &["v1", "v1beta1", "v1beta2"],
            "ResourceClaim",
        )
    },
    KindDescription {
        checks: checks::devices::claim_template,
        returns_deleted: true,
        ..KindDescription::of(
            "resource.k8s.io",
            &["v1", "v1beta1", "v1beta2"],
            "ResourceClaimTemplate",
        )
    },
    KindDescription {
        checks: checks::devices::slice,
        warnings: warnings::config::slice,
        returns_deleted: true,
        labels: &[NAME, "spec.nodeName", "spec.driver", "spec.pool.name"],
        label_fault: "field label not supported for {kind}: {label}",
        accepts_any_prefix: true,
        ..KindDescription::of(
            "resource.k8s.io",
            &["v1", "v1beta1", "v1beta2"],
            "ResourceSlice",
        )
    },
    KindDescription::of(
        "resource.k8s.io",
        &["v1alpha3"],
        "ResourcePoolStatusRequest",
    ),
    KindDescription {
        checks: checks::config::lease,
        metadata: MetadataChecks::AnyFinalizer,
        accepts_any_prefix: true,
        ..KindDescription::of("coordination.k8s.io", &["v1"], "Lease")
    },
    KindDescription {
        metadata: MetadataChecks::AnyFinalizer,
        ..KindDescription::of(
            "coordination.k8s.io",
            &["v1alpha2", "v1beta1"],
            "LeaseCandidate",
        )
    },
    KindDescription {
        checks: checks::config::event,
        internal: Some("v1"),
        labels: &[
            NAME,
            NAMESPACE,
            "reason",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reportingController",
            "type",
        ],
        label_fault: UNSUPPORTED_LABEL,
        has_no_dependents: true,
        accepts_any_prefix: true,
        ..KindDescription::of("events.k8s.io", &["v1"], "Event")
    },
];
