//! Texts that nearly every Kubernetes object has.
//!
//! An object is mostly names of fields, and most of these are the same few hundred in all objects. They are kept
//! once, for good: making one allocates nothing, cloning one touches no counter, which threads would fight over,
//! and two of them are equal when they are the same. Which texts these are decides no result.

use std::sync::LazyLock;

use crate::Str;
use crate::names::Name;
use crate::word::Word;

/// A power of two, so large that most texts are found, or not found, at the first look.
const SLOTS: usize = 4096;

/// The common texts. Their numbers are their places; the first one is empty.
pub(crate) struct Common {
    texts: Vec<Name>,
    slots: Box<[Slot]>,
}

/// Where a text is found. Nearly always all that is needed is in one line of the processor's cache: looking at the bytes
/// of the text itself would be looking at another place.
#[derive(Clone, Default)]
#[repr(align(32))]
struct Slot {
    ends: (u64, u64),
    text: Str,
    length: u16,
    /// The text's number, or 0.
    number: u16,
}

static COMMON: LazyLock<Common> = LazyLock::new(|| {
    let mut common =
        Common { texts: vec![Name::spelled(Str::forever(""))], slots: vec![Slot::default(); SLOTS].into() };
    for text in include_str!("common.txt").split_whitespace() {
        let word = Word::whole(text);
        let mut slot = slot(&word);
        while common.slots.get(slot).is_some_and(|taken| taken.number != 0) {
            slot = after(slot);
        }
        if let (Some(slot), Ok(number)) = (common.slots.get_mut(slot), u16::try_from(common.texts.len())) {
            let own = Str::forever(text);
            let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
            *slot = Slot { ends: word.ends(), text: own.clone(), length, number };
            common.texts.push(Name::spelled(own));
        }
    }
    common
});

impl Common {
    pub(crate) fn get() -> &'static Self {
        &COMMON
    }

    /// All of them by number.
    pub(crate) fn texts(&self) -> &[Name] {
        &self.texts
    }

    /// The number of a text, 0 if it is no common one.
    pub(crate) fn number(&self, text: &str) -> u16 {
        self.find(&Word::whole(text)).map_or(0, |(_, number)| number)
    }

    /// The text and its number, if it is a common one.
    #[inline(always)]
    pub(crate) fn find(&self, word: &Word<'_>) -> Option<(&Str, u16)> {
        let at = slot(word);
        let slot = self.slots.get(at)?;
        if slot.ends == word.ends() && usize::from(slot.length) == word.len() && word.len() <= 16 {
            // The ends are all of it.
            return Some((&slot.text, slot.number));
        }
        if slot.number == 0 { None } else { self.search(word, at) }
    }

    fn search(&self, word: &Word<'_>, mut at: usize) -> Option<(&Str, u16)> {
        loop {
            let slot = self.slots.get(at).filter(|slot| slot.number != 0)?;
            let alike = slot.ends == word.ends() && usize::from(slot.length) == word.len();
            if alike && word.is_within(&slot.text) {
                return Some((&slot.text, slot.number));
            }
            at = after(at);
        }
    }
}

fn after(slot: usize) -> usize {
    (slot + 1) & (SLOTS - 1)
}

fn slot(word: &Word<'_>) -> usize {
    word.hash() as usize >> (32 - SLOTS.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::is_plain_in_html;

    #[test]
    fn common_texts_are_one_and_the_same() {
        for text in include_str!("common.txt").split_whitespace() {
            let found = Common::get().find(&Word::whole(text)).map(|(found, _)| found);
            assert!(
                found.is_some_and(|found| found == text && found.ptr_eq(&Str::from(text)))
                    && is_plain_in_html(text.as_bytes()),
                "{text}"
            );
        }
        for other in ["", "m", "metadat", "metadatA", &"x".repeat(100)] {
            assert_eq!(Common::get().number(other), 0, "{other}");
        }
    }

    #[test]
    fn most_are_found_at_the_first_look() {
        let texts: Vec<&str> = include_str!("common.txt").split_whitespace().collect();
        let slots: std::collections::BTreeSet<usize> =
            texts.iter().map(|text| slot(&Word::whole(text))).collect();
        assert!(slots.len() * 10 > texts.len() * 8, "{} of {}", slots.len(), texts.len());
    }
}
