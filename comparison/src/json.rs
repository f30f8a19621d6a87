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
    value
        .get(name)
        .and_then(Json::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// The strings of a member that is a list.
pub(crate) fn strings<'a>(value: &'a Json, name: &str) -> impl Iterator<Item = &'a str> {
    items(value, name).iter().filter_map(Json::as_str)
}

/// The members of a member that is an object; none if it is not.
pub(crate) fn members<'a>(
    value: &'a Json,
    name: &str,
) -> impl Iterator<Item = (&'a String, &'a Json)> {
    member(value, name).as_object().into_iter().flatten()
}

/// The items of a list, or the values of an object.
pub(crate) fn children(value: &Json) -> Box<dyn Iterator<Item = &Json> + '_> {
    match value {
        Json::Array(items) => Box::new(items.iter()),
        Json::Object(members) => Box::new(members.values()),
        _ => Box::new(std::iter::empty()),
    }
}

/// The items of a list, or the values of an object, to change them.
pub(crate) fn children_mut(value: &mut Json) -> Box<dyn Iterator<Item = &mut Json> + '_> {
    match value {
        Json::Array(items) => Box::new(items.iter_mut()),
        Json::Object(members) => Box::new(members.values_mut()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Whether a value, or a part of it at any depth, has a property.
pub(crate) fn any(value: &Json, property: &dyn Fn(&Json) -> bool) -> bool {
    property(value) || children(value).any(|child| any(child, property))
}

/// Changes a value and all parts of it, what is inside first.
pub(crate) fn each(value: &mut Json, change: &mut dyn FnMut(&mut Json)) {
    children_mut(value).for_each(|child| each(child, change));
    change(value);
}

/// A value after a change of all its parts.
pub(crate) fn with_each(value: &Json, mut change: impl FnMut(&mut Json)) -> Json {
    let mut out = value.clone();
    each(&mut out, &mut change);
    out
}

/// The pointers to the parts of a value, each behind those to its own parts. The value itself is not one.
pub(crate) fn places(value: &Json) -> Vec<(String, &Json)> {
    fn collect<'a>(value: &'a Json, place: &str, out: &mut Vec<(String, &'a Json)>) {
        for (name, child) in named_children(value) {
            let place = format!("{place}/{name}");
            collect(child, &place, out);
            out.push((place, child));
        }
    }
    let mut out = Vec::new();
    collect(value, "", &mut out);
    out
}

/// The items of a list or the members of an object, each with its name in a pointer.
pub(crate) fn named_children(value: &Json) -> Vec<(String, &Json)> {
    match value {
        Json::Object(members) => members
            .iter()
            .map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, item)| (at.to_string(), item))
            .collect(),
        _ => Vec::new(),
    }
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
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return false;
    };
    // Cuts of a shrunk case may be gone already, so a missing place is no error.
    match object.pointer_mut(parent) {
        Some(Json::Object(members)) => members
            .remove(&last.replace("~1", "/").replace("~0", "~"))
            .is_some(),
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
    object
        .pointer_mut("/metadata/managedFields")
        .and_then(Json::as_array_mut)
}

/// A value with all names and strings changed.
pub(crate) fn with_strings(value: &Json, change: &dyn Fn(&str) -> String) -> Json {
    with_each(value, |part| match part {
        Json::String(text) => *text = change(text),
        Json::Object(members) => {
            // Two names can become one; the later member stays.
            let old = std::mem::take(members).into_iter();
            members.extend(old.map(|(name, value)| (change(&name), value)));
        }
        _ => {}
    })
}

/// Removes members that are empty lists and maps, at any depth.
pub(crate) fn drop_empty(value: &mut Json) {
    let is_empty = |value: &Json| *value == json!({}) || *value == json!([]);
    each(value, &mut |value| {
        if let Json::Object(members) = value {
            members.retain(|_, value| !is_empty(value));
        }
    });
}

/// Removes a member of an object.
pub(crate) fn unset(object: &mut Json, name: &str) -> Option<Json> {
    object.as_object_mut()?.remove(name)
}

/// Adds the members of one object to another one; a member `@gone` is removed.
pub(crate) fn merge(object: &mut Json, changes: Json) {
    for (name, value) in changes.as_object().into_iter().flatten() {
        match value.as_str() {
            Some("@gone") => drop(unset(object, name)),
            _ => set(object, name, value.clone()),
        }
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
                && a.iter()
                    .all(|(key, left)| b.get(key).is_some_and(|right| same_value(left, right)))
        }
        _ => left == right,
    }
}
