//! Escapes untrusted strings for printing.

use std::borrow::Cow;

use crate::go_format::is_print;

/// Escapes every character that could affect a terminal or is invisible, as `\u{1b}`.
///
/// Letters, marks, numbers, punctuation, symbols and the ASCII space are kept. These are the characters that Go's
/// `unicode.IsPrint` accepts, and that an API server accepts in the name of a manager. All others are escaped: control
/// characters including tab, newline and DEL, the C1 controls U+0080 to U+009F, bidi controls, line and paragraph
/// separators, zero-width characters, the byte order mark, and other spaces.
///
/// ```
/// use fieldmanager_value::internal::escape_untrusted;
/// assert_eq!(escape_untrusted("naïve 名前"), "naïve 名前");
/// assert_eq!(escape_untrusted("a\x1b[31mb\u{9b}c\u{202e}d\n"), r"a\u{1b}[31mb\u{9b}c\u{202e}d\u{a}");
/// ```
pub fn escape_untrusted(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_print) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_print(c) {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }

    Cow::Owned(out)
}
