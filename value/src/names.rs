//! Detection of duplicate keys while reading a document.

use ahash::RandomState;
use hashbrown::HashSet;

use crate::{Str, Value};

/// The names of a map's entries. While they ascend, the last one is the greatest, and none is kept.
#[derive(Default)]
pub(crate) struct SeenNames(Option<HashSet<Str, RandomState>>);

impl SeenNames {
    /// Records the name of the next entry. Returns false if an earlier entry has it.
    pub(crate) fn add(&mut self, entries: &[(Str, Value)], name: &Str) -> bool {
        if self.0.is_none() && entries.last().is_none_or(|(last, _)| last < name) {
            return true;
        }
        let known = || entries.iter().map(|(name, _)| name.clone()).collect();
        self.0.get_or_insert_with(known).insert(name.clone())
    }
}
