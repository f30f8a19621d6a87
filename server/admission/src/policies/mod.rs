//! Policies: expressions in CEL that refuse requests, or change their objects.
//!
//! Behaviour: `k8s.io/apiserver/pkg/admission/plugin/policy`.

mod check;
mod mutating;
mod mutation;
mod source;
mod type_check;
mod validating;

use crate::AdmissionRequest;
pub use check::check_expressions;
pub use mutating::MutatingPolicies;
#[doc(hidden)]
pub use mutation::MutationKind;
pub use type_check::{ServedKinds, check_types};
pub use validating::ValidatingPolicies;

/// Whether requests are subject to policies: those that change policies are not, so that a wrong policy can be undone, nor
/// are reviews of access.
///
/// Behaviour: `admissionResources` of `k8s.io/apiserver/pkg/admission/plugin/policy/generic/plugin.go`, and `Excluded` of
/// `k8s.io/kubernetes/pkg/kubeapiserver/admission/exclusion`.
pub(crate) fn are_subject(request: &AdmissionRequest<'_>) -> bool {
    match request.group {
        "admissionregistration.k8s.io" => !request.resource.contains("admissionpolic"),
        "authentication.k8s.io" | "authorization.k8s.io" => false,
        _ => true,
    }
}
