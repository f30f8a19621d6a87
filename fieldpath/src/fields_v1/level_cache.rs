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
pub(super) struct CachedLevel {
    pub(super) set: Set,
    /// Whether the node itself is in the set.
    pub(super) itself: bool,
    /// The number of levels at and below this one, including that of the empty objects.
    pub(super) height: u16,
}

struct CacheSlot<'t> {
    level: CachedLevel,
    /// The level as it is written, from brace to brace.
    text: &'t str,
}

pub(super) struct LevelCache<'t> {
    /// The hash has random keys, so input cannot fill one bucket on purpose.
    hasher: Option<RandomState>,
    /// Buckets of [`WAYS`] slots.
    slots: Vec<Option<CacheSlot<'t>>>,
    insertions: usize,
}

impl<'t> LevelCache<'t> {
    pub(super) fn new(document: &'t str) -> Self {
        let mut slots = Vec::new();
        let hasher = (document.len() >= MIN_DOCUMENT).then(RandomState::new);
        if hasher.is_some() {
            slots.resize_with(
                WAYS * (document.len() / 256).next_power_of_two().min(64),
                || None,
            );
        }

        LevelCache {
            hasher,
            slots,
            insertions: 0,
        }
    }

    /// The bucket of the level at the start of `rest`, or `None` if the cache does not apply.
    #[inline]
    pub(super) fn bucket(&self, rest: &str) -> Option<usize> {
        let hasher = self.hasher.as_ref()?;
        let rest = rest.as_bytes();
        // Most items own themselves, so this prefix does not distinguish levels.
        let first = rest.strip_prefix(ITSELF).unwrap_or(rest).first_chunk()?;
        // The number of slots is a power of two, so the remainder is the start of a bucket.
        let hash = hasher.hash_one(u128::from_ne_bytes(*first)) as usize;
        Some(hash.wrapping_mul(WAYS) & (self.slots.len() - 1))
    }

    /// Returns the level at the start of `rest` and the part after it, if an equal level is cached.
    ///
    /// A cached level is complete, so an equal string is also a complete level.
    pub(super) fn find<'d>(&self, bucket: usize, rest: &'d str) -> Option<(&CachedLevel, &'d str)> {
        let mut slots = self.slots.get(bucket..bucket + WAYS)?.iter().flatten();
        slots.find_map(|slot| Some((&slot.level, rest.strip_prefix(slot.text)?)))
    }

    /// Adds a level, unless the rest of the document, which follows it, is too short to repeat it.
    pub(super) fn insert(&mut self, bucket: usize, text: &'t str, rest: &str, level: &CachedLevel) {
        if rest.len() < text.len() {
            return;
        }
        if let Some(slot) = self.slots.get_mut(bucket + self.insertions % WAYS) {
            *slot = Some(CacheSlot {
                level: level.clone(),
                text,
            });
        }
        self.insertions += 1;
    }
}
