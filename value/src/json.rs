//! JSON encoding and decoding.

use std::fmt;

use serde::de::DeserializeSeed;

use crate::escape::{Escape, write_content, write_string};
use crate::reader::DocumentReader;
use crate::{Error, MAX_DEPTH, TextPosition, Value, deep, number};

impl Value {
    /// Parses a JSON document like the decoder of the apiserver.
    ///
    /// The last of several duplicate keys wins. An integer outside the range of `i64` becomes the nearest float, and
    /// `-0` is a float, so it round-trips. A lone surrogate (`"\ud800"`) becomes U+FFFD.
    ///
    /// # Errors
    ///
    /// [`Error::Json`] with the position of the syntax error; [`Error::TooDeep`].
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let error = Value::from_json("{\"a\": 1,}").unwrap_err();
    /// assert_eq!(error.to_string(), "not valid JSON at line 1 column 9: trailing comma");
    /// ```
    pub fn from_json(text: &str) -> Result<Value, Error> {
        read(text, false).map(|(value, _)| value)
    }

    /// Parses a JSON document like [`from_json`](Self::from_json), but rejects duplicate keys. Intended for files
    /// written by hand, where a duplicate key is a mistake.
    ///
    /// # Errors
    ///
    /// Those of [`from_json`](Self::from_json); [`Error::Json`] with the end position of the second occurrence of a
    /// duplicate key.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let error = Value::from_json_strict("{\"a\": 1, \"a\": 2}").unwrap_err();
    /// assert_eq!(error.to_string(), "not valid JSON at line 1 column 12: duplicate key `a`");
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn from_json_strict(text: &str) -> Result<Value, Error> {
        read(text, true).map(|(value, _)| value)
    }

    /// Parses a JSON document from bytes like [`from_json`](Self::from_json). Each byte that is not valid UTF-8 becomes
    /// U+FFFD.
    ///
    /// # Errors
    ///
    /// Those of [`from_json`](Self::from_json). Columns after an invalid byte count the U+FFFD that replaces it.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let value = Value::from_json_slice(br#"{"replicas": 3}"#)?;
    /// assert_eq!(value.get("replicas"), Some(&Value::from(3)));
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn from_json_slice(text: &[u8]) -> Result<Value, Error> {
        match std::str::from_utf8(text) {
            Ok(text) => Value::from_json(text),
            Err(_) => Value::from_json(&replace_invalid_utf8(text)),
        }
    }

    /// Returns the value as compact JSON with sorted keys and floats formatted like Go. Floats that are not finite are
    /// written as `null`.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let value = Value::from_yaml("{b: [1.0, null], a: '<x>'}")?;
    /// assert_eq!(value.to_json(), r#"{"a":"<x>","b":[1,null]}"#);
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(if self.is_scalar() { 0 } else { 128 });
        write_json(self, &mut out, Escape::Json);
        out
    }

    /// Returns the value as JSON indented by two spaces. Parts nested deeper than [`MAX_DEPTH`] levels are written on
    /// one line, since their indentation would exceed their content.
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
        // Levels beyond the limit are on one line, because their indentation would be quadratic.
        let line = |out: &mut String, before: char, depth: usize| {
            out.push(before);
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        let end = match self {
            Value::List(list) if !list.is_empty() && depth < MAX_DEPTH => {
                for (i, item) in list.iter().enumerate() {
                    line(out, if i == 0 { '[' } else { ',' }, depth + 1);
                    item.write_json_pretty(out, depth + 1);
                }
                ']'
            }
            Value::Map(map) if !map.is_empty() && depth < MAX_DEPTH => {
                for (i, (name, value)) in map.iter().enumerate() {
                    line(out, if i == 0 { '{' } else { ',' }, depth + 1);
                    write_string(out, name, Escape::Json);
                    out.push_str(": ");
                    value.write_json_pretty(out, depth + 1);
                }
                '}'
            }
            other => return write_json(other, out, Escape::Json),
        };
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
        out.push(end);
    }
}

