//! Tests of stores: one suite for every store, and tests of what only the store in memory has.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod memory;
mod model;
mod suite;

use std::sync::Arc;

use fieldmanager_apiserver::store::{HistoryLimits, Key, Memory, SharedStore};
use fieldmanager_value::Value;

/// A new, empty store in memory.
fn in_memory() -> SharedStore {
    Arc::new(Memory::default())
}

suite::tests!(memory_store, crate::in_memory);

model::tests!(memory_model, |events: usize| Arc::new(Memory::new(HistoryLimits::default().events(events))));

/// The key of a Pod.
fn pod(namespace: &str, name: &str) -> Key {
    Key::new("", "pods", Some(namespace), name).unwrap()
}

/// An object that can be told from others by a number.
fn object(number: i64) -> Value {
    Value::from_yaml(&format!("{{kind: Pod, spec: {{number: {number}}}}}")).unwrap()
}

/// The number of an object.
fn number(object: &Value) -> i64 {
    object.get("spec").and_then(|spec| spec.get("number")).and_then(Value::as_i64).unwrap()
}
