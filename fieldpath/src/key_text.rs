//! Keys and values of items as they are nearly always written.

use fieldmanager_value::{Map, MapBuilder, Str, Value, scan};

/// A text that is read from its start to its end.
///
/// What reads an item's key or value gives up at anything unusual, and the rules decide. `QUOTED` says that the text
/// is inside a JSON string, where a backslash is before every quote.
pub(crate) struct Text<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
}

impl<'t> Text<'t> {
    /// What is left.
    pub(crate) fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    pub(crate) fn next(&mut self) -> Option<u8> {
        let byte = *self.text.as_bytes().get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Passes what must come next.
    pub(crate) fn pass(&mut self, expected: &[u8]) -> Option<()> {
        self.rest().starts_with(expected).then(|| self.at += expected.len())
    }

    /// The text up to a quote, a backslash or a control character.
    #[inline(always)]
    pub(crate) fn run(&mut self) -> Option<&'t str> {
        let end = scan::first_special(self.text.as_bytes(), self.at)?;
        let text = self.text.get(self.at..end)?;
        self.at = end;
        Some(text)
    }

    /// A text without escapes, with its quotes.
    fn string<const QUOTED: bool>(&mut self) -> Option<&'t str> {
        let quote: &[u8] = if QUOTED { b"\\\"" } else { b"\"" };
        self.pass(quote)?;
        let text = self.run()?;
        self.pass(quote)?;
        Some(text)
    }

    /// A text without escapes, a whole number that certainly fits, or a boolean.
    pub(crate) fn scalar<const QUOTED: bool>(&mut self) -> Option<Value> {
        match self.rest() {
            [b'\\' | b'"', ..] => Some(Value::String(Str::from(self.string::<QUOTED>()?))),
            [b't', ..] => self.pass(b"true").map(|()| Value::Bool(true)),
            [b'f', ..] => self.pass(b"false").map(|()| Value::Bool(false)),
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
        self.pass(b"{")?;
        let (name, value) = self.field::<QUOTED>()?;
        if self.rest().first() == Some(&b'}') {
            self.at += 1;
            return Some(Map::single(name, value));
        }
        let mut n = 1;
        let mut fields = MapBuilder::with_capacity(4);
        fields.push(name, value);
        loop {
            match self.next()? {
                b',' => {
                    let (name, value) = self.field::<QUOTED>()?;
                    fields.push(name, value);
                    n += 1;
                }
                b'}' => break,
                _ => return None,
            }
        }
        // The same name twice is for the rules.
        Some(fields.build()).filter(|fields| fields.len() == n)
    }

    fn field<const QUOTED: bool>(&mut self) -> Option<(Str, Value)> {
        let name = Str::from(self.string::<QUOTED>()?);
        self.pass(b":")?;
        Some((name, self.scalar::<QUOTED>()?))
    }
}
