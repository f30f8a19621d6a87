//! Objects without `apiVersion`. A field manager requires a version, so they get one while it works on them.

use fieldmanager_openapi::internal::types_of;
use fieldmanager_openapi::{GroupVersionKind, Types};
use fieldmanager_schema::Type;
use fieldmanager_schema::internal::{
    FieldDef, Scalar, TypeRef, resolve_definitions, type_definitions,
};
use fieldmanager_value::{Map, Value};

use crate::error::Failure;

/// The version of all such objects.
pub(crate) const VERSION: &str = "v1";

const FIELD: &str = "apiVersion";

/// Whether the object has no `apiVersion`.
pub(crate) fn is_plain(object: &Value) -> bool {
    object.get(FIELD).is_none()
}

/// Adds the version to the object; null stays null.
pub(crate) fn versioned(object: &Value) -> Value {
    let fields = object.as_map().cloned().unwrap_or_default();
    Value::Map(fields.with_edits(vec![(FIELD.into(), Some(VERSION.into()))]))
}

/// Removes the version from the object.
pub(crate) fn unversioned(object: &Value) -> Value {
    match object {
        Value::Map(fields) => Value::Map(Map::with_edits(fields, vec![(FIELD.into(), None)])),
        other => other.clone(),
    }
}

/// Extends the types by the type of the objects, with a version.
pub(crate) fn types(ty: &Type, kind: &GroupVersionKind) -> Result<Types, Failure> {
    let mut definitions = type_definitions(ty.schema()).to_vec();
    let name = ty.name();
    // A type without a definition, such as the deduced one, accepts every field.
    let Some(mut own) = definitions
        .iter()
        .find(|definition| definition.name == name)
        .cloned()
    else {
        return Ok(types_of(ty.schema().clone(), [(kind.clone(), name.into())]));
    };

    // Other types may refer to the original, so the copy has another name.
    own.name = format!("{name} at {VERSION}").into();
    // The type may refuse a field that it does not declare.
    if let Some(map) = own
        .atom
        .map
        .as_mut()
        .filter(|map| map.fields.iter().all(|field| field.name != FIELD))
    {
        let mut text = TypeRef::default();
        text.inlined.scalar = Some(Scalar::String);
        map.fields.push(FieldDef {
            name: FIELD.into(),
            ty: text,
            default: None,
        });
    }

    let own_name = own.name.clone();
    definitions.push(own);
    let schema =
        resolve_definitions(definitions).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(types_of(schema, [(kind.clone(), own_name)]))
}
