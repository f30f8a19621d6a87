//! Levels of a text that were read already.
//!
//! The items of a list own the same fields, and so do the properties of a definition: the text of a level is mostly
//! one that was read a moment ago. Then its set is taken again, which costs a comparison of the texts and the count of
//! one more reference. The set is smaller, and operations on it skip what is the same in memory.

use std::num::NonZeroU16;

use crate::Set;

/// Shorter texts have hardly anything twice.
const WORTH: usize = 4096;
/// How many levels that begin alike are remembered.
const WAYS: usize = 4;

/// One level as it was read.
#[derive(Clone)]
pub(crate) struct Level {
    pub(crate) set: Set,
    pub(crate) about: About,
}

/// What there is to know of a level beside its set.
#[derive(Clone, Copy)]
pub(crate) struct About {
    /// Whether the node itself is in the set.
    pub(crate) itself: bool,
    /// How many levels there are from this one to the deepest one.
    pub(crate) height: NonZeroU16,
}

/// A level and where its text is.
struct Slot {
    level: Level,
    mark: u32,
    start: usize,
    end: usize,
}

/// The levels of one text that were read last.
pub(crate) struct Seen<'t> {
    text: &'t [u8],
    /// By the mark, [`WAYS`] of them beside each other; none for a short text.
    slots: Vec<Option<Slot>>,
    /// How many were put in.
    turn: usize,
}

impl<'t> Seen<'t> {
    pub(crate) fn new(text: &'t [u8]) -> Self {
        let mut slots = Vec::new();
        if text.len() >= WORTH {
            slots.resize_with(WAYS * (text.len() / 256).next_power_of_two().min(64), || None);
        }
        Seen { text, slots, turn: 0 }
    }

    /// What tells levels apart at the first look, made from how one begins. None if there is no use in looking.
    pub(crate) fn mark(&self, start: usize) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let [first, second, third] = [start, start + 8, start + 16].map(|at| {
            self.text.get(at..).and_then(<[_]>::first_chunk).map(|eight| u64::from_le_bytes(*eight))
        });
        // Items own themselves: that tells nothing.
        let (a, b) = match first? {
            ITSELF => (second?, third?),
            first => (first, second?),
        };
        let mixed = (a ^ b.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        u32::try_from(mixed >> 32).ok()
    }

    /// The level that begins at a place, and where it ends. Such a text ends with the brace that closes it, so that
    /// where it is found again, that is one level from brace to brace.
    pub(crate) fn find(&self, mark: u32, start: usize) -> Option<(&Level, usize)> {
        let from = self.bucket(mark);
        let rest = self.text.get(start..)?;
        self.slots.get(from..from + WAYS)?.iter().flatten().find_map(|slot| {
            let same = slot.mark == mark && rest.starts_with(self.text.get(slot.start..slot.end)?);
            same.then(|| (&slot.level, start + (slot.end - slot.start)))
        })
    }

    /// Remembers a level, if it can come again.
    pub(crate) fn keep(&mut self, mark: u32, start: usize, end: usize, level: impl FnOnce() -> Level) {
        if self.text.len() - end < end - start {
            return;
        }
        let at = self.bucket(mark) + self.turn % WAYS;
        self.turn += 1;
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = Some(Slot { level: level(), mark, start, end });
        }
    }

    fn bucket(&self, mark: u32) -> usize {
        // The number of slots is a power of two.
        (mark as usize * WAYS) & (self.slots.len() - 1)
    }
}

/// How the level of a node that is in the set itself begins.
const ITSELF: u64 = u64::from_le_bytes(*br#"{".":{},"#);
