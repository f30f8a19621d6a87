//! A store with a bound on the memory of its objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fieldmanager_value::Value;
use futures::future::BoxFuture;

use super::{
    Key, Layer, List, Prefix, Result, Revision, SharedStore, Snapshot, Store, StoreError, Write,
    unshared_bytes,
};
use crate::object::is_terminating;

/// A store that refuses writes by which its objects grow beyond a bound.
struct Bounded {
    store: SharedStore,
    limit: usize,
    /// The memory of the objects, and of those that are being written.
    used: AtomicUsize,
}

/// A store with a bound on its objects. One that other servers write to has a bound of its own.
pub(crate) async fn bounded(store: SharedStore, limit: Option<usize>) -> Result<SharedStore> {
    match limit {
        Some(limit) if !store.is_shared() => Ok(Arc::new(Bounded::new(store, limit).await?)),
        _ => Ok(store),
    }
}

impl Bounded {
    async fn new(store: SharedStore, limit: usize) -> Result<Self> {
        let page = store.list(List::new(Prefix::all())).await?;
        let used = page
            .entries
            .iter()
            .map(|entry| size(&entry.object))
            .sum::<usize>();
        Ok(Bounded {
            store,
            limit,
            used: AtomicUsize::new(used),
        })
    }

    /// Counts the growth of an object before it is written, up to a limit.
    fn grow(&self, bytes: usize, limit: usize) -> Result<()> {
        let grown = |used: usize| {
            used.checked_add(bytes)
                .filter(|used| bytes == 0 || *used <= limit)
        };
        let grown = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);

        grown.map(|_| ()).map_err(|used| {
            StoreError::Full(format!(
                "its objects take {used} bytes of {limit}, and {bytes} more are needed"
            ))
        })
    }

    fn shrink(&self, bytes: usize) {
        let shrunk = |used: usize| Some(used.saturating_sub(bytes));
        let _ = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, shrunk);
    }
}

fn size(object: &Value) -> usize {
    unshared_bytes(object, None)
}

impl Layer for Bounded {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    fn restored(&self, snapshot: &Snapshot) {
        let used = snapshot.entries().map(|entry| size(&entry.object)).sum();
        self.used.store(used, Ordering::Relaxed);
    }

    fn write_through<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>> {
        Box::pin(async move {
            let (expected, new) = match &write {
                Write::Create(object) => (None, Some(object)),
                Write::Update { expected, object } => (Some(*expected), Some(object)),
                Write::Delete { expected } => (Some(*expected), None),
            };
            let live = match expected {
                Some(_) => self.store.get(key, None).await?.entry,
                None => None,
            };

            // Another object than the expected one is a conflict, and nothing is written.
            let live = live
                .filter(|live| Some(live.revision) == expected)
                .map(|live| live.object);

            // A deletion that waits for finalizers adds its time to the object.
            let begins_to_end =
                new.is_some_and(is_terminating) && !live.as_ref().is_some_and(is_terminating);
            let limit = if begins_to_end && live.is_some() {
                usize::MAX
            } else {
                self.limit
            };
            // Growth is counted before the write, and what shrinks after it: the sum never is less than the memory.
            let (before, after) = (live.as_ref().map_or(0, size), new.map_or(0, size));
            let growth = after.saturating_sub(before);
            self.grow(growth, limit)?;
            let written = self.store.write(key, write).await;
            self.shrink(if written.is_ok() {
                before.saturating_sub(after)
            } else {
                growth
            });

            written
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Memory;
    use super::*;

    fn object(length: usize) -> Value {
        Value::from("x".repeat(length).as_str())
    }

    #[tokio::test]
    async fn writes_beyond_the_bound_are_refused_and_count_nothing() {
        let store = Bounded::new(Arc::new(Memory::default()), 10_000)
            .await
            .unwrap();
        let key = |name: &str| Key::new("", "configmaps", Some("default"), name).unwrap();
        let (one, other) = (key("one"), key("other"));
        let first = store
            .write(&one, Write::Create(object(8000)))
            .await
            .unwrap();
        let refused = store.write(&other, Write::Create(object(3000))).await;
        assert!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
        // Conflicts count nothing.
        for _ in 0..10 {
            assert!(
                store
                    .write(&one, Write::Create(object(1000)))
                    .await
                    .is_err()
            );
        }
        let update = Write::Update {
            expected: first,
            object: object(6000),
        };
        let second = store.write(&one, update).await.unwrap();
        store
            .write(&other, Write::Create(object(3000)))
            .await
            .unwrap();
        store
            .write(&one, Write::Delete { expected: second })
            .await
            .unwrap();
        assert_eq!(store.used.load(Ordering::Relaxed), size(&object(3000)));
        // Objects that a store has at the start count.
        let again = Bounded::new(Arc::new(store), 10_000).await.unwrap();
        assert_eq!(again.used.load(Ordering::Relaxed), size(&object(3000)));
    }

    #[tokio::test]
    async fn an_object_over_the_bound_can_shrink_and_end() {
        let memory = Memory::default();
        let key = Key::new("", "configmaps", Some("default"), "one").unwrap();
        let first = memory
            .write(&key, Write::Create(object(8000)))
            .await
            .unwrap();
        let store = Bounded::new(Arc::new(memory), 1000).await.unwrap();
        let grown = Write::Update {
            expected: first,
            object: object(8001),
        };
        assert!(matches!(
            store.write(&key, grown).await,
            Err(StoreError::Full(_))
        ));
        let smaller = Write::Update {
            expected: first,
            object: object(7000),
        };
        let second = store.write(&key, smaller).await.unwrap();
        let text = format!(
            "{{metadata: {{deletionTimestamp: now}}, data: {}}}",
            "x".repeat(8000)
        );
        let ending = Value::from_yaml(&text).unwrap();
        let second = store
            .write(
                &key,
                Write::Update {
                    expected: second,
                    object: ending,
                },
            )
            .await
            .unwrap();
        store
            .write(&key, Write::Delete { expected: second })
            .await
            .unwrap();
        assert_eq!(store.used.load(Ordering::Relaxed), 0);
    }
}
