//! Kinds of users, their rights and their certificates.

use fieldmanager_structural::internal::NameSyntax;

use super::description::{KindDescription, MetadataChecks, NAME, Review, UNSUPPORTED_LABEL};
use crate::validation::functions as checks;

pub(super) const KINDS: &[KindDescription] = &[
    KindDescription {
        checks: checks::access::cluster_role,
        name_syntax: NameSyntax::PathSegment,
        without_effect: Some("every request is allowed"),
        ..KindDescription::of("rbac.authorization.k8s.io", &["v1"], "ClusterRole")
    },
    KindDescription {
        checks: checks::access::cluster_role_binding,
        name_syntax: NameSyntax::PathSegment,
        without_effect: Some("every request is allowed"),
        ..KindDescription::of("rbac.authorization.k8s.io", &["v1"], "ClusterRoleBinding")
    },
    KindDescription {
        checks: checks::access::role,
        name_syntax: NameSyntax::PathSegment,
        without_effect: Some("every request is allowed"),
        ..KindDescription::of("rbac.authorization.k8s.io", &["v1"], "Role")
    },
    KindDescription {
        checks: checks::access::role_binding,
        name_syntax: NameSyntax::PathSegment,
        without_effect: Some("every request is allowed"),
        ..KindDescription::of("rbac.authorization.k8s.io", &["v1"], "RoleBinding")
    },
    KindDescription {
        review: Some(Review::User),
        ..KindDescription::of(
            "authentication.k8s.io",
            &["v1", "v1beta1"],
            "SelfSubjectReview",
        )
    },
    KindDescription::of("authentication.k8s.io", &["v1"], "TokenRequest"),
    KindDescription {
        review: Some(Review::Token),
        ..KindDescription::of("authentication.k8s.io", &["v1"], "TokenReview")
    },
    KindDescription {
        checks: checks::reviews::local_access,
        metadata: MetadataChecks::Own,
        review: Some(Review::Access),
        ..KindDescription::of("authorization.k8s.io", &["v1"], "LocalSubjectAccessReview")
    },
    KindDescription {
        checks: checks::reviews::own_access,
        metadata: MetadataChecks::Own,
        review: Some(Review::Access),
        ..KindDescription::of("authorization.k8s.io", &["v1"], "SelfSubjectAccessReview")
    },
    KindDescription {
        review: Some(Review::Rules),
        ..KindDescription::of("authorization.k8s.io", &["v1"], "SelfSubjectRulesReview")
    },
    KindDescription {
        checks: checks::reviews::access,
        metadata: MetadataChecks::Own,
        review: Some(Review::Access),
        ..KindDescription::of("authorization.k8s.io", &["v1"], "SubjectAccessReview")
    },
    KindDescription {
        checks: checks::certificates::request,
        subresource_checks: &[
            ("status", checks::certificates::request_status),
            ("approval", checks::certificates::request_approval),
        ],
        name_syntax: NameSyntax::PathSegment,
        labels: &[NAME, "spec.signerName"],
        label_fault: UNSUPPORTED_LABEL,
        accepts_any_prefix: true,
        ..KindDescription::of("certificates.k8s.io", &["v1"], "CertificateSigningRequest")
    },
    KindDescription {
        checks: checks::certificates::trust_bundle,
        name_faults: Some(checks::names::trust_bundle),
        labels: &[NAME, "spec.signerName"],
        label_fault: UNSUPPORTED_LABEL,
        ..KindDescription::of(
            "certificates.k8s.io",
            &["v1", "v1alpha1", "v1beta1"],
            "ClusterTrustBundle",
        )
    },
    KindDescription {
        checks: checks::pod_certificates::pod_request,
        subresource_checks: &[("status", checks::pod_certificates::pod_request_status)],
        labels: &[NAME, "spec.signerName", "spec.podName", "spec.nodeName"],
        label_fault: UNSUPPORTED_LABEL,
        accepts_any_prefix: true,
        ..KindDescription::of(
            "certificates.k8s.io",
            &["v1", "v1beta1"],
            "PodCertificateRequest",
        )
    },
];
