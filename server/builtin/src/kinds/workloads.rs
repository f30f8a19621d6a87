//! Kinds that run Pods, scale or protect them.

use fieldmanager_structural::internal::NameSyntax;

use super::description::{
    DerivedLabel, KindDescription, MetadataChecks, NAME, NAMESPACE, StoredForm,
};
use crate::validation::functions as checks;
use crate::warnings;

/// The warning of a deletion of Jobs that does not say what happens to their Pods.
const JOBS_KEEP_PODS: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
    them or set propagationPolicy=Orphan to suppress this warning";

pub(super) const KINDS: &[KindDescription] = &[
    KindDescription {
        checks: checks::workloads::revision,
        stored_as: StoredForm::Json,
        ..KindDescription::of("apps", &["v1"], "ControllerRevision")
    },
    KindDescription {
        checks: checks::workloads::daemon_set,
        subresource_checks: &[("status", checks::workload_status::daemon_set)],
        warnings: warnings::workloads::daemons,
        accepts_any_prefix: true,
        ..KindDescription::of("apps", &["v1"], "DaemonSet")
    },
    KindDescription {
        checks: checks::workloads::deployment,
        subresource_checks: &[("status", checks::workload_status::deployment)],
        warnings: warnings::workloads::replicas,
        accepts_any_prefix: true,
        ..KindDescription::of("apps", &["v1"], "Deployment")
    },
    KindDescription {
        checks: checks::workloads::replica_set,
        subresource_checks: &[("status", checks::workload_status::controller)],
        warnings: warnings::workloads::replicas,
        accepts_any_prefix: true,
        ..KindDescription::of("apps", &["v1"], "ReplicaSet")
    },
    KindDescription {
        checks: checks::workloads::stateful_set,
        subresource_checks: &[("status", checks::workload_status::stateful_set)],
        name_syntax: NameSyntax::Label,
        warnings: warnings::workloads::stateful,
        accepts_any_prefix: true,
        ..KindDescription::of("apps", &["v1"], "StatefulSet")
    },
    KindDescription {
        checks: checks::jobs::cron_job,
        has_unchecked_status_metadata: true,
        warnings: warnings::workloads::schedule,
        accepts_any_prefix: true,
        ..KindDescription::of("batch", &["v1"], "CronJob")
    },
    KindDescription {
        checks: checks::jobs::job,
        subresource_checks: &[("status", checks::job_status::job)],
        warnings: warnings::workloads::job,
        is_defaulted_when_stored: true,
        keeps_dependents: true,
        deletion_warning: Some(JOBS_KEEP_PODS),
        labels: &[NAME, NAMESPACE],
        derived_labels: &[DerivedLabel {
            label: "status.successful",
            paths: &["status.succeeded"],
            absent: "0",
        }],
        label_fault: "field label {quoted} not supported for Job",
        accepts_any_prefix: true,
        ..KindDescription::of("batch", &["v1"], "Job")
    },
    KindDescription {
        checks: checks::autoscaling::autoscaler_v1,
        subresource_checks: &[("status", checks::autoscaling::autoscaler_v1_status)],
        internal: Some("autoscaling/v2"),
        status_annotation: Some("autoscaling.alpha.kubernetes.io/current-metrics"),
        generation_follows_storage: true,
        accepts_any_prefix: true,
        ..KindDescription::of("autoscaling", &["v1"], "HorizontalPodAutoscaler")
    },
    KindDescription {
        checks: checks::autoscaling::autoscaler,
        subresource_checks: &[("status", checks::autoscaling::autoscaler_status)],
        generation_follows_storage: true,
        accepts_any_prefix: true,
        ..KindDescription::of("autoscaling", &["v2"], "HorizontalPodAutoscaler")
    },
    KindDescription {
        checks: checks::config::scale,
        metadata: MetadataChecks::ManagedFields,
        ..KindDescription::of("autoscaling", &["v1"], "Scale")
    },
    KindDescription::of("policy", &["v1"], "Eviction"),
    KindDescription {
        checks: checks::classes::budget,
        subresource_checks: &[("status", checks::classes::budget_status)],
        name_syntax: NameSyntax::PathSegment,
        metadata: MetadataChecks::Last,
        accepts_any_prefix: true,
        ..KindDescription::of("policy", &["v1"], "PodDisruptionBudget")
    },
];
