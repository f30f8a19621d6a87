//! A store in memory.

use std::{ops::Bound, sync::Arc};

#[cfg(feature = "file")]
use fieldmanager_value::Value;
use futures::future::BoxFuture;

use super::{
    BoxWatch, Entry, HistoryLimits, Key, List, MemoryStats, Page, Prefix, Read, Result, Revision,
    SharedStore, Snapshot, Store, Write,
    log::{Shared, State},
    objects::{Objects, expected},
    size::unshared_bytes,
};

/// A store in memory, on persistent maps.
///
/// A list and a snapshot at the current revision are references to a map that is never changed, so they cost nothing, however
/// many objects there are, and delay no writer. At an older revision, writes after it are undone in a copy of such a map:
/// at most as many as there are objects, or 4,096. A watch is a position in the history, which [`HistoryLimits`] bound.
///
/// ```
/// use fieldmanager_apiserver::store::{Key, List, Memory, Prefix, Store, Write};
/// use fieldmanager_value::Value;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Memory::default();
/// let key = Key::new("", "configmaps", Some("default"), "settings")?;
/// let revision = store.write(&key, Write::Create(Value::from_yaml("{data: {a: b}}")?)).await?;
/// let before = store.snapshot()?;
/// store.write(&key, Write::Delete { expected: revision }).await?;
///
/// assert_eq!(store.get(&key, None).await?.entry, None);
/// let page = store.list(List::new(Prefix::all()).at(revision)).await?;
/// assert_eq!((page.entries.len(), page.revision), (1, revision));
///
/// store.restore(&before)?;
/// assert!(store.get(&key, None).await?.entry.is_some());
/// # Ok(())
/// # }
/// ```
pub struct Memory {
    shared: Shared,
    /// Whether several servers use the store, of which none closes it.
    is_shared: bool,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(HistoryLimits::default())
    }
}

impl Memory {
    /// Returns an empty store at revision 1.
    pub fn new(limits: HistoryLimits) -> Self {
        Self::from_snapshot(
            &Snapshot {
                objects: Objects::new(),
                revision: Revision::FIRST,
            },
            limits,
        )
    }

    /// Returns a store with the objects and the revision of a snapshot. Its history begins there.
    pub fn from_snapshot(snapshot: &Snapshot, limits: HistoryLimits) -> Self {
        Self {
            shared: Shared::new(State::new(
                snapshot.objects.clone(),
                snapshot.revision,
                limits,
            )),
            is_shared: false,
        }
    }

