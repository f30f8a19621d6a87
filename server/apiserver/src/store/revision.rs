//! Revisions of a store.

use std::{fmt, num::NonZeroU64};

/// The counter of the writes of a store: every write has a revision of its own, greater than that of the write before.
///
/// The `resourceVersion` of an object is the revision of its last write; that of a list is the revision of the store when
/// the list was read. A store without writes is at revision 1, because clients take a `resourceVersion` of 0 for "any".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(NonZeroU64);

impl Revision {
    /// The revision of a store without writes.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// Returns a revision, or `None` for 0.
    pub fn new(revision: u64) -> Option<Self> {
        NonZeroU64::new(revision).map(Self)
    }

    /// Reads the decimal form, which has no sign and no leading zero. Returns `None` for anything else and for 0.
    ///
    /// ```
    /// use fieldmanager_apiserver::store::Revision;
    /// assert_eq!(Revision::parse("12"), Revision::new(12));
    /// assert_eq!(["0", "", "012", "+12", "a", "99999999999999999999"].map(Revision::parse), [None; 6]);
    /// ```
    pub fn parse(decimal: &str) -> Option<Self> {
        if !decimal.starts_with(|first: char| matches!(first, '1'..='9')) {
            return None;
        }
        decimal.parse().ok().map(Self)
    }

    /// Returns the revision as an integer, at least 1.
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// Returns the revision after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