/// Appends the value as compact JSON, with names and strings escaped according to `escape`.
///
/// ```
/// use fieldmanager_value::internal::{Escape, write_json};
/// use fieldmanager_value::Value;
/// let mut out = String::new();
/// write_json(&Value::from("<"), &mut out, Escape::Html);
/// assert_eq!(out, r#""\u003c""#);
/// ```
pub fn write_json(value: &Value, out: &mut String, escape: Escape) {
    // Each list and map checks the stack, since a value may be deeper than any parsed one.
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Int(i) => number::write_integer(out, *i),
        Value::Float(f) => number::write_number(out, *f),
        Value::String(s) => {
            out.push('"');
            write_text(out, s, s.is_static(), escape);
            out.push('"');
        }
        Value::List(list) => deep::level(|| {
            let mut before = '[';
            for item in list {
                out.push(before);
                write_json(item, out, escape);
                before = ',';
            }
            out.push_str(if list.is_empty() { "[]" } else { "]" });
        }),
        Value::Map(map) => deep::level(|| {
            let mut before = "{\"";
            for (name, value) in map {
                out.push_str(before);
                before = ",\"";
                write_text(out, name, name.is_static(), escape);

                // The quotes of a name and of its string are written together.
                if let Value::String(text) = value {
                    out.push_str("\":\"");
                    write_text(out, text, text.is_static(), escape);
                    out.push('"');
                } else {
                    out.push_str("\":");
                    write_json(value, out, escape);
                }
            }
            out.push_str(if map.is_empty() { "{}" } else { "}" });
        }),
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

/// Compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

/// Appends a string without the surrounding quotes. Static strings need no escape.
#[inline]
fn write_text(out: &mut String, text: &str, is_static: bool, escape: Escape) {
    if is_static {
        out.push_str(text)
    } else {
        write_content(out, text, escape)
    }
}

/// Parses a JSON document like [`Value::from_json`], and says whether a map of it has a key twice.
///
/// # Errors
///
/// Those of [`Value::from_json`].
pub fn from_json_with_repeats(text: &str) -> Result<(Value, bool), Error> {
    read(text, false)
}

/// The value, and whether a key occurs again.
fn read(text: &str, strict: bool) -> Result<(Value, bool), Error> {
    let mut reader = DocumentReader::new(strict);
    let found = read_once(text, &mut reader);
    // Only a refused document may have lone surrogates, so others are not searched for them.
    let replaced = match &found {
        Err(_) if !reader.too_deep => replace_lone_surrogates(text),
        _ => None,
    };
    match replaced {
        Some(replaced) => read(&replaced, strict),
        None => found.map(|value| (value, reader.has_repeats)),
    }
}

fn read_once(text: &str, reader: &mut DocumentReader) -> Result<Value, Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The reader enforces its own depth limit.
    deserializer.disable_recursion_limit();
    let value = reader
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| {
        if reader.too_deep {
            return Error::TooDeep;
        }

        // The position is a separate field, so strip it from the message of serde_json.
        let message = error.to_string();
        let suffix = format!(" at line {} column {}", error.line(), error.column());
        Error::Json {
            position: TextPosition {
                line: error.line(),
                column: error.column(),
            },
            message: message.strip_suffix(&suffix).unwrap_or(&message).to_owned(),
        }
    })
}

/// Replaces each invalid byte by U+FFFD, like Go's decoder.
fn replace_invalid_utf8(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    out
}

/// Replaces the escape of each lone surrogate, which `serde_json` rejects, by that of U+FFFD, like Go. Returns `None`
/// if there are no lone surrogates. The length does not change, so error positions stay valid.
fn replace_lone_surrogates(text: &str) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    // A lone surrogate and the replacement character have escapes of the same length, so the text is changed in place.
    let (mut at, mut in_string, mut replaced) = (0, false, false);
    while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
        at += match (in_string, &mut *rest) {
            (_, [b'"', ..]) => {
                in_string = !in_string;
                1
            }
            (true, [b'\\', ..]) => match (
                surrogate(rest),
                surrogate(rest.get(6..).unwrap_or_default()),
            ) {
                (Some(Surrogate::High), Some(Surrogate::Low)) => 12,
                (Some(_), _) => {
                    rest.iter_mut()
                        .zip(br"\ufffd")
                        .for_each(|(byte, new)| *byte = *new);
                    replaced = true;
                    6
                }
                _ => 2,
            },
            _ => 1,
        };
    }

    if replaced {
        String::from_utf8(bytes).ok()
    } else {
        None
    }
}