    /// Returns an empty store for several servers: a server that stops leaves it open, so that others go on with its objects.
    ///
    /// ```
    /// # tokio_test::block_on(async {
    /// use std::sync::Arc;
    /// use fieldmanager_apiserver::{ApiServer, store::{HistoryLimits, Memory}};
    /// let store = Arc::new(Memory::shared(HistoryLimits::default()));
    /// let first = ApiServer::builder().store(store.clone()).build().await?;
    /// first.stop().await;
    /// assert!(store.stats().objects > 0);
    /// ApiServer::builder().store(store).build().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn shared(limits: HistoryLimits) -> Self {
        Self {
            is_shared: true,
            ..Self::new(limits)
        }
    }

    /// The objects at the current revision, also of a store that is closed.
    pub(crate) fn current(&self) -> Snapshot {
        let state = self.shared.lock();
        Snapshot {
            objects: state.objects.clone(),
            revision: state.revision,
        }
    }

    /// Replaces all objects by those of a snapshot, with the revisions that they had.
    ///
    /// The revision of the store does not go back but rises by one, and the history begins anew: every earlier revision is
    /// [`StoreError::Compacted`](super::StoreError::Compacted), and every watch ends with that error. A client that knows a revision from before
    /// therefore lists again; were revisions used twice, it would miss writes without an error. Returns the new revision,
    /// or [`StoreError::Closed`](super::StoreError::Closed).
    pub fn restore(&self, snapshot: &Snapshot) -> Result<Revision> {
        let mut state = self.shared.lock();
        state.open()?;
        let aftermath = state.restore(snapshot.objects.clone(), snapshot.revision);
        let revision = state.revision;
        drop(state);
        aftermath.finish();
        Ok(revision)
    }

    /// Returns the numbers of objects, events and watches.
    pub fn stats(&self) -> MemoryStats {
        self.shared.lock().stats()
    }

    /// Makes a change visible whose revision another part of the store chose. Changes have rising revisions.
    #[cfg(feature = "file")]
    pub(super) fn apply(&self, key: &Key, object: Option<Value>, revision: Revision) {
        let current = self
            .shared
            .lock()
            .objects
            .get(key)
            .map(|stored| stored.object.clone());
        let cost = current.map_or(0, |current| unshared_bytes(&current, object.as_ref()));
        let aftermath = self.shared.lock().commit(key, object, revision, cost);
        aftermath.finish();
    }

    fn get_now(&self, key: &Key, at: Option<Revision>) -> Result<Read> {
        let (objects, revision) = self.shared.at(at)?;
        Ok(Read {
            entry: objects.get(key).map(|stored| stored.entry(key)),
            revision,
        })
    }

    fn list_now(&self, list: &List) -> Result<Page> {
        let (objects, revision) = self.shared.at(list.at)?;
        Ok(page(&objects, revision, list))
    }

    fn write_now(&self, key: &Key, write: Write) -> Result<Revision> {
        let (before, object) = write.parts();
        let (objects, _) = self.shared.at(None)?;
        let current = expected(&objects, key, before)?;

        // The sizes of objects are compared without the lock. A write in between is found by its revision.
        let cost = current.map_or(0, |stored| unshared_bytes(&stored.object, object.as_ref()));
        // An own map would make the write copy what it shares.
        drop(objects);
        let mut state = self.shared.lock();
        expected(&state.open()?.objects, key, before)?;
        let revision = state.revision.next();
        let aftermath = state.commit(key, object, revision, cost);
        drop(state);
        aftermath.finish();

        Ok(revision)
    }
}

/// The part of the objects that a list asks for.
pub(super) fn page(objects: &Objects, revision: Revision, list: &List) -> Page {
    let first = Key::first_of(&list.prefix);
    let start = match &list.after {
        Some(after) if *after >= first => Bound::Excluded(after),
        _ => Bound::Included(&first),
    };
    let mut covered = objects
        .range::<_, Key>((start, Bound::Unbounded))
        .take_while(|(key, _)| list.prefix.contains(key));
    let limit = list.limit.unwrap_or(usize::MAX);
    let entries: Vec<Entry> = covered
        .by_ref()
        .take(limit)
        .map(|(key, stored)| stored.entry(key))
        .collect();

    // An uncounted list needs to know only whether there is more.
    let remaining = covered
        .take(if list.is_counted { usize::MAX } else { 1 })
        .count();
    let next = if remaining > 0 {
        entries.last().map(|last| last.key.clone())
    } else {
        None
    };

    Page {
        entries,
        revision,
        next,
        remaining: u64::try_from(remaining).unwrap_or(u64::MAX),
    }
}

impl Store for Memory {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        Box::pin(async { Ok(self.shared.lock().open()?.revision) })
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Result<Read>> {
        Box::pin(async move { self.get_now(key, at) })
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<Page>> {
        Box::pin(async move { self.list_now(&list) })
    }

    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>> {
        Box::pin(async move { self.write_now(key, write) })
    }

    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, Result<BoxWatch>> {
        Box::pin(async move { Ok(Box::pin(self.shared.watch(prefix, after)?) as BoxWatch) })
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let aftermath = self.shared.lock().compact(oldest)?;
            aftermath.finish();
            Ok(())
        })
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            if self.is_shared {
                return Ok(());
            }
            let aftermath = self.shared.lock().close();
            aftermath.finish();
            Ok(())
        })
    }

    fn snapshot(&self) -> Result<Snapshot> {
        self.shared.lock().open()?;
        Ok(self.current())
    }

    fn restore(&self, snapshot: &Snapshot) -> Result<Revision> {
        self.restore(snapshot)
    }

    fn fork(&self) -> Result<SharedStore> {
        self.shared.lock().open()?;
        let limits = self.shared.lock().limits();
        Ok(Arc::new(Self::from_snapshot(&self.current(), limits)))
    }
}
