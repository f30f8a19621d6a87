//! The entries that are kept, and the entry of the request that a task answers.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Log, LogEntry};

/// The memory of an entry besides its strings, in bytes.
const ENTRY: usize = 512;

/// The log of a server, bounded in bytes.
pub(crate) struct Recorder {
    limit: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    entries: VecDeque<(Arc<LogEntry>, usize)>,
    bytes: usize,
    /// The number of the last entry.
    last: u64,
    dropped: u64,
}

impl Recorder {
    /// A log of at most a number of bytes; `None` for 0.
    pub(crate) fn new(limit: usize) -> Option<Arc<Self>> {
        (limit > 0).then(|| Arc::new(Recorder { limit, kept: Mutex::default() }))
    }

    pub(crate) fn log(&self) -> Log {
        let kept = self.kept();
        let entries = kept.entries.iter().map(|(entry, _)| entry.clone()).collect();
        Log { entries, dropped: Some(kept.dropped) }
    }

    /// Removes all entries. The next one is number 1.
    pub(crate) fn clear(&self) {
        let old = std::mem::take(&mut *self.kept());
        drop(old);
    }

    fn push(&self, mut entry: LogEntry) {
        let size = size(&entry);
        let mut kept = self.kept();
        kept.last += 1;
        entry.number = kept.last;
        kept.entries.push_back((Arc::new(entry), size));
        kept.bytes += size;
        while kept.bytes > self.limit {
            let Some((_, size)) = kept.entries.pop_front() else { break };
            kept.bytes -= size;
            kept.dropped += 1;
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About how many bytes an entry takes.
fn size(entry: &LogEntry) -> usize {
    let changes = entry.writes.iter().flat_map(|write| &write.managers);
    let paths = changes
        .flat_map(|change| [&change.gained, &change.took, &change.lost, &change.changed])
        .flatten()
        .map(|path| path.len() + size_of::<String>());
    let writes = entry.writes.len() * ENTRY;
    let changes: usize = entry.writes.iter().map(|write| write.managers.len() * ENTRY).sum();
    let texts = entry.path.len() + entry.name.len() + entry.user_agent.len() + entry.manager.len();
    ENTRY + texts + writes + changes + paths.sum::<usize>()
}

tokio::task_local! {
    /// The entry of the request that the task answers. All writes of a request take place in its task.
    static CURRENT: Arc<Mutex<LogEntry>>;
}

/// An entry that becomes a part of the log when this is dropped, also if the client ends the request before that.
pub(crate) struct Pending {
    recorder: Arc<Recorder>,
    entry: Arc<Mutex<LogEntry>>,
}

impl Pending {
    pub(crate) fn new(recorder: &Arc<Recorder>, entry: LogEntry) -> Self {
        Pending { recorder: recorder.clone(), entry: Arc::new(Mutex::new(entry)) }
    }

    /// Runs a part of the request, whose writes are those of the entry.
    pub(crate) fn scope<F: Future>(&self, part: F) -> impl Future<Output = F::Output> + use<F> {
        CURRENT.scope(self.entry.clone(), part)
    }

    /// Sets the code and the reason of the answer.
    pub(crate) fn answered(&self, status: u16, reason: &str) {
        let mut entry = lock(&self.entry);
        entry.status = status;
        if !reason.is_empty() {
            entry.reason = reason.to_owned();
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let entry = std::mem::take(&mut *lock(&self.entry));
        self.recorder.push(entry);
    }
}

/// Adds to the entry of the request that the task answers, if there is one.
pub(crate) fn note(change: impl FnOnce(&mut LogEntry)) {
    // Outside of a request, or without a log, there is no entry.
    let _ = CURRENT.try_with(|entry| change(&mut lock(entry)));
}

/// Whether the task answers a request that has an entry.
pub(super) fn is_recording() -> bool {
    CURRENT.try_with(|_| ()).is_ok()
}

fn lock(entry: &Mutex<LogEntry>) -> MutexGuard<'_, LogEntry> {
    entry.lock().unwrap_or_else(PoisonError::into_inner)
}
