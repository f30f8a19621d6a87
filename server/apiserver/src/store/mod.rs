//! Where objects are stored: a trait, and stores in memory, in a file, and in etcd.
//!
//! # What a store is
//!
//! A map of [`Key`]s to objects with one counter of writes, the [`Revision`]. Every write is a compare-and-swap on one key.
//! A reader sees one state of the whole map: that of the current revision, or that of an older one which the store still
//! keeps. A watch is a position in the sequence of writes.
//!
//! A store keeps a *history*: all writes after some *oldest* revision. A revision from the oldest to the current one can be
//! read ([`Store::get`], [`Store::list`]) and watched from ([`Store::watch`]); others are [`StoreError::Compacted`] or
//! [`StoreError::Future`]. The history is bounded, by [`Store::compact`] and by limits of the store, and it never grows
//! because of a reader: a watch that falls out of the history ends with [`StoreError::Compacted`], and no writer waits for
//! it.
//!
//! # Guarantees
//!
//! 1. Writes are totally ordered by their revisions. A write that returned is visible to every read that begins later.
//! 2. Of several writers that expect the same revision of a key, one succeeds; the others get [`StoreError::Conflict`] with
//!    the object that is stored.
//! 3. A read returns the state at exactly the revision that it reports. Pages of a list that are read at the same revision
//!    are parts of one state.
//! 4. A watch after revision *r* yields every write to its prefix with a revision greater than *r*, once and in order. A
//!    list at *r* followed by a watch after *r* misses nothing and repeats nothing.
//! 5. A write that was acknowledged is as durable as the store promises to be.
//!
//! Objects are stored without `metadata.resourceVersion`: the server sets it from [`Entry::revision`] when it presents an
//! object. A store does not look into objects. It has no clock either: objects with a limited lifetime, such as Events, are
//! deleted by the server.

mod bounded;
mod converting;
mod counted;
mod entry;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "file")]
mod file;
mod key;
mod log;
mod memory;
mod objects;
mod oldest;
mod revision;
mod size;

use std::{pin::Pin, sync::Arc};

use fieldmanager_value::Value;
use futures::{Stream, future::BoxFuture};

pub(crate) use bounded::bounded;
pub(crate) use converting::{Conversion, Converting, MAX_FAULTS};
pub(crate) use counted::{Counted, Counts};
pub use entry::Entry;
pub use error::{Result, StoreError, Undecodable};
#[cfg(feature = "etcd")]
pub use etcd::{Etcd, EtcdTls};
#[cfg(feature = "file")]
pub use file::{File, FileError};
pub(crate) use key::CORE;
pub use key::{InvalidKey, Key, KeyParts, Prefix};
pub use log::{HistoryLimits, MemoryStats};
pub use memory::Memory;
pub use objects::Snapshot;
pub(crate) use oldest::OldestListed;
pub use revision::Revision;
pub(crate) use size::unshared_bytes;

/// What [`Store::get`] returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The object; `None` if it does not exist.
    pub entry: Option<Entry>,
    /// The revision of the store at which this was the case.
    pub revision: Revision,
}

/// Which objects [`Store::list`] returns.
#[derive(Clone, Debug)]
pub struct List {
    /// The objects to list.
    pub prefix: Prefix,
    /// Skips all keys up to and including this one: the [`Page::next`] of the page before. It need not exist.
    pub after: Option<Key>,
    /// The maximum number of entries of the page; `None` for all. With 0 the page is empty and
    /// [`Page::remaining`] is the number of objects.
    pub limit: Option<usize>,
    /// The revision to read; `None` for the current one.
    pub at: Option<Revision>,
    /// Whether [`Page::remaining`] is the number of entries, which costs as much as there are.
    pub is_counted: bool,
}

impl List {
    /// All objects of a prefix at the current revision.
    pub fn new(prefix: Prefix) -> Self {
        Self {
            prefix,
            after: None,
            limit: None,
            at: None,
            is_counted: true,
        }
    }

    /// Skips all keys up to and including one.
    #[must_use]
    pub fn after(self, key: Key) -> Self {
        Self {
            after: Some(key),
            ..self
        }
    }

    /// Limits the number of entries.
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    /// Counts no entries after the page, so that a page costs what its own entries do.
    #[must_use]
    pub fn uncounted(self) -> Self {
        Self {
            is_counted: false,
            ..self
        }
    }

    /// Reads at a revision.
    #[must_use]
    pub fn at(self, revision: Revision) -> Self {
        Self {
            at: Some(revision),
            ..self
        }
    }
}

/// A part of a list, ordered by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The entries.
    pub entries: Vec<Entry>,
    /// The revision that was read, also if there are no entries. Pass it as [`List::at`] for the following pages.
    pub revision: Revision,
    /// The last key of this page if more entries follow. Pass it as [`List::after`] for the next page.
    pub next: Option<Key>,
    /// The number of entries after this page; if the list is [not counted](List::uncounted), at least 1 if there are any.
    pub remaining: u64,
}

/// A change of one object, with what it expects to find. Anything else than the expected state is
/// [`StoreError::Conflict`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Stores an object under a key that has none.
    Create(Value),
    /// Replaces an object.
    Update {
        /// The revision of the stored object.
        expected: Revision,
        /// The new object.
        object: Value,
    },
    /// Removes an object.
    Delete {
        /// The revision of the stored object.
        expected: Revision,
    },
}

impl Write {
    /// The revision that the stored object is expected to have, `None` for no object, and the new object, `None` to remove
    /// it.
    fn parts(self) -> (Option<Revision>, Option<Value>) {
        match self {
            Write::Create(object) => (None, Some(object)),
            Write::Update { expected, object } => (Some(expected), Some(object)),
            Write::Delete { expected } => (Some(expected), None),
        }
    }
}

