//! The comparison of Go's and the library's answer to one write.
//!
//! - The object: completely, with the order of lists; numbers as numbers.
//! - `metadata.managedFields`: entry by entry in order, with times and FieldsV1. The oracle writes FieldsV1 with sorted
//!   keys; op `entries` compares the order of the serialized form.
//! - A Status: all of it. Go returns causes of several managers in random order, so they are sorted by manager.
//! - Another error: the operation and its object (`failed to create typed patch object (ns/name; kind)`). The cause is
//!   worded differently. The code is 400 here if the client can correct the fault; Go has no code.

use serde_json::{Value, json};

use crate::json::{same_value, text};

/// The part that differs between two answers to a step; `None` if they agree.
pub(super) fn differs(reference: &Value, ours: &Value) -> Option<&'static str> {
    if reference.get("panic").is_some() {
        return Some("panic");
    }
    if ours.get("before").is_some() {
        // Invalid versions are refused before the field manager runs.
        let failed = reference.get("error").is_some() || reference.get("status").is_some();
        return (!failed).then_some("before");
    }

    // The object comes first: if it differs, its managed fields usually differ for the same reason.
    match (reference.get("live"), ours.get("live")) {
        (Some(theirs), Some(ours)) => {
            let lists = [theirs, ours].map(|object| object.pointer("/metadata/managedFields"));
            if !same_value(&without_entries(theirs), &without_entries(ours)) {
                return Some("object");
            }
            return (lists[0] != lists[1]).then_some("managedFields");
        }
        (None, None) => {}
        _ => return Some("outcome"),
    }

    let Some(status) = ours.get("status") else {
        return Some("outcome");
    };
    if let Some(theirs) = reference.get("status") {
        return (!same_status(theirs, status)).then_some("status");
    }
    // An error without a status has no code in Go, so only what it says about the step is compared.
    let theirs = text(reference, "error");
    let message = text(status, "message");

    (doing(theirs) != doing(message)).then_some("error")
}

fn without_entries(object: &Value) -> Value {
    let mut out = object.clone();
    if let Some(metadata) = out.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    out
}

/// Whether a Status of Go and one of the library are equivalent.
pub(crate) fn same_status(theirs: &Value, ours: &Value) -> bool {
    comparable(theirs) == comparable(ours)
}

/// A Status without the members that Go's response writer sets, and with its causes in a fixed order.
fn comparable(status: &Value) -> Value {
    let mut out = status.clone();
    if let Some(members) = out.as_object_mut() {
        members.remove("kind");
        members.remove("apiVersion");
    }

    if let Some(causes) = out
        .pointer_mut("/details/causes")
        .and_then(Value::as_array_mut)
    {
        causes.sort_by_key(|cause| cause.get("message").map(ToString::to_string));
    }
    out
}

/// The operation and its object; `merge` if the message does not name one.
pub(super) fn doing(error: &str) -> &str {
    let error = error
        .strip_prefix("failed to create manager for existing fields: ")
        .unwrap_or(error);
    // The rest of this message is the cause, which is worded differently.
    if error.starts_with("failed to decode managed fields") {
        return "failed to decode managed fields";
    }

    match error.find("): ") {
        Some(end)
            if error.starts_with("failed to ")
                && !error.starts_with("failed to update ManagedFields") =>
        {
            error.get(..end).unwrap_or(error)
        }
        _ => "merge",
    }
}

/// The outcome of a step, for counting.
pub(super) fn outcome(reference: &Value) -> String {
    if let Some(code) = reference.pointer("/status/code") {
        return format!("status {code}");
    }
    match reference.get("error").and_then(Value::as_str) {
        Some(error) => {
            let doing = doing(error);
            format!("error: {}", doing.split(" (").next().unwrap_or(doing))
        }
        None if reference.get("live").is_some() => "success".to_owned(),
        None => "panic".to_owned(),
    }
}

/// The relevant part of an answer, for reports.
pub(super) fn shown(what: &str, answer: &Value) -> Value {
    match (what, answer.get("live")) {
        ("managedFields", Some(live)) => live
            .pointer("/metadata/managedFields")
            .cloned()
            .unwrap_or(json!(null)),
        _ => answer.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_causes_of_several_managers_is_ignored() {
        let status = |first: &str, second: &str| {
            let cause = |manager: &str| json!({"message": format!("conflict with {manager}"), "field": ".a"});
            json!({"status": {"code": 409, "details": {"causes": [cause(first), cause(second)]}}})
        };
        assert_eq!(differs(&status("a", "b"), &status("b", "a")), None);
        assert_eq!(
            differs(&status("a", "b"), &status("a", "a")),
            Some("status")
        );
    }

    #[test]
    fn entries_are_compared_in_order() {
        let live = |first: i32, second: i32| json!({"live": {"metadata": {"managedFields": [first, second]}}});
        assert_eq!(differs(&live(1, 2), &live(1, 2)), None);
        assert_eq!(differs(&live(1, 2), &live(2, 1)), Some("managedFields"));
    }

    #[test]
    fn errors_are_compared_by_operation_and_object() {
        let theirs =
            json!({"error": "failed to create typed patch object (/x; v1, Kind=A): .spec: odd"});
        let ours = |message: &str| json!({"status": {"code": 400, "message": message}});
        assert_eq!(
            differs(
                &theirs,
                &ours("failed to create typed patch object (/x; v1, Kind=A): bad")
            ),
            None
        );
        assert_eq!(
            differs(
                &theirs,
                &ours("failed to create typed live object (/x; v1, Kind=A): bad")
            ),
            Some("error")
        );
    }
}
