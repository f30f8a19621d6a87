//! The objects of a store in memory at one revision.

use fieldmanager_value::Value;
use im::OrdMap;

use super::{Entry, Key, Result, Revision, StoreError};

/// All objects at one revision. A clone costs nothing, and an edited clone shares what did not change.
pub(super) type Objects = OrdMap<Key, Stored>;

/// A stored object without its key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stored {
    pub(super) object: Value,
    pub(super) revision: Revision,
}

impl Stored {
    #[cfg(feature = "etcd")]
    pub(super) fn of(entry: Entry) -> (Key, Self) {
        let Entry {
            key,
            object,
            revision,
        } = entry;
        (key, Stored { object, revision })
    }

    pub(super) fn entry(&self, key: &Key) -> Entry {
        Entry {
            key: key.clone(),
            object: self.object.clone(),
            revision: self.revision,
        }
    }
}

/// The stored object of a key, or the conflict with a write that expects another one.
pub(super) fn expected<'o>(
    objects: &'o Objects,
    key: &Key,
    expected: Option<Revision>,
) -> Result<Option<&'o Stored>> {
    let current = objects.get(key);
    if current.map(|stored| stored.revision) == expected {
        Ok(current)
    } else {
        Err(StoreError::Conflict {
            key: key.clone(),
            current: current.map(|stored| stored.entry(key)),
        })
    }
}

/// Stores an object or, with `None`, removes it. Returns the one that it replaces.
pub(super) fn put(
    objects: &mut Objects,
    key: &Key,
    object: Option<Value>,
    revision: Revision,
) -> Option<Stored> {
    match object {
        Some(object) => objects.insert(key.clone(), Stored { object, revision }),
        None => objects.remove(key),
    }
}

/// All objects of a [`Memory`](super::Memory) at one revision. Clones are free.
#[derive(Clone)]
pub struct Snapshot {
    pub(super) objects: Objects,
    pub(super) revision: Revision,
}

impl Snapshot {
    /// Returns the revision at which the snapshot was taken.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the number of objects.
    pub fn count(&self) -> usize {
        self.objects.len()
    }

    /// Returns the objects in the order of their keys.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.objects.iter().map(|(key, stored)| stored.entry(key))
    }
}
