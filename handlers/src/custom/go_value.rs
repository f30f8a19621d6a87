//! Values and their types as Go's verbs `%v` and `%T` write them.

use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::write_float;
use fieldmanager_value::internal::level;

/// The type of a decoded value in Go.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
    }
}

/// A value as `%v` writes it.
pub(super) fn shown(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    level(|| match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Float(number) => {
            // Writing to a `String` cannot fail.
            let _ = write_float(out, *number, 6);
        }
        Value::String(text) => out.push_str(text),
        Value::List(list) => {
            out.push('[');
            for (at, item) in list.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push_str("map[");
            for (at, (name, value)) in map.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                out.push_str(name);
                out.push(':');
                write(value, out);
            }
            out.push(']');
        }
    });
}

/// The value at a path of field names. The error says which value is no map.
///
/// Behaviour: `NestedFieldNoCopy` of `k8s.io/apimachinery/pkg/apis/meta/v1/unstructured`.
pub(super) fn nested<'v>(object: &'v Value, names: &[&str]) -> Result<Option<&'v Value>, String> {
    let mut here = object;
    for (at, name) in names.iter().enumerate() {
        match here {
            Value::Null => return Ok(None),
            Value::Map(map) => match map.get(name) {
                Some(value) => here = value,
                None => return Ok(None),
            },
            other => {
                return Err(accessor_error(
                    names.get(..=at).unwrap_or(names),
                    other,
                    "map[string]interface{}",
                ));
            }
        }
    }
    Ok(Some(here))
}

/// The error about a value of a wrong type at a path.
pub(super) fn accessor_error(names: &[&str], found: &Value, expected: &str) -> String {
    format!(
        ".{} accessor error: {} is of the type {}, expected {expected}",
        names.join("."),
        shown(found),
        type_name(found)
    )
}
