//! Formats of strings. As in the API server, unknown formats are ignored.

use std::sync::LazyLock;

use fieldmanager_value::{Map, Str, Value};
use jsonschema::Draft;
use serde_json::json;

use super::types::Types;
use crate::address::{cidr, ip};
use crate::dns::{is_label, is_subdomain};

/// A check of a string.
type Check = fn(&str) -> bool;

/// How a format is checked.
#[derive(Clone, Copy)]
pub(super) enum Format {
    /// The format of a number, which is checked with its bounds, or one that is not checked.
    Unchecked,
    Own(Check),
    /// The name of a format of JSON schema.
    Standard(usize),
}

/// The formats that JSON schema defines.
static STANDARD: LazyLock<Vec<(&str, Option<jsonschema::Validator>)>> = LazyLock::new(|| {
    let compile = |(name, own): (&'static str, &str)| {
        let mut options = jsonschema::options();
        options = options
            .with_draft(Draft::Draft7)
            .should_validate_formats(true);
        (name, options.build(&json!({"format": own})).ok())
    };

    [
        ("datetime", "date-time"),
        ("date", "date"),
        ("email", "email"),
        ("hostname", "hostname"),
        ("ipv6", "ipv6"),
        ("uri", "uri"),
    ]
    .map(compile)
    .into()
});

/// The formats that JSON schema does not define or defines differently.
const OWN: &[(&str, Check)] = &[
    ("byte", is_base64),
    ("cidr", |text| cidr(text).is_some()),
    ("duration", is_duration),
    // An IPv6 address with an embedded one is accepted, too.
    ("ipv4", |text| text.contains('.') && ip(text).is_some()),
    ("mac", is_mac),
    ("uuid", |text| is_uuid(text, None)),
    ("uuid3", |text| is_uuid(text, Some(b'3'))),
    ("uuid4", |text| is_uuid(text, Some(b'4'))),
    ("uuid5", |text| is_uuid(text, Some(b'5'))),
    ("hexcolor", is_hex_color),
    ("k8sshortname", |text| text.len() <= 63 && is_label(text)),
    ("k8slongname", |text| {
        text.len() <= 253 && is_subdomain(text)
    }),
];

/// The formats that the API server knows and that are not checked here.
const UNCHECKED: [&str; 8] = [
    "bsonobjectid",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "rgbcolor",
    "password",
];

/// The format of a schema; `None` if the API server ignores it. Dashes in the name do not matter.
pub(super) fn known(schema: &Map, types: &Types) -> Option<(Str, Format)> {
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
        return known
            .contains(&format.as_str())
            .then(|| (format.as_str().into(), Format::Unchecked));
    }

    if types.count == 1 && !types.contains("string") {
        return None;
    }
    let name = format.replace('-', "");
    let check = if let Some((_, check)) = OWN.iter().find(|(known, _)| *known == name) {
        Format::Own(*check)
    } else if let Some(at) = STANDARD.iter().position(|(known, _)| *known == name) {
        Format::Standard(at)
    } else if UNCHECKED.contains(&name.as_str()) {
        Format::Unchecked
    } else {
        return None;
    };

    Some((format.as_str().into(), check))
}

/// Whether a string has a format.
pub(super) fn accepts(format: Format, text: &str) -> bool {
    match format {
        Format::Unchecked => true,
        Format::Own(check) => check(text),
        Format::Standard(at) => match STANDARD.get(at) {
            Some((_, Some(check))) => check.is_valid(&json!(text)),
            _ => true,
        },
    }
}

fn is_base64(text: &str) -> bool {
    let symbol = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let bare = text.trim_end_matches('=');
    let is_whole = !text.is_empty() && text.len().is_multiple_of(4);
    is_whole && text.len() - bare.len() <= 2 && bare.bytes().all(symbol)
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
    let is_plain = matches!(text.len(), 12 | 16 | 40);
    if is_plain && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return true;
    }
    let parts = |separator: char, width: usize| {
        let hex =
            |part: &str| part.len() == width && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        let count = text.split(separator).count();
        text.split(separator).all(hex) && matches!(count * width / 2, 6 | 8 | 20)
    };
    parts(':', 2) || parts('-', 2) || parts('.', 4)
}

/// Whether a string is a UUID: 32 hexadecimal digits; each dash is optional at its position. Versions 4 and 5 also
/// require a variant.
///
/// ```
/// use fieldmanager_structural::validation::is_uuid;
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

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_checked_against_formats() {
        let cases: [(&str, &[&str], &[&str]); 10] = [
            ("byte", &["aGk=", "YQ=="], &["", "a", "aGk", "a-k="]),
            (
                "ipv4",
                &["1.2.3.4", "01.2.3.4", "0001.2.3.4", "::ffff:1.2.3.4"],
                &["1.2.3.256", "1.2.3", "::1"],
            ),
            (
                "duration",
                &[
                    "3s",
                    "1h3m",
                    "-3s",
                    "1.5h",
                    ".5s",
                    "+1s",
                    "0",
                    "2 days",
                    "3 hours",
                    "1 µs",
                    "3 microns",
                ],
                &[
                    "",
                    "x",
                    "3",
                    "2 fortnights",
                    "3 hz",
                    "4daze",
                    "99999999999999999999 s",
                ],
            ),
            (
                "cidr",
                &["10.0.0.0/8", "010.0.0.0/8", "::1/128"],
                &["10.0.0.0", "10.0.0.0/33", "10.0.0.0/+8", "x/8"],
            ),
            (
                "mac",
                &[
                    "01:02:03:04:05:06",
                    "01-02-03-04-05-06",
                    "0102.0304.0506",
                    "0102030405060708",
                ],
                &["01:02", "1:2:3:4:5:6"],
            ),
            (
                "uuid",
                &[
                    "0E8400E2-29b4-41d4-A716-446655440000",
                    "0e8400e229b441d4a716446655440000",
                ],
                &["0e"],
            ),
            (
                "uuid4",
                &["0e8400e2-29b4-41d4-a716-446655440000"],
                &["0e8400e2-29b4-31d4-a716-446655440000"],
            ),
            ("hexcolor", &["#fff", "A0B1C2"], &["#ffff", "red"]),
            ("k8sshortname", &["a-1"], &["A", "-a", "a.b", ""]),
            ("k8slongname", &["a.b-c"], &["a..b", ""]),
        ];
        for (name, good, bad) in cases {
            let check = OWN.iter().find(|(known, _)| *known == name).unwrap().1;
            for text in good {
                assert!(check(text), "{name}: {text}");
            }
            for text in bad {
                assert!(!check(text), "{name}: {text}");
            }
        }
    }
}
