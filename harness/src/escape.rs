//! Makes untrusted strings safe to print.

use std::borrow::Cow;

use fieldmanager_value::internal::go_format::is_print;

/// Escapes every character that could act on a terminal or that a reader would not see, as `\u{1b}`.
///
/// Letters, marks, numbers, punctuation, symbols and the ASCII space are kept: the characters that Go's
/// `unicode.IsPrint` accepts, which are those that an API server accepts in the name of a manager. Everything else is
/// escaped: control characters with tab, newline and DEL, the C1 controls U+0080 to U+009F, bidi controls, line and
/// paragraph separators, zero-width characters, the byte order mark, and other spaces.
///
/// ```
/// use fieldmanager_harness::internal::escape_untrusted;
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
