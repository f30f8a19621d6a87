//! The text of values inside paths, as Go prints them.

use std::fmt;

use fieldmanager_value::Value;

/// Writes a value as `value.ToString` of the Go package does: strings quoted, numbers plain, lists in
/// brackets, maps as their entries.
pub(crate) fn write_value(f: &mut impl fmt::Write, value: &Value) -> fmt::Result {
    match value {
        Value::Null => f.write_str("null"),
        Value::Bool(b) => write!(f, "{b}"),
        Value::Int(i) => write!(f, "{i}"),
        Value::Float(x) => write_float(f, *x),
        Value::String(s) => write_quoted(f, s),
        Value::List(list) => {
            f.write_str("[")?;
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    f.write_str(",")?;
                }
                write_value(f, item)?;
            }
            f.write_str("]")
        }
        Value::Map(map) => {
            for (name, value) in map {
                write!(f, "{name}=")?;
                write_value(f, value)?;
            }
            Ok(())
        }
    }
}

/// 2 to the power of 63, the first float above every `i64`.
const I64_END: f64 = 9_223_372_036_854_775_808.0;

/// Go's `%v` of a float: an exponent of at least two digits below 1e-4 and from 1e21 on.
fn write_float(f: &mut impl fmt::Write, number: f64) -> fmt::Result {
    let size = number.abs();
    if !number.is_finite() {
        return f.write_str(match number {
            _ if number.is_nan() => "NaN",
            _ if number < 0.0 => "-Inf",
            _ => "+Inf",
        });
    }
    // All digits of large whole numbers, so that they read back as the same.
    if number.trunc() == number && size < I64_END {
        return write!(f, "{}{}", if number.is_sign_negative() { "-" } else { "" }, size as i64);
    }
    if size == 0.0 || (1e-4..1e21).contains(&size) {
        return write!(f, "{number}");
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => write!(f, "{digits}e-{exponent:0>2}"),
            None => write!(f, "{digits}e+{exponent:0>2}"),
        },
        None => f.write_str(&text),
    }
}

/// Go's `%q` of a string.
fn write_quoted(f: &mut impl fmt::Write, text: &str) -> fmt::Result {
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
            c if !printable(c) && u32::from(c) < 0x1_0000 => write!(f, "\\u{:04x}", u32::from(c))?,
            c if !printable(c) => write!(f, "\\U{:08x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

/// Whether Go prints a character as it is: letters, marks, numbers, punctuation, symbols and the ASCII
/// space. The standard library says so of a character by not escaping it, other spaces aside.
fn printable(c: char) -> bool {
    c == ' ' || (!c.is_whitespace() && (c.is_alphanumeric() || c.escape_debug().len() == 1 || is_mark(c)))
}

/// Combining marks: `escape_debug` escapes them because they attach to the quote, Go prints them.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c), 0x300..=0x36f | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_go_prints_them() {
        for (json, text) in [
            ("null", "null"),
            ("true", "true"),
            ("-5", "-5"),
            ("1.5", "1.5"),
            ("2.0", "2"),
            ("1e21", "1e+21"),
            ("1.5e-5", "1.5e-05"),
            ("0.0001", "0.0001"),
            (r#""a\"b\\\n\t\u0001\u007f é 漢""#, "\"a\\\"b\\\\\\n\\t\\x01\\x7f é 漢\""),
            (r#""\u00a0\u200b\u2028""#, r#""\u00a0\u200b\u2028""#),
            (r#"[1,"a",[]]"#, r#"[1,"a",[]]"#),
            (r#"{"a":1,"b":"x"}"#, r#"a=1b="x""#),
        ] {
            let mut out = String::new();
            write_value(&mut out, &Value::from_json(json).unwrap()).unwrap();
            assert_eq!(out, text, "{json}");
        }
    }
}
