//! The objects of a store in memory at one revision.

use fieldmanager_value::Value;
use im::OrdMap;

use super::{Entry, Key, Revision};

/// All objects at one revision. A clone costs nothing, and an edited clone shares what did not change.
pub(super) type Objects = OrdMap<Key, Stored>;

/// A stored object without its key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stored {
    pub(super) object: Value,
    pub(super) revision: Revision,
}

impl Stored {
    pub(super) fn entry(&self, key: &Key) -> Entry {
        Entry { key: key.clone(), object: self.object.clone(), revision: self.revision }
    }
}

/// All objects of a [`Memory`](super::Memory) at one revision. Clones are free.
#[derive(Clone)]
pub struct Snapshot {
    pub(super) objects: Objects,
    pub(super) revision: Revision,
}

impl Snapshot {
    #[cfg(feature = "file")]
    pub(super) fn new(objects: Objects, revision: Revision) -> Self {
        Self { objects, revision }
    }

    /// Returns the revision at which the snapshot was taken.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Reports whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Returns the objects in the order of their keys.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.objects.iter().map(|(key, stored)| stored.entry(key))
    }
}
