//! JSON text in and out.

use crate::de::Seed;
use crate::{Error, MAX_DEPTH, TextPosition, Value, deep, json_plain, number, scan};

impl Value {
    /// Reads one JSON document.
    ///
    /// Of duplicate keys the last is kept, as in the apiserver's decoder. An integer beyond `i64` becomes
    /// the nearest float.
    ///
    /// # Errors
    ///
    /// [`Error::Json`] with the position where the text stops being valid; [`Error::TooDeep`].
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let error = Value::from_json("{\"a\": 1,}").unwrap_err();
    /// assert_eq!(error.to_string(), "not valid JSON at line 1 column 9: trailing comma");
    /// ```
    pub fn from_json(text: &str) -> Result<Value, Error> {
        json_plain::read(text).map_or_else(|| from_json_by_rule(text.as_bytes()), Ok)
    }

    /// Reads one JSON document from UTF-8 bytes. See [`from_json`](Self::from_json).
    ///
    /// # Errors
    ///
    /// As [`from_json`](Self::from_json).
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let value = Value::from_json_slice(br#"{"replicas": 3}"#)?;
    /// assert_eq!(value.get("replicas"), Some(&Value::from(3)));
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn from_json_slice(text: &[u8]) -> Result<Value, Error> {
        std::str::from_utf8(text).map_or_else(|_| from_json_by_rule(text), Value::from_json)
    }

    /// The value as compact JSON, map keys sorted, floats as Go writes them. A float that is not finite
    /// becomes `null`.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let value = Value::from_yaml("{b: [1.0, null], a: '<x>'}")?;
    /// assert_eq!(value.to_json(), r#"{"a":"<x>","b":[1,null]}"#);
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        // What has parts is seldom shorter.
        let mut out = String::with_capacity(if self.is_scalar() { 0 } else { 128 });
        self.write_json(&mut out);
        out
    }

    /// Appends the value as compact JSON. See [`to_json`](Self::to_json).
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let mut out = String::from("patch: ");
    /// Value::from(vec![1, 2]).write_json(&mut out);
    /// assert_eq!(out, "patch: [1,2]");
    /// ```
    pub fn write_json(&self, out: &mut String) {
        self.write_json_escaped(out, Escape::Json);
    }

    /// Appends the value as compact JSON, with names and texts escaped as told.
    ///
    /// ```
    /// use fieldmanager_value::{Escape, Value};
    /// let mut out = String::new();
    /// Value::from("<").write_json_escaped(&mut out, Escape::Html);
    /// assert_eq!(out, r#""\u003c""#);
    /// ```
    pub fn write_json_escaped(&self, out: &mut String, escape: Escape) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Int(i) => number::write_integer(out, *i),
            Value::Float(f) => number::write_number(out, *f),
            Value::String(s) => {
                out.push('"');
                write_shared(out, s, s.is_common(), escape);
                out.push('"');
            }
            Value::List(list) => deep::level(|| {
                let mut before = '[';
                for item in list {
                    out.push(before);
                    item.write_json_escaped(out, escape);
                    before = ',';
                }
                out.push_str(if list.is_empty() { "[]" } else { "]" });
            }),
            Value::Map(map) => deep::level(|| {
                // Each of these texts is of known length: it is written without a call.
                let mut first = true;
                for (name, value) in map {
                    if first {
                        out.push_str("{\"");
                    } else {
                        out.push_str(",\"");
                    }
                    first = false;
                    write_shared(out, name, name.is_common(), escape);
                    if let Value::String(text) = value {
                        out.push_str("\":\"");
                        write_shared(out, text, text.is_common(), escape);
                        out.push('"');
                    } else {
                        out.push_str("\":");
                        value.write_json_escaped(out, escape);
                    }
                }
                if first {
                    out.push_str("{}");
                } else {
                    out.push('}');
                }
            }),
        }
    }

    /// The value as JSON over several lines, indented by two spaces. What nests deeper than [`MAX_DEPTH`] levels is
    /// written on one line, since the indentation would be longer than the value.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let value = Value::from_json(r#"{"a":[1],"b":{}}"#)?;
    /// assert_eq!(value.to_json_pretty(), "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}");
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn to_json_pretty(&self) -> String {
        let mut out = String::new();
        self.write_json_pretty(&mut out, 0);
        out
    }

    fn write_json_pretty(&self, out: &mut String, depth: usize) {
        let line = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        match self {
            Value::List(list) if !list.is_empty() && depth < MAX_DEPTH => {
                out.push('[');
                for (i, item) in list.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    line(out, depth + 1);
                    item.write_json_pretty(out, depth + 1);
                }
                line(out, depth);
                out.push(']');
            }
            Value::Map(map) if !map.is_empty() && depth < MAX_DEPTH => {
                out.push('{');
                for (i, (name, value)) in map.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    line(out, depth + 1);
                    write_string(out, name, Escape::Json);
                    out.push_str(": ");
                    value.write_json_pretty(out, depth + 1);
                }
                line(out, depth);
                out.push('}');
            }
            other => other.write_json(out),
        }
    }
}

