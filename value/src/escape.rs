//! JSON string escaping.

/// Selects the characters that are escaped in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// The characters that JSON requires: quotes, backslashes and control characters.
    Json,
    /// Also `<`, `>`, `&`, U+2028 and U+2029, like `json-iterator` in the mode that is compatible with Go's standard
    /// library. Structured-merge-diff uses this mode.
    Html,
    /// The same characters, like Go's `encoding/json`: backspace is `\b` and form feed is `\f`, which the other modes
    /// write as `\u0008` and `\u000c`.
    Go,
}

/// Appends a string as a JSON string literal.
///
/// ```
/// use fieldmanager_value::internal::{Escape, write_string};
/// let mut out = String::new();
/// write_string(&mut out, "a<\"", Escape::Html);
/// assert_eq!(out, r#""a\u003c\"""#);
/// ```
pub fn write_string(out: &mut String, text: &str, escape: Escape) {
    out.push('"');
    write_content(out, text, escape);
    out.push('"');
}

/// Whether the string contains no character to escape. May return false for a string without such a character, see
/// [`Str::needs_no_escape`](crate::Str).
///
/// Processes eight bytes at a time; the last word overlaps the one before it.
#[inline]
pub(crate) fn needs_no_escape(text: &str, escape: Escape) -> bool {
    let bytes = text.as_bytes();
    let special = |word: &[u8; 8]| has_special(u64::from_ne_bytes(*word), escape);
    // The last eight bytes may overlap those before, so that longer texts need no remainder.
    match bytes.last_chunk() {
        Some(last) => !bytes.as_chunks().0.iter().any(special) && !special(last),
        None => {
            let word = bytes
                .iter()
                .fold(repeat(b'x'), |word, byte| word << 8 | u64::from(*byte));
            !has_special(word, escape)
        }
    }
}

/// A word that contains the same byte eight times.
const fn repeat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Whether one of eight bytes needs an escape, or may start a character that does.
#[inline]
fn has_special(word: u64, escape: Escape) -> bool {
    let zeros = |word: u64| word.wrapping_sub(repeat(1)) & !word;
    // Toggling the bit that distinguishes a quote from a space moves only the quote below 0x21.
    let low = (word ^ repeat(b'"' ^ b' ')).wrapping_sub(repeat(b' ' + 1)) & !word;
    let mut found = low | zeros(word ^ repeat(b'\\'));
    if escape != Escape::Json {
        // `<` and `>` differ in one bit. 0xe2 is the first byte of U+2028 and U+2029.
        found |= zeros((word | repeat(b'<' ^ b'>')) ^ repeat(b'>'));
        found |= zeros(word ^ repeat(b'&')) | zeros(word ^ repeat(0xe2));
    }
    found & repeat(0x80) != 0
}

/// Appends the string, escaped, without the surrounding quotes.
#[inline]
pub(crate) fn write_content(out: &mut String, text: &str, escape: Escape) {
    if needs_no_escape(text, escape) {
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
    fn bytes_to_escape_are_detected_at_every_position() {
        for byte in 0..0x80_u8 {
            for length in 1..50 {
                for at in [0, 1, length / 2, length - 1] {
                    let mut bytes = vec![b'x'; length];
                    bytes[at.min(length - 1)] = byte;
                    let text = String::from_utf8(bytes).unwrap();
                    let json = matches!(byte, b'"' | b'\\' | 0..0x20);
                    let html = json || matches!(byte, b'<' | b'>' | b'&');
                    assert_eq!(needs_no_escape(&text, Escape::Json), !json, "{text:?}");
                    assert_eq!(needs_no_escape(&text, Escape::Html), !html, "{text:?}");
                }
            }
        }
        assert!(
            needs_no_escape("", Escape::Html) && needs_no_escape(&"é".repeat(20), Escape::Html)
        );
        assert!(!needs_no_escape("a line separator\u{2028}", Escape::Html));
    }
}
