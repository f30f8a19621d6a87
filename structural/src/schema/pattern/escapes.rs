//! Escapes of patterns: characters by number or letter, and classes such as `\d` and `\p{Greek}`.

use super::fault::{CLASS_RANGE, ESCAPE, Fault, between, fault};
use super::names;

/// Estimates of what classes take when they are compiled, in bytes.
pub(super) const FOLDED_RANGE: usize = 4096;
const UNICODE_CLASS: usize = 48 << 10;

/// Parses a character of a class; returns it with what follows. `class` is the text of the whole class.
pub(super) fn class_char<'a>(text: &'a str, class: &'a str) -> Result<(u32, &'a str), Fault<'a>> {
    match text.chars().next() {
        None => fault("missing closing ]", class),
        Some('\\') => escape(text),
        Some(c) => Ok((c.into(), text.get(c.len_utf8()..).unwrap_or_default())),
    }
}

/// Parses an escape of a character class, such as `\d` or `\p{Greek}`. Returns the class as it is written in brackets,
/// the estimate of its size, and the rest; `None` if it is not such an escape.
pub(super) fn class_escape(text: &str) -> Result<Option<(String, usize, &str)>, Fault<'_>> {
    let Some(inner) = text.strip_prefix('\\') else {
        return Ok(None);
    };
    let Some(c) = inner.chars().next() else {
        return Ok(None);
    };

    let inner = inner.get(c.len_utf8()..).unwrap_or_default();

    // In Go, these are about ASCII.
    let perl = match c.to_ascii_lowercase() {
        'd' => "0-9",
        's' => r"\t\n\f\r ",
        'w' => "0-9A-Za-z_",
        'p' => {
            let (name, after) = match inner.strip_prefix('{') {
                Some(name) => match name.split_once('}') {
                    Some(split) => split,
                    None => return fault(CLASS_RANGE, text),
                },
                None => match inner.chars().next() {
                    Some(c) => inner.split_at_checked(c.len_utf8()).unwrap_or((inner, "")),
                    None => return fault(CLASS_RANGE, text),
                },
            };
            let plain = name.strip_prefix('^').unwrap_or(name);
            if !names::is_unicode_class(plain) {
                return fault(CLASS_RANGE, between(text, after));
            }

            // No string has half of a surrogate pair.
            let is_empty =
                plain.eq_ignore_ascii_case("Cs") || plain.eq_ignore_ascii_case("Surrogate");
            let plain_name = if is_empty { "Any" } else { plain };
            let is_negated = (c == 'P') ^ (plain != name) ^ is_empty;
            let sign = if is_negated { 'P' } else { 'p' };
            return Ok(Some((
                format!(r"\{sign}{{{plain_name}}}"),
                UNICODE_CLASS,
                after,
            )));
        }
        _ => return Ok(None),
    };

    // A negated class inside brackets becomes a nested class of its own.
    let class = if c.is_ascii_uppercase() {
        format!("[^{perl}]")
    } else {
        perl.to_owned()
    };
    Ok(Some((class, 4 * FOLDED_RANGE, inner)))
}

/// Parses an escaped character; returns it with what follows.
pub(super) fn escape(text: &str) -> Result<(u32, &str), Fault<'_>> {
    let rest = text.strip_prefix('\\').unwrap_or(text);
    let Some(c) = rest.chars().next() else {
        return fault("trailing backslash at end of expression", "");
    };
    let rest = rest.get(c.len_utf8()..).unwrap_or_default();
    let octal = |rest: &str| rest.chars().next().and_then(|c| c.to_digit(8));

    // A digit other than zero is an octal escape only if another digit follows; alone it would be a reference to a
    // group.
    match c {
        '0'..='7' if c == '0' || octal(rest).is_some() => {
            let (mut value, mut rest) = (c.to_digit(8).unwrap_or_default(), rest);
            for _ in 0..2 {
                let Some(digit) = octal(rest) else { break };
                value = value * 8 + digit;
                rest = rest.get(1..).unwrap_or_default();
            }
            Ok((value, rest))
        }
        'x' => hexadecimal(text, rest),
        'a' => Ok((7, rest)),
        'f' => Ok((12, rest)),
        'n' => Ok((10, rest)),
        'r' => Ok((13, rest)),
        't' => Ok((9, rest)),
        'v' => Ok((11, rest)),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok((c.into(), rest)),
        _ => fault(ESCAPE, between(text, rest)),
    }
}

/// Parses the digits after `\x`; `text` begins at the backslash.
fn hexadecimal<'a>(text: &'a str, rest: &'a str) -> Result<(u32, &'a str), Fault<'a>> {
    let mut chars = rest.chars();
    let bad = |rest: &str| fault(ESCAPE, between(text, rest));
    match chars.next() {
        None => bad(rest),
        Some('{') => {
            let mut value = 0;
            let mut digits = 0;
            loop {
                match chars.next() {
                    Some('}') if digits > 0 => return Ok((value, chars.as_str())),
                    Some(c) => match c.to_digit(16) {
                        Some(digit) if value * 16 + digit <= u32::from(char::MAX) => {
                            value = value * 16 + digit;
                            digits += 1;
                        }
                        _ => return bad(chars.as_str()),
                    },
                    None => return bad(""),
                }
            }
        }
        Some(first) => match (first.to_digit(16), chars.next()) {
            (_, None) => bad(""),
            (Some(first), Some(second)) => match second.to_digit(16) {
                Some(second) => Ok((first * 16 + second, chars.as_str())),
                None => bad(chars.as_str()),
            },
            _ => bad(chars.as_str()),
        },
    }
}
