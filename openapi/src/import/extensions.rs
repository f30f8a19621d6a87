//! The extensions that determine the ownership of lists and maps.

use fieldmanager_schema::internal::Relationship;
use fieldmanager_value::{Map, Str, Value};

/// The relationship of a list to its items, and its keys.
pub(super) type ListRelationship = (Relationship, Vec<Str>);

/// A fault of an extension: its name and the message.
pub(super) type ExtensionFault = (&'static str, String);

pub(super) const LIST_TYPE: &str = "x-kubernetes-list-type";
pub(super) const LIST_MAP_KEYS: &str = "x-kubernetes-list-map-keys";
pub(super) const MAP_TYPE: &str = "x-kubernetes-map-type";
pub(super) const PATCH_STRATEGY: &str = "x-kubernetes-patch-strategy";
pub(super) const PATCH_MERGE_KEY: &str = "x-kubernetes-patch-merge-key";
pub(super) const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

/// Formats a value for a message; strings have no quotes.
fn shown(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_json(), str::to_owned)
}

/// The relationship of a list: from the list type, or else from the patch strategy, which is all that older documents
/// have.
pub(super) fn list(schema: &Map) -> Result<ListRelationship, ExtensionFault> {
    if let Some(kind) = schema.get(LIST_TYPE) {
        return match kind.as_str() {
            Some("atomic") => Ok((Relationship::Atomic, Vec::new())),
            Some("set") => Ok((Relationship::Associative, Vec::new())),
            Some("map") => Ok((Relationship::Associative, keys(schema)?)),
            _ => Err((
                LIST_TYPE,
                format!(
                    "unknown list type `{}`: atomic, set and map are accepted",
                    shown(kind)
                ),
            )),
        };
    }

    // Without a list type, the strategy of patches tells how the list is merged.
    let Some(strategy) = schema.get(PATCH_STRATEGY) else {
        return Ok((Relationship::Atomic, Vec::new()));
    };
    match strategy.as_str() {
        // Without a key, the list is a set.
        Some("merge" | "merge,retainKeys") => match schema.get(PATCH_MERGE_KEY) {
            None => Ok((Relationship::Associative, Vec::new())),
            Some(Value::String(key)) => Ok((Relationship::Associative, vec![key.into()])),
            Some(other) => Err((
                PATCH_MERGE_KEY,
                format!("expected string, got {}", other.kind()),
            )),
        },
        Some("retainKeys") => Ok((Relationship::Atomic, Vec::new())),
        _ => Err((
            PATCH_STRATEGY,
            format!(
                "unknown patch strategy `{}`: merge, retainKeys and merge,retainKeys are accepted",
                shown(strategy)
            ),
        )),
    }
}

fn keys(schema: &Map) -> Result<Vec<Str>, ExtensionFault> {
    match schema.get(LIST_MAP_KEYS) {
        None => Err((
            LIST_TYPE,
            format!("a list of type map needs its keys in {LIST_MAP_KEYS}"),
        )),
        Some(Value::List(keys)) => keys
            .iter()
            .map(|key| match key {
                Value::String(key) => Ok(key.into()),
                other => Err((
                    LIST_MAP_KEYS,
                    format!("expected strings, got {}", other.kind()),
                )),
            })
            .collect(),
        Some(other) => Err((
            LIST_MAP_KEYS,
            format!("expected list, got {}", other.kind()),
        )),
    }
}

/// The relationship of a map; `None` if the schema has none.
pub(super) fn map(schema: &Map) -> Result<Option<Relationship>, ExtensionFault> {
    match schema.get(MAP_TYPE) {
        None => Ok(None),
        Some(Value::String(kind)) if *kind == "atomic" => Ok(Some(Relationship::Atomic)),
        Some(Value::String(kind)) if *kind == "granular" => Ok(Some(Relationship::Separable)),
        Some(other) => Err((
            MAP_TYPE,
            format!(
                "unknown map type `{}`: atomic and granular are accepted",
                shown(other)
            ),
        )),
    }
}
