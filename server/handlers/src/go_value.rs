//! Values as Go's verb `%v` writes them.

use fieldmanager_structural::internal::go_type;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::write_float;
use fieldmanager_value::internal::level;

/// A value as `%v` writes it.
pub(crate) fn shown(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    // Go separates entries by spaces and quotes no string.
    level(|| match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Float(number) => {
            // Writing to a `String` cannot fail.
            let _ = write_float(out, *number);
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

/// The value at a path of field names. The error names the value that is not a map.
///
/// Behaviour: `NestedFieldNoCopy` of `k8s.io/apimachinery/pkg/apis/meta/v1/unstructured`.
pub(crate) fn nested<'v>(object: &'v Value, names: &[&str]) -> Result<Option<&'v Value>, String> {
    let mut here = object;
    // Null ends the path like a missing field; only another value that is not a map is a fault.
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
pub(crate) fn accessor_error(names: &[&str], found: &Value, expected: &str) -> String {
    format!(
        ".{} accessor error: {} is of the type {}, expected {expected}",
        names.join("."),
        shown(found),
        go_type(found)
    )
}
