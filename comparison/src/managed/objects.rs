//! Objects as in requests: with kind, name and version, and with the field names of that version.

use serde_json::{Value, json};

use super::kinds::{ObjectKind, TEMPLATES, Version};
use crate::generate::random::Random;
use crate::json::merge;

/// An `apiVersion`.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// The object at a version, with the fields that every object has.
pub(crate) fn dressed(
    object: &Value,
    kind: &ObjectKind,
    version: &Version,
    uid: Option<&str>,
) -> Value {
    let mut members = object.as_object().cloned().unwrap_or_default();
    // Generators know the names of the hub alone; only fields of `spec` are renamed.
    if !version.names.is_empty()
        && let Some(Value::Object(spec)) = members.get_mut("spec")
    {
        *spec = std::mem::take(spec)
            .into_iter()
            .map(|(name, value)| (version.names.get(&name).cloned().unwrap_or(name), value))
            .collect();
    }

    members.insert("apiVersion".to_owned(), json!(version.name));
    members.insert("kind".to_owned(), json!(kind.kind));
    // Null metadata stays: writing to it has no effect, as in Go.
    if let Value::Object(metadata) = members.entry("metadata").or_insert_with(|| json!({})) {
        metadata.insert("name".to_owned(), json!("x"));
        if let Some(uid) = uid {
            metadata.insert("uid".to_owned(), json!(uid));
        }
    }

    Value::Object(members)
}

/// Sets a member of the metadata of an object, if that is a map.
pub(crate) fn set_metadata(object: &mut Value, member: &str, value: Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.insert(member.to_owned(), value);
    }
}

/// Sets an annotation of an object.
pub(crate) fn annotate(object: &mut Value, name: &str, text: &str) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if !annotations.is_object() {
            *annotations = json!({});
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(name.to_owned(), json!(text));
        }
    }
}

/// Makes the kind, version or name of an object invalid.
pub(crate) fn mislabel(rng: &mut Random, object: &mut Value) {
    merge(object, TEMPLATES.part(rng, "mislabel", 0));
}
