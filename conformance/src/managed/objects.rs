//! Objects as in requests: with kind, name and version, and with the field names of that version.

use serde_json::{Map as JsonMap, Value, json};

use super::kinds::Kind;
use crate::generate::random::Random;
use crate::generate::types::Names;

/// A version of the kind, and the fields of `spec` whose names differ from those of the hub.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    /// With its group: `example.com/v1`.
    pub(crate) name: String,
    pub(crate) names: Names,
}

impl Version {
    /// The names as JSON.
    pub(crate) fn renames(&self) -> JsonMap<String, Value> {
        self.names.iter().map(|(old, new)| (old.clone(), json!(new))).collect()
    }
}

/// An `apiVersion`.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// The object at a version, with the fields that every object has.
pub(crate) fn dressed(object: &Value, kind: &Kind, version: &Version, uid: Option<&str>) -> Value {
    let mut members = object.as_object().cloned().unwrap_or_default();
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
    let Some(members) = object.as_object_mut() else { return };
    let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
    match rng.below(9) {
        0 => put("kind", json!("Other")),
        1 => put("apiVersion", json!("v7")),
        2 => put("apiVersion", json!("other.com/v1")),
        3 => put("apiVersion", json!(1)),
        4 => put("apiVersion", json!("a/b/c")),
        5 => put("kind", Value::Null),
        6 => members.remove("kind"),
        7 => put("metadata", json!(null)),
        _ => members.remove("apiVersion"),
    };
}
