//! A store whose operations let other tasks run first, so that requests of several clients overlap.

use std::sync::{Arc, Mutex};

use fieldmanager_apiserver::store::{
    BoxWatch, HistoryLimits, Key, List, Memory, Page, Prefix, Read, Result, Revision, SharedStore,
    Snapshot, Store, Write,
};
use futures::future::BoxFuture;

use crate::random_programs::Numbers;

/// A store in memory whose operations are delayed at random. Its forks share the numbers.
pub(crate) struct Yielding {
    store: Memory,
    numbers: Arc<Mutex<Numbers>>,
}

impl Yielding {
    pub(crate) fn new(numbers: Arc<Mutex<Numbers>>) -> Self {
        Yielding {
            store: Memory::default(),
            numbers,
        }
    }

    async fn pause(&self) {
        let turns = self.numbers.lock().unwrap().u32(..4).saturating_sub(1);
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
    }
}

impl Store for Yielding {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.store.revision()
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Result<Read>> {
        Box::pin(async move {
            self.pause().await;
            self.store.get(key, at).await
        })
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<Page>> {
        Box::pin(async move {
            self.pause().await;
            self.store.list(list).await
        })
    }

    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>> {
        Box::pin(async move {
            self.pause().await;
            let written = self.store.write(key, write).await;
            self.pause().await;
            written
        })
    }

    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, Result<BoxWatch>> {
        self.store.watch(prefix, after)
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        self.store.compact(oldest)
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

    fn fork(&self) -> Result<SharedStore> {
        Ok(Arc::new(Yielding {
            store: Memory::from_snapshot(&self.store.snapshot()?, HistoryLimits::default()),
            numbers: self.numbers.clone(),
        }))
    }
}
