//! Tests of stores: one suite for every store, and tests of what only the store in memory has.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod ends;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "etcd")]
mod etcd_processes;
mod memory;
mod model;
mod suite;

use std::path::Path;
use std::sync::Arc;

use fieldmanager_apiserver::store::{File, HistoryLimits, Key, Memory, SharedStore};
use fieldmanager_value::Value;
use proptest::prelude::{Just, Strategy, prop_oneof};

/// A new, empty store in memory.
async fn in_memory() -> (SharedStore, ()) {
    (Arc::new(Memory::default()), ())
}

/// A new, empty store in a file. The file has no name, so that it ends with the store.
fn with_file(limits: HistoryLimits) -> SharedStore {
    let folder = match Path::new("/dev/shm") {
        memory if memory.is_dir() => tempfile::tempdir_in(memory),
        _ => tempfile::tempdir(),
    };
    Arc::new(File::open(folder.unwrap().path().join("state.redb"), limits).unwrap())
}

/// A new, empty store in a file.
async fn in_file() -> (SharedStore, ()) {
    (with_file(HistoryLimits::default()), ())
}

suite::tests!(memory_store, crate::store::in_memory);

suite::tests!(file_store, crate::store::in_file);

/// The number of kept events: a few, or all.
fn bounds() -> impl Strategy<Value = usize> {
    prop_oneof![0..12usize, Just(usize::MAX)]
}

model::tests!(
    memory_model,
    crate::store::bounds(),
    async |events: usize| {
        let store: SharedStore = Arc::new(Memory::new(HistoryLimits::default().events(events)));
        store
    }
);

model::tests!(file_model, crate::store::bounds(), async |events: usize| {
    crate::store::with_file(HistoryLimits::default().events(events))
});

/// The key of a Pod.
fn pod(namespace: &str, name: &str) -> Key {
    Key::new("", "pods", Some(namespace), name).unwrap()
}

/// An object with a number.
fn object(number: i64) -> Value {
    Value::from_yaml(&format!("{{kind: Pod, spec: {{number: {number}}}}}")).unwrap()
}

/// The number of an object.
fn number(object: &Value) -> i64 {
    object
        .get("spec")
        .and_then(|spec| spec.get("number"))
        .and_then(Value::as_i64)
        .unwrap()
}
