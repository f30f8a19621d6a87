//! How field names stand in a document.

use crate::Str;
use crate::word::Word;

/// A field name without special characters, ready to be found in a document.
pub(crate) struct Name {
    pub(crate) text: Str,
    /// Orders most names; see [`order`].
    pub(crate) order: u64,
    /// How long it is with the quote and the colon behind it.
    pub(crate) length: usize,
    /// The first eight bytes of that, or as many as there are, and what is set in these.
    head: u64,
    mask: u64,
    /// The last eight bytes, if there are more.
    tail: u64,
}

impl Name {
    /// The name of a text that begins with it.
    pub(crate) fn read(name: Str, text: &[u8]) -> Self {
        let length = name.len() + 2;
        let order = order(&name);
        match (text.first_chunk(), text.get(..length)) {
            (Some(head), Some(own)) if own.ends_with(b"\":") => {
                let mask = u64::MAX >> (64 - 8 * length.min(8));
                let tail = own.last_chunk().map_or(0, |tail| u64::from_le_bytes(*tail));
                Name { text: name, order, length, head: u64::from_le_bytes(*head) & mask, mask, tail }
            }
            // At the end of a document, or with a space behind the quote: nothing begins with this.
            _ => Name { text: name, order, length, head: 1, mask: 0, tail: 0 },
        }
    }

    /// The name as it stands in documents without spaces.
    pub(crate) fn spelled(name: Str) -> Self {
        let text = format!("{name}\":       ");
        Self::read(name, text.as_bytes())
    }

    /// Whether a text begins with the name, a quote and a colon. It may say no near the end of a document.
    pub(crate) fn begins(&self, text: &[u8]) -> bool {
        let Some(head) = text.first_chunk() else { return false };
        if u64::from_le_bytes(*head) & self.mask != self.head {
            return false;
        }
        if self.length <= 8 {
            return true;
        }
        let Some(tail) = text.get(..self.length).and_then(<[u8]>::last_chunk) else { return false };
        u64::from_le_bytes(*tail) == self.tail
            && (self.length <= 16
                || text.get(8..self.length - 8) == self.text.as_bytes().get(8..self.length - 8))
    }
}

/// A number for the start of a text: of two texts with different numbers the one with the less is less.
pub(crate) fn order(text: &str) -> u64 {
    Word::whole(text).order()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_found_with_its_quote_and_colon_only() {
        for n in 0..40 {
            let name = &"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN"[..n];
            let known = Name::spelled(Str::from(name));
            let text = format!("{name}\":1,\"more\":2");
            assert!(known.begins(text.as_bytes()), "{name}");
            for other in [
                format!("{name}x\":1        "),
                format!("{name}\" :1        "),
                format!("{name}\":"),
                format!("x{text}"),
            ] {
                let whole = other.starts_with(&format!("{name}\":"));
                assert!(whole || !known.begins(other.as_bytes()), "{name} {other}");
            }
            for at in 0..n + 2 {
                let mut text = text.clone().into_bytes();
                text[at] ^= 1;
                assert!(!known.begins(&text), "{name} {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_order_of_texts_is_told(a in "[a-c\u{0}é]{0,10}", b in "[a-c\u{0}é]{0,10}") {
            let (x, y) = (order(&a), order(&b));
            prop_assert!(x == y || (x < y) == (a < b), "{a:?} {b:?}");
        }
    }
}
