//! Conversions between types, and optional values.

use super::function::{Function, first, global, member, one};
use crate::display::shown_float;
use crate::meter::Meter;
use crate::time;
use crate::value::{Outcome, Val, fault, no_overload};

pub(super) const ALL: &[Function] = &[
    global("int", 1, one, |a, _| int(a)),
    global("uint", 1, one, |a, _| uint(a)),
    global("double", 1, one, |a, _| double(a)),
    global("string", 1, string_cost, |a, _| string(a)),
    global("bytes", 1, bytes_cost, |a, _| match a {
        [bytes @ Val::Bytes(_)] => Ok(bytes.clone()),
        [Val::String(text)] => Ok(Val::Bytes(text.as_bytes().into())),
        [other] => mismatch(other, "bytes"),
        _ => no_overload(),
    }),
    global("bool", 1, one, |a, _| match a {
        [flag @ Val::Bool(_)] => Ok(flag.clone()),
        [Val::String(text)] => match text.as_str() {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Val::Bool(false)),
            _ => fault("type conversion error from 'string' to 'bool'"),
        },
        [other] => mismatch(other, "bool"),
        _ => no_overload(),
    }),
    global("dyn", 1, one, |a, _| a.first().cloned().map_or_else(no_overload, Ok)),
    global("type", 1, one, |a, _| match a {
        [value] => Ok(Val::Type(value.type_name())),
        _ => no_overload(),
    }),
    global("timestamp", 1, one, |a, _| match a {
        [time @ Val::Timestamp(_)] => Ok(time.clone()),
        [Val::Int(seconds)] => match jiff::Timestamp::from_second(*seconds) {
            Ok(time) => Ok(Val::Timestamp(time)),
            Err(_) => fault("timestamp overflow"),
        },
        [Val::String(text)] => match time::timestamp(text) {
            Some(time) => Ok(Val::Timestamp(time)),
            None => fault("type conversion error from 'string' to 'google.protobuf.Timestamp'"),
        },
        [other] => mismatch(other, "google.protobuf.Timestamp"),
        _ => no_overload(),
    }),
    global("duration", 1, one, |a, _| match a {
        [duration @ Val::Duration(_)] => Ok(duration.clone()),
        [Val::Int(nanoseconds)] => Ok(Val::Duration(*nanoseconds)),
        [Val::String(text)] => match time::duration(text) {
            Some(nanoseconds) => Ok(Val::Duration(nanoseconds)),
            None => fault("type conversion error from 'string' to 'google.protobuf.Duration'"),
        },
        [other] => mismatch(other, "google.protobuf.Duration"),
        _ => no_overload(),
    }),
    global("optional.of", 1, one, |a, _| match a {
        [value] => Ok(Val::some(value.clone())),
        _ => no_overload(),
    }),
    global("optional.none", 0, one, |_, _| Ok(Val::Optional(None))),
    global("optional.ofNonZeroValue", 1, one, |a, _| match a {
        [value] if is_zero(value) => Ok(Val::Optional(None)),
        [value] => Ok(Val::some(value.clone())),
        _ => no_overload(),
    }),
    member("hasValue", 1, one, |a, _| match a {
        [Val::Optional(value)] => Ok(Val::Bool(value.is_some())),
        _ => no_overload(),
    }),
    member("value", 1, one, |a, _| match a {
        [Val::Optional(Some(value))] => Ok((**value).clone()),
        [Val::Optional(None)] => fault("optional.none() dereference"),
        _ => no_overload(),
    }),
    global("optional.unwrap", 1, one, |a, call| unwrap(a, call.meter)),
    member("unwrapOpt", 1, one, |a, call| unwrap(a, call.meter)),
];

/// The cost of a conversion between strings and bytes. One to the same type has a fixed cost.
fn string_cost(arguments: &[Val<'_>]) -> u64 {
    if matches!(arguments, [Val::Bytes(_)]) { first(arguments) } else { 1 }
}

fn bytes_cost(arguments: &[Val<'_>]) -> u64 {
    if matches!(arguments, [Val::String(_)]) { first(arguments) } else { 1 }
}

fn mismatch<'a>(value: &Val<'_>, to: &str) -> Outcome<'a> {
    fault(format!("type conversion error from '{}' to '{to}'", value.type_name()))
}

