//! Objects as Kubernetes lays them out: `apiVersion`, `kind` and `metadata`.

use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{Map, Str, Value};

use crate::error::Error;

pub(crate) const MANAGED_FIELDS: &str = "managedFields";

/// Checks that an object is a map whose metadata, if any, is a map too.
pub(crate) fn check_object(what: &'static str, object: &Value) -> Result<(), Error> {
    if object.as_map().is_none() {
        return Err(Error::NotAnObject {
            what,
            expected: "an object",
            found: object.kind(),
        });
    }

    match object.get("metadata") {
        None | Some(Value::Null | Value::Map(_)) => Ok(()),
        Some(other) => Err(Error::NotAnObject {
            what,
            expected: "metadata that is a map",
            found: other.kind(),
        }),
    }
}

/// As [`check_object`] for a live object, which is null if it does not exist.
pub(crate) fn check_live_object(live: &Value) -> Result<(), Error> {
    if live.is_null() {
        Ok(())
    } else {
        check_object("live object", live)
    }
}

/// The object with another `metadata.managedFields`, or without any.
pub(crate) fn with_list(object: &Value, list: Option<Value>) -> Value {
    let Value::Map(fields) = object else {
        return object.clone();
    };
    let metadata = match (fields.get("metadata"), &list) {
        (Some(Value::Map(metadata)), _) => metadata.clone(),
        // Null metadata is replaced, because the owners must not be lost.
        (None | Some(Value::Null), Some(_)) => Map::new(),
        _ => return object.clone(),
    };
    if list.is_none() && !metadata.contains(MANAGED_FIELDS) {
        return object.clone();
    }
    let edit = (Str::from(MANAGED_FIELDS), list);
    let metadata = Value::Map(metadata.with_edits(vec![edit]));

    Value::Map(fields.with_edits(vec![("metadata".into(), Some(metadata))]))
}

/// The kind that an object declares, as Go reads it: an `apiVersion` with two slashes declares nothing.
pub(crate) fn kind_of(object: &Value) -> GroupVersionKind {
    match object.api_version().split('/').nth(2) {
        Some(_) => GroupVersionKind::default(),
        None => object.declared_kind(),
    }
}

/// An object in messages: namespace, name and kind.
pub(crate) fn described(object: &Value) -> String {
    let (namespace, name) = (object.namespace(), object.name());
    format!(
        "{}/{}; {}",
        namespace.unwrap_or_default(),
        name.unwrap_or_default(),
        kind_of(object)
    )
}
