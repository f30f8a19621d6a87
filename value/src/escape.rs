//! Strings as JSON writes them.

/// Which characters of a string are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// Those that JSON asks for: quotes, backslashes and control characters.
    Json,
    /// Also `<`, `>`, `&` and the two line separators of Unicode, as `json-iterator` does in its mode that is compatible
    /// with Go's standard library. Structured-merge-diff writes with it.
    Html,
    /// The same characters, as Go's `encoding/json` does: backspace is `\b` and form feed is `\f`, which the others write as
    /// `\u0008` and `\u000c`.
    Go,
}

/// Appends a JSON string.
///
/// ```
/// use fieldmanager_value::{Escape, write_string};
/// let mut out = String::new();
/// write_string(&mut out, "a<\"", Escape::Html);
/// assert_eq!(out, r#""a\u003c\"""#);
/// ```
pub fn write_string(out: &mut String, text: &str, escape: Escape) {
    out.push('"');
    write_content(out, text, escape);
    out.push('"');
}

/// Marks of a byte in [`MARKS`]: JSON escapes it; it is, or may begin, a character that is escaped inside HTML.
const JSON: u8 = 1;
const HTML: u8 = 2;

/// The marks of each byte.
const MARKS: [u8; 256] = {
    let mut marks = [0; 256];
    let mut byte = 0;
    #[expect(clippy::indexing_slicing, reason = "a constant: a wrong index does not compile")]
    while byte < marks.len() {
        marks[byte] = match byte as u8 {
            b'"' | b'\\' | 0..0x20 => JSON | HTML,
            // 0xe2 begins the two line separators.
            b'<' | b'>' | b'&' | 0xe2 => HTML,
            _ => 0,
        };
        byte += 1;
    }
    marks
};

/// Whether no byte is escaped. False for some strings of which none is, see [`Str::needs_no_escape`](crate::Str).
#[inline]
pub(crate) fn needs_none(text: &str, escape: Escape) -> bool {
    let mark = if escape == Escape::Json { JSON } else { HTML };
    let marks = |byte: &u8| MARKS.get(usize::from(*byte)).copied().unwrap_or_default();
    text.as_bytes().iter().all(|byte| marks(byte) & mark == 0)
}

/// Appends what is between the quotes.
#[inline]
pub(crate) fn write_content(out: &mut String, text: &str, escape: Escape) {
    if needs_none(text, escape) {
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
