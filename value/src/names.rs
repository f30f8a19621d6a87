//! Detection of duplicate keys while reading a document.

use ahash::RandomState;
use hashbrown::HashSet;

use crate::{Str, Value};

/// The maximum number of keys compared one by one, which is faster than hashing them.
const FEW_KEYS: usize = 16;

/// The known properties of the names of a map's entries.
pub(crate) enum Names {
    /// The names ascend, so the last one is the greatest. Programs usually write maps in this order.
    Ascending,
    Unordered,
    /// All names, if they are unordered and many.
    Set(HashSet<Str, RandomState>),
}

impl Names {
    /// Records the name of the next entry. Returns false if an earlier entry has it.
    pub(crate) fn add(&mut self, entries: &[(Str, Value)], name: &Str) -> bool {
        if let Names::Set(names) = self {
            return names.insert(name.clone());
        }
        if matches!(self, Names::Ascending) && entries.last().is_none_or(|(last, _)| last < name) {
            return true;
        }
        if entries.len() < FEW_KEYS {
            *self = Names::Unordered;
            return entries.iter().all(|(other, _)| other != name);
        }
        let mut names: HashSet<Str, RandomState> = entries.iter().map(|(name, _)| name.clone()).collect();
        let is_new = names.insert(name.clone());
        *self = Names::Set(names);
        is_new
    }
}
