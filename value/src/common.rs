//! Texts that nearly every Kubernetes object has.
//!
//! An object is mostly names of fields, and most of these are the same few hundred in all objects. They are kept
//! once, for good: making one allocates nothing, cloning one touches no counter, which threads would fight over,
//! and two of them are equal when they are the same. Which texts these are decides no result.

use std::sync::LazyLock;

use crate::Str;

/// No common text is longer.
const LONGEST: usize = 48;

/// A power of two, so large that most texts are found, or not found, at the first look.
const SLOTS: usize = 4096;

static TABLE: LazyLock<Box<[Option<Str>]>> = LazyLock::new(|| {
    let mut table: Box<[Option<Str>]> = vec![None; SLOTS].into();
    for text in include_str!("common.txt").split_whitespace() {
        let mut slot = slot_of(text);
        while table.get(slot).is_some_and(Option::is_some) {
            slot = after(slot);
        }
        if let Some(slot) = table.get_mut(slot) {
            *slot = Some(Str::forever(text));
        }
    }
    table
});

/// The common text, if it is one.
pub(crate) fn common(text: &str) -> Option<Str> {
    if text.len() > LONGEST {
        return None;
    }
    let table = &*TABLE;
    let mut slot = slot_of(text);
    loop {
        let known = table.get(slot)?.as_ref()?;
        if *known == *text {
            return Some(known.clone());
        }
        slot = after(slot);
    }
}

fn after(slot: usize) -> usize {
    (slot + 1) & (SLOTS - 1)
}

/// By length and four bytes, which tell most of the texts apart.
fn slot_of(text: &str) -> usize {
    let bytes = text.as_bytes();
    let n = bytes.len();
    let byte = |at: usize| u32::from(bytes.get(at).copied().unwrap_or_default());
    let four = byte(0) | byte(n / 3) << 8 | byte(n / 2) << 16 | byte(n.wrapping_sub(1)) << 24;
    let mixed = (four ^ (n as u32).wrapping_mul(0x85eb_ca6b)).wrapping_mul(0x9e37_79b1);
    usize::try_from(mixed >> 20).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_texts_are_one_and_the_same() {
        for text in include_str!("common.txt").split_whitespace() {
            assert!(
                common(text).is_some_and(|found| found == text && found.ptr_eq(&Str::from(text))),
                "{text}"
            );
        }
        for other in ["", "m", "metadat", "metadatA", &"x".repeat(100)] {
            assert_eq!(common(other), None, "{other}");
        }
    }

    #[test]
    fn most_are_found_at_the_first_look() {
        let texts: Vec<&str> = include_str!("common.txt").split_whitespace().collect();
        let slots: std::collections::BTreeSet<usize> = texts.iter().map(|text| slot_of(text)).collect();
        assert!(slots.len() * 10 > texts.len() * 8, "{} of {}", slots.len(), texts.len());
    }
}
