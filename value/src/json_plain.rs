//! JSON as it is nearly always written.
//!
//! Objects come by the thousand, in JSON without mistakes. This reads such a text in one pass and makes the values
//! right where they go. At any mistake, and at a few rare things, it gives up, and the text is read by `serde_json`:
//! so every error is decided in one place, and so is what is accepted.

use crate::common::common;
use crate::{List, MAX_DEPTH, Map, Str, Value};

/// The value, if the text is plain.
pub(crate) fn read(text: &str) -> Option<Value> {
    let mut plain = Plain {
        text,
        at: 0,
        names: vec![None; NAMES],
        entries: Vec::with_capacity(32),
        items: Vec::with_capacity(32),
    };
    let value = plain.value(0)?;
    plain.skip_space();
    (plain.at == text.len()).then_some(value)
}

/// How many field names of one document are remembered to be shared; a power of two.
const NAMES: usize = 64;

struct Plain<'t> {
    text: &'t str,
    at: usize,
    /// Names that are not common, by a hash.
    names: Vec<Option<Str>>,
    /// What was read of the maps that have not ended, one behind the other.
    entries: Vec<(Str, Value)>,
    /// The same of lists.
    items: Vec<Value>,
}

impl<'t> Plain<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// The next byte that is no space.
    fn token(&mut self) -> Option<u8> {
        self.skip_space();
        self.peek()
    }

    fn pass(&mut self, expected: &str) -> Option<()> {
        self.text.get(self.at..)?.starts_with(expected).then(|| self.at += expected.len())
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        match self.token()? {
            b'"' => {
                self.at += 1;
                self.string().map(Value::String)
            }
            b'{' => {
                self.at += 1;
                self.map(depth)
            }
            b'[' => {
                self.at += 1;
                self.list(depth)
            }
            b't' => self.pass("true").map(|()| Value::Bool(true)),
            b'f' => self.pass("false").map(|()| Value::Bool(false)),
            b'n' => self.pass("null").map(|()| Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn map(&mut self, depth: usize) -> Option<Value> {
        if depth >= MAX_DEPTH {
            return None;
        }
        if self.token()? == b'}' {
            self.at += 1;
            return Some(Value::Map(Map::new()));
        }
        let start = self.entries.len();
        loop {
            if self.token()? != b'"' {
                return None;
            }
            self.at += 1;
            let name = match self.up_to_quote() {
                Some(name) => self.name(name),
                None => self.escaped()?,
            };
            if self.token()? != b':' {
                return None;
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            self.entries.push((name, value));
            let next = self.token()?;
            self.at += 1;
            match next {
                b',' => {}
                b'}' => return Some(Value::Map(Map::of(&mut self.entries, start))),
                _ => return None,
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        if depth >= MAX_DEPTH {
            return None;
        }
        if self.token()? == b']' {
            self.at += 1;
            return Some(Value::List(List::new()));
        }
        let start = self.items.len();
        loop {
            let item = self.value(depth + 1)?;
            self.items.push(item);
            let next = self.token()?;
            self.at += 1;
            match next {
                b',' => {}
                b']' => return Some(Value::List(List::of(self.items.drain(start..)))),
                _ => return None,
            }
        }
    }

    /// A field name, shared with an earlier one of the same text where that is still remembered.
    fn name(&mut self, text: &str) -> Str {
        if let Some(name) = common(text) {
            return name;
        }
        let bytes = text.as_bytes();
        let byte = |at: usize| usize::from(bytes.get(at).copied().unwrap_or_default());
        let n = bytes.len();
        let hash = n.wrapping_mul(31)
            ^ byte(0)
            ^ byte(n / 2).wrapping_mul(7)
            ^ byte(n.wrapping_sub(1)).wrapping_mul(3);
        match self.names.get_mut(hash & (NAMES - 1)) {
            Some(Some(name)) if *name == *text => name.clone(),
            Some(slot) => slot.insert(Str::from(text)).clone(),
            None => Str::from(text),
        }
    }

    fn string(&mut self) -> Option<Str> {
        match self.up_to_quote() {
            Some(text) => Some(Str::from(text)),
            None => self.escaped(),
        }
    }

    /// The text up to a quote, which is passed. None, and nothing is passed, if there is an escape in it.
    fn up_to_quote(&mut self) -> Option<&'t str> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let n = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        if rest.get(n) != Some(&b'"') {
            return None;
        }
        let text = self.text.get(self.at..self.at + n)?;
        self.at += n + 1;
        Some(text)
    }

    /// A text with escapes, from behind its first quote.
    fn escaped(&mut self) -> Option<Str> {
        let start = self.at.checked_sub(1)?;
        let mut rest = self.text.as_bytes().get(self.at..)?.iter();
        let mut n = 0;
        loop {
            n += 1;
            match rest.next()? {
                b'"' => break,
                b'\\' => {
                    rest.next()?;
                    n += 1;
                }
                _ => {}
            }
        }
        let token = self.text.get(start..self.at + n)?;
        self.at += n;
        serde_json::from_str::<Str>(token).ok()
    }

    fn number(&mut self) -> Option<Value> {
        let rest = self.text.get(self.at..)?;
        let part_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let n = rest.bytes().position(|byte| !part_of_number(&byte)).unwrap_or(rest.len());
        let token = rest.get(..n)?;
        self.at += n;
        let digits = token.strip_prefix('-').unwrap_or(token);
        let leading_zero = digits.starts_with('0') && token != "0";
        if digits.len() <= 18 && !leading_zero && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return token.parse().ok().map(Value::Int);
        }
        serde_json::from_str::<Value>(token).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What `serde_json` reads.
    fn by_rule(text: &str) -> Option<Value> {
        serde_json::from_str(text).ok()
    }

    #[test]
    fn texts_are_read_as_serde_json_reads_them() {
        for text in [
            "null",
            " [ 1 , -2,\n0 ] ",
            "-0",
            "1.5",
            "1e3",
            "-1.25e-2",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "123456789012345678901234567890",
            r#"{"a":{"b":[]},"a":1,"":{}}"#,
            r#""\u00e9\n\"\\\/\ud83d\ude00é""#,
            r#"{"\n":"\t"}"#,
            "true",
            "\"\"",
            "[[[]]]",
            "999999999999999999",
        ] {
            let plain = read(text);
            assert!(plain.is_some(), "{text}");
            let (plain, rule) = (plain.unwrap(), by_rule(text).unwrap());
            assert!(plain.identical(&rule), "{text}: {plain} {rule}");
        }
    }

    #[test]
    fn what_is_no_json_is_left_to_the_rule() {
        for text in [
            "",
            " ",
            "nul",
            "nulll",
            "01",
            "-",
            "1.",
            ".5",
            "+1",
            "1e",
            "--1",
            "-01",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{a:1}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{"a":1 "b":2}"#,
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\n\"",
            "{} {}",
            "'a'",
            "[",
            "{",
            "tru",
            "\"\\ud800\"",
            "1e999",
        ] {
            assert_eq!(read(text), None, "{text}");
            assert_eq!(by_rule(text), None, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let lists = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(read(&lists(MAX_DEPTH)).is_some());
        assert_eq!(read(&lists(MAX_DEPTH + 1)), None);
        assert_eq!(read(&"[".repeat(1_000_000)), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_as_by_the_rule_or_not_at_all(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"", "a", "\\n", "\\u0041", "\\", "1", "0", "-", ".", "e", "+", " ",
                    "null", "true", "é", "\"a\":", "\"name\"", "\n", "[1,2]", "{}", "\u{1}",
                ]),
                0..12,
            )
        ) {
            let text = parts.concat();
            if let Some(plain) = read(&text) {
                let rule = by_rule(&text);
                prop_assert!(rule.is_some_and(|rule| rule.identical(&plain)), "{}", text);
            }
        }

        #[test]
        fn what_is_written_is_read(numbers in prop::collection::vec(any::<f64>(), 0..4), text in any::<String>()) {
            let list: Vec<Value> = numbers.into_iter().filter(|n| n.is_finite()).map(Value::Float).collect();
            let value = Value::Map([(text.clone(), Value::from(list)), ("t".into(), Value::from(text))].into_iter().collect());
            let json = value.to_json();
            prop_assert!(read(&json).is_some_and(|read| read.identical(&by_rule(&json).unwrap())), "{}", json);
        }
    }
}
