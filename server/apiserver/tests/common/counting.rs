//! A store that counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use fieldmanager_apiserver::store::{
    BoxWatch, Key, List, Page, Prefix, Read, Result, Revision, SharedStore, Snapshot, Store, Write,
};
use futures::future::BoxFuture;

/// A store that counts what is asked of it.
pub(crate) struct Counting {
    store: SharedStore,
    operations: AtomicUsize,
    /// The entries that lists returned or counted, and the most that one of them returned.
    entries: AtomicUsize,
    pub(crate) largest: AtomicUsize,
}

impl Counting {
    pub(crate) fn new(store: SharedStore) -> Arc<Self> {
        Arc::new(Counting {
            store,
            operations: AtomicUsize::new(0),
            entries: AtomicUsize::new(0),
            largest: AtomicUsize::new(0),
        })
    }

    pub(crate) fn clear(&self) {
        for count in [&self.operations, &self.entries, &self.largest] {
            count.store(0, Relaxed);
        }
    }

    /// The operations, and the entries that lists returned or counted.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.operations.load(Relaxed), self.entries.load(Relaxed))
    }
}

impl Store for Counting {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.store.revision()
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Result<Read>> {
        self.operations.fetch_add(1, Relaxed);
        self.store.get(key, at)
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<Page>> {
        Box::pin(async {
            self.operations.fetch_add(1, Relaxed);
            let is_counted = list.is_counted;
            let page = self.store.list(list).await?;
            self.entries.fetch_add(page.entries.len(), Relaxed);
            if is_counted {
                self.entries
                    .fetch_add(usize::try_from(page.remaining).unwrap(), Relaxed);
            }
            self.largest.fetch_max(page.entries.len(), Relaxed);
            Ok(page)
        })
    }

    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>> {
        self.operations.fetch_add(1, Relaxed);
        self.store.write(key, write)
    }

    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, Result<BoxWatch>> {
        self.store.watch(prefix, after)
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        self.store.compact(oldest)
    }

    /// False: tasks that follow other servers would be counted among the requests.
    fn is_shared(&self) -> bool {
        false
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.store.close()
    }

    fn snapshot(&self) -> Result<Snapshot> {
        self.store.snapshot()
    }

    fn restore(&self, snapshot: &Snapshot) -> Result<Revision> {
        self.store.restore(snapshot)
    }
}
