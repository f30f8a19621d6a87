//! Parts of objects.

use fieldmanager_value::{Map, Str, Value};

/// A string below an object; empty if there is none.
pub(crate) fn text<'v>(object: &'v Value, path: &[&str]) -> &'v str {
    path.iter().try_fold(object, |value, name| value.get(name)).and_then(Value::as_str).unwrap_or_default()
}

/// An object with a field of its metadata set or removed.
pub(crate) fn with_metadata(object: &Value, name: &str, value: Option<Value>) -> Value {
    let Value::Map(fields) = object else { return object.clone() };
    let mut metadata = match fields.get("metadata") {
        Some(Value::Map(metadata)) => metadata.clone(),
        _ => Map::new(),
    };
    match value {
        Some(value) => metadata.insert(Str::from(name), value),
        None => metadata.remove(name),
    };
    let mut fields = fields.clone();
    fields.insert("metadata", Value::Map(metadata));
    Value::Map(fields)
}

/// The object with a field of a map of it.
pub(crate) fn with_field(object: &Value, map: &str, name: &str, value: Value) -> Value {
    let Value::Map(fields) = object else { return object.clone() };
    let mut inner = fields.get(map).and_then(Value::as_map).cloned().unwrap_or_else(Map::new);
    inner.insert(name, value);
    let mut fields = fields.clone();
    fields.insert(map, Value::Map(inner));
    Value::Map(fields)
}
