//! A cache of the levels of one document that the fast reader read last.
//!
//! The items of a list often own the same fields, and so do the properties of a schema: most levels of a document occur
//! in it before. The reader takes the set of such a level from the cache, for the cost of comparing the bytes. Equal
//! levels then share one allocation, and operations on the set skip shared levels.

use ahash::RandomState;

use crate::Set;

/// The size in bytes from which on a document is worth a cache. Shorter documents repeat few levels.
const MIN_DOCUMENT: usize = 4096;
/// How many levels with the same hash the cache keeps.
const WAYS: usize = 4;
/// The start of the level of a node that is in the set itself.
const ITSELF: &[u8] = br#"{".":{},"#;

/// A level that was read.
#[derive(Clone)]
pub(super) struct Level {
    pub(super) set: Set,
    /// Whether the node itself is in the set.
    pub(super) itself: bool,
    /// How many levels are below this one, with that of the empty objects.
    pub(super) height: u16,
}

struct Slot {
    level: Level,
    start: usize,
    end: usize,
}

pub(super) struct LevelCache<'t> {
    document: &'t [u8],
    /// The random keys of the hash prevent input that fills one bucket on purpose.
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

    /// The bucket of the level that starts at a position, or `None` if the cache cannot help.
    #[inline]
    pub(super) fn bucket(&self, start: usize) -> Option<usize> {
        let hasher = self.hasher.as_ref()?;
        let rest = self.document.get(start..)?;
        // Most items own themselves, so that start distinguishes nothing.
        let first = rest.strip_prefix(ITSELF).unwrap_or(rest).first_chunk()?;
        // The number of slots is a power of two, so the remainder is the start of a bucket.
        let hash = hasher.hash_one(u128::from_ne_bytes(*first)) as usize;
        Some(hash.wrapping_mul(WAYS) & (self.slots.len() - 1))
    }

    /// The level that starts at a position and the position after it, if an equal level is in the cache.
    ///
    /// The bytes in the cache are one whole level from brace to brace, so equal bytes are one whole level too.
    pub(super) fn find(&self, bucket: usize, start: usize) -> Option<(&Level, usize)> {
        let rest = self.document.get(start..)?;
        self.slots.get(bucket..bucket + WAYS)?.iter().flatten().find_map(|slot| {
            let equal = rest.starts_with(self.document.get(slot.start..slot.end)?);
            equal.then(|| (&slot.level, start + (slot.end - slot.start)))
        })
    }

    /// Adds a level, unless the rest of the document is too short to contain it again.
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
