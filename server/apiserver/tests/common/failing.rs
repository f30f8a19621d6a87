//! A store in memory that fails when a test says so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fieldmanager_apiserver::store::{
    BoxWatch, Key, List, Memory, Page, Prefix, Read, Result, Revision, Snapshot, Store, StoreError,
    Write,
};
use futures::future::BoxFuture;
use tokio::sync::Notify;

/// A store in memory with the errors of another one.
#[derive(Default)]
pub(crate) struct Failing {
    pub(crate) memory: Arc<Memory>,
    /// Whether the store is one that other servers write to.
    pub(crate) is_shared: bool,
    /// The revisions of writes of other programs, which are no events of this store.
    pub(crate) foreign_writes: u64,
    /// Whether a write is made later than its request, as by a store that waits for a disk or a network.
    pub(crate) is_slow: bool,
    /// The only resource whose objects cannot be written; empty for all.
    pub(crate) resource: &'static str,
    /// The resource whose lists never end; empty for none.
    pub(crate) endless: &'static str,
    pub(crate) later: Mutex<Option<Later>>,
    /// Is told when a write waits for ever.
    pub(crate) waits: Notify,
}

/// What happens to operations after some writes.
pub(crate) struct Later {
    writes: usize,
    fault: Fault,
    /// Whether reads have the fault too.
    has_reads: bool,
}

#[derive(Clone)]
pub(crate) enum Fault {
    Error(StoreError),
    /// The writes of a server that was killed.
    Waits,
}

impl Failing {
    /// Sets the error of later writes, and of other operations if it is [`StoreError::Unavailable`]; `None` for none.
    pub(crate) fn fail(&self, error: Option<StoreError>) {
        *self.later() = error.map(|error| {
            let has_reads = matches!(error, StoreError::Unavailable(_));
            Later {
                writes: 0,
                fault: Fault::Error(error),
                has_reads,
            }
        });
    }

    /// Sets the error of the writes after some.
    pub(crate) fn fail_writes_after(&self, writes: usize, error: StoreError) {
        *self.later() = Some(Later {
            writes,
            fault: Fault::Error(error),
            has_reads: false,
        });
    }

    /// Lets the writes after some wait for ever.
    pub(crate) fn stop_after(&self, writes: usize) {
        *self.later() = Some(Later {
            writes,
            fault: Fault::Waits,
            has_reads: false,
        });
    }

    /// A store whose server cannot be reached.
    pub(crate) fn unavailable() -> StoreError {
        StoreError::Unavailable(Arc::new(std::io::Error::other("no leader")))
    }

    fn later(&self) -> MutexGuard<'_, Option<Later>> {
        self.later.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fault_of_write(&self, key: &Key) -> Option<Fault> {
        if ![key.parts().plural, ""].contains(&self.resource) {
            return None;
        }
        let mut later = self.later();
        let later = later.as_mut()?;
        match later.writes.checked_sub(1) {
            Some(left) => {
                later.writes = left;
                None
            }
            None => Some(later.fault.clone()),
        }
    }

    fn reachable(&self) -> Result<()> {
        match &*self.later() {
            Some(Later {
                fault: Fault::Error(error),
                has_reads: true,
                ..
            }) => Err(error.clone()),
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
            if !self.endless.is_empty() && list.prefix.as_str().contains(self.endless) {
                while fieldmanager_value::internal::proceed(1) {}
            }
            self.memory.list(list).await
        })
    }

    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>> {
        Box::pin(async move {
            if self.is_slow {
                tokio::task::yield_now().await;
            }
            match self.fault_of_write(key) {
                None => self.memory.write(key, write).await,
                Some(Fault::Error(error)) => Err(error),
                Some(Fault::Waits) => {
                    self.waits.notify_one();
                    std::future::pending().await
                }
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
        self.memory.snapshot()
    }

    fn restore(&self, snapshot: &Snapshot) -> Result<Revision> {
        self.memory.restore(snapshot)
    }
}
