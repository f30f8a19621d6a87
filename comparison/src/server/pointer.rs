//! Changes of JSON: merge patches, and values at pointers.

use serde_json::{Value as Json, json};

/// A JSON merge patch.
pub(super) fn merge(object: &mut Json, patch: &Json) {
    let Json::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    // A merge patch of anything but an object creates one (RFC 7386).
    if !object.is_object() {
        *object = json!({});
    }

    if let Json::Object(members) = object {
        for (name, value) in patch {
            if value.is_null() {
                members.remove(name);
            } else {
                merge(members.entry(name.clone()).or_insert(Json::Null), value);
            }
        }
    }
}

/// Splits a JSON pointer into its names.
fn names(pointer: &str) -> Vec<String> {
    pointer
        .split('/')
        .skip(1)
        .map(|name| name.replace("~1", "/").replace("~0", "~"))
        .collect()
}

/// Sets the value at a pointer, and makes the objects on the way to it. The end of a list is not extended.
pub(super) fn set_pointer(object: &mut Json, pointer: &str, value: &Json) {
    let mut at = object;
    for name in names(pointer) {
        // A value may be set inside of a member that the object lacks.
        if at.is_null() {
            *at = json!({});
        }
        let next = match at {
            Json::Object(members) => Some(members.entry(name).or_insert(Json::Null)),
            Json::Array(items) => name
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get_mut(index)),
            _ => None,
        };
        let Some(next) = next else { return };
        at = next;
    }
    *at = value.clone();
}
