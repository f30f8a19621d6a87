//! A store in a file.

mod disk;
mod error;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::{fs, io};

use futures::future::BoxFuture;
use redb::backends::FileBackend;
use tokio::sync::{oneshot, watch};

use super::{
    BoxWatch, HistoryLimits, Key, List, Memory, MemoryStats, Page, Prefix, Read, Result, Revision,
    Store, StoreError, Write,
};
use disk::Disk;
pub use error::FileError;
use writer::{Message, Writer};

/// A store in one file, which a write has reached when it returns: it survives the end of the process and of the machine.
///
/// The file is a [redb](https://www.redb.org) database. All objects are in memory too, so reads, lists and watches are those
/// of [`Memory`] and never wait for the disk. Writes are committed in groups: those that arrive while the file is being
/// synchronized are committed together by the next synchronization. A write is visible only after it is durable.
///
/// The file has the current objects and their revisions, not the history. After a start, every earlier revision is
/// [`StoreError::Compacted`], as after a compaction of etcd, and clients list again.
///
/// ```
/// use fieldmanager_apiserver::store::{File, HistoryLimits, Key, Store, Write};
/// use fieldmanager_value::Value;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("state.redb");
/// let key = Key::new("", "configmaps", Some("default"), "settings")?;
/// let store = File::open(&path, HistoryLimits::default())?;
/// let revision = store.write(&key, Write::Create(Value::from_yaml("{data: {a: b}}")?)).await?;
/// store.close().await?;
///
/// let store = File::open(&path, HistoryLimits::default())?;
/// assert_eq!(store.get(&key, None).await?.entry.map(|entry| entry.revision), Some(revision));
/// # Ok(())
/// # }
/// ```
pub struct File {
    memory: Arc<Memory>,
    messages: Mutex<Option<mpsc::Sender<Message>>>,
    /// Its sender is dropped when the writer has ended.
    running: watch::Receiver<()>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl File {
    /// Opens a file, or creates it, with the mode 0600. All of it is read and its checksums are compared, so this blocks in proportion to its
    /// size.
    ///
    /// # Errors
    /// [`FileError`]; nothing that the file has is lost.
    pub fn open(path: impl AsRef<Path>, limits: HistoryLimits) -> Result<Self, FileError> {
        let path = path.as_ref().to_owned();
        let open = {
            let path = path.clone();
            move |builder: &redb::Builder| {
                builder.create_with_backend(FileBackend::new(open_private(&path)?)?)
            }
        };
        Self::of(Disk::open(open, path)?, limits)
    }

    fn of(
        (disk, snapshot): (Disk, super::Snapshot),
        limits: HistoryLimits,
    ) -> Result<Self, FileError> {
        let memory = Arc::new(Memory::from_snapshot(&snapshot, limits));
        let (messages, received) = mpsc::channel();
        let path = disk.path().to_owned();
        let (runs, running) = watch::channel(());
        let writer = Writer::new(disk, Arc::clone(&memory), received, runs);
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || writer.run())
            .map_err(|source| FileError::Io { path, source })?;

        Ok(Self {
            memory,
            messages: Mutex::new(Some(messages)),
            running,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Lets the writer end after the writes that have begun.
    fn end(&self) {
        self.messages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    /// Returns the numbers of objects, events and watches.
    pub fn stats(&self) -> MemoryStats {
        self.memory.stats()
    }

    fn send(&self, message: Message) -> Result<()> {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let messages = messages.as_ref().ok_or(StoreError::Closed)?;
        messages.send(message).map_err(|_| stopped())
    }
}

/// Opens a file that only its user can read, or creates it: objects may be Secrets.
fn open_private(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    // An existing file may have another mode.
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

/// The thread of the writer ended.
fn stopped() -> StoreError {
    StoreError::Unavailable(Arc::new(std::io::Error::other(
        "the writer of the file ended",
    )))
}

impl Store for File {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.memory.revision()
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Result<Read>> {
        self.memory.get(key, at)
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<Page>> {
        self.memory.list(list)
    }

    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.send(Message {
                key: key.clone(),
                write,
                answer,
            })?;
            answered.await.map_err(|_| stopped())?
        })
    }

    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, Result<BoxWatch>> {
        self.memory.watch(prefix, after)
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        self.memory.compact(oldest)
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.end();
            // The channel has no values: an error says that the writer ended, which released the file.
            while self.running.clone().changed().await.is_ok() {}
            self.memory.close().await
        })
    }
}

impl Drop for File {
    /// Finishes the writes that have begun and releases the file.
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
