//! Short texts in a document, as a reader meets them.
//!
//! Where a text ends, whether it is one that every object has, and what order it has among names are questions about
//! the same few bytes. So these are looked at once.

use crate::Str;
use crate::scan::{ends, first_special, specials};
use crate::text::Text;

/// A text without quotes, backslashes and control characters in a document, with what tells it from others.
///
/// ```
/// use fieldmanager_value::{Str, word::Word};
/// let document = r#"{"replicas":3}"#;
/// let word = Word::read(document, 2).ok_or("no end")?;
/// assert_eq!((word.text(), word.end(), word.to_str()), ("replicas", 10, Str::from("replicas")));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Word<'t> {
    document: &'t str,
    start: usize,
    length: usize,
    /// As [`ends`] says.
    ends: (u64, u64),
}

impl<'t> Word<'t> {
    /// The text that begins at a byte, which must be the first one of a character, and ends before the next quote,
    /// backslash or control character. None if there is none.
    #[inline(always)]
    pub fn read(document: &'t str, start: usize) -> Option<Self> {
        debug_assert!(document.is_char_boundary(start));
        let (first, second) = sixteen(document.as_bytes(), start);
        // Of a byte that is found its top bit is set, and the lowest one is right.
        let (length, ends) = match (specials(first), specials(second)) {
            (0, 0) => long(document.as_bytes(), start)?,
            (0, found) => {
                let bits = found.trailing_zeros() & !7;
                let last = (u128::from(second) << 64 | u128::from(first)) >> bits;
                (8 + bits as usize / 8, (first, last as u64))
            }
            (found, _) => {
                let bits = found.trailing_zeros() & !7;
                let few = first & !(u64::MAX << bits);
                (bits as usize / 8, (few, few))
            }
        };
        Some(Word { document, start, length, ends })
    }

    /// The text.
    #[inline]
    pub fn text(&self) -> &'t str {
        self.document.get(self.start..self.end()).unwrap_or_default()
    }

    /// Its length in bytes.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The byte of the document that is behind it.
    #[inline(always)]
    pub fn end(&self) -> usize {
        self.start + self.length
    }

    /// A number for how it begins: of two texts with different numbers the one with the less is less.
    ///
    /// ```
    /// use fieldmanager_value::word::Word;
    /// let order = |document| Word::read(document, 0).map(|word| word.order());
    /// assert!(order("name\"") < order("names\"") && order("names\"") < order("namespaces\""));
    /// assert_eq!(order("namespace\""), order("namespaces\""));
    /// ```
    #[inline(always)]
    pub fn order(&self) -> u64 {
        self.ends.0.swap_bytes()
    }

    /// The text on its own. One that nearly every Kubernetes object has is made without allocation.
    #[inline(always)]
    pub fn to_str(&self) -> Str {
        Str::from(self.text())
    }

    /// The text as a value.
    #[inline(always)]
    pub fn to_text(&self) -> Text {
        Text::short_or(self.text(), || self.to_str())
    }
}

/// The eight bytes at a place of a document, the first one lowest, with zeros behind its end.
///
/// ```
/// use fieldmanager_value::word::eight;
/// assert_eq!(eight("{\"name\"}", 2), u64::from_le_bytes(*b"name\"}\0\0"));
/// ```
#[inline(always)]
pub fn eight(document: &str, at: usize) -> u64 {
    match document.as_bytes().get(at..).and_then(<[u8]>::first_chunk) {
        Some(eight) => u64::from_le_bytes(*eight),
        None => last(document, at),
    }
}

#[cold]
fn last(document: &str, at: usize) -> u64 {
    let rest = document.as_bytes().get(at..).unwrap_or_default();
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// A text of one to eight bytes as [`eight`] reads it, with zeros behind it.
///
/// ```
/// use fieldmanager_value::word::{begins, eight, short};
/// const NAME: u64 = short(b"\"name\":");
/// assert!(begins(eight("{\"name\":\"web\"}", 1), NAME) && !begins(eight("{\"names\":[]}", 1), NAME));
/// ```
pub const fn short(text: &[u8]) -> u64 {
    match text {
        [first, rest @ ..] => *first as u64 | short(rest) << 8,
        [] => 0,
    }
}

/// How many bytes a [`short`] text without zeros has.
#[inline(always)]
pub const fn length(short: u64) -> usize {
    8 - short.leading_zeros() as usize / 8
}

/// Whether eight bytes begin with a [`short`] text.
#[inline(always)]
pub const fn begins(word: u64, short: u64) -> bool {
    (word ^ short) << (8 * (8 - length(short))) == 0
}

/// The two words at a place; near the end of a document two that have nothing special.
#[inline(always)]
fn sixteen(bytes: &[u8], at: usize) -> (u64, u64) {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        Some([a, b, c, d, e, f, g, h, rest @ ..]) => {
            (u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), u64::from_le_bytes(*rest))
        }
        None => (u64::MAX, u64::MAX),
    }
}

/// The length and the ends of a text that is longer than fifteen bytes, or near the end of the document.
fn long(bytes: &[u8], start: usize) -> Option<(usize, (u64, u64))> {
    // The sixteen bytes that were there have been looked at.
    let from = if bytes.len().saturating_sub(start) >= 16 { start + 16 } else { start };
    let end = first_special(bytes, from)?;
    Some((end - start, ends(bytes.get(start..end)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_wherever_they_stand() {
        for n in 0..60 {
            for before in 0..3 {
                for after in ["\"", "\\\"", "\n", "\"}}}}", "\":{},\"f:more\":{}}"] {
                    for other in ["x", "é", "\u{7f}", "!", "#", "[", "]"] {
                        let text: String = other.chars().cycle().take(n).collect();
                        let document = format!("{}{text}{after}", "\"".repeat(before));
                        let word = Word::read(&document, before).unwrap();
                        assert_eq!((word.text(), word.len(), word.is_empty()), (&*text, text.len(), n == 0));
                        assert_eq!(word.end(), before + text.len());
                        assert_eq!(word.to_str(), *text);
                    }
                }
            }
            assert!(Word::read(&"x".repeat(n), n / 2).is_none());
        }
    }
}
