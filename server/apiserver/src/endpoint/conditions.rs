//! Conditions in the status of objects.

use fieldmanager_value::Value;

use crate::object::{text, with_field};

/// The conditions of an object.
pub(super) fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    let status = object.get("status");
    let conditions = status.and_then(|status| status.get("conditions")?.as_list());
    conditions.into_iter().flatten()
}

/// The condition of a type.
pub(super) fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    conditions(object).find(|condition| text(condition, &["type"]) == kind)
}

/// Whether an object has a condition of a type that is true.
pub(super) fn has_condition(object: &Value, kind: &str) -> bool {
    conditions(object).any(|condition| {
        text(condition, &["type"]) == kind && text(condition, &["status"]) == "True"
    })
}

/// The time at which a condition got its status; `None` if it has another one.
pub(super) fn since(condition: Option<&Value>, status: &str) -> Option<Value> {
    condition
        .filter(|condition| text(condition, &["status"]) == status)
        .and_then(|condition| condition.get("lastTransitionTime"))
        .cloned()
}

/// The object with a condition in place of the one of its type, which `make` gets.
pub(super) fn with_condition(
    object: &Value,
    kind: &str,
    make: impl FnOnce(Option<&Value>) -> Value,
) -> Value {
    let mut all: Vec<Value> = conditions(object).cloned().collect();
    let old = all
        .iter_mut()
        .find(|condition| text(condition, &["type"]) == kind);
    match old {
        Some(old) => *old = make(Some(old)),
        None => all.push(make(None)),
    }

    let all = Value::List(all.into_iter().collect());
    with_field(object, "status", "conditions", all)
}
