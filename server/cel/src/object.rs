//! Reads values of an object as CEL has them, by the schema.
//!
//! Behaviour: `UnstructuredToVal` of `k8s.io/apiserver/pkg/cel/common`.

use std::sync::{Arc, LazyLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use fieldmanager_structural::Structural;
use fieldmanager_structural::internal::go_type;
use fieldmanager_value::{Map, Str, Value};

use crate::escape::{escape, unescape};
use crate::time;
use crate::value::{Fault, ListVal, MapVal, Outcome, Val, fault};

/// Reads a value.
pub(crate) fn read<'a>(value: &'a Value, schema: &'a Structural) -> Outcome<'a> {
    if is_dynamic(schema) {
        return Ok(read_as(value, schema));
    }
    if value.is_null() {
        if schema.generic.nullable {
            return Ok(Val::Null);
        }
        return fault("invalid data, got null for schema with nullable=false");
    }

    // Such a schema need not have a type, so the match on types below would refuse its values.
    if schema.extensions.int_or_string {
        return match value {
            Value::Int(number) => Ok(Val::Int(*number)),
            Value::String(text) => Ok(Val::text(text)),
            _ => {
                fault("invalid data, expected XIntOrString value to be either a string or integer")
            }
        };
    }

    // The old object may violate the schema, since it may have been stored under another one: then the rules that read
    // it fail with these errors. Parts of maps and lists are read when an expression selects them.
    match (schema.generic.type_name.as_str(), value) {
        ("object", Value::Map(map)) => Ok(Val::Map(MapVal::Object(map, schema))),
        ("object", _) => {
            fault("invalid data, expected a map for the provided schema with type=object")
        }
        ("array", Value::List(list)) => match schema.items {
            Some(_) => Ok(Val::List(ListVal::Object(list, schema))),
            None => fault("invalid array type, expected Items with a non-empty Schema"),
        },
        ("array", _) => {
            fault("invalid data, expected an array for the provided schema with type=array")
        }
        ("string", Value::String(text)) => string(text.into(), &schema.value_validation.format),
        ("string", other) => fault(format!(
            "invalid data, expected string, got {}",
            go_type(other)
        )),
        #[expect(clippy::cast_precision_loss, reason = "as in the API server")]
        ("number", Value::Int(number)) => Ok(Val::Double(*number as f64)),
        ("number", Value::Float(number)) => Ok(Val::Double(*number)),
        ("number", other) => fault(format!(
            "invalid data, expected float, got {}",
            go_type(other)
        )),
        ("integer", Value::Int(number)) => Ok(Val::Int(*number)),
        ("integer", other) => fault(format!(
            "invalid data, expected int, got {}",
            go_type(other)
        )),
        ("boolean", Value::Bool(flag)) => Ok(Val::Bool(*flag)),
        ("boolean", other) => fault(format!(
            "invalid data, expected bool, got {}",
            go_type(other)
        )),
        (_, other) if schema.extensions.preserve_unknown_fields => Ok(Val::Unknown(other)),
        (name, _) => fault(format!(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with \
             x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got {name}"
        )),
    }
}

fn string<'a>(text: Str, format: &str) -> Outcome<'a> {
    // CEL has types for these formats; values of any other format stay strings.
    let outcome = match format {
        "duration" => time::loose_duration(&text)
            .map(Val::Duration)
            .map_err(|error| ("duration", error)),
        "date" => time::date(&text)
            .map(Val::Timestamp)
            .map_err(|error| ("date formatted string", error)),
        "date-time" => time::date_time(&text)
            .map(Val::Timestamp)
            .map_err(|error| ("date-time formatted string", error)),
        "byte" => match URL_SAFE.decode(text.as_bytes()) {
            Ok(bytes) => Ok(Val::Bytes(Arc::from(bytes))),
            Err(error) => Err(("byte formatted string", error.to_string())),
        },
        _ => return Ok(Val::String(text)),
    };

    outcome.map_err(|(what, error)| Fault::Error(format!("Invalid {what} {text}: {error}")))
}

/// The schema of values that are read as they are.
static DYNAMIC: LazyLock<Structural> = LazyLock::new(open);

/// The schema of such values that are structs in Go, which are not compared with values of other types.
static STRUCTS: LazyLock<Structural> = LazyLock::new(open);

fn open() -> Structural {
    let open = Map::single("x-kubernetes-preserve-unknown-fields", true);
    Structural::from_value(&Value::Map(open)).unwrap_or_default()
}

/// Whether values of a schema are equal to no value of another type, instead of an error.
pub(crate) fn is_unstructured(schema: &Structural) -> bool {
    schema.ptr_eq(&DYNAMIC)
}

/// Whether values of a schema are read as they are.
pub(crate) fn is_dynamic(schema: &Structural) -> bool {
    is_unstructured(schema) || schema.ptr_eq(&STRUCTS)
}

/// Reads a value as it is: that of an object.
pub(crate) fn read_dynamic(value: &Value) -> Val<'_> {
    read_as(value, &DYNAMIC)
}

