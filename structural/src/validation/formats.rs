//! Formats of strings. As in the API server, unknown formats are ignored.

use std::net::IpAddr;

use fieldmanager_value::{Map, Value};

use crate::dns::{is_label, is_subdomain};

/// The validator's name for the format of a schema; `None` if the format is not checked.
///
/// The API server ignores dashes in formats, except in those of Kubernetes, and checks formats of strings only.
pub(super) fn known(schema: &Map) -> Option<&'static str> {
    let format = schema.get("format").and_then(Value::as_str)?;
    if !matches!(schema.get("type").and_then(Value::as_str), None | Some("" | "string")) {
        return None;
    }
    Some(match format.replace('-', "").as_str() {
        "datetime" => "date-time",
        "date" => "date",
        "email" => "email",
        "hostname" => "hostname",
        "ipv4" => "ipv4",
        "ipv6" => "ipv6",
        "uri" => "uri",
        "byte" => "byte",
        "cidr" => "cidr",
        "mac" => "mac",
        "uuid" => "kubernetes-uuid",
        "uuid3" => "uuid3",
        "uuid4" => "uuid4",
        "uuid5" => "uuid5",
        "hexcolor" => "hexcolor",
        "k8sshortname" => "k8s-short-name",
        "k8slongname" => "k8s-long-name",
        _ => return None,
    })
}

/// The name of a format in messages.
pub(super) fn shown(name: &str) -> &str {
    match name {
        "kubernetes-uuid" => "uuid",
        other => other,
    }
}

/// A check of a string.
pub(super) type Check = fn(&str) -> bool;

/// The formats that JSON schema does not define or defines differently.
pub(super) const OWN: &[(&str, Check)] = &[
    ("byte", is_base64),
    ("cidr", is_cidr),
    ("mac", is_mac),
    ("kubernetes-uuid", |text| is_uuid(text, None)),
    ("uuid3", |text| is_uuid(text, Some(b'3'))),
    ("uuid4", |text| is_uuid(text, Some(b'4'))),
    ("uuid5", |text| is_uuid(text, Some(b'5'))),
    ("hexcolor", is_hex_color),
    ("k8s-short-name", |text| text.len() <= 63 && is_label(text)),
    ("k8s-long-name", |text| text.len() <= 253 && is_subdomain(text)),
];

fn is_base64(text: &str) -> bool {
    let symbol = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let bare = text.trim_end_matches('=');
    text.len().is_multiple_of(4) && text.len() - bare.len() <= 2 && bare.bytes().all(symbol)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let limit = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    let digits = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    digits && bits.parse::<u16>().is_ok_and(|bits| bits <= limit)
}

/// Six, eight or twenty bytes in hexadecimal, with colons or dashes between bytes or dots between pairs of bytes.
fn is_mac(text: &str) -> bool {
    let parts = |separator: char, width: usize| {
        let hex = |part: &str| part.len() == width && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        let count = text.split(separator).count();
        text.split(separator).all(hex) && matches!(count * width / 2, 6 | 8 | 20)
    };
    parts(':', 2) || parts('-', 2) || parts('.', 4)
}

/// 32 hexadecimal digits; each dash is optional at its position. Versions 4 and 5 also require a variant.
fn is_uuid(text: &str, version: Option<u8>) -> bool {
    let mut digits = Vec::with_capacity(32);
    for byte in text.bytes() {
        match byte {
            b'-' if matches!(digits.len(), 8 | 12 | 16 | 20) => {}
            byte if byte.is_ascii_hexdigit() => digits.push(byte.to_ascii_lowercase()),
            _ => return false,
        }
    }
    let at = |place: usize| digits.get(place).copied();
    let variant = !matches!(version, Some(b'4' | b'5')) || matches!(at(16), Some(b'8' | b'9' | b'a' | b'b'));
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
        let cases: [(&str, &[&str], &[&str]); 8] = [
            ("byte", &["", "aGk=", "YQ=="], &["a", "aGk", "a-k="]),
            ("cidr", &["10.0.0.0/8", "::1/128"], &["10.0.0.0", "10.0.0.0/33", "10.0.0.0/+8", "x/8"]),
            ("mac", &["01:02:03:04:05:06", "01-02-03-04-05-06", "0102.0304.0506"], &["01:02", "1:2:3:4:5:6"]),
            (
                "kubernetes-uuid",
                &["0E8400E2-29b4-41d4-A716-446655440000", "0e8400e229b441d4a716446655440000"],
                &["0e"],
            ),
            ("uuid4", &["0e8400e2-29b4-41d4-a716-446655440000"], &["0e8400e2-29b4-31d4-a716-446655440000"]),
            ("hexcolor", &["#fff", "A0B1C2"], &["#ffff", "red"]),
            ("k8s-short-name", &["a-1"], &["A", "-a", "a.b", ""]),
            ("k8s-long-name", &["a.b-c"], &["a..b", ""]),
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
