//! Why a pattern is refused, in the words of Go.

use std::fmt;

/// The reason why a pattern is refused, with the message of Go.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault<'a> {
    what: &'static str,
    at: &'a str,
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}: `{}`", self.what, self.at)
    }
}

pub(super) fn fault<'a, T>(what: &'static str, at: &'a str) -> Result<T, Fault<'a>> {
    Err(Fault { what, at })
}

pub(super) const CLASS_RANGE: &str = "invalid character class range";
pub(super) const TOO_DEEP: &str = "expression nests too deeply";
pub(super) const ESCAPE: &str = "invalid escape sequence";
pub(super) const NAMED: &str = "invalid named capture";
pub(super) const PERL: &str = "invalid or unsupported Perl syntax";
pub(super) const REPEAT_COUNT: &str = "invalid repeat count";
pub(super) const REPEAT_NOTHING: &str = "missing argument to repetition operator";

/// The part of `text` before its suffix `after`.
pub(super) fn between<'a>(text: &'a str, after: &str) -> &'a str {
    text.get(..text.len() - after.len()).unwrap_or_default()
}