/// The values of a list of optional values.
fn unwrap<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Outcome<'a> {
    let [Val::List(list)] = arguments else { return no_overload() };
    let mut out = Vec::new();
    for item in list.items(meter)? {
        match item {
            Val::Optional(None) => {}
            Val::Optional(Some(value)) => out.push((*value).clone()),
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

fn int<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    match arguments {
        [number @ Val::Int(_)] => Ok(number.clone()),
        [Val::Uint(number)] => match i64::try_from(*number) {
            Ok(number) => Ok(Val::Int(number)),
            Err(_) => fault("integer overflow"),
        },
        #[expect(clippy::cast_possible_truncation, reason = "the number is in range")]
        [Val::Double(number)] if number.abs() < INT_END => Ok(Val::Int(*number as i64)),
        [Val::Double(_)] => fault("integer overflow"),
        [Val::String(text)] => match text.parse() {
            Ok(number) => Ok(Val::Int(number)),
            Err(_) => fault("type conversion error from 'string' to 'int'"),
        },
        [Val::Timestamp(time)] => Ok(Val::Int(time.as_second())),
        [Val::Duration(nanoseconds)] => Ok(Val::Int(*nanoseconds)),
        [other] => mismatch(other, "int"),
        _ => no_overload(),
    }
}

fn uint<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    match arguments {
        [number @ Val::Uint(_)] => Ok(number.clone()),
        [Val::Int(number)] => match u64::try_from(*number) {
            Ok(number) => Ok(Val::Uint(number)),
            Err(_) => fault("unsigned integer overflow"),
        },
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is in range")]
        [Val::Double(number)] if (0.0..UINT_END).contains(number) => Ok(Val::Uint(*number as u64)),
        [Val::Double(_)] => fault("unsigned integer overflow"),
        [Val::String(text)] if !text.starts_with('+') => match text.parse() {
            Ok(number) => Ok(Val::Uint(number)),
            Err(_) => fault("type conversion error from 'string' to 'uint'"),
        },
        [other] => mismatch(other, "uint"),
        _ => no_overload(),
    }
}

fn double<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    match arguments {
        [number @ Val::Double(_)] => Ok(number.clone()),
        #[expect(clippy::cast_precision_loss, reason = "the conversion rounds")]
        [Val::Int(number)] => Ok(Val::Double(*number as f64)),
        #[expect(clippy::cast_precision_loss, reason = "the conversion rounds")]
        [Val::Uint(number)] => Ok(Val::Double(*number as f64)),
        [Val::String(text)] => match text.parse::<f64>() {
            Ok(number) if number.is_finite() || !text.contains(|c: char| c.is_ascii_digit()) => {
                Ok(Val::Double(number))
            }
            _ => fault("type conversion error from 'string' to 'double'"),
        },
        [other] => mismatch(other, "double"),
        _ => no_overload(),
    }
}

fn string<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    match arguments {
        [text @ Val::String(_)] => Ok(text.clone()),
        [Val::Bool(flag)] => Ok(Val::text(flag.to_string())),
        [Val::Int(number)] => Ok(Val::text(number.to_string())),
        [Val::Uint(number)] => Ok(Val::text(number.to_string())),
        [Val::Double(number)] => Ok(Val::text(shown_float(*number))),
        [Val::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Val::text(text)),
            Err(_) => fault("invalid UTF-8 in bytes, cannot convert to string"),
        },
        [Val::Timestamp(time)] => Ok(Val::text(time.to_string())),
        [Val::Duration(nanoseconds)] => Ok(Val::text(time::seconds(*nanoseconds))),
        [Val::Ip(address)] => Ok(Val::text(address.to_string())),
        [Val::Cidr(address, bits)] => Ok(Val::text(format!("{address}/{bits}"))),
        [other] => mismatch(other, "string"),
        _ => no_overload(),
    }
}
