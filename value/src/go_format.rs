//! Formatting of strings and numbers like Go, for paths and messages that match those of Kubernetes.

use std::fmt::{Result, Write};

/// Formats a float with the verb `%v`: with the fewest digits that identify it, and with an exponent below 1e-4 and from
/// 1e6 on.
pub fn write_float(f: &mut impl Write, number: f64) -> Result {
    if !number.is_finite() {
        return f.write_str(match number {
            _ if number.is_nan() => "NaN",
            _ if number < 0.0 => "-Inf",
            _ => "+Inf",
        });
    }

    // Rust writes the same digits as Go, but no sign and one digit for a small exponent.
    let text = format!("{number:e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or_default();
    if number == 0.0 || (-4..6).contains(&power) {
        return write!(f, "{number}");
    }

    write!(
        f,
        "{digits}e{}{:02}",
        if power < 0 { '-' } else { '+' },
        power.abs()
    )
}

/// Formats a string with the verb `%q`.
pub fn write_quoted(f: &mut impl Write, text: &str) -> Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\u{7}' => f.write_str("\\a")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\u{b}' => f.write_str("\\v")?,
            c if c.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(c))?,
            c if is_print(c) => f.write_char(c)?,
            c if u32::from(c) < 0x1_0000 => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "\\U{:08x}", u32::from(c))?,
        }
    }

    f.write_char('"')
}

/// Returns a string formatted with the verb `%q`.
///
/// ```
/// use fieldmanager_value::internal::go_format::quote;
/// assert_eq!(quote("a\t"), r#""a\t""#);
/// ```
pub fn quote(text: &str) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_quoted(&mut out, text);
    out
}

/// Whether a character is a letter, mark, number, punctuation, symbol or the ASCII space.
///
/// Equivalent to Go's `unicode.IsPrint`, with the Unicode version of Rust's standard library.
///
/// ```
/// use fieldmanager_value::internal::go_format::is_print;
/// assert!(is_print('é') && is_print(' '));
/// assert!(!is_print('\u{a0}') && !is_print('\u{200b}') && !is_print('\n'));
/// ```
pub fn is_print(c: char) -> bool {
    // `escape_debug` of a string escapes the same characters, plus a combining mark at the start.
    c.is_ascii_graphic()
        || c == ' '
        || (!c.is_ascii() && format!("a{c}").escape_debug().eq(['a', c]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_like_the_verb_q() {
        for (text, quoted) in [
            ("", r#""""#),
            ("a \"b\" \\", r#""a \"b\" \\""#),
            ("\u{7}\u{8}\u{c}\n\r\t\u{b}", r#""\a\b\f\n\r\t\v""#),
            ("\u{0}\u{1f}\u{7f}", r#""\x00\x1f\x7f""#),
            ("<&>'", r#""<&>'""#),
            (
                "caf\u{e9} \u{65e5}\u{1f600}",
                "\"caf\u{e9} \u{65e5}\u{1f600}\"",
            ),
            ("e\u{301}", "\"e\u{301}\""),
            ("\u{301}", "\"\u{301}\""),
            (
                "\u{a0}\u{ad}\u{2028}\u{feff}",
                r#""\u00a0\u00ad\u2028\ufeff""#,
            ),
            ("\u{e0001}", r#""\U000e0001""#),
        ] {
            assert_eq!(quote(text), quoted);
        }
    }

    #[test]
    fn floats_are_formatted_like_the_verb_v() {
        for (number, formatted) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (0.0001, "0.0001"),
            (0.000_012, "1.2e-05"),
            (999_999.5, "999999.5"),
            (1e6, "1e+06"),
            (-1_234_567.5, "-1.2345675e+06"),
            (1e20, "1e+20"),
            (1e300, "1e+300"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            let mut out = String::new();
            write_float(&mut out, number).unwrap();
            assert_eq!(out, formatted);
        }
    }
}
