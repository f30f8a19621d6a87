//! Formats of strings. As in the API server, unknown formats are ignored.

use fieldmanager_value::{Map, Str, Value};

use super::types::Types;
use crate::address::{cidr, ip};
use crate::dns::{is_label, is_subdomain};
use crate::url;
use encodings::{is_base64, is_hexadecimal};

mod email;
mod encodings;
mod names;
mod numbers;

/// Whether a string has a format.
pub(super) type Check = fn(&str) -> bool;

/// The formats of strings, without dashes.
///
/// Behaviour: the default registry of `k8s.io/kube-openapi/pkg/validation/strfmt`.
const OF_STRINGS: &[(&str, Check)] = &[
    ("bsonobjectid", |text| is_hexadecimal(text, &[24])),
    ("byte", is_base64),
    ("cidr", |text| cidr(text).is_some()),
    ("creditcard", numbers::is_credit_card),
    ("date", names::is_date),
    ("datetime", names::is_date_time),
    ("duration", is_duration),
    ("email", email::is_address),
    ("hexcolor", |text| {
        is_hexadecimal(text.strip_prefix('#').unwrap_or(text), &[3, 6])
    }),
    ("hostname", names::is_host),
    // An IPv6 address with an embedded one is accepted, too.
    ("ipv4", |text| text.contains('.') && ip(text).is_some()),
    ("ipv6", |text| text.parse::<std::net::Ipv6Addr>().is_ok()),
    ("isbn", |text| {
        numbers::is_isbn10(text) || numbers::is_isbn13(text)
    }),
    ("isbn10", numbers::is_isbn10),
    ("isbn13", numbers::is_isbn13),
    ("k8slongname", |text| {
        text.len() <= 253 && is_subdomain(text)
    }),
    ("k8sshortname", |text| text.len() <= 63 && is_label(text)),
    ("mac", is_mac),
    ("password", |_| true),
    ("rgbcolor", numbers::is_rgb_color),
    ("ssn", numbers::is_social_security),
    ("uri", |text| url::parse(text).is_ok()),
    ("uuid", |text| is_uuid(text, None)),
    ("uuid3", |text| is_uuid(text, Some(b'3'))),
    ("uuid4", |text| is_uuid(text, Some(b'4'))),
    ("uuid5", |text| is_uuid(text, Some(b'5'))),
];

/// The format of a schema; `None` if the API server ignores it. Dashes in the name do not matter.
pub(super) fn known(schema: &Map, types: &Types) -> Option<(Str, Check)> {
    let Some(Value::String(format)) = schema.get("format") else {
        return None;
    };
    // A number has the formats of numbers only, and a string all others; several types accept the formats of strings.
    let is_only = |name: &str| types.count == 1 && types.contains(name);
    if is_only("integer") || is_only("number") {
        let known: [&str; 2] = if is_only("integer") {
            ["int32", "int64"]
        } else {
            ["float", "double"]
        };
        // Those of numbers are checked with their bounds.
        let check: Check = |_| true;
        return known
            .contains(&format.as_str())
            .then(|| (format.as_str().into(), check));
    }

    if types.count == 1 && !types.contains("string") {
        return None;
    }
    let name = format.replace('-', "");
    let (_, check) = OF_STRINGS.iter().find(|(known, _)| *known == name)?;
    Some((format.as_str().into(), *check))
}

/// A duration of Go, or any text with a whole number before a unit of time.
///
/// Behaviour: `ParseDuration` of `k8s.io/kube-openapi/pkg/validation/strfmt`.
fn is_duration(text: &str) -> bool {
    if is_go_duration(text) {
        return true;
    }

    let mut has_unit = false;
    let mut rest = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    while !rest.is_empty() {
        let (number, after) = span(rest, |c| c.is_ascii_digit());
        let spaced = after.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let (unit, after) = span(spaced, |c| c.is_ascii_alphabetic() || c == 'µ');
        if !unit.is_empty() && number.parse::<i64>().is_err() {
            return false;
        }
        let unit = unit.to_lowercase();
        has_unit |= UNITS
            .iter()
            .any(|(short, long)| short.contains(&unit.as_str()) || unit.starts_with(long));
        rest = after.trim_start_matches(|c: char| !c.is_ascii_digit());
    }

    has_unit
}

