//! The placeholder of the name of the object in steps.

use serde_json::{Map as JsonMap, Value as Json};

/// The placeholder of the name of the object.
pub(super) const NAME: &str = "%NAME%";

/// A value with the name of the object instead of its placeholder.
pub(super) fn named(value: &Json, name: &str) -> Json {
    match value {
        Json::String(text) if text.contains(NAME) => Json::String(text.replace(NAME, name)),
        Json::Array(items) => items.iter().map(|item| named(item, name)).collect(),
        Json::Object(members) => {
            let members = members.iter();
            members
                .map(|(key, value)| (key.replace(NAME, name), named(value, name)))
                .collect::<JsonMap<_, _>>()
                .into()
        }
        _ => value.clone(),
    }
}
