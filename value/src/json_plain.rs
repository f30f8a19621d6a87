//! JSON as it is nearly always written.
//!
//! Objects come by the thousand, in JSON without mistakes. This reads such a text in one pass and makes the values
//! right where they go. At any mistake, and at a few rare things, it gives up, and the text is read by `serde_json`:
//! so every error is decided in one place, and so is what is accepted.

use crate::memory::{Memory, Place, ROOT, Tables, UNKNOWN};
use crate::names::order;
use crate::scan::first_special;
use crate::text::SHORT;
use crate::word::Word;
use crate::{List, MAX_DEPTH, Map, Str, Text, Value};

/// The value, if the text is plain.
pub(crate) fn read(text: &str) -> Option<Value> {
    // A small document should not pay for much room.
    match text.len() {
        0..512 => read_with(text, Tables::<8>::new().memory()),
        512..8192 => read_with(text, Tables::<64>::new().memory()),
        _ => read_with(text, Tables::<512>::new().memory()),
    }
}

fn read_with(text: &str, memory: Memory<'_>) -> Option<Value> {
    let mut plain =
        Plain { text, at: 0, memory, entries: Vec::with_capacity(ROOM), items: Vec::with_capacity(ROOM) };
    plain.value::<false>(0, ROOT, Str::default())?;
    plain.skip_space();
    if plain.at == text.len() { plain.items.pop() } else { None }
}

struct Plain<'t> {
    text: &'t str,
    at: usize,
    memory: Memory<'t>,
    /// The entries that were read of the maps that have not ended, one behind the other.
    entries: Vec<(Str, Value)>,
    /// The same of lists.
    items: Vec<Value>,
}