enum Surrogate {
    High,
    Low,
}

/// The surrogate whose escape the bytes start with.
fn surrogate(bytes: &[u8]) -> Option<Surrogate> {
    match bytes {
        [b'\\', b'u', b'd' | b'D', second, third, fourth, ..]
            if third.is_ascii_hexdigit() && fourth.is_ascii_hexdigit() =>
        {
            match second {
                b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => Some(Surrogate::High),
                b'c'..=b'f' | b'C'..=b'F' => Some(Surrogate::Low),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_of_a_key_are_noticed_at_any_level() {
        let repeats = |text: &str| from_json_with_repeats(text).unwrap().1;
        assert!(repeats(r#"{"a":[{"b":{"c":1,"d":2,"c":1}}],"e":1}"#));
        assert!(repeats(r#"{"\ud800":1,"\udfff":2}"#));
        assert!(!repeats(r#"{"a":{"a":1},"b":[{"a":1},{"a":1}]}"#));
    }

    #[test]
    fn documents_round_trip() {
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
    fn the_last_duplicate_key_wins() {
        let value = Value::from_json(r#"{"b": 1, "a": 1, "b": 2}"#).unwrap();
        assert_eq!(value.to_json(), r#"{"a":1,"b":2}"#);
    }

    #[test]
    fn strict_reader_rejects_duplicate_keys() {
        let error = |text: &str| Value::from_json_strict(text).unwrap_err().to_string();
        assert_eq!(
            error("{\"b\": 1, \"a\": {\n \"c\": 1, \"b\": 1, \"c\": 2}}"),
            "not valid JSON at line 2 column 20: duplicate key `c`"
        );
        // Keys are compared after decoding escapes and replacing lone surrogates.
        assert!(error(r#"{"a": 1, "\u0061": 1}"#).ends_with("duplicate key `a`"));
        assert!(error(r#"{"\ud800": 1, "\ufffd": 1}"#).ends_with("duplicate key `\u{fffd}`"));
        for n in [2, 15, 16, 17, 18, 100] {
            let keys: Vec<String> = (0..n).rev().map(|i| format!("\"k{i:03}\": -0")).collect();
            assert!(Value::from_json_strict(&format!("{{{}}}", keys.join(","))).is_ok());
            for at in [0, n / 2, n - 1] {
                let message = error(&format!("{{{},{}}}", keys.join(","), keys[at]));
                assert!(message.contains("duplicate key"), "{message}");
            }
        }
        let json = r#"{"a":{"b":1},"c":[{"b":1},{"b":1}]}"#;
        assert_eq!(Value::from_json_strict(json).unwrap().to_json(), json);
    }

    #[test]
    fn strings_are_escaped_like_each_go_encoder() {
        let text: String = (0..0x30_u8)
            .map(char::from)
            .chain("<=>?@[\\]\u{7f}é\u{2027}\u{2028}\u{2029}😀".chars())
            .collect();
        // The output of `encoding/json` in Go 1.26.
        let go = concat!(
            r#""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f\u0010\u0011"#,
            r#"\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"#,
            r##" !\"#$%\u0026'()*+,-./\u003c=\u003e?@[\\]"##,
            "\u{7f}é\u{2027}",
            r#"\u2028\u2029😀""#,
        );
        let html = go.replace(r"\b", r"\u0008").replace(r"\f", r"\u000c");
        let json = [
            ("u0026", "&"),
            ("u003c", "<"),
            ("u003e", ">"),
            ("u2028", "\u{2028}"),
            ("u2029", "\u{2029}"),
        ]
        .iter()
        .fold(html.clone(), |json, (escaped, plain)| {
            json.replace(&format!("\\{escaped}"), plain)
        });
        for (escape, expected) in [
            (Escape::Go, go),
            (Escape::Html, &html),
            (Escape::Json, &json),
        ] {
            // At every offset.
            for n in 0..17 {
                let before = "a".repeat(n);
                let mut out = String::new();
                write_string(&mut out, &format!("{before}{text}"), escape);
                assert_eq!(out, format!("\"{before}{}", &expected[1..]));
                assert_eq!(
                    Value::from_json(&out).unwrap().as_str(),
                    Some(&*format!("{before}{text}"))
                );
            }
            for c in text.chars() {
                for n in 0..17 {
                    let (before, after) = ("a".repeat(n % 9), "é".repeat(n / 4));
                    let (mut alone, mut out) = (String::new(), String::new());
                    write_string(&mut alone, &c.to_string(), escape);
                    write_string(&mut out, &format!("{before}{c}{after}"), escape);
                    assert_eq!(
                        out,
                        format!("\"{before}{}{after}\"", &alone[1..alone.len() - 1])
                    );
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

    /// Expected values are those of `sigs.k8s.io/json`, the decoder of the apiserver.
    #[test]
    fn lone_surrogates_and_invalid_utf8_are_decoded_like_go() {
        for (text, json) in [
            (&br#""\ud800""#[..], "\"\u{fffd}\""),
            (br#""\udc00x""#, "\"\u{fffd}x\""),
            (br#""\ud800\ud800""#, "\"\u{fffd}\u{fffd}\""),
            (br#""\uD800\u0041""#, "\"\u{fffd}A\""),
            (br#""\ud800\udc00\udc00""#, "\"\u{10000}\u{fffd}\""),
            (br#""\ud83d\n\\\ud83d""#, "\"\u{fffd}\\n\\\\\u{fffd}\""),
            (br#"{"\ud800":1,"\ud801":2}"#, "{\"\u{fffd}\":2}"),
            (b"\"\xff\"", "\"\u{fffd}\""),
            (b"\"a\xe2\x82b\"", "\"a\u{fffd}\u{fffd}b\""),
            (b"\"\xed\xa0\x80\"", "\"\u{fffd}\u{fffd}\u{fffd}\""),
            (b"{\"\xff\":1,\"\xfe\":2}", "{\"\u{fffd}\":2}"),
        ] {
            assert_eq!(Value::from_json_slice(text).unwrap().to_json(), json);
        }
        for (text, message) in [
            (
                &br#""\uD800\uDC""#[..],
                "not valid JSON at line 1 column 12: EOF while parsing a string",
            ),
            (
                br#"["\ud800", nul]"#,
                "not valid JSON at line 1 column 15: expected ident",
            ),
            (
                b"[1]\xff",
                "not valid JSON at line 1 column 4: trailing characters",
            ),
        ] {
            assert_eq!(
                Value::from_json_slice(text).unwrap_err().to_string(),
                message
            );
        }
    }

    #[test]
    fn negative_zero_is_a_float_and_round_trips() {
        let list = Value::from_json(r#"["-0\"-0",-0,-0.0,-0e0,-0E1,1e-0,0,-0 ,[-0]]"#).unwrap();
        assert_eq!(list.to_json(), r#"["-0\"-0",-0,-0,-0,-0,1,0,-0,[-0]]"#);
        assert!(
            Value::from_json("-0")
                .unwrap()
                .strict_eq(&Value::Float(-0.0))
        );
    }

    #[test]
    fn syntax_errors_report_their_position() {
        for (text, message) in [
            (
                "",
                "not valid JSON at line 1 column 0: EOF while parsing a value",
            ),
            (
                "{\n  \"a\": nul}",
                "not valid JSON at line 2 column 11: expected ident",
            ),
            (
                "1 2",
                "not valid JSON at line 1 column 3: trailing characters",
            ),
        ] {
            assert_eq!(Value::from_json(text).unwrap_err().to_string(), message);
        }
    }
}
