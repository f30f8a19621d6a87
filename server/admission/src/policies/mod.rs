//! Policies: expressions in CEL that refuse requests, or change their objects.
//!
//! Behaviour: `k8s.io/apiserver/pkg/admission/plugin/policy`.

mod check;
mod mutating;
pub(crate) mod mutation;
mod source;
mod type_check;
mod validating;

use std::time::Duration;

use crate::{AdmissionPhase, AdmissionRequest, Cluster, Observation, Observed};
pub use check::check_expressions;
pub use mutating::MutatingPolicies;
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

/// Reports the check of a policy to the server. The text is that of the error or of the violation, if there is one.
///
/// Behaviour: `ErrorType` of `k8s.io/apiserver/pkg/admission/plugin/policy`, `validating/errors.go` and `mutating/errors.go`.
fn observe(
    (request, cluster): (&AdmissionRequest<'_>, &dyn Cluster),
    (policy, binding): (&str, &str),
    text: &str,
    action: &'static str,
    took: Duration,
) {
    let error = match text {
        "" => "no_error",
        text if text.starts_with("compilation") => "compile_error",
        text if text.starts_with(crate::expressions::OUT_OF_BUDGET) => "out_of_budget",
        _ => "invalid_error",
    };
    cluster.observe(&Observation {
        subject: Observed::Check {
            policy,
            binding,
            error,
            action,
        },
        phase: if action.is_empty() {
            AdmissionPhase::Mutate.name()
        } else {
            AdmissionPhase::Validate.name()
        },
        operation: request.operation,
        is_rejected: action == "deny",
        took,
    });
}
