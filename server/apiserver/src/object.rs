//! Parts of objects.

use fieldmanager_managedfields::Status;
use fieldmanager_value::{List, Map, Str, Value};

/// The finalizer of an object whose dependents are deleted before it.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents remain.
pub(crate) const ORPHAN: &str = "orphan";

/// A string below an object; empty if there is none.
pub(crate) fn text<'v>(object: &'v Value, path: &[&str]) -> &'v str {
    path.iter()
        .try_fold(object, |value, name| value.get(name))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// `deployments.apps`: a resource or a kind with its group, which is empty for the core group.
pub(crate) fn in_group(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{group}")
    }
}

/// A map from its fields, as a value.
pub(crate) fn map<'n>(named: impl IntoIterator<Item = (&'n str, Value)>) -> Value {
    Value::Map(fields(named))
}

/// A map from its fields.
pub(crate) fn fields<'n>(named: impl IntoIterator<Item = (&'n str, Value)>) -> Map {
    named
        .into_iter()
        .map(|(name, value)| (Str::from(name), value))
        .collect()
}

/// An object with a field of its metadata set or removed.
pub(crate) fn with_metadata(object: &Value, name: &str, value: Option<Value>) -> Value {
    let Value::Map(fields) = object else {
        return object.clone();
    };
    let mut metadata = match fields.get("metadata") {
        Some(Value::Map(metadata)) => metadata.clone(),
        _ => Map::new(),
    };
    match value {
        Some(value) => metadata.insert(Str::from(name), value),
        None => metadata.remove(name),
    };

    with(object, "metadata", metadata)
}

/// A `Status` as a value.
pub(crate) fn to_value(status: &Status) -> Value {
    let json = serde_json::to_value(status).unwrap_or_default();
    serde_json::from_value(json).unwrap_or_default()
}

/// The object at a revision.
pub(crate) fn at_revision(object: &Value, revision: impl ToString) -> Value {
    with_metadata(object, "resourceVersion", Some(revision.to_string().into()))
}

/// The object with a field set.
pub(crate) fn with(object: &Value, name: &str, value: impl Into<Value>) -> Value {
    let mut fields = object.as_map().cloned().unwrap_or_default();
    fields.insert(name, value.into());
    Value::Map(fields)
}

/// The object with a field of a map of it.
pub(crate) fn with_field(object: &Value, map: &str, name: &str, value: Value) -> Value {
    match object {
        Value::Map(fields) => with(
            object,
            map,
            with(fields.get(map).unwrap_or(&Value::Null), name, value),
        ),
        _ => object.clone(),
    }
}

/// A field of the metadata, unless it is null.
pub(crate) fn metadata<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(name))
        .filter(|value| !value.is_null())
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
    let mut fields = object
        .get(parent)
        .and_then(Value::as_map)
        .cloned()
        .unwrap_or_default();
    let items = fields.get(name).and_then(Value::as_list);
    let items: List = items.into_iter().flatten().filter_map(edit).collect();

    if items.is_empty() {
        fields.remove(name);
    } else {
        fields.insert(name, Value::List(items));
    }
    with(object, parent, fields)
}

/// Whether a list below an object has items.
pub(crate) fn has_items(object: &Value, path: &[&str]) -> bool {
    let list = path
        .iter()
        .try_fold(object, |value, name| value.get(name))
        .and_then(Value::as_list);
    list.is_some_and(|list| !list.is_empty())
}