/// Whatever is not read in one pass: anything unusual, and every mistake.
fn from_json_by_rule(text: &[u8]) -> Result<Value, Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // The seed bounds the depth itself, with an error of its own.
    deserializer.disable_recursion_limit();
    let seed = Seed::new();
    let value = seed.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| {
        if seed.too_deep() {
            return Error::TooDeep;
        }
        // The position is a field of its own: cut serde_json's rendering of it off.
        let message = error.to_string();
        let suffix = format!(" at line {} column {}", error.line(), error.column());
        Error::Json {
            position: TextPosition { line: error.line(), column: error.column() },
            message: message.strip_suffix(&suffix).unwrap_or(&message).to_owned(),
        }
    })
}

/// Which characters of a string are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// Those that JSON asks for: quotes, backslashes and control characters.
    Json,
    /// Also `<`, `>`, `&` and the two line separators of Unicode, as `json-iterator` does where it is compatible with
    /// Go's standard library. Structured-merge-diff writes with it.
    Html,
    /// The same, as Go's `encoding/json` does: backspace is `\b` and form feed is `\f`, which the others write as
    /// `\u0008` and `\u000c`.
    Go,
}

/// Appends a text as a JSON string.
///
/// ```
/// use fieldmanager_value::{Escape, write_string};
/// let mut out = String::new();
/// write_string(&mut out, "a<\"", Escape::Html);
/// assert_eq!(out, r#""a\u003c\"""#);
/// ```
pub fn write_string(out: &mut String, text: &str, escape: Escape) {
    out.push('"');
    write_inside(out, text, escape);
    out.push('"');
}

/// What stands between the quotes; common texts stand there as they are.
#[inline]
fn write_shared(out: &mut String, text: &str, is_common: bool, escape: Escape) {
    if is_common { out.push_str(text) } else { write_inside(out, text, escape) }
}

/// What stands between the quotes.
#[inline]
fn write_inside(out: &mut String, text: &str, escape: Escape) {
    let plain = match escape {
        Escape::Json => scan::is_plain(text.as_bytes()),
        Escape::Html | Escape::Go => scan::is_plain_in_html(text.as_bytes()),
    };
    if plain {
        out.push_str(text);
    } else {
        write_escaped(out, text, escape);
    }
}

