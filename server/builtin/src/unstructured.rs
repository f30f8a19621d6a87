//! The conversion of scalars of unstructured objects.
//!
//! Behaviour: `DefaultUnstructuredConverter` of `k8s.io/apimachinery/pkg/runtime`.

use fieldmanager_value::{List, Value};

use crate::base64;
use crate::number::float;
use crate::types::Form;

/// Converts a value into a scalar or bytes, or refuses it for a list, map or struct that it is not. `None` if it is
/// written as it was read.
///
/// # Errors
///
/// The message of Go.
pub(crate) fn scalar(form: &Form, go_name: &str, value: &Value) -> Result<Option<Value>, String> {
    // Go converts what reflection can convert, and refuses any other value by the kind that was wanted.
    let unrecognized = |kind: &str| Err(format!("unrecognized type: {kind}"));
    let no_conversion = |from: &str| Err(format!("cannot convert {from} to {go_name}"));

    match (form, value) {
        (Form::Bool, Value::Bool(_))
        | (Form::String, Value::String(_))
        | (Form::Float, Value::Float(_)) => Ok(None),
        (Form::Int64, Value::Int(_)) => Ok(None),
        (Form::Int32, Value::Int(number)) => {
            let kept = i64::from(*number as i32);
            Ok((kept != *number).then_some(Value::Int(kept)))
        }
        (Form::Int32 | Form::Int64, Value::Float(number)) if number.fract() == 0.0 => {
            let whole = truncated(*number);
            let is_short = matches!(form, Form::Int32);
            Ok(Some(Value::Int(if is_short {
                i64::from(whole as i32)
            } else {
                whole
            })))
        }
        (Form::Int32 | Form::Int64, Value::Float(_)) => no_conversion("float64"),
        (Form::Float, Value::Int(number)) => Ok(float(*number)),
        (Form::String, Value::Int(_)) => no_conversion("int64"),
        (Form::Bool, _) => unrecognized("bool"),
        (Form::String, _) => unrecognized("string"),
        (Form::Int32, _) => unrecognized("int32"),
        (Form::Int64, _) => unrecognized("int64"),
        (Form::Float, _) => unrecognized("float64"),
        (Form::Bytes, Value::String(text)) => match base64::canonical(text) {
            Ok(written) => Ok(written.map(Value::from)),
            Err(at) => Err(format!(
                "error decoding from json: illegal base64 data at input byte {at}"
            )),
        },
        (Form::Bytes, Value::List(items)) => bytes(items).map(Some),
        (Form::Bytes | Form::Slice(_), _) => {
            Err(format!("cannot restore slice from {}", kind(value)))
        }
        (Form::Map(..), _) => Err(format!("cannot restore map from {}", kind(value))),
        _ => Err(format!("cannot restore struct from: {}", kind(value))),
    }
}

/// A float as Go converts it to an integer of 64 bits: outside their range it is the smallest one.
fn truncated(number: f64) -> i64 {
    if number.abs() < 9_223_372_036_854_775_808.0 {
        number as i64
    } else {
        i64::MIN
    }
}

fn bytes(items: &List) -> Result<Value, String> {
    let byte = |item: &Value| match item {
        Value::Null => Ok(0),
        Value::Int(number) => Ok(*number as u8),
        Value::Float(number) if number.fract() == 0.0 => Ok(truncated(*number) as u8),
        Value::Float(_) => Err("cannot convert float64 to uint8".to_owned()),
        _ => Err("unrecognized type: uint8".to_owned()),
    };
    let bytes: Vec<u8> = items.iter().map(byte).collect::<Result<_, _>>()?;
    Ok(Value::from(base64::encode(&bytes)))
}

/// Go's word for the kind of a value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "slice",
        Value::Map(_) => "map",
    }
}
