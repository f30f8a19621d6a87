//! Resolution of plain YAML scalars, following the Go decoder that kubectl and the apiserver use.

use std::borrow::Cow;

use crate::Value;
use crate::go_format::write_float;

/// Resolves a scalar with a tag. A float may be infinite or NaN.
pub(crate) fn resolve_tagged(
    text: String,
    plain: bool,
    tag: Option<&str>,
) -> Result<Value, String> {
    let Some(tag) = tag.filter(|tag| !tag.is_empty()) else {
        return Ok(if plain {
            resolve(&text)
        } else {
            Value::from(text)
        });
    };
    let resolved = match tag.strip_prefix("tag:yaml.org,2002:") {
        Some("null" | "bool" | "int" | "float") => resolve(&text),
        // Other tags are ignored.
        _ => return Ok(Value::from(text)),
    };

    match (tag.rsplit(':').next(), resolved) {
        (Some("float"), Value::Int(number)) => Ok(Value::Float(number as f64)),
        (Some("null"), value @ Value::Null)
        | (Some("bool"), value @ Value::Bool(_))
        | (Some("int"), value @ Value::Int(_))
        | (Some("float"), value @ Value::Float(_)) => Ok(value),
        _ => Err(format!(
            "`{text}` does not have the type of its tag `{tag}`"
        )),
    }
}

/// The text of a scalar as a key, as `sigs.k8s.io/yaml` writes it: a float with the digits of 32 bits.
pub(crate) fn key_name(value: &Value) -> Result<Cow<'_, str>, &'static str> {
    Ok(match value {
        Value::String(name) => Cow::Borrowed(name),
        Value::Float(number) => match *number as f32 {
            number if number.is_nan() => ".nan".into(),
            f32::INFINITY => ".inf".into(),
            f32::NEG_INFINITY => "-.inf".into(),
            number => {
                let mut name = String::new();
                // The same digits as a number of 64 bits. Writing to a string cannot fail.
                let digits = number.to_string().parse().unwrap_or_default();
                let _ = write_float(&mut name, digits);
                name.into()
            }
        },
        Value::Bool(_) | Value::Int(_) => value.to_json().into(),
        Value::Null => return Err("a map key must not be null"),
        Value::List(_) | Value::Map(_) => return Err("a map key must be a scalar"),
    })
}

/// Resolves a plain scalar to null, a boolean, a number or, by default, a string.
pub(crate) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Value::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Value::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Value::Float(f64::NEG_INFINITY),
        _ => number(text).unwrap_or_else(|| Value::from(text)),
    }
}

fn number(text: &str) -> Option<Value> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return None;
    }
    // In YAML 1.1, underscores divide the digits of a number.
    let plain: Cow<'_, str> = if text.contains('_') && !text.starts_with('.') {
        text.replace('_', "").into()
    } else {
        text.into()
    };
    if let Some(value) = integer(&plain) {
        return Some(value);
    }

    // A number beyond the largest float is a string.
    let float = plain.parse().ok().filter(|_| is_float(&plain));
    float
        .filter(|number: &f64| number.is_finite())
        .map(Value::Float)
}

/// Parses a decimal integer, or one with the prefix `0x`, `0o`, `0b` or `0`, of at most 64 bits. Outside the range of
/// `i64` the result is the nearest float, as in JSON.
fn integer(text: &str) -> Option<Value> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    // In YAML 1.1, a leading zero means octal.
    let prefixes = [("0x", 16), ("0o", 8), ("0b", 2), ("0", 8), ("", 10)];
    let (digits, radix) = prefixes.into_iter().find_map(|(prefix, radix)| {
        let rest = lower
            .strip_prefix(prefix)
            .filter(|_| lower != "0" || prefix.is_empty())?;
        Some((rest, radix))
    })?;

    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    match (negative, i64::try_from(magnitude)) {
        (true, _) => 0_i64.checked_sub_unsigned(magnitude).map(Value::Int),
        (false, Ok(number)) => Some(Value::Int(number)),
        (false, Err(_)) => Some(Value::Float(magnitude as f64)),
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
        None => digits(mantissa),
    };

    mantissa_ok && exponent.is_none_or(|e| digits(e.strip_prefix(['-', '+']).unwrap_or(e)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_resolve_like_kubectl() {
        for (text, json) in [
            ("null", "null"),
            ("~", "null"),
            ("on", "true"),
            ("No", "false"),
            ("y", "true"),
            ("12", "12"),
            ("-12", "-12"),
            ("+12", "12"),
            ("0x1F", "31"),
            ("0o17", "15"),
            ("017", "15"),
            ("0b101", "5"),
            ("1_000", "1000"),
            ("1.5", "1.5"),
            ("1e3", "1000"),
            (".5", "0.5"),
            ("5.", "5"),
            ("089", r#"89"#),
            ("1.2.3", r#""1.2.3""#),
            ("1a", r#""1a""#),
            ("-", r#""-""#),
            ("--1", r#""--1""#),
            ("0x", r#""0x""#),
            ("2020-01-01", r#""2020-01-01""#),
            ("12:30", r#""12:30""#),
            ("nullx", r#""nullx""#),
            ("18446744073709551615", "18446744073709552000"),
            ("18446744073709551616", "18446744073709552000"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("0x1ffffffffffffffff", r#""0x1ffffffffffffffff""#),
            ("1e999", r#""1e999""#),
        ] {
            assert_eq!(resolve(text).to_json(), json, "{text}");
        }
        for text in [".nan", "-.INF"] {
            assert!(
                matches!(resolve(text), Value::Float(number) if !number.is_finite()),
                "{text}"
            );
        }
    }
}
