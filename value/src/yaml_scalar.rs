//! Resolution of plain YAML scalars, following the Go decoder that kubectl and the apiserver use.

use std::borrow::Cow;

use crate::Value;

/// A number that YAML can represent and JSON cannot.
pub(crate) struct NotFinite;

/// Resolves a plain scalar to null, a boolean, a number or, by default, a string.
pub(crate) fn resolve(text: &str) -> Result<Value, NotFinite> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf"
        | "-.Inf" | "-.INF" => return Err(NotFinite),
        _ => return number(text),
    })
}

fn number(text: &str) -> Result<Value, NotFinite> {
    let string = || Ok(Value::from(text));
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return string();
    }
    let plain: Cow<'_, str> =
        if text.contains('_') && !text.starts_with('.') { text.replace('_', "").into() } else { text.into() };
    if let Some(value) = integer(&plain) {
        return Ok(value);
    }
    if !is_float(&plain) {
        return string();
    }
    match plain.parse::<f64>() {
        Ok(f) if f.is_finite() => Ok(Value::Float(f)),
        Ok(_) => Err(NotFinite),
        Err(_) => string(),
    }
}

/// Parses a decimal integer, or one with the prefix `0x`, `0o`, `0b` or `0`. Outside the range of `i64` the result is
/// the nearest float, as in JSON.
fn integer(text: &str) -> Option<Value> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let prefixed = [("0x", 16), ("0o", 8), ("0b", 2)];
    let prefixed =
        prefixed.into_iter().find_map(|(prefix, radix)| Some((radix, lower.strip_prefix(prefix)?)));
    let plain = || (if lower.len() > 1 && lower.starts_with('0') { 8 } else { 10 }, lower.as_str());
    let (radix, digits) = prefixed.unwrap_or_else(plain);
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let magnitude = u128::from_str_radix(digits, radix).ok();
    match magnitude.and_then(|m| i128::try_from(m).ok()) {
        Some(m) => {
            let signed = if negative { -m } else { m };
            Some(i64::try_from(signed).map_or(Value::Float(signed as f64), Value::Int))
        }
        // More than 128 bits: parse a decimal integer as a float.
        None if radix == 10 => text.parse().ok().map(Value::Float),
        None => None,
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
        ] {
            let value = resolve(text).unwrap_or_else(|_| panic!("{text}"));
            assert_eq!(value.to_json(), json, "{text}");
        }
        for text in [".nan", "-.INF", "1e999"] {
            assert!(resolve(text).is_err(), "{text}");
        }
    }
}
