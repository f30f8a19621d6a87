//! The names of a map's entries, while a text is read.

use ahash::RandomState;
use hashbrown::HashSet;

use crate::{Str, Value};

/// Up to here the keys of a map are compared one by one, which is faster than to hash them.
const FEW_KEYS: usize = 16;

/// What is known of the names of a map's entries.
pub(crate) enum Names {
    /// They ascend, as programs write them: the last one is the greatest.
    Ascending,
    Unordered,
    /// All of them, if they do not ascend and are not few.
    Set(HashSet<Str, RandomState>),
}

impl Names {
    /// Notes the name of the next entry. False if an entry has it.
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
