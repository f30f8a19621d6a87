//! Why a webhook did not allow a request, for the client and for the metrics.

use fieldmanager_managedfields::{Cause, Details, Status};
use fieldmanager_value::internal::go_format::quote;

use super::configuration::Webhook;
use crate::meter::Meter;
use crate::{Denial, Observed};

/// Why a webhook did not allow a request.
pub(super) enum CallRefusal {
    /// The call failed, which does not matter to some webhooks: the code in metrics, and the reason.
    Call(u16, String),
    /// The webhook refuses the request.
    Denied(Denial),
    /// The server cannot do what the webhook wants.
    Fault(Denial),
}

/// Tells the server how the call of a webhook ended.
///
/// Behaviour: `ObserveWebhook` and `ObserveWebhookRejection` of `k8s.io/apiserver/pkg/admission/metrics`.
pub(super) fn observe(
    webhook: &Webhook,
    meter: &Meter<'_>,
    answer: Result<Option<&Denial>, &CallRefusal>,
) {
    let (code, error) = match answer {
        Ok(None) => (200, ""),
        Err(CallRefusal::Call(code, _)) if webhook.ignores_failures => (*code, ""),
        Err(CallRefusal::Call(code, _)) => (*code, "calling_webhook_error"),
        Err(CallRefusal::Fault(_)) => (0, "apiserver_internal_error"),
        Ok(Some(denial)) | Err(CallRefusal::Denied(denial)) => (denial.status.code, "no_error"),
    };
    let call = Observed::Call {
        webhook: &webhook.name,
        code,
        error,
        fails_open: answer.is_err() && error.is_empty(),
    };
    meter.stop(call, !error.is_empty());
}

/// 500: the call of a webhook failed.
pub(super) fn failed_call(webhook: &Webhook, reason: &str) -> Denial {
    let name = quote(&webhook.name);
    by(
        webhook,
        internal(&format!("failed calling webhook {name}: {reason}")),
    )
}

/// The refusal of a webhook.
pub(super) fn by(webhook: &Webhook, denial: Denial) -> Denial {
    let by = webhook.name.clone();
    Denial { by, ..denial }
}

/// 500, with a cause.
///
/// Behaviour: `NewInternalError` of `k8s.io/apimachinery/pkg/api/errors`.
pub(super) fn internal(cause: &str) -> Denial {
    let mut details = Details::default();
    details.causes = vec![Cause::new("", cause, "")];
    let message = format!("Internal error occurred: {cause}");
    Status::failure(500, "InternalError", message, Some(details)).into()
}
