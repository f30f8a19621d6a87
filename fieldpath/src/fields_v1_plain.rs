//! FieldsV1 as it is nearly always written.
//!
//! What `metadata.managedFields` holds was written by an apiserver: no white space, sorted keys, hardly an escape.
//! This reads such a text byte by byte. At anything else it gives up, and the text is read by the rules, so that
//! what is accepted, and every error, is decided in one place.

use fieldmanager_value::sorted::SortedMap;
use fieldmanager_value::{MAX_DEPTH, Map, Str, Value};

use crate::set::Node;
use crate::{PathElement, Set, SetBuilder};

/// The set, if the text is plain.
pub(crate) fn read(text: &[u8]) -> Option<Set> {
    let mut plain = Plain { text, at: 0, open: Vec::with_capacity(32) };
    let (set, _) = plain.level(0)?;
    (plain.at == text.len()).then_some(set)
}

struct Plain<'t> {
    text: &'t [u8],
    at: usize,
    /// What was read of the levels that have not ended, one behind the other.
    open: Vec<(PathElement, Node)>,
}

impl<'t> Plain<'t> {
    fn next(&mut self) -> Option<u8> {
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Passes what must come next.
    fn pass(&mut self, expected: &[u8]) -> Option<()> {
        let end = self.at + expected.len();
        (self.text.get(self.at..end)? == expected).then(|| self.at = end)
    }

    /// The text up to a quote; none if it has an escape or a control character.
    fn up_to_quote(&mut self) -> Option<&'t str> {
        let rest = self.text.get(self.at..)?;
        let n = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        let (text, rest) = rest.split_at_checked(n)?;
        if rest.first() != Some(&b'"') {
            return None;
        }
        self.at += n + 1;
        std::str::from_utf8(text).ok()
    }

    /// The text up to an escaped quote; none if it has another escape, or one of its own inside.
    fn up_to_escaped_quote(&mut self) -> Option<&'t str> {
        let rest = self.text.get(self.at..)?;
        let n = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        let (text, rest) = rest.split_at_checked(n)?;
        if !rest.starts_with(b"\\\"") {
            return None;
        }
        self.at += n + 2;
        std::str::from_utf8(text).ok()
    }

    /// One level, and whether the node itself is in the set.
    fn level(&mut self, depth: usize) -> Option<(Set, bool)> {
        if depth >= MAX_DEPTH {
            return None;
        }
        self.pass(b"{")?;
        let mut itself = false;
        if self.text.get(self.at) == Some(&b'}') {
            self.at += 1;
            return Some((Set::new(), itself));
        }
        let start = self.open.len();
        loop {
            self.pass(b"\"")?;
            let element = match self.next()? {
                b'.' => {
                    self.pass(b"\":{}")?;
                    itself = true;
                    None
                }
                kind => {
                    self.pass(b":")?;
                    let element = self.element(kind)?;
                    self.pass(b":")?;
                    Some(element)
                }
            };
            if let Some(element) = element {
                let (below, member) = self.level(depth + 1)?;
                // A node without children is there for its own sake.
                let member = member || below.is_empty();
                self.open.push((element, Node { member, children: below }));
            }
            match self.next()? {
                b',' => {}
                b'}' => return Some((self.close(start), itself)),
                _ => return None,
            }
        }
    }

    /// The set of a level that has ended.
    fn close(&mut self, start: usize) -> Set {
        let level = self.open.get(start..).unwrap_or_default();
        if level.is_sorted_by(|a, b| a.0 < b.0) {
            return Set(SortedMap::from_sorted_iter(self.open.drain(start..)));
        }
        SetBuilder::of(self.open.split_off(start)).build()
    }

    /// The element of a kind, with the quote behind it.
    fn element(&mut self, kind: u8) -> Option<PathElement> {
        match kind {
            b'f' => Some(PathElement::Field(Str::from(self.up_to_quote()?))),
            b'v' => {
                let value = self.scalar()?;
                self.pass(b"\"")?;
                Some(PathElement::Value(value))
            }
            b'k' => {
                self.pass(b"{")?;
                let (name, value) = self.field()?;
                let mut fields = Map::single(name, value);
                loop {
                    match self.next()? {
                        b',' => {
                            let (name, value) = self.field()?;
                            // The same name twice is for the rules.
                            if fields.insert(name, value).is_some() {
                                return None;
                            }
                        }
                        b'}' => break,
                        _ => return None,
                    }
                }
                self.pass(b"\"")?;
                Some(PathElement::Key(fields))
            }
            _ => None,
        }
    }

    /// A field of a key: `\"name\":value`.
    fn field(&mut self) -> Option<(Str, Value)> {
        self.pass(b"\\\"")?;
        let name = Str::from(self.up_to_escaped_quote()?);
        self.pass(b":")?;
        Some((name, self.scalar()?))
    }

    /// A text without escapes, a whole number that certainly fits, or a boolean.
    fn scalar(&mut self) -> Option<Value> {
        match self.text.get(self.at)? {
            b'\\' => {
                self.pass(b"\\\"")?;
                Some(Value::String(Str::from(self.up_to_escaped_quote()?)))
            }
            b't' => self.pass(b"true").map(|()| Value::Bool(true)),
            b'f' => self.pass(b"false").map(|()| Value::Bool(false)),
            b'1'..=b'9' => {
                let rest = self.text.get(self.at..)?;
                let n = rest.iter().position(|byte| !byte.is_ascii_digit())?;
                let digits = rest.get(..n).filter(|digits| digits.len() <= 15)?;
                // A fraction or an exponent is for the rules.
                if matches!(rest.get(n)?, b'.' | b'e' | b'E') {
                    return None;
                }
                self.at += n;
                Some(Value::Int(digits.iter().fold(0, |all, digit| all * 10 + i64::from(digit - b'0'))))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_are_read_here() {
        for text in [
            "{}",
            r#"{"f:a":{},"f:b":{".":{},"f:c":{}}}"#,
            r#"{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}"#,
            r#"{"v:\"x\"":{},"v:12":{},"v:true":{},"v:false":{}}"#,
            r#"{"f:b":{},"f:a":{}}"#,
        ] {
            let set = read(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(set, Set::from_json(text.as_bytes()).unwrap(), "{text}");
        }
    }

    #[test]
    fn others_are_left_to_the_rules() {
        for text in [
            "",
            "null",
            " {}",
            "{} ",
            r#"{"f:a": {}}"#,
            r#"{"f:\u0061":{}}"#,
            r#"{"f:a":null}"#,
            r#"{"i:1":{}}"#,
            r#"{"x:a":{}}"#,
            r#"{"fa":{}}"#,
            r#"{"f:a":{}"#,
            r#"{"f:a":{},}"#,
            r#"{"v:1.5":{}}"#,
            r#"{"v:1e2":{}}"#,
            r#"{"v:0":{}}"#,
            r#"{"v:-1":{}}"#,
            r#"{"v:1234567890123456":{}}"#,
            r#"{"v:null":{}}"#,
            r#"{"k:{}":{}}"#,
            r#"{"k:{\"a\":1,\"a\":2}":{}}"#,
            r#"{"k:{\"a\":\"\\n\"}":{}}"#,
            r#"{".":null}"#,
            "[]",
        ] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }
}
