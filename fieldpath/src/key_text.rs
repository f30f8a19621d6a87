//! Keys and values of items as they are nearly always written.

use fieldmanager_value::word::{Word, begins, eight, length, short};
use fieldmanager_value::{Map, MapBuilder, Value};

/// A text that is read from its start to its end.
///
/// What reads an item's key or value gives up at anything unusual, and the rules decide. `QUOTED` says that the text
/// is inside a JSON string, where a backslash is before every quote.
pub(crate) struct KeyText<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
}

impl<'t> KeyText<'t> {
    /// What is left.
    pub(crate) fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Passes what must come next.
    #[inline(always)]
    fn pass(&mut self, expected: u64) -> Option<()> {
        begins(eight(self.text, self.at), expected).then(|| self.at += length(expected))
    }

    /// A text without escapes, with its quotes.
    #[inline(always)]
    fn string<const QUOTED: bool>(&mut self) -> Option<Word<'t>> {
        let quote = if QUOTED { ESCAPED_QUOTE } else { QUOTE };
        self.pass(quote)?;
        let word = Word::read(self.text, self.at)?;
        self.at = word.end();
        self.pass(quote)?;
        Some(word)
    }

    /// A text without escapes, a whole number that certainly fits, or a boolean.
    pub(crate) fn scalar<const QUOTED: bool>(&mut self) -> Option<Value> {
        match self.rest() {
            [b'\\' | b'"', ..] => Some(Value::String(self.string::<QUOTED>()?.to_text())),
            [b't', ..] => self.pass(TRUE).map(|()| Value::Bool(true)),
            [b'f', ..] => self.pass(FALSE).map(|()| Value::Bool(false)),
            rest @ [b'1'..=b'9', ..] => {
                let n = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
                let digits = rest.get(..n).filter(|digits| digits.len() <= 15)?;
                // A fraction or an exponent is for the rules.
                if matches!(rest.get(n), Some(b'.' | b'e' | b'E')) {
                    return None;
                }
                self.at += n;
                Some(Value::Int(digits.iter().fold(0, |all, digit| all * 10 + i64::from(digit - b'0'))))
            }
            _ => None,
        }
    }

    /// The fields of a key with the braces around them.
    pub(crate) fn fields<const QUOTED: bool>(&mut self) -> Option<Map> {
        self.pass(BRACE)?;
        let start = self.at;
        if let Some((name, value)) = self.only_text::<QUOTED>() {
            // Most keys are one text.
            return Some(Map::single_text(name.to_str(), &value));
        }
        self.at = start;
        let mut n = 0;
        let mut fields = MapBuilder::with_capacity(4);
        loop {
            let name = self.string::<QUOTED>()?.to_str();
            self.pass(COLON)?;
            fields.push(name, self.scalar::<QUOTED>()?);
            n += 1;
            let next = self.text.as_bytes().get(self.at);
            self.at += 1;
            match next? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        // The same name twice is for the rules.
        Some(fields.build()).filter(|fields| fields.len() == n)
    }

    /// A field that is a text, up to the end of the key.
    #[inline(always)]
    fn only_text<const QUOTED: bool>(&mut self) -> Option<(Word<'t>, Word<'t>)> {
        let name = self.string::<QUOTED>()?;
        self.pass(COLON)?;
        let value = self.string::<QUOTED>()?;
        self.pass(END)?;
        Some((name, value))
    }
}

const QUOTE: u64 = short(b"\"");
const ESCAPED_QUOTE: u64 = short(b"\\\"");
const BRACE: u64 = short(b"{");
const END: u64 = short(b"}");
const COLON: u64 = short(b":");
const TRUE: u64 = short(b"true");
const FALSE: u64 = short(b"false");
