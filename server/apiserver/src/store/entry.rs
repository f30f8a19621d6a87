//! Stored objects.

use fieldmanager_value::Value;

use super::{Key, Revision};

/// A stored object. Clones are cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the store.
    pub key: Key,
    /// The object, without `metadata.resourceVersion`.
    pub object: Value,
    /// The revision of its last write.
    pub revision: Revision,
}