/// A write that took place, as a watch delivers it. Clones are cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The revision of the write. That of a deletion is greater than that of the object which it removed.
    pub revision: Revision,
    /// The object that was written.
    pub key: Key,
    /// The object as it was stored; `None` if it was deleted.
    pub object: Option<Value>,
    /// The object before the write; `None` if it was created.
    pub previous: Option<Entry>,
}

/// The events of a [`Prefix`] after a revision.
///
/// An error is the last item: [`StoreError::Compacted`] if the reader was too slow, [`StoreError::Closed`] or
/// [`StoreError::Unavailable`] if the store ended. Dropping the stream frees everything that the store keeps for it.
pub trait Watch: Stream<Item = Result<Event>> + Send {
    /// Returns a revision up to which the stream has delivered every event of its prefix: the revision of a bookmark.
    ///
    /// It never decreases, is at least the revision of the last delivered event, and advances with writes outside of the
    /// prefix. It does not block and delivers nothing.
    fn progress(self: Pin<&mut Self>) -> Revision;
}

/// A boxed [`Watch`]. Use it as a `Stream`, and `watch.as_mut().progress()`.
pub type BoxWatch = Pin<Box<dyn Watch>>;

/// A store of objects; see the [module](self) for what it guarantees.
///
/// Every operation may be called from any task at any time. Dropping a future of a read cancels it; a write whose future
/// is dropped may or may not take place.
///
/// Any operation may return [`StoreError::Unavailable`] or [`StoreError::Closed`]; the other errors are listed with it.
pub trait Store: Send + Sync + 'static {
    /// Returns the current revision: that of the last write, or [`Revision::FIRST`].
    fn revision(&self) -> BoxFuture<'_, Result<Revision>>;

    /// Reads one object, at a revision or, with `None`, at the current one.
    ///
    /// # Errors
    /// [`StoreError::Compacted`] and [`StoreError::Future`] for a revision that the store does not keep. A store that
    /// follows another one waits for revisions which that one has reached.
    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Result<Read>>;

    /// Reads the objects of a prefix, in the order of their keys.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    fn list(&self, list: List) -> BoxFuture<'_, Result<Page>>;

    /// Writes one object and returns the revision of the write.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the stored object is not the expected one; [`StoreError::TooLarge`] and
    /// [`StoreError::Full`] if the store cannot keep the object.
    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>>;

    /// Returns the events of a prefix with a revision greater than `after`, those of the past first.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, Result<BoxWatch>>;

    /// Forgets the history before a revision, which becomes the oldest one. Does nothing if it is older than the oldest
    /// one. Objects stay as they are; watches continue unless they have not yet read an event that is forgotten.
    ///
    /// # Errors
    /// [`StoreError::Future`].
    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>>;

    /// Reports whether other servers may write to the store.
    fn is_shared(&self) -> bool {
        false
    }

    /// Finishes writes that have begun, ends watches with [`StoreError::Closed`] and releases files and connections.
    /// Every later operation fails with [`StoreError::Closed`].
    fn close(&self) -> BoxFuture<'_, Result<()>>;

    /// Returns the objects at the current revision, without copying them.
    ///
    /// # Errors
    /// [`StoreError::NoSnapshots`] by default, as for [`restore`](Self::restore) and [`fork`](Self::fork). [`Memory`] has
    /// all three, and so should a store that passes operations to it.
    fn snapshot(&self) -> Result<Snapshot> {
        Err(StoreError::NoSnapshots)
    }

    /// Replaces all objects by those of a snapshot, see [`Memory::restore`].
    ///
    /// # Errors
    /// [`StoreError::NoSnapshots`] by default.
    fn restore(&self, snapshot: &Snapshot) -> Result<Revision> {
        let _ = snapshot;
        Err(StoreError::NoSnapshots)
    }

    /// Returns a second, independent store with the same objects, revision and limits. Its history begins
    /// at the current revision, and it has no watches.
    ///
    /// # Errors
    /// [`StoreError::NoSnapshots`] by default.
    fn fork(&self) -> Result<SharedStore> {
        Err(StoreError::NoSnapshots)
    }
}

/// A store around another one, which has a part in its writes.
pub(crate) trait Layer: Send + Sync + 'static {
    /// The other store.
    fn inner(&self) -> &dyn Store;

    fn write_through<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>>;

    /// Is told that the other store has the objects of a snapshot.
    fn restored(&self, _snapshot: &Snapshot) {}
}

#[doc(hidden)]
impl<L: Layer> Store for L {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.inner().revision()
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Result<Read>> {
        self.inner().get(key, at)
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<Page>> {
        self.inner().list(list)
    }

    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>> {
        self.write_through(key, write)
    }

    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, Result<BoxWatch>> {
        self.inner().watch(prefix, after)
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        self.inner().compact(oldest)
    }

    fn is_shared(&self) -> bool {
        self.inner().is_shared()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.inner().close()
    }

    fn snapshot(&self) -> Result<Snapshot> {
        self.inner().snapshot()
    }

    fn restore(&self, snapshot: &Snapshot) -> Result<Revision> {
        let revision = self.inner().restore(snapshot)?;
        self.restored(snapshot);
        Ok(revision)
    }

    /// A fork without the layer: the server that gets it makes its own.
    fn fork(&self) -> Result<SharedStore> {
        self.inner().fork()
    }
}

/// A shared store of any kind.
pub type SharedStore = Arc<dyn Store>;
