//! JSON as both sides use it.

use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

/// Converts JSON to a value of the library through its serialized form, as a program that reads requests does.
pub(crate) fn own(json: &Json) -> Value {
    Value::from_json(&json.to_string()).unwrap_or_default()
}

/// A value of the library as JSON.
pub(crate) fn back(value: &Value) -> Json {
    serde_json::from_str(&value.to_json()).unwrap_or_default()
}

/// A member; null if it is absent.
pub(crate) fn member<'a>(value: &'a Json, name: &str) -> &'a Json {
    value.get(name).unwrap_or(&Json::Null)
}

/// A member that is a string; empty if it is not.
pub(crate) fn text<'a>(value: &'a Json, name: &str) -> &'a str {
    value.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// A member that is a boolean; false if it is not.
pub(crate) fn flag(value: &Json, name: &str) -> bool {
    value.get(name).and_then(Json::as_bool).unwrap_or_default()
}

/// The items of a member that is a list; empty if it is not.
pub(crate) fn items<'a>(value: &'a Json, name: &str) -> &'a [Json] {
    value.get(name).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The entries of managed fields of an object.
pub(crate) fn entries(object: &Json) -> &[Json] {
    items(member(object, "metadata"), "managedFields")
}

/// Sets a member of an object.
pub(crate) fn set(object: &mut Json, name: &str, value: impl Into<Json>) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value.into());
    }
}

/// Removes the value at a pointer. Returns whether there was one.
pub(crate) fn remove_pointer(object: &mut Json, pointer: &str) -> bool {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return false };
    match object.pointer_mut(parent) {
        Some(Json::Object(members)) => members.remove(&last.replace("~1", "/").replace("~0", "~")).is_some(),
        Some(Json::Array(items)) => match last.parse().ok().filter(|at| *at < items.len()) {
            Some(at) => {
                items.remove(at);
                true
            }
            None => false,
        },
        _ => false,
    }
}

/// The entries of managed fields of an object, to change them.
pub(crate) fn entries_mut(object: &mut Json) -> Option<&mut Vec<Json>> {
    object.pointer_mut("/metadata/managedFields").and_then(Json::as_array_mut)
}

/// A value with all names and strings changed.
pub(crate) fn with_strings(value: &Json, change: &dyn Fn(&str) -> String) -> Json {
    match value {
        Json::String(text) => change(text).into(),
        Json::Array(items) => items.iter().map(|item| with_strings(item, change)).collect(),
        Json::Object(members) => {
            let members = members.iter().map(|(name, value)| (change(name), with_strings(value, change)));
            Json::Object(members.collect())
        }
        _ => value.clone(),
    }
}

/// Removes empty lists and maps, at any depth.
pub(crate) fn drop_empty(value: &mut Json) {
    let is_empty = |value: &Json| *value == json!({}) || *value == json!([]);
    match value {
        Json::Object(members) => {
            members.values_mut().for_each(drop_empty);
            members.retain(|_, value| !is_empty(value));
        }
        Json::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

/// Whether two JSON values are equal, with numbers compared as numbers.
pub(crate) fn same_value(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(a), Json::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_f64() == b.as_f64(),
        },
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(left, right)| same_value(left, right))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, left)| b.get(key).is_some_and(|right| same_value(left, right)))
        }
        _ => left == right,
    }
}
