//! Reviews of requests, and what webhooks answer.

use base64::prelude::{BASE64_STANDARD, Engine};
use fieldmanager_managedfields::Status;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::internal::{ObjectExt, json_kind, qualified_name};
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::configuration::Webhook;
use super::decode::decode;
pub(crate) use crate::request::map;
use crate::{AdmissionRequest, Denial, Equivalent};

const GROUP: &str = "admission.k8s.io";

/// The fields of an answer that are checked, those of inner objects last.
const FIELDS: &str = "\
    response AdmissionReview object v1.AdmissionResponse
    response.uid AdmissionResponse string types.UID
    response.allowed AdmissionResponse bool bool
    response.patch AdmissionResponse string []uint8
    response.patchType AdmissionResponse string v1.PatchType
    response.auditAnnotations AdmissionResponse object map[string]string
    response.warnings AdmissionResponse array []string
    response.status AdmissionResponse object v1.Status
    response.status.status Status string string
    response.status.message Status string string
    response.status.reason Status string v1.StatusReason
    response.status.code Status number int32
    response.status.details Status object v1.StatusDetails
    response.status.metadata Status object v1.ListMeta";

/// The answer of a webhook.
#[derive(Debug, Default)]
pub(super) struct Response {
    /// The refusal, if the request is not allowed.
    pub(super) denial: Option<Denial>,
    /// The operations of the patch, in JSON; empty if there is none.
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: String,
    pub(super) warnings: Vec<String>,
    pub(super) annotations: Vec<(String, String)>,
}

/// The review that a webhook gets, in JSON. The objects of the request have the kind that was selected.
///
/// Behaviour: `CreateV1AdmissionReview` of `k8s.io/apiserver/pkg/admission/plugin/webhook/request`.
pub(super) fn write_review(
    webhook: &Webhook,
    uid: &str,
    request: &AdmissionRequest<'_>,
    selected: &Equivalent,
) -> Vec<u8> {
    let mut fields = request.describe(&selected.kind, selected.names());
    fields.insert("uid", uid);
    fields.insert("object", request.object.cloned().unwrap_or_default());
    fields.insert("oldObject", request.old.cloned().unwrap_or_default());
    let review = [
        ("kind", "AdmissionReview".into()),
        (
            "apiVersion",
            format!("{GROUP}/{}", webhook.review_version).into(),
        ),
        ("request", Value::Map(fields)),
    ];
    map(review).to_json().into_bytes()
}

/// Reads and checks the answer to a review.
///
/// # Errors
///
/// The reason in the words of kube-apiserver.
///
/// Behaviour: `VerifyAdmissionResponse` of `k8s.io/apiserver/pkg/admission/plugin/webhook/request`.
pub(super) fn read_answer(
    body: &[u8],
    webhook: &Webhook,
    uid: &str,
    is_mutating: bool,
) -> Result<Response, String> {
    let expected = GroupVersionKind::new(GROUP, webhook.review_version, "AdmissionReview");
    let called = |text: String| format!("failed to call webhook: {text}");
    let review = decode(body, &expected, FIELDS).map_err(called)?;
    let (patch, warnings) = read_lists(&review).map_err(called)?;
    let invalid = |text: String| Err(format!("received invalid webhook response: {text}"));
    let Some(response) = review.get("response").filter(|value| !value.is_null()) else {
        return invalid("webhook response was absent".to_owned());
    };

    // `v1beta1` asked for neither the uid nor the type of the patch, and old webhooks rely on it.
    let mut patch_type = response.get("patchType").and_then(Value::as_str);
    if webhook.review_version == "v1" {
        let (found, declared) = (response.string("uid"), review.declared_kind());
        if found != uid {
            let (uid, found) = (quote(uid), quote(found));
            return invalid(format!("expected response.uid={uid}, got {found}"));
        }
        if declared != expected {
            return invalid(format!(
                "expected webhook response of {expected}, got {declared}"
            ));
        }
        let fault = match (is_mutating, patch.is_empty(), patch_type) {
            (false, false, _) => "validating webhook may not return response.patch",
            (false, true, Some(_)) => "validating webhook may not return response.patchType",
            (true, false, None) => "webhook returned response.patch but not response.patchType",
            (true, true, Some(_)) => "webhook returned response.patchType but not response.patch",
            (true, false, Some("")) => r#"webhook returned invalid response.patchType of """#,
            _ => "",
        };
        if !fault.is_empty() {
            return invalid(fault.to_owned());
        }
    } else {
        patch_type = Some("JSONPatch");
    }

    // A webhook that does not say `allowed` refuses.
    let is_allowed = response.get("allowed").and_then(Value::as_bool) == Some(true);
    Ok(Response {
        denial: (!is_allowed).then(|| refusal(&webhook.name, response.get("status"))),
        patch,
        patch_type: patch_type.unwrap_or_default().to_owned(),
        warnings,
        annotations: annotations(&webhook.name, response),
    })
}

