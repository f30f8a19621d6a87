//! Kinds that configure the API server, and those of `meta.k8s.io`.

use super::description::{CountsEmpty, KindDescription, MetadataChecks, StoredForm};
use crate::validation::functions as checks;
use crate::warnings;

pub(super) const KINDS: &[KindDescription] = &[
    KindDescription {
        checks: checks::policies::mutating_policy,
        metadata: MetadataChecks::AnyFinalizer,
        ..KindDescription::of(
            "admissionregistration.k8s.io",
            &["v1", "v1alpha1", "v1beta1"],
            "MutatingAdmissionPolicy",
        )
    },
    KindDescription {
        checks: checks::policies::mutating_binding,
        metadata: MetadataChecks::AnyFinalizer,
        ..KindDescription::of(
            "admissionregistration.k8s.io",
            &["v1", "v1alpha1", "v1beta1"],
            "MutatingAdmissionPolicyBinding",
        )
    },
    KindDescription {
        checks: checks::webhooks::configuration,
        metadata: MetadataChecks::AnyFinalizer,
        counts_empty: Some(CountsEmpty {
            member: "webhooks",
            except: "",
        }),
        warnings: warnings::config::webhooks,
        ..KindDescription::of(
            "admissionregistration.k8s.io",
            &["v1"],
            "MutatingWebhookConfiguration",
        )
    },
    KindDescription {
        checks: checks::policies::validating_policy,
        subresource_checks: &[("status", checks::policies::validating_policy_status)],
        metadata: MetadataChecks::AnyFinalizer,
        ..KindDescription::of(
            "admissionregistration.k8s.io",
            &["v1", "v1beta1"],
            "ValidatingAdmissionPolicy",
        )
    },
    KindDescription {
        checks: checks::policies::validating_binding,
        metadata: MetadataChecks::AnyFinalizer,
        ..KindDescription::of(
            "admissionregistration.k8s.io",
            &["v1", "v1beta1"],
            "ValidatingAdmissionPolicyBinding",
        )
    },
    KindDescription {
        checks: checks::webhooks::configuration,
        metadata: MetadataChecks::AnyFinalizer,
        counts_empty: Some(CountsEmpty {
            member: "webhooks",
            except: "",
        }),
        warnings: warnings::config::webhooks,
        ..KindDescription::of(
            "admissionregistration.k8s.io",
            &["v1"],
            "ValidatingWebhookConfiguration",
        )
    },
    KindDescription {
        checks: checks::server::flow_schema,
        subresource_checks: &[("status", checks::server::flow_schema_status)],
        has_unchecked_status_metadata: true,
        without_effect: Some("requests have no priority"),
        ..KindDescription::of("flowcontrol.apiserver.k8s.io", &["v1"], "FlowSchema")
    },
    KindDescription {
        checks: checks::classes::priority_level,
        subresource_checks: &[("status", checks::classes::priority_level_status)],
        has_unchecked_status_metadata: true,
        without_effect: Some("requests have no priority"),
        ..KindDescription::of(
            "flowcontrol.apiserver.k8s.io",
            &["v1"],
            "PriorityLevelConfiguration",
        )
    },
    KindDescription {
        metadata: MetadataChecks::AnyFinalizer,
        repeats_errors: true,
        stored_as: StoredForm::Json,
        is_defaulted_when_stored: true,
        is_definition: true,
        ..KindDescription::of("apiextensions.k8s.io", &["v1"], "CustomResourceDefinition")
    },
    KindDescription {
        checks: checks::server::api_service,
        subresource_checks: &[("status", checks::server::api_service_status)],
        metadata: MetadataChecks::AnyFinalizer,
        name_faults: Some(checks::names::api_service),
        without_effect: Some("no request is sent to another server"),
        ..KindDescription::of("apiregistration.k8s.io", &["v1"], "APIService")
    },
    KindDescription::of("internal.apiserver.k8s.io", &["v1alpha1"], "StorageVersion"),
    KindDescription::of("meta.k8s.io", &["v1"], "DeleteOptions"),
    KindDescription::of("meta.k8s.io", &["v1"], "PartialObjectMetadata"),
    KindDescription::of("meta.k8s.io", &["v1"], "Status"),
];
