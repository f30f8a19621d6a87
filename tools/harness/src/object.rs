//! The metadata of objects.

use fieldmanager_value::{Str, Value};

/// An object with parts of its metadata set or removed. The names are sorted.
pub fn with_metadata<'n>(
    object: &Value,
    edits: impl IntoIterator<Item = (&'n str, Option<Value>)>,
) -> Value {
    let Value::Map(fields) = object else {
        return object.clone();
    };
    let before = fields.get("metadata").and_then(Value::as_map).cloned();
    let edits = edits
        .into_iter()
        .map(|(name, value)| (Str::from(name), value));
    let metadata = before.unwrap_or_default().with_edits(edits.collect());
    Value::Map(fields.with_edits(vec![("metadata".into(), Some(Value::Map(metadata)))]))
}
