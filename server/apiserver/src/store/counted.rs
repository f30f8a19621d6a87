//! A store that counts writes, so that what was made of some objects is made again only after a write of one of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;

use super::{Key, Layer, Revision, SharedStore, Snapshot, Store, StoreError, Write};

/// Numbers of writes of resources.
pub(crate) struct Counts {
    /// The groups and resources; an empty resource is all of its group.
    of: &'static [(&'static str, &'static str)],
    numbers: Vec<AtomicU64>,
}

impl Counts {
    /// Counts of resources, each of which has one write: the objects that the store has from the start.
    pub(crate) fn new(of: &'static [(&'static str, &'static str)]) -> Arc<Self> {
        Arc::new(Counts {
            of,
            numbers: of.iter().map(|_| AtomicU64::new(1)).collect(),
        })
    }

    /// The number of writes of the resource at a place; 0 if there is none.
    pub(crate) fn at(&self, place: usize) -> u64 {
        let number = self.numbers.get(place);
        number.map_or(0, |number| number.load(Ordering::SeqCst))
    }

    fn of_key(&self, key: &Key) -> Option<&AtomicU64> {
        let parts = key.parts();
        let is_counted = |(group, resource): &(&str, &str)| {
            *group == parts.group && (resource.is_empty() || *resource == parts.plural)
        };
        self.numbers.get(self.of.iter().position(is_counted)?)
    }
}

/// A store whose writes are counted.
pub(crate) struct Counted {
    pub(crate) store: SharedStore,
    pub(crate) counts: Arc<Counts>,
}

impl Layer for Counted {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    fn write_through<'a>(
        &'a self,
        key: &'a Key,
        write: Write,
    ) -> BoxFuture<'a, Result<Revision, StoreError>> {
        let Some(number) = self.counts.of_key(key) else {
            return self.store.write(key, write);
        };
        Box::pin(async move {
            let written = self.store.write(key, write).await;
            number.fetch_add(1, Ordering::SeqCst);
            written
        })
    }

    fn restored(&self, _: &Snapshot) {
        for number in &self.counts.numbers {
            number.fetch_add(1, Ordering::SeqCst);
        }
    }
}
