//! A store in memory that fails when a test says so.

use std::sync::{Mutex, PoisonError};

use fieldmanager_apiserver::store::{
    BoxWatch, Key, List, Memory, Page, Prefix, Read, Result, Revision, Snapshot, Store, StoreError, Write,
};
use futures::future::BoxFuture;

/// A store in memory with the errors of another one.
#[derive(Default)]
pub(crate) struct Failing {
    pub(crate) memory: Memory,
    /// Whether the store is one that other servers write to.
    pub(crate) is_shared: bool,
    /// The revisions of writes of other programs, which are no events of this store.
    pub(crate) foreign_writes: u64,
    /// The error of every write, and of other operations if it is [`StoreError::Unavailable`].
    pub(crate) error: Mutex<Option<StoreError>>,
}

impl Failing {
    /// Sets the error of later operations; `None` for none.
    pub(crate) fn fail(&self, error: Option<StoreError>) {
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// A store whose server cannot be reached.
    pub(crate) fn unavailable() -> StoreError {
        StoreError::Unavailable(std::sync::Arc::new(std::io::Error::other("no leader")))
    }

    fn error(&self) -> Option<StoreError> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn reachable(&self) -> Result<()> {
        match self.error() {
            Some(error @ StoreError::Unavailable(_)) => Err(error),
            _ => Ok(()),
        }
    }
}

impl Store for Failing {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        Box::pin(async {
            self.reachable()?;
            let revision = self.memory.revision().await?;
            Ok(Revision::new(revision.get() + self.foreign_writes).unwrap_or(revision))
        })
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Result<Read>> {
        Box::pin(async move {
            self.reachable()?;
            self.memory.get(key, at).await
        })
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<Page>> {
        Box::pin(async {
            self.reachable()?;
            self.memory.list(list).await
        })
    }

    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>> {
        Box::pin(async move {
            match self.error() {
                Some(error) => Err(error),
                None => self.memory.write(key, write).await,
            }
        })
    }

    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, Result<BoxWatch>> {
        self.memory.watch(prefix, after)
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        self.memory.compact(oldest)
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.memory.close()
    }

    fn snapshot(&self) -> Result<Snapshot> {
        Ok(self.memory.snapshot())
    }

    fn restore(&self, snapshot: &Snapshot) -> Result<Revision> {
        self.memory.restore(snapshot)
    }
}
