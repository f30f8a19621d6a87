//! The messages of Go's JSON scanner for texts that are not valid JSON.

/// The message for the first fault of a text; `None` if it is valid.
///
/// Behaviour: the scanner of `encoding/json`.
pub fn error(text: &str) -> Option<String> {
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        at: 0,
        open: Vec::new(),
    };
    scanner.document().err()
}

struct Scanner<'t> {
    bytes: &'t [u8],
    at: usize,
    /// The open lists and objects: true for an object.
    open: Vec<bool>,
}

type Scan = Result<(), String>;

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The fault at the current byte.
    fn fault(&self, context: &str) -> String {
        match self.peek() {
            None => "unexpected end of JSON input".to_owned(),
            Some(byte) => format!("invalid character {} {context}", quoted(byte)),
        }
    }

    fn expect(&mut self, word: &'static [u8], context: impl Fn(char) -> String) -> Scan {
        for expected in word {
            if self.peek() != Some(*expected) {
                return Err(self.fault(&context(char::from(*expected))));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Reads one value and what encloses it, without recursion, so that depth does not matter.
    fn document(&mut self) -> Scan {
        loop {
            self.skip_space();
            // A value that is complete may end the lists and objects around it; an opened one needs another value
            // first.
            if !self.begin_value()? && !self.end_values()? {
                self.skip_space();
                return match self.peek() {
                    None => Ok(()),
                    Some(_) => Err(self.fault("after top-level value")),
                };
            }
        }
    }

    /// Reads a scalar, or opens a list or an object. Returns whether a value must follow.
    fn begin_value(&mut self) -> Result<bool, String> {
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                self.skip_space();
                if self.peek() == Some(b'}') {
                    self.at += 1;
                    return Ok(false);
                }
                self.open.push(true);
                self.key("looking for beginning of object key string")?;
                Ok(true)
            }
            Some(b'[') => {
                self.at += 1;
                self.skip_space();
                if self.peek() == Some(b']') {
                    self.at += 1;
                    return Ok(false);
                }
                self.open.push(false);
                Ok(true)
            }
            Some(b'"') => self.string().map(|()| false),
            Some(b'-' | b'0'..=b'9') => self.number().map(|()| false),
            Some(b't') => self.literal(b"true", "true"),
            Some(b'f') => self.literal(b"false", "false"),
            Some(b'n') => self.literal(b"null", "null"),
            _ => Err(self.fault("looking for beginning of value")),
        }
    }

    fn literal(&mut self, word: &'static [u8], name: &str) -> Result<bool, String> {
        self.expect(word, |expected| {
            format!("in literal {name} (expecting '{expected}')")
        })?;
        Ok(false)
    }

    /// Reads what follows a value. Returns whether another value must follow.
    fn end_values(&mut self) -> Result<bool, String> {
        while let Some(is_object) = self.open.last().copied() {
            self.skip_space();
            match (self.peek(), is_object) {
                (Some(b','), true) => {
                    self.at += 1;
                    self.skip_space();
                    self.key("looking for beginning of object key string")?;
                    return Ok(true);
                }
                (Some(b','), false) => {
                    self.at += 1;
                    return Ok(true);
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    self.at += 1;
                    self.open.pop();
                }
                (_, true) => return Err(self.fault("after object key:value pair")),
                (_, false) => return Err(self.fault("after array element")),
            }
        }

        Ok(false)
    }

    fn key(&mut self, context: &str) -> Scan {
        if self.peek() != Some(b'"') {
            return Err(self.fault(context));
        }
        self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.fault("after object key"));
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Scan {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => {
                            self.at += 1
                        }
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                                    return Err(self.fault("in \\u hexadecimal character escape"));
                                }
                                self.at += 1;
                            }
                        }
                        _ => return Err(self.fault("in string escape code")),
                    }
                }
                None | Some(..0x20) => return Err(self.fault("in string literal")),
                Some(_) => self.at += 1,
            }
        }
    }

    fn digits(&mut self, context: &str) -> Scan {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.fault(context));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Scan {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }

        // A leading zero is the whole integer part: a digit after it is a fault of what follows the number.
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits("in numeric literal")?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }

        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }

        Ok(())
    }
}

/// A byte as a Go character literal.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => {
            let text = crate::go_format::quote(&char::from(byte).to_string()).to_string();
            format!("'{}'", text.trim_matches('"'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_the_words_of_go() {
        for (text, message) in [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            (
                "{a",
                "invalid character 'a' looking for beginning of object key string",
            ),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            (
                "{\"a\": 1,}",
                "invalid character '}' looking for beginning of object key string",
            ),
            ("[1 2]", "invalid character '2' after array element"),
            (
                "{\"a\": 1 2}",
                "invalid character '2' after object key:value pair",
            ),
            ("nul", "unexpected end of JSON input"),
            (
                "nulx",
                "invalid character 'x' in literal null (expecting 'l')",
            ),
            ("1 2", "invalid character '2' after top-level value"),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("<", "invalid character '<' looking for beginning of value"),
            (
                "'",
                "invalid character '\\'' looking for beginning of value",
            ),
        ] {
            assert_eq!(error(text).as_deref(), Some(message), "{text}");
        }
        for text in ["{}", " [1, {\"a\": []}, -0.5e+3, \"\\u00ff\"] ", "null"] {
            assert_eq!(error(text), None, "{text}");
        }
    }
}