/// Room for what is open of most objects, and less than the kilobyte from which on allocators take their time.
const ROOM: usize = 40;

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
        let next = self.peek()?;
        if next > b' ' {
            return Some(next);
        }
        self.skip_space();
        self.peek()
    }

    fn pass(&mut self, expected: &str) -> Option<()> {
        self.text
            .as_bytes()
            .get(self.at..)?
            .starts_with(expected.as_bytes())
            .then(|| self.at += expected.len())
    }

    /// A value in the field of that number: an entry of that name, if it is `NAMED`, or an item. It is put on the stack
    /// right here: returned and then moved, a value that was just made would be waited for.
    fn value<const NAMED: bool>(&mut self, depth: usize, field: u16, name: Str) -> Option<()> {
        match self.token()? {
            b'"' => {
                self.at += 1;
                match self.up_to_quote() {
                    Some(word) if word.len() <= SHORT => {
                        self.add::<NAMED>(name, || Value::EMPTY_TEXT);
                        self.last::<NAMED>()?.fill(word.text());
                    }
                    Some(word) => {
                        let text = self.memory.text(&word);
                        self.add::<NAMED>(name, || Value::String(Text::long(text)));
                    }
                    None => {
                        let text = Text::from(self.escaped()?);
                        self.add::<NAMED>(name, || Value::String(text));
                    }
                }
            }
            b'{' => {
                self.at += 1;
                let map = self.map(depth, field)?;
                self.add::<NAMED>(name, || Value::Map(map));
            }
            b'[' => {
                self.at += 1;
                let list = self.list(depth, field)?;
                self.add::<NAMED>(name, || Value::List(list));
            }
            b't' => {
                self.pass("true")?;
                self.add::<NAMED>(name, || Value::Bool(true));
            }
            b'f' => {
                self.pass("false")?;
                self.add::<NAMED>(name, || Value::Bool(false));
            }
            b'n' => {
                self.pass("null")?;
                self.add::<NAMED>(name, || Value::Null);
            }
            b'-' | b'0'..=b'9' => {
                let number = self.number()?;
                self.add::<NAMED>(name, || number);
            }
            _ => return None,
        }
        Some(())
    }

    /// Puts an entry or an item on its stack, made where it goes.
    #[inline(always)]
    fn add<const NAMED: bool>(&mut self, name: Str, value: impl FnOnce() -> Value) {
        if NAMED {
            self.entries.extend(std::iter::once_with(|| (name, value())));
        } else {
            self.items.extend(std::iter::once_with(value));
        }
    }

    /// The value that was put there last.
    #[inline(always)]
    fn last<const NAMED: bool>(&mut self) -> Option<&mut Value> {
        if NAMED { self.entries.last_mut().map(|(_, value)| value) } else { self.items.last_mut() }
    }

    fn map(&mut self, depth: usize, field: u16) -> Option<Map> {
        if depth >= MAX_DEPTH {
            return None;
        }
        if self.token()? == b'}' {
            self.at += 1;
            return Some(Map::new());
        }
        let start = self.entries.len();
        let mut place = Place::FirstIn(field);
        let mut sorted = true;
        let mut before = 0;
        loop {
            if self.token()? != b'"' {
                return None;
            }
            self.at += 1;
            let (name, number, order) = self.name(place)?;
            if order <= before {
                sorted = sorted && self.entries.get(start..)?.last().is_none_or(|(before, _)| *before < name);
            }
            before = order;
            self.value::<true>(depth + 1, number, name)?;
            place = Place::After(number);
            let next = self.token()?;
            self.at += 1;
            match next {
                b',' => {}
                b'}' => {
                    return Some(Map::of(self.entries.drain(start..), sorted));
                }
                _ => return None,
            }
        }
    }

    fn list(&mut self, depth: usize, field: u16) -> Option<List> {
        if depth >= MAX_DEPTH {
            return None;
        }
        if self.token()? == b']' {
            self.at += 1;
            return Some(List::new());
        }
        let start = self.items.len();
        loop {
            self.value::<false>(depth + 1, field, Str::default())?;
            let next = self.token()?;
            self.at += 1;
            match next {
                b',' => {}
                b']' => return Some(List::of(self.items.drain(start..))),
                _ => return None,
            }
        }
    }

    /// A field name from behind its first quote, up to behind the colon; its number and its order.
    fn name(&mut self, place: Place) -> Option<(Str, u16, u64)> {
        let rest = self.text.as_bytes().get(self.at..)?;
        if let Some((name, number)) = self.memory.expected(place, rest) {
            self.at += name.length;
            return Some((name.text.clone(), number, name.order));
        }
        let (name, number, order) = match self.up_to_quote() {
            Some(word) => self.memory.name(&word, rest),
            None => {
                let name = self.escaped()?;
                let order = order(&name);
                (name, UNKNOWN, order)
            }
        };
        if self.token()? != b':' {
            return None;
        }
        self.at += 1;
        self.memory.came(place, number);
        Some((name, number, order))
    }

    /// The text up to a quote, which is passed. None, and nothing is passed, if there is an escape in it.
    #[inline(always)]
    fn up_to_quote(&mut self) -> Option<Word<'t>> {
        let word = Word::read(self.text, self.at)?;
        if self.text.as_bytes().get(word.end()) != Some(&b'"') {
            return None;
        }
        self.at = word.end() + 1;
        Some(word)
    }

    /// A text with escapes, from behind its first quote.
    fn escaped(&mut self) -> Option<Str> {
        let bytes = self.text.as_bytes();
        let mut end = self.at;
        loop {
            end = first_special(bytes, end)?;
            match bytes.get(end)? {
                b'"' => break,
                b'\\' => end += 2,
                _ => return None,
            }
        }
        let token = self.text.get(self.at.checked_sub(1)?..=end)?;
        self.at = end + 1;
        serde_json::from_str::<Str>(token).ok()
    }

    fn number(&mut self) -> Option<Value> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let digits = rest.strip_prefix(b"-").unwrap_or(rest);
        let negative = digits.len() < rest.len();
        let mut whole = 0_i64;
        let mut n = 0;
        // Eighteen digits always fit.
        while let Some(digit @ b'0'..=b'9') = digits.get(n).filter(|_| n <= 18) {
            whole = whole.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            n += 1;
        }
        let leading_zero = digits.first() == Some(&b'0') && (negative || n > 1);
        let goes_on = matches!(digits.get(n), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        if (1..=18).contains(&n) && !leading_zero && !goes_on {
            self.at += n + usize::from(negative);
            return Some(Value::Int(if negative { -whole } else { whole }));
        }
        let part_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let n = rest.iter().position(|byte| !part_of_number(byte)).unwrap_or(rest.len());
        let token = self.text.get(self.at..self.at + n)?;
        self.at += n;
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
            assert!(plain.strict_eq(&rule), "{text}: {plain} {rule}");
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

    #[test]
    fn texts_are_read_whatever_stands_where() {
        for n in 0..80 {
            for special in ["", "\\n", "\\\"", "\\\\", "\\u00e9", "é", "😀"] {
                let text = format!("{}{special}{}", "x".repeat(n), "y".repeat(n % 11));
                let document = format!(r#"[{{"{text}":"{text}"}},{{"{text}":"{text}","{text}!":"{text}"}}]"#);
                let (plain, rule) = (read(&document).unwrap(), by_rule(&document).unwrap());
                assert!(plain.strict_eq(&rule), "{document}");
            }
        }
    }

    /// Documents with few names and texts, so that what is expected comes often, and as often nearly.
    fn documents() -> impl Strategy<Value = String> {
        let name = || {
            prop::sample::select(vec![
                "",
                "a",
                "ab",
                "abc",
                "name",
                "names",
                "namespace",
                "b\\n",
                "\\u0061",
                "é",
                "abcdef",
                "abcdefg",
                "abcdefghijklmn",
                "abcdefghijklmno",
                "abcdefghijklmnopqrst",
                "abcdefghijkl_nopqrst",
                "abcdefgh_jklmnopqrst",
            ])
        };
        let space = || prop::sample::select(vec!["", "", "", "", "", " ", "\n  "]);
        let part =
            prop::sample::select(vec!["a", "bcdefgh", "é", "😀", "\\n", "\\\"", "\\\\", "\\u0041", "TCP"]);
        let leaf = prop_oneof![
            prop::sample::select(vec![
                "null",
                "true",
                "false",
                "0",
                "-0",
                "12",
                "-345",
                "1.5",
                "1e3",
                "999999999999999999"
            ])
            .prop_map(str::to_owned),
            name().prop_map(|text| format!("\"{text}\"")),
            prop::collection::vec(part, 0..12).prop_map(|parts| format!("\"{}\"", parts.concat())),
        ];
        leaf.prop_recursive(6, 60, 6, move |inner| {
            let entry = (name(), space(), space(), inner.clone(), space())
                .prop_map(|(name, a, b, value, c)| format!("{c}\"{name}\"{a}:{b}{value}{a}"));
            prop_oneof![
                3 => prop::collection::vec(entry, 0..6).prop_map(|entries| format!("{{{}}}", entries.join(","))),
                1 => prop::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("[{}]", items.join(","))),
                1 => (inner, 0..40_usize).prop_map(|(item, n)| format!("[{}]", vec![item; n].join(","))),
            ]
        })
    }

    #[test]
    fn many_names_are_read() {
        // More than are remembered, in an order that is none, twice.
        let names: Vec<u32> = (0..3000_u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let map = |names: &[u32]| {
            let entries: Vec<String> =
                names.iter().map(|n| format!("\"n{n}\":{{\"v{}\":\"{n}\"}}", n % 1500)).collect();
            format!("{{{}}}", entries.join(","))
        };
        let document = format!("[{},{}]", map(&names), map(&names));
        assert!(read(&document).unwrap().strict_eq(&by_rule(&document).unwrap()));
    }

    proptest! {
        #[test]
        fn documents_are_read_as_by_the_rule(documents in prop::collection::vec(documents(), 1..4)) {
            // What one document teaches is used in the next.
            for document in documents {
                let plain = read(&document);
                prop_assert!(plain.is_some_and(|plain| plain.strict_eq(&by_rule(&document).unwrap())), "{}", document);
            }
        }

        #[test]
        fn damaged_documents_are_read_as_by_the_rule_or_not_at_all(
            document in documents(), at in any::<prop::sample::Index>(), with in prop::sample::select(vec!["", "\"", "\\", ",", "}", "a", ":", " "]),
        ) {
            let mut chars: Vec<String> = document.chars().map(String::from).collect();
            *at.get_mut(&mut chars) = with.to_owned();
            let document = chars.concat();
            if let Some(plain) = read(&document) {
                prop_assert!(by_rule(&document).is_some_and(|rule| rule.strict_eq(&plain)), "{}", document);
            }
        }

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
                prop_assert!(rule.is_some_and(|rule| rule.strict_eq(&plain)), "{}", text);
            }
        }

        #[test]
        fn what_is_written_is_read(numbers in prop::collection::vec(any::<f64>(), 0..4), text in any::<String>()) {
            let list: Vec<Value> = numbers.into_iter().filter(|n| n.is_finite()).map(Value::Float).collect();
            let value = Value::Map([(text.clone(), Value::from(list)), ("t".into(), Value::from(text))].into_iter().collect());
            let json = value.to_json();
            prop_assert!(read(&json).is_some_and(|read| read.strict_eq(&by_rule(&json).unwrap())), "{}", json);
        }
    }
}
