//! A cache of the most recently read levels of a document.
//!
//! The items of a list often own the same fields, and so do the properties of a schema, so most levels of a document
//! are repetitions. For such a level the reader returns the cached set after comparing the bytes. Equal levels then
//! share one allocation, and operations on the set skip shared levels.

use ahash::RandomState;

use crate::Set;

/// The minimum size of a document with a cache, in bytes. Shorter documents have few repeated levels.
const MIN_DOCUMENT: usize = 4096;
/// The number of levels with the same hash that the cache keeps.
const WAYS: usize = 4;
/// The start of a level whose node is itself in the set.
const ITSELF: &[u8] = br#"{".":{},"#;

/// A level that has been read.
#[derive(Clone)]
pub(super) struct Level {
    pub(super) set: Set,
    /// Whether the node itself is in the set.
    pub(super) itself: bool,
    /// The number of levels at and below this one, including that of the empty objects.
    pub(super) height: u16,
}

struct Slot {
    level: Level,
    start: usize,
    end: usize,
}

pub(super) struct LevelCache<'t> {
    document: &'t [u8],
    /// The hash has random keys, so input cannot fill one bucket on purpose.
    hasher: Option<RandomState>,
    /// Buckets of [`WAYS`] slots.
    slots: Vec<Option<Slot>>,
    insertions: usize,
}

impl<'t> LevelCache<'t> {
    pub(super) fn new(document: &'t [u8]) -> Self {
        let mut slots = Vec::new();
        let hasher = (document.len() >= MIN_DOCUMENT).then(RandomState::new);
        if hasher.is_some() {
            slots.resize_with(WAYS * (document.len() / 256).next_power_of_two().min(64), || None);
        }
        LevelCache { document, hasher, slots, insertions: 0 }
    }

    /// The bucket of the level that starts at `start`, or `None` if the cache does not apply.
    #[inline]
    pub(super) fn bucket(&self, start: usize) -> Option<usize> {
        let hasher = self.hasher.as_ref()?;
        let rest = self.document.get(start..)?;
        // Most items own themselves, so this prefix does not distinguish levels.
        let first = rest.strip_prefix(ITSELF).unwrap_or(rest).first_chunk()?;
        // The number of slots is a power of two, so the remainder is the start of a bucket.
        let hash = hasher.hash_one(u128::from_ne_bytes(*first)) as usize;
        Some(hash.wrapping_mul(WAYS) & (self.slots.len() - 1))
    }

    /// Returns the level that starts at `start` and its end position, if an equal level is cached.
    ///
    /// A cached level is complete, from brace to brace, so an equal byte sequence is also a complete level.
    pub(super) fn find(&self, bucket: usize, start: usize) -> Option<(&Level, usize)> {
        let rest = self.document.get(start..)?;
        self.slots.get(bucket..bucket + WAYS)?.iter().flatten().find_map(|slot| {
            let equal = rest.starts_with(self.document.get(slot.start..slot.end)?);
            equal.then(|| (&slot.level, start + (slot.end - slot.start)))
        })
    }

    /// Adds a level, unless the rest of the document is too short to repeat it.
    pub(super) fn insert(&mut self, bucket: usize, start: usize, end: usize, level: &Level) {
        if self.document.len() - end < end - start {
            return;
        }
        if let Some(slot) = self.slots.get_mut(bucket + self.insertions % WAYS) {
            *slot = Some(Slot { level: level.clone(), start, end });
        }
        self.insertions += 1;
    }
}