/// Reads a value as it is: that of a struct, such as a request.
///
/// Behaviour: `SchemalessTypedToVal` of `k8s.io/apiserver/pkg/cel/common`.
pub(crate) fn read_struct(value: &Value) -> Val<'_> {
    read_as(value, &STRUCTS)
}

fn read_as<'a>(value: &'a Value, schema: &'a Structural) -> Val<'a> {
    match value {
        Value::Null => Val::Null,
        Value::Bool(flag) => Val::Bool(*flag),
        Value::Int(number) => Val::Int(*number),
        Value::Float(number) => Val::Double(*number),
        Value::String(text) => Val::text(text),
        Value::List(list) => Val::List(ListVal::Object(list, schema)),
        Value::Map(map) => Val::Map(MapVal::Object(map, schema)),
    }
}

/// The schema of the items of a list.
pub(crate) fn item_schema(schema: &Structural) -> Option<&Structural> {
    let own = Some(schema).filter(|schema| is_dynamic(schema));
    schema.items.as_ref().or(own)
}

/// Whether a map has declared fields, whose names are escaped.
pub(crate) fn is_struct(schema: &Structural) -> bool {
    !schema.properties.is_empty()
}

/// The schema of a field.
pub(crate) fn field_schema<'a>(schema: &'a Structural, name: &str) -> Option<&'a Structural> {
    if is_dynamic(schema) {
        // The options of a request are no struct.
        return Some(if name == "options" { &DYNAMIC } else { schema });
    }
    if schema.extensions.embedded_resource || is_struct(schema) {
        return schema.properties.get(name);
    }
    schema
        .additional_properties
        .as_ref()
        .and_then(|additional| additional.schema())
}

/// The value of a field by its escaped name.
pub(crate) fn field<'a>(
    map: &'a Map,
    schema: &'a Structural,
    name: &str,
) -> Result<Option<Val<'a>>, Fault> {
    let is_struct = is_struct(schema);
    // A map without declared fields has arbitrary keys, which are not escaped.
    let unescaped = if is_struct {
        match unescape(name) {
            Some(name) => name,
            None => return Ok(None),
        }
    } else {
        name.into()
    };

    match map.get(&unescaped) {
        // A nullable field that is null is like an absent one.
        Some(Value::Null) if is_struct => Ok(None),
        Some(value) => field_schema(schema, &unescaped)
            .map(|schema| read(value, schema))
            .transpose(),
        None => Ok(None),
    }
}

/// The escaped names of the fields with a schema.
pub(crate) fn keys<'a>(map: &Map, schema: &Structural) -> Vec<Val<'a>> {
    let is_struct = is_struct(schema);
    // An undeclared field has no type, so rules do not see it.
    let known = map
        .iter()
        .filter(|(name, _)| field_schema(schema, name).is_some());
    let escaped = |name: &Str| match escape(name) {
        Some(escaped) if is_struct => escaped.into_owned().into(),
        _ => name.clone(),
    };
    known.map(|(name, _)| Val::String(escaped(name))).collect()
}