/// The patch and the warnings of an answer.
fn read_lists(review: &Value) -> Result<(Vec<u8>, Vec<String>), String> {
    let field = |name: &str| {
        review
            .get("response")
            .and_then(|response| response.get(name))
    };
    let patch = field("patch").and_then(Value::as_str).unwrap_or_default();
    let patch = BASE64_STANDARD.decode(patch).map_err(|error| match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => {
            format!("illegal base64 data at input byte {at}")
        }
        _ => format!("illegal base64 data at input byte {}", patch.len()),
    })?;

    let mut warnings = Vec::new();
    let list = field("warnings").and_then(Value::as_list);
    for warning in list.into_iter().flatten() {
        match warning {
            Value::Null => warnings.push(String::new()),
            Value::String(text) => warnings.push(text.as_str().to_owned()),
            other => {
                let found = json_kind(other);
                let field = "AdmissionResponse.response.warnings of type string";
                return Err(format!(
                    "json: cannot unmarshal {found} into Go struct field {field}"
                ));
            }
        }
    }
    Ok((patch, warnings))
}

/// The annotations for the log, with the name of the webhook in front of their keys. Those with an invalid key are left out.
fn annotations(webhook: &str, response: &Value) -> Vec<(String, String)> {
    let annotations = response.get("auditAnnotations").and_then(Value::as_map);
    let texts = annotations.into_iter().flatten().map(|(key, value)| {
        let text = value.as_str().unwrap_or_default();
        (format!("{webhook}/{key}"), text.to_owned())
    });
    texts
        .filter(|(key, _)| qualified_name(key).is_empty())
        .collect()
}

/// The refusal of a webhook that gave a status.
///
/// Behaviour: `ToStatusErr` of `k8s.io/apiserver/pkg/admission/plugin/webhook/errors`.
fn refusal(webhook: &str, status: Option<&Value>) -> Denial {
    let empty = Value::default();
    let status = status.unwrap_or(&empty);
    let (message, reason) = (status.string("message"), status.string("reason"));
    let text = match (message, reason) {
        ("", "") => " without explanation".to_owned(),
        ("", text) | (text, _) => format!(": {text}"),
    };
    let message = format!(
        "admission webhook {} denied the request{text}",
        quote(webhook)
    );
    // A refusal with a code of success would look like a success to the client.
    let code = status
        .get("code")
        .and_then(Value::as_i64)
        .unwrap_or(0)
        .max(400);
    let code = u16::try_from(code).unwrap_or(u16::MAX).min(999);
    let own = match status.string("status") {
        "" | "Success" => "Failure",
        other => other,
    };

    // The answer has this number as its header `Retry-After` too.
    let retry = status
        .get("details")
        .and_then(|details| details.get("retryAfterSeconds"));
    let retry = retry.and_then(Value::as_i64).unwrap_or(0);
    let field = |name: &str| status.get(name).filter(|value| !value.is_null()).cloned();
    let body = [
        Some(("kind", "Status".into())),
        Some(("apiVersion", "v1".into())),
        Some(("metadata", field("metadata").unwrap_or_else(|| map([])))),
        Some(("status", own.into())),
        Some(("message", message.clone().into())),
        (!reason.is_empty()).then(|| ("reason", reason.into())),
        field("details").map(|details| ("details", details)),
        Some(("code", i64::from(code).into())),
    ];
    Denial {
        body: Some(map(body.into_iter().flatten())),
        retry_after: u32::try_from(retry).unwrap_or(0),
        ..Denial::from(Status::failure(code, "", message, None))
    }
}
