//! Which revisions lists are no longer asked for, although the store may have them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Revision, StoreError};

/// The oldest revision of which lists are answered.
#[derive(Default)]
pub(crate) struct OldestListed(AtomicU64);

impl OldestListed {
    /// Ends the revisions before one.
    pub(crate) fn raise(&self, oldest: Revision) {
        self.0.fetch_max(oldest.get(), Ordering::SeqCst);
    }

    /// The error of a list at a revision that is older.
    pub(crate) fn check(&self, requested: Revision) -> Result<(), StoreError> {
        match Revision::new(self.0.load(Ordering::SeqCst)) {
            Some(oldest) if requested < oldest => Err(StoreError::Compacted { requested, oldest }),
            _ => Ok(()),
        }
    }
}
