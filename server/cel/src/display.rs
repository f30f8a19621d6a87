//! Values in messages.

use fieldmanager_value::internal::go_format::write_float;

use crate::time::seconds;
use crate::value::Val;

/// A float as the verb `%g` of Go writes it.
pub(crate) fn shown_float(number: f64) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let _ = write_float(&mut out, number);
    out
}

/// A scalar as messages and `%s` show it.
pub(crate) fn shown(value: &Val<'_>) -> String {
    match value {
        Val::Null => "null".to_owned(),
        Val::String(text) => text.to_string(),
        Val::Double(number) => shown_float(*number),
        Val::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Val::Type(name) => (*name).to_owned(),
        Val::Bool(flag) => flag.to_string(),
        Val::Int(number) => number.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Duration(nanoseconds) => seconds(*nanoseconds),
        Val::Timestamp(time) => time.to_string(),
        _ => String::new(),
    }
}
