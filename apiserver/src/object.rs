//! Parts of objects.

use fieldmanager_value::{List, Map, Str, Value};

/// The finalizer of an object whose dependents are deleted before it.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents remain.
pub(crate) const ORPHAN: &str = "orphan";

/// A string below an object; empty if there is none.
pub(crate) fn text<'v>(object: &'v Value, path: &[&str]) -> &'v str {
    path.iter().try_fold(object, |value, name| value.get(name)).and_then(Value::as_str).unwrap_or_default()
}

/// `deployments.apps`: a resource or a kind with its group, which is empty for the core group.
pub(crate) fn in_group(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

/// A map from its fields, as a value.
pub(crate) fn map<'n>(named: impl IntoIterator<Item = (&'n str, Value)>) -> Value {
    Value::Map(fields(named))
}

/// A map from its fields.
pub(crate) fn fields<'n>(named: impl IntoIterator<Item = (&'n str, Value)>) -> Map {
    named.into_iter().map(|(name, value)| (Str::from(name), value)).collect()
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

/// A field of the metadata, unless it is null.
pub(crate) fn metadata<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object.get("metadata").and_then(|metadata| metadata.get(name)).filter(|value| !value.is_null())
}

/// Whether an object was deleted, and waits for its finalizers or its grace period.
pub(crate) fn is_terminating(object: &Value) -> bool {
    metadata(object, "deletionTimestamp").is_some()
}

/// The finalizers in the metadata of an object.
pub(crate) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let list = metadata(object, "finalizers").and_then(Value::as_list);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// Whether an object has a finalizer.
pub(crate) fn has_finalizer(object: &Value, name: &str) -> bool {
    finalizers(object).any(|finalizer| finalizer == name)
}

/// The object without a finalizer.
pub(crate) fn without_finalizer(object: &Value, finalizer: &str) -> Value {
    edit_list(object, "metadata", "finalizers", |item| {
        (item.as_str() != Some(finalizer)).then(|| item.clone())
    })
}

/// Replaces the items of a list, and removes the list if it becomes empty.
pub(crate) fn edit_list(
    object: &Value,
    parent: &str,
    name: &str,
    edit: impl FnMut(&Value) -> Option<Value>,
) -> Value {
    let map = |value: Option<&Value>| value.and_then(Value::as_map).cloned().unwrap_or_default();
    let mut object: Map = map(Some(object));
    let mut fields: Map = map(object.get(parent));
    let items = fields.get(name).and_then(Value::as_list);
    let items: List = items.into_iter().flatten().filter_map(edit).collect();
    if items.is_empty() {
        fields.remove(name);
    } else {
        fields.insert(name, Value::List(items));
    }
    object.insert(parent, Value::Map(fields));
    Value::Map(object)
}

/// Whether a list below an object has items.
pub(crate) fn has_items(object: &Value, path: &[&str]) -> bool {
    let list = path.iter().try_fold(object, |value, name| value.get(name)).and_then(Value::as_list);
    list.is_some_and(|list| !list.is_empty())
}
