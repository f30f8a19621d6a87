//! A store in etcd.

mod client;
mod convert;
mod feed;
mod tls;

use std::time::Duration;

use fieldmanager_value::Value;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::log::{Shared, State};
use super::objects::Stored;
use super::{
    BoxWatch, HistoryLimits, Key, List, MemoryStats, Page, Prefix, Read, Result, Revision, Store,
    StoreError, Write,
};
use client::Client;
use feed::Feed;
pub use tls::EtcdTls;

/// A store in etcd, which any number of servers share.
///
/// Objects are stored as kube-apiserver stores custom resources: JSON under `/registry/GROUP/PLURAL/NAMESPACE/NAME`, and
/// the revision is etcd's `mod_revision`. A write is one transaction that compares it. Reads of the current state see every
/// write that any server was acknowledged.
///
/// All objects, and the history of [`HistoryLimits`], are in memory too: one watch of etcd brings every write, of this
/// server and of others. Watches and reads of older revisions are answered from it. While etcd cannot be reached, watches
/// wait; if etcd was compacted meanwhile, they end with [`StoreError::Compacted`].
pub struct Etcd {
    client: Client,
    shared: Shared,
    /// The revision that the feed has reached.
    reached: watch::Receiver<Revision>,
    feed: AbortHandle,
}

/// How long a list waits for the feed before it reads from etcd. Other writers of the same etcd raise its revision without
/// an event for this store.
const FEED_DELAY: Duration = Duration::from_millis(20);

/// How long a compaction waits for the feed.
const COMPACTION_DELAY: Duration = Duration::from_secs(2);

impl Etcd {
    /// Connects to the servers of an etcd cluster, such as `https://127.0.0.1:2379`, and reads all objects. `tls` is for
    /// URLs with `https`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn connect(
        endpoints: &[String],
        tls: &EtcdTls,
        limits: HistoryLimits,
    ) -> Result<Self> {
        let client = Client::connect(endpoints, tls).await?;
        let (objects, revision) = client.all().await?;
        let shared = Shared::new(State::new(objects, revision, limits));
        let (reaches, reached) = watch::channel(revision);
        let feed = tokio::spawn(Feed::new(client.clone(), shared.clone(), reaches).run());
        Ok(Self {
            client,
            shared,
            reached,
            feed: feed.abort_handle(),
        })
    }

    /// Returns the numbers of objects, events and watches.
    pub fn stats(&self) -> MemoryStats {
        self.shared.lock().stats()
    }

    fn open(&self) -> Result<()> {
        self.shared.lock().open().map(|_| ())
    }

    /// The error if a revision is older than the history.
    fn check_history(&self, requested: Revision) -> Result<()> {
        let state = self.shared.lock();
        match state.open()?.oldest {
            oldest if requested < oldest => Err(StoreError::Compacted { requested, oldest }),
            _ => Ok(()),
        }
    }

    /// Waits until the feed has reached a revision, and reports whether it did.
    async fn wait_for(&self, revision: Revision, at_most: Duration) -> bool {
        let mut reached = self.reached.clone();
        let waited = reached.wait_for(|reached| *reached >= revision);
        matches!(tokio::time::timeout(at_most, waited).await, Ok(Ok(_)))
    }

    async fn get_at(&self, key: &Key, at: Revision) -> Result<Read> {
        self.check_history(at)?;
        // The history has the revisions that the feed brought. A later one is only in etcd.
        if let Ok((objects, revision)) = self.shared.at(Some(at)) {
            return Ok(Read {
                entry: objects.get(key).map(|stored| stored.entry(key)),
                revision,
            });
        }

        let read = self.client.get(key, Some(at)).await?;
        Ok(Read {
            revision: at,
            ..read
        })
    }

    async fn list_from(&self, list: List) -> Result<Page> {
        let at = match list.at {
            Some(at) => {
                self.check_history(at)?;
                at
            }
            None => self.client.revision().await?,
        };
        self.wait_for(at, FEED_DELAY).await;

        // The feed may have passed the revision: the history has it.
        if let Ok((objects, revision)) = self.shared.at(Some(at)) {
            return Ok(super::memory::page(&objects, revision, &list));
        }
        self.client
            .list(&list, at, |key, revision| self.known(key, revision))
            .await
    }

    /// The object of a key at the revision of its last write, if the feed brought it already.
    fn known(&self, key: &Key, revision: Revision) -> Option<Value> {
        let state = self.shared.lock();
        let stored = state
            .objects
            .get(key)
            .filter(|stored: &&Stored| stored.revision == revision)?;
        Some(stored.object.clone())
    }

    async fn watch_from(&self, prefix: Prefix, after: Revision) -> Result<BoxWatch> {
        self.check_history(after)?;
        // A client may know a write before the feed has it. Only a revision that etcd does not have is an error.
        if after > *self.reached.borrow() {
            let current = self.client.revision().await?;
            if after > current {
                return Err(StoreError::Future {
                    requested: after,
                    current,
                });
            }
        }

        Ok(Box::pin(self.shared.watch_ahead(prefix, after)?))
    }
}

impl Store for Etcd {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        Box::pin(async move {
            self.open()?;
            self.client.revision().await
        })
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Result<Read>> {
        Box::pin(async move {
            self.open()?;
            if let Some(at) = at {
                return self.get_at(key, at).await;
            }
            self.client.get(key, None).await
        })
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<Page>> {
        Box::pin(async move {
            self.open()?;
            self.list_from(list).await
        })
    }

    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>> {
        Box::pin(async move {
            self.open()?;
            self.client.write(key, write).await
        })
    }

    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, Result<BoxWatch>> {
        Box::pin(self.watch_from(prefix, after))
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.open()?;
            // A feed that is behind the compaction would lose events.
            if oldest <= self.client.revision().await? {
                self.wait_for(oldest, COMPACTION_DELAY).await;
            }
            self.client.compact(oldest).await?;
            let aftermath = {
                let mut state = self.shared.lock();
                let oldest = oldest.min(state.revision);
                state.compact(oldest)?
            };
            aftermath.finish();

            Ok(())
        })
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.feed.abort();
            let aftermath = self.shared.lock().close();
            aftermath.finish();
            Ok(())
        })
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.feed.abort();
    }
}

impl std::fmt::Debug for Etcd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Etcd")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
