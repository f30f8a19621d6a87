//! Reviews that webhooks answer.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::internal::{ObjectExt, json_kind};
use fieldmanager_value::Value;

use crate::patch::read_json;

/// What a message calls the type and the version of an object that it cannot read.
const TYPE_META: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Reads the answer of a webhook, JSON or YAML, as a review of a kind. `fields` has a line for each field that is checked
/// unless it is absent or null: its path, the type that has it, its kind in JSON, and its type in messages.
///
/// # Errors
///
/// The words of kube-apiserver, but for JSON that does not parse.
///
/// Behaviour: `Result.Into` of `k8s.io/client-go/rest` with the codec of `k8s.io/apiserver/pkg/util/webhook`.
pub(crate) fn decode(
    body: &[u8],
    expected: &GroupVersionKind,
    fields: &str,
) -> Result<Value, String> {
    if body.is_empty() {
        let text = "0-length response with status code: 200 and content type: application/json";
        return Err(text.to_owned());
    }

    let failed = |text: String| format!("couldn't get version/kind; json parse error: {text}");
    // kube-apiserver takes what begins with a brace for JSON, and all else for YAML.
    let review = if body.trim_ascii_start().starts_with(b"{") {
        read_json(body).map_err(failed)?
    } else {
        let text = std::str::from_utf8(body).map_err(|error| failed(error.to_string()))?;
        Value::from_yaml(text).map_err(|error| failed(error.to_string()))?
    };
    if !matches!(review, Value::Map(_) | Value::Null) {
        let found = json_kind(&review);
        return Err(failed(format!(
            "json: cannot unmarshal {found} into Go value of type {TYPE_META}"
        )));
    }

    check_kind(&review, expected)?;
    // Like the decoder of Go, report one wrong field.
    for field in fields.lines() {
        let words: Vec<&str> = field.split_whitespace().collect();
        let [path, owner, kind, name] = words.as_slice() else {
            continue;
        };
        let value = path
            .split('.')
            .try_fold(&review, |value, name| value.get(name));
        let found = json_kind(value.unwrap_or(&Value::Null));
        if found != "null" && found != *kind {
            return Err(format!(
                "json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {name}"
            ));
        }
    }
    Ok(review)
}

/// Whether what an answer declares can be read as a kind. Absent parts are those of the kind.
fn check_kind(review: &Value, expected: &GroupVersionKind) -> Result<(), String> {
    let or = |text: &str, other: &str| {
        if text.is_empty() {
            other.to_owned()
        } else {
            text.to_owned()
        }
    };
    let kind = or(review.string("kind"), &expected.kind);
    let api_version = or(review.api_version(), &expected.api_version());
    let found = GroupVersionKind::from_api_version_kind(&api_version, &kind);
    if found == *expected {
        return Ok(());
    }

    let group = &expected.group;
    // Known kinds can be read but not converted, unknown ones not even read: two messages.
    let is_known = match kind.as_str() {
        "Status" => {
            found.version.as_str() == "v1"
                && (found.group == *group || found.group.as_str().is_empty())
        }
        _ => {
            found.kind == expected.kind
                && found.group == *group
                && matches!(found.version.as_str(), "v1" | "v1beta1")
        }
    };
    if is_known {
        let (from, to) = (&found.version, expected);
        return Err(format!(
            "converting ({from}.{kind}) to ({}.{}): unknown conversion",
            to.version, to.kind
        ));
    }
    Err(unregistered(&kind, &api_version))
}

/// What kube-apiserver says about a kind that it does not know.
pub(super) fn unregistered(kind: &str, api_version: &str) -> String {
    format!(
        "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\""
    )
}
