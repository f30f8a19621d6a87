//! Values in messages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fieldmanager_value::internal::go_format::{quote, write_float};
use fieldmanager_value::internal::level;

use crate::time::seconds;
use crate::value::{ListVal, MapVal, Val};

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

/// A value with the types of its parts, for comparisons. The entries of a map are sorted.
pub(crate) fn written(value: &Val<'_>) -> String {
    level(|| match value {
        Val::Null | Val::Bool(_) | Val::Int(_) => shown(value),
        Val::Uint(number) => format!("{number}u"),
        Val::Double(number) => format!("double({})", shown_float(*number)),
        Val::String(text) => quote(text),
        Val::Bytes(bytes) => format!("bytes({})", STANDARD.encode(bytes)),
        Val::Duration(nanoseconds) => format!("duration({nanoseconds})"),
        Val::Timestamp(time) => format!("timestamp({time})"),
        Val::List(list) => written_items(list),
        Val::Map(map) => written_entries(map),
        Val::Type(name) => format!("type({name})"),
        Val::Optional(None) => "optional.none".to_owned(),
        Val::Optional(Some(value)) => format!("optional({})", written(value)),
        Val::Ip(address) => format!("ip({address})"),
        Val::Cidr(address, bits) => format!("cidr({address}/{bits})"),
        Val::Url(url) => format!(
            "url({} {} {} {})",
            url.scheme, url.host, url.path, url.query
        ),
        Val::Quantity(quantity) => format!("quantity({quantity})"),
        Val::Semver(version) => format!("semver({version})"),
        _ => value.type_name().to_owned(),
    })
}

fn written_items(list: &ListVal<'_>) -> String {
    let items = list.iter().filter_map(Result::ok);
    let items: Vec<String> = items.map(|item| written(&item)).collect();
    format!("[{}]", items.join(", "))
}

fn written_entries(map: &MapVal<'_>) -> String {
    let entries = map.entries();
    let entries = entries.iter();
    let mut entries: Vec<String> = entries
        .map(|(key, value)| format!("{}: {}", written(key), written(value)))
        .collect();
    entries.sort_unstable();
    format!("{{{}}}", entries.join(", "))
}
