//! The parts of an object that its managers own.

use fieldmanager_fieldpath::{PathElement, Set};
use fieldmanager_schema::Type;
use fieldmanager_typed::{Duplicates, KeyFields, TypedValue};
use fieldmanager_value::internal::escape_untrusted;
use fieldmanager_value::{List, Map, Value};

use crate::object::with_metadata;

/// The metadata of which managers own nothing, sorted.
const SERVER_FIELDS: [&str; 7] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "uid",
];

/// The number of keys of one object that are looked at.
const MAX_KEYS: usize = 100;

/// A state of a server as a value of a type, without its managed fields.
pub(super) fn typed(object: &Value, ty: &Type) -> Result<TypedValue, String> {
    let object = without_metadata(object, &["managedFields"]);
    let typed = TypedValue::new(object, ty.clone(), Duplicates::Allow);
    typed.map_err(|error| escape_untrusted(&error.to_string()).into_owned())
}

/// The part of an object that a set names, with what identifies its type.
pub(super) fn part(object: &Value, fields: &Set, ty: &Type) -> Result<Value, String> {
    let typed = typed(object, ty)?;
    let leaves = fields.leaves();
    let own = typed.extract_items(&leaves, KeyFields::AsGiven);
    let own = if has_fields(&own, &leaves, ty) {
        own
    } else {
        with_keys(&typed, &leaves, ty)
    };
    let missing = leaves.difference(&own.field_set().leaves());
    let of_fields = missing
        .paths()
        .filter(|path| path.iter().all(|element| element.as_field().is_some()));

    let with_empty = of_fields.fold(own.into_value(), |own, path| {
        with_container(&own, Some(object), &path)
    });
    let mut part = match with_empty {
        Value::Map(part) => part,
        _ => Map::new(),
    };
    for name in ["apiVersion", "kind"] {
        part.insert(name, object.get(name).cloned().unwrap_or_default());
    }

    Ok(Value::Map(part))
}

/// An object as a scenario has it: without the fields that the server sets, and without the name.
pub(super) fn without_server_fields(object: &Value) -> Value {
    without_metadata(object, &SERVER_FIELDS)
}

/// The part of an object that a set names, with the keys of items that no manager owns. A key that is a default stays
/// away: it identifies the item as it is.
fn with_keys(object: &TypedValue, leaves: &Set, ty: &Type) -> TypedValue {
    let mut part = object.extract_items(leaves, KeyFields::Append);
    for key in part
        .field_set()
        .leaves()
        .difference(leaves)
        .paths()
        .take(MAX_KEYS)
    {
        let mut known = Set::new();
        known.insert(&key);
        let without = part.remove_items(&known);
        if has_fields(&without, &part.field_set().leaves().difference(&known), ty) {
            part = without;
        }
    }

    part
}

/// Whether a value is valid and has exactly some leaves.
fn has_fields(value: &TypedValue, leaves: &Set, ty: &Type) -> bool {
    TypedValue::new(value.value().clone(), ty.clone(), Duplicates::Allow)
        .is_ok_and(|value| value.field_set().leaves() == *leaves)
}

/// An object without some of its metadata, and without metadata that would be empty.
fn without_metadata(object: &Value, names: &[&str]) -> Value {
    let left = with_metadata(object, names.iter().map(|name| (*name, None)));
    match (&left, left.get("metadata").and_then(Value::as_map)) {
        (Value::Map(fields), Some(metadata)) if metadata.is_empty() => {
            Value::Map(fields.with_edits(vec![("metadata".into(), None)]))
        }
        _ => left,
    }
}

/// A value with an empty container at a path of fields, of the kind that another value has there: its manager owns the
/// container and nothing in it. An apply that removes all other fields of the container leaves none: null is owned like it.
fn with_container(value: &Value, whole: Option<&Value>, path: &[PathElement]) -> Value {
    match (path.split_first(), value) {
        (None, Value::Null) => match whole {
            Some(Value::Map(_)) => Value::Map(Map::new()),
            Some(Value::List(_)) => Value::List(List::new()),
            _ => Value::Null,
        },
        (Some((PathElement::Field(name), rest)), Value::Map(_) | Value::Null) => {
            let mut fields = value.as_map().cloned().unwrap_or_default();
            let own = fields.get(name).cloned().unwrap_or_default();
            let inner = with_container(&own, whole.and_then(|whole| whole.get(name)), rest);
            fields.insert(name.clone(), inner);
            Value::Map(fields)
        }
        _ => value.clone(),
    }
}
