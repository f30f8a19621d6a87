//! What the server measures of admission.

use std::time::Duration;

use crate::AdmissionOperation;

/// One measurement of admission.
///
/// Behaviour: `k8s.io/apiserver/pkg/admission/metrics/metrics.go`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation<'a> {
    /// What was measured.
    pub subject: Observed<'a>,
    /// `admit` for a mutation, `validate` for a validation, `validating` for the call of a validating webhook.
    pub phase: &'static str,
    /// What the request does.
    pub operation: AdmissionOperation,
    /// Whether the request was refused.
    pub is_rejected: bool,
    /// How long it took.
    pub took: Duration,
}

/// What is measured of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed<'a> {
    /// All participants together.
    Step,
    /// A participant, by its name.
    Participant(&'a str),
    /// The call of a webhook.
    Call {
        /// The name of the webhook.
        webhook: &'a str,
        /// The code of its answer: 200 if it allows the request, 0 if the server cannot do what it wants.
        code: u16,
        /// Why the request is refused: `calling_webhook_error`, `apiserver_internal_error`, or `no_error` if the webhook
        /// said so; empty if it is not refused.
        error: &'static str,
        /// Whether the call failed, which does not matter to the webhook.
        fails_open: bool,
    },
    /// An expression of a policy that has a violation, or a mutation.
    ///
    /// Behaviour: `k8s.io/apiserver/pkg/admission/plugin/policy`, `validating/metrics` and `mutating/metrics`.
    Check {
        /// The name of the policy.
        policy: &'a str,
        /// The name of the binding.
        binding: &'a str,
        /// `compile_error`, `out_of_budget`, `invalid_error` or `no_error`.
        error: &'static str,
        /// What follows from a violation: `allow`, `deny`, `audit` or `warn`; empty for a mutation.
        action: &'static str,
    },
}
