//! Objects, revisions and errors of etcd as those of a store.

use std::sync::Arc;

use fieldmanager_value::Value;

use crate::store::{Entry, Revision, StoreError};

/// An error that says nothing about whether a write took place.
pub(super) fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Unavailable(Arc::new(error))
}

/// The entry of a key and a value of etcd; `None` for values that other programs wrote.
pub(super) fn entry(kv: &etcd_client::KeyValue) -> Option<Entry> {
    let key = kv.key_str().ok()?.parse().ok()?;
    let object = Value::from_json(kv.value_str().ok()?).ok()?;
    Some(Entry {
        key,
        object,
        revision: revision(kv.mod_revision()),
    })
}

/// A revision of etcd, which is at least 1.
pub(super) fn revision(number: i64) -> Revision {
    u64::try_from(number)
        .ok()
        .and_then(Revision::new)
        .unwrap_or(Revision::FIRST)
}
