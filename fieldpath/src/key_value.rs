//! The values of keys in paths, as the Go package writes them.

use std::fmt::{Result, Write};

use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::{write_float, write_quoted};

/// Formats a value like `value.ToString` of `sigs.k8s.io/structured-merge-diff/v6`: strings are quoted, lists are
/// written in brackets, and maps as a sequence of entries.
pub(crate) fn write_value(f: &mut impl Write, value: &Value) -> Result {
    // The text is that of the Go package, because messages about conflicts contain it.
    match value {
        Value::Null => f.write_str("null"),
        Value::Bool(b) => write!(f, "{b}"),
        Value::Int(i) => write!(f, "{i}"),
        // Write all digits of a large integer, so it can be parsed back.
        Value::Float(x) if x.trunc() == *x && x.abs() < I64_END => {
            write!(
                f,
                "{}{}",
                if x.is_sign_negative() { "-" } else { "" },
                x.abs() as i64
            )
        }
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

        // The Go package writes no separator between fields.
        Value::Map(map) => {
            for (name, value) in map {
                write!(f, "{name}=")?;
                write_value(f, value)?;
            }
            Ok(())
        }
    }
}

/// 2^63, the smallest float that exceeds every `i64`.
const I64_END: f64 = 9_223_372_036_854_775_808.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_formatted_like_the_go_package() {
        for (json, text) in [
            ("null", "null"),
            ("true", "true"),
            ("-5", "-5"),
            ("1.5", "1.5"),
            ("2.0", "2"),
            ("1e18", "1000000000000000000"),
            ("1e20", "1e+20"),
            ("1234567.5", "1.2345675e+06"),
            ("1.5e-5", "1.5e-05"),
            ("0.0001", "0.0001"),
            (
                r#""a\"b\\\n\t\u0001\u007f é 漢""#,
                "\"a\\\"b\\\\\\n\\t\\x01\\x7f é 漢\"",
            ),
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
