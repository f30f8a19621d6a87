//! Conversions between types, and optional values.

use super::function::{Run, unary};
use crate::display::shown;
use crate::meter::Meter;
use crate::time;
use crate::value::{Fault, ListVal, Outcome, Val, fault, no_overload};

/// The implementation of a function.
pub(super) fn run(name: &str) -> Option<Run> {
    Some(match name {
        "int" => |a, _| unary(a, int),
        "uint" => |a, _| unary(a, uint),
        "double" => |a, _| unary(a, double),
        "string" => |a, _| unary(a, string),
        "bytes" => |a, _| unary(a, bytes),
        "bool" => |a, _| unary(a, bool),
        "dyn" => |a, _| unary(a, Val::clone),
        "type" => |a, _| unary(a, |value: &Val<'_>| Val::Type(value.type_name())),
        "timestamp" => |a, _| unary(a, timestamp),
        "duration" => |a, _| unary(a, duration),
        "optional.of" => |a, _| unary(a, |value: &Val<'_>| Val::some(value.clone())),
        "optional.none" => |_, _| Ok(Val::Optional(None)),
        "optional.ofNonZeroValue" => |a, _| match a {
            [value] if !is_zero(value) => Ok(Val::some(value.clone())),
            _ => Ok(Val::Optional(None)),
        },
        "hasValue" => |a, _| match a {
            [Val::Optional(value)] => Ok(Val::Bool(value.is_some())),
            _ => no_overload(),
        },
        "value" => |a, _| match a {
            [Val::Optional(Some(value))] => Ok((**value).clone()),
            [Val::Optional(None)] => fault("optional.none() dereference"),
            _ => no_overload(),
        },
        "optional.unwrap" | "unwrapOpt" => |a, call| unary(a, |list| unwrap(list, call.meter)),
        _ => return None,
    })
}

/// A value that has no conversion to a type.
fn mismatch<T>(value: &Val<'_>, to: &str) -> Result<T, Fault> {
    fault(format!(
        "type conversion error from '{}' to '{to}'",
        value.type_name()
    ))
}

/// The values of a list of optional values.
fn unwrap<'a>(list: &ListVal<'a>, meter: &mut Meter) -> Outcome<'a> {
    let mut out = Vec::new();
    for item in list.items(meter)? {
        match item {
            Val::Optional(value) => out.extend(value.map(|value| (*value).clone())),
            _ => return no_overload(),
        }
    }
    Ok(Val::list(out))
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null => true,
        Val::Bool(flag) => !flag,
        Val::Int(number) => *number == 0,
        Val::Uint(number) => *number == 0,
        Val::Double(number) => *number == 0.0,
        Val::Duration(nanoseconds) => *nanoseconds == 0,
        Val::String(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_) => value.size() == 0,
        Val::Optional(value) => value.is_none(),
        _ => false,
    }
}

/// 2^63 and 2^64, the first floats that are too large.
const INT_END: f64 = 9_223_372_036_854_775_808.0;
const UINT_END: f64 = 18_446_744_073_709_551_616.0;

fn int<'a>(value: &Val<'a>) -> Outcome<'a> {
    let found = match value {
        Val::Int(number) => Some(*number),
        Val::Uint(number) => i64::try_from(*number).ok(),
        #[expect(clippy::cast_possible_truncation, reason = "the number is in range")]
        Val::Double(number) => (number.abs() < INT_END).then_some(*number as i64),
        Val::Timestamp(time) => Some(time.as_second()),
        Val::Duration(nanoseconds) => Some(*nanoseconds),
        Val::String(text) => match text.parse() {
            Ok(number) => Some(number),
            Err(_) => return mismatch(value, "int"),
        },
        _ => return mismatch(value, "int"),
    };

    found.map_or_else(|| fault("integer overflow"), |number| Ok(Val::Int(number)))
}

fn uint<'a>(value: &Val<'a>) -> Outcome<'a> {
    let found = match value {
        Val::Uint(number) => Some(*number),
        Val::Int(number) => u64::try_from(*number).ok(),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number is in range"
        )]
        Val::Double(number) => (0.0..UINT_END).contains(number).then_some(*number as u64),
        Val::String(text) => match text.parse() {
            Ok(number) if !text.starts_with('+') => Some(number),
            _ => return mismatch(value, "uint"),
        },
        _ => return mismatch(value, "uint"),
    };

    found.map_or_else(
        || fault("unsigned integer overflow"),
        |number| Ok(Val::Uint(number)),
    )
}

#[expect(clippy::cast_precision_loss, reason = "the conversion rounds")]
fn double<'a>(value: &Val<'a>) -> Outcome<'a> {
    // A number with digits that is out of range is parsed as infinite, which Go refuses. The words for infinity have no
    // digits.
    Ok(Val::Double(match value {
        Val::Double(number) => *number,
        Val::Int(number) => *number as f64,
        Val::Uint(number) => *number as f64,
        Val::String(text) => match text.parse::<f64>() {
            Ok(number) if number.is_finite() || !text.contains(|c: char| c.is_ascii_digit()) => {
                number
            }
            _ => return mismatch(value, "double"),
        },
        _ => return mismatch(value, "double"),
    }))
}

fn bool(value: &Val<'_>) -> Result<bool, Fault> {
    match value {
        Val::Bool(flag) => Ok(*flag),
        Val::String(text) => match text.as_str() {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
            _ => mismatch(value, "bool"),
        },
        _ => mismatch(value, "bool"),
    }
}

fn bytes<'a>(value: &Val<'a>) -> Outcome<'a> {
    match value {
        Val::Bytes(_) => Ok(value.clone()),
        Val::String(text) => Ok(Val::Bytes(text.as_bytes().into())),
        _ => mismatch(value, "bytes"),
    }
}

fn timestamp<'a>(value: &Val<'a>) -> Outcome<'a> {
    const TYPE: &str = "google.protobuf.Timestamp";
    match value {
        Val::Timestamp(_) => Ok(value.clone()),
        Val::Int(seconds) => {
            let time = jiff::Timestamp::from_second(*seconds);
            time.map(Val::Timestamp)
                .or_else(|_| fault("timestamp overflow"))
        }
        Val::String(text) => time::timestamp(text)
            .map_or_else(|| mismatch(value, TYPE), |time| Ok(Val::Timestamp(time))),
        _ => mismatch(value, TYPE),
    }
}

fn duration<'a>(value: &Val<'a>) -> Outcome<'a> {
    const TYPE: &str = "google.protobuf.Duration";
    match value {
        Val::Duration(_) => Ok(value.clone()),
        Val::Int(nanoseconds) => Ok(Val::Duration(*nanoseconds)),
        Val::String(text) => time::duration(text)
            .map_or_else(|| mismatch(value, TYPE), |length| Ok(Val::Duration(length))),
        _ => mismatch(value, TYPE),
    }
}

fn string<'a>(value: &Val<'a>) -> Outcome<'a> {
    Ok(Val::text(match value {
        Val::String(_) => return Ok(value.clone()),
        Val::Bool(_)
        | Val::Int(_)
        | Val::Uint(_)
        | Val::Double(_)
        | Val::Timestamp(_)
        | Val::Duration(_) => shown(value),
        Val::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return fault("invalid UTF-8 in bytes, cannot convert to string"),
        },
        Val::Ip(address) => address.to_string(),
        Val::Cidr(address, bits) => format!("{address}/{bits}"),
        _ => return mismatch(value, "string"),
    }))
}