/// The units of durations: those that must be equal, and the beginning of one.
const UNITS: [(&[&str], &str); 8] = [
    (&["ns"], "nano"),
    (&["us", "µs"], "micro"),
    (&["ms"], "milli"),
    (&["s"], "sec"),
    (&["m"], "min"),
    (&["h", "hr"], "hour"),
    (&["d"], "day"),
    (&["w", "wk"], "week"),
];

/// Decimal numbers with units, such as `-1h2.5m`, or zero.
fn is_go_duration(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    if text == "0" {
        return true;
    }
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = span(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, after) = span(after, |c| !c.is_ascii_digit() && c != '.');
        let whole = number.split('.').next().unwrap_or_default();
        let is_number = number.contains(|c: char| c.is_ascii_digit())
            && number.matches('.').count() <= 1
            && (whole.is_empty() || whole.parse::<i64>().is_ok());
        if !is_number || !["ns", "us", "µs", "μs", "ms", "s", "m", "h"].contains(&unit) {
            return false;
        }
        rest = after;
    }

    !text.is_empty()
}

/// The characters at the beginning for which a test holds, and the rest.
fn span(text: &str, is_in: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !is_in(c)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Six, eight or twenty bytes in hexadecimal, with colons or dashes between bytes, dots between pairs of bytes, or nothing.
fn is_mac(text: &str) -> bool {
    if is_hexadecimal(text, &[12, 16, 40]) {
        return true;
    }
    let parts = |separator: char, width: usize| {
        let hex = |part: &str| is_hexadecimal(part, &[width]);
        let count = text.split(separator).count();
        text.split(separator).all(hex) && matches!(count * width / 2, 6 | 8 | 20)
    };
    parts(':', 2) || parts('-', 2) || parts('.', 4)
}

/// Whether a string is a UUID: 32 hexadecimal digits; each dash is optional at its position. Versions 4 and 5 also
/// require a variant.
///
/// ```
/// use fieldmanager_structural::internal::is_uuid;
/// assert!(is_uuid("0e8400e229b441d4a716446655440000", None));
/// ```
pub fn is_uuid(text: &str, version: Option<u8>) -> bool {
    let mut digits = Vec::with_capacity(32);
    for byte in text.bytes() {
        match byte {
            b'-' if matches!(digits.len(), 8 | 12 | 16 | 20) => {}
            byte if byte.is_ascii_hexdigit() => digits.push(byte.to_ascii_lowercase()),
            _ => return false,
        }
    }

    let at = |place: usize| digits.get(place).copied();
    let variant =
        !matches!(version, Some(b'4' | b'5')) || matches!(at(16), Some(b'8' | b'9' | b'a' | b'b'));
    digits.len() == 32
        && version.is_none_or(|version| at(12) == Some(version))
        && variant
        && !text.contains("--")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table is written by `comparison/oracle/formats`.
    #[test]
    fn strings_have_the_formats_that_go_finds() {
        let table = include_str!("../../tests/data/formats.jsonl");
        let mut differences = Vec::new();
        let mut checked = 0;
        for line in table.lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let name = row["format"].as_str().unwrap().replace('-', "");
            let (_, check) = OF_STRINGS.iter().find(|(known, _)| *known == name).unwrap();
            for (side, expected) in [("good", true), ("bad", false)] {
                for text in row[side].as_array().into_iter().flatten() {
                    let text = text.as_str().unwrap();
                    checked += 1;
                    if check(text) != expected {
                        differences.push(format!("{name} {text:?}: {expected} in Go"));
                    }
                }
            }
        }

        assert!(checked > 5000, "{checked}");
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }

    #[test]
    fn every_format_is_in_the_table() {
        let table = include_str!("../../tests/data/formats.jsonl").replace('-', "");
        for (name, _) in OF_STRINGS {
            assert!(table.contains(&format!("\"{name}\"")), "{name}");
        }
    }
}