#[cold]
fn write_escaped(out: &mut String, text: &str, escape: Escape) {
    use std::fmt::Write;
    let special = |c: char| {
        let html = matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
        c < ' ' || c == '"' || c == '\\' || (html && escape != Escape::Json)
    };
    let mut rest = text;
    while let Some(at) = rest.find(special) {
        let (plain, tail) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = tail.chars();
        // Writing to a string cannot fail.
        let _ = match chars.next() {
            Some('"') => out.write_str("\\\""),
            Some('\\') => out.write_str("\\\\"),
            Some('\n') => out.write_str("\\n"),
            Some('\r') => out.write_str("\\r"),
            Some('\t') => out.write_str("\\t"),
            Some('\u{8}') if escape == Escape::Go => out.write_str("\\b"),
            Some('\u{c}') if escape == Escape::Go => out.write_str("\\f"),
            Some(c) => write!(out, "\\u{:04x}", u32::from(c)),
            None => Ok(()),
        };
        rest = chars.as_str();
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        for text in [
            "null",
            "true",
            "-7",
            "9223372036854775807",
            "1.5",
            r#""a\"b\\c\nd\u0001é""#,
            r#"[1,[],{}]"#,
            r#"{"a":{"b":[null]},"c":""}"#,
        ] {
            let value = Value::from_json(text).unwrap();
            assert_eq!(value.to_json(), text);
            assert_eq!(Value::from_json(&value.to_json_pretty()).unwrap(), value);
        }
    }

    #[test]
    fn an_integer_beyond_64_bits_becomes_a_float() {
        let value = Value::from_json("9223372036854775808").unwrap();
        assert!(value.strict_eq(&Value::Float(9_223_372_036_854_775_808.0)));
        let value = Value::from_json("-9223372036854775809").unwrap();
        assert!(value.strict_eq(&Value::Float(-9_223_372_036_854_775_808.0)));
        assert!(Value::from_json("1e400").is_err());
    }

    #[test]
    fn the_last_of_duplicate_keys_stays() {
        let value = Value::from_json(r#"{"b": 1, "a": 1, "b": 2}"#).unwrap();
        assert_eq!(value.to_json(), r#"{"a":1,"b":2}"#);
    }

    #[test]
    fn texts_are_escaped_as_each_encoder_of_go_does() {
        let text: String = (0..0x30_u8)
            .map(char::from)
            .chain("<=>?@[\\]\u{7f}é\u{2027}\u{2028}\u{2029}😀".chars())
            .collect();
        // What `encoding/json` of Go 1.26 writes for this text.
        let go = concat!(
            r#""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f\u0010\u0011"#,
            r#"\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"#,
            r##" !\"#$%\u0026'()*+,-./\u003c=\u003e?@[\\]"##,
            "\u{7f}é\u{2027}",
            r#"\u2028\u2029😀""#,
        );
        let html = go.replace(r"\b", r"\u0008").replace(r"\f", r"\u000c");
        let json =
            [("u0026", "&"), ("u003c", "<"), ("u003e", ">"), ("u2028", "\u{2028}"), ("u2029", "\u{2029}")]
                .iter()
                .fold(html.clone(), |json, (escaped, plain)| json.replace(&format!("\\{escaped}"), plain));
        for (escape, expected) in [(Escape::Go, go), (Escape::Html, &html), (Escape::Json, &json)] {
            // At every place of the words in which plain texts are looked for.
            for n in 0..17 {
                let before = "a".repeat(n);
                let mut out = String::new();
                write_string(&mut out, &format!("{before}{text}"), escape);
                assert_eq!(out, format!("\"{before}{}", &expected[1..]));
                assert_eq!(Value::from_json(&out).unwrap().as_str(), Some(&*format!("{before}{text}")));
            }
            for c in text.chars() {
                for n in 0..17 {
                    let (before, after) = ("a".repeat(n % 9), "é".repeat(n / 4));
                    let (mut alone, mut out) = (String::new(), String::new());
                    write_string(&mut alone, &c.to_string(), escape);
                    write_string(&mut out, &format!("{before}{c}{after}"), escape);
                    assert_eq!(out, format!("\"{before}{}{after}\"", &alone[1..alone.len() - 1]));
                }
            }
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(Value::from_json(&nested(crate::MAX_DEPTH)).is_ok());
        for n in [crate::MAX_DEPTH + 1, 10_000, 1_000_000] {
            assert_eq!(Value::from_json(&nested(n)), Err(Error::TooDeep));
        }
        let maps = r#"{"a":"#.repeat(10_000);
        assert_eq!(Value::from_json(&maps), Err(Error::TooDeep));
    }

    #[test]
    fn faults_are_located() {
        for (text, message) in [
            ("", "not valid JSON at line 1 column 0: EOF while parsing a value"),
            ("{\n  \"a\": nul}", "not valid JSON at line 2 column 11: expected ident"),
            ("1 2", "not valid JSON at line 1 column 3: trailing characters"),
        ] {
            assert_eq!(Value::from_json(text).unwrap_err().to_string(), message);
        }
    }
}
