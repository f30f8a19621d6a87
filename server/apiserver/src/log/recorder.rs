//! The entries that are kept, and the entry of the request that a task answers.

use std::collections::VecDeque;
use std::future::Future;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Event, History, Log, LogEntry, Refusal, Written};
use crate::store::{Key, Revision};
use fieldmanager_value::Value;

/// The memory of an entry besides its strings, in bytes.
const ENTRY: usize = 512;

/// The log of a server, bounded in bytes, and the history of its objects.
pub(crate) struct Recorder {
    /// 0: there is no log.
    limit: usize,
    kept: Mutex<Kept>,
    history: Option<History>,
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
    /// A log of at most a number of bytes, 0 for none, and a history; `None` without both.
    pub(crate) fn new(limit: usize, history: Option<History>) -> Option<Arc<Self>> {
        let is_needed = limit > 0 || history.is_some();
        is_needed.then(|| {
            Arc::new(Recorder {
                limit,
                kept: Mutex::default(),
                history,
            })
        })
    }

    /// The log; empty if there is none.
    pub(crate) fn log(&self) -> Log {
        if !self.has_log() {
            return Log::default();
        }
        let kept = self.kept();
        let entries = kept
            .entries
            .iter()
            .map(|(entry, _)| entry.clone())
            .collect();

        Log {
            entries,
            dropped: Some(kept.dropped),
        }
    }

    fn has_log(&self) -> bool {
        self.limit > 0
    }

    /// The history of objects.
    pub(crate) fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// Removes all entries of the log. The next one is number 1.
    pub(crate) fn clear(&self) {
        let old = mem::take(&mut *self.kept());
        drop(old);
    }

    /// Removes the history.
    pub(crate) fn clear_history(&self) {
        if let Some(history) = &self.history {
            history.clear();
        }
    }

    fn push(&self, mut entry: LogEntry, changes: Vec<ObjectEvent>) {
        let mut kept = self.kept();
        kept.last += 1;
        entry.number = kept.last;
        let entry = Arc::new(entry);
        if self.has_log() {
            kept.push(entry.clone(), size(&entry), self.limit);
        }
        // The history has a lock of its own, so the log is not locked while it is changed.
        drop(kept);
        let Some(history) = &self.history else { return };

        for ObjectEvent { key, before, event } in changes {
            history.push(&key, before, &entry, event);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn push(&mut self, entry: Arc<LogEntry>, size: usize, limit: usize) {
        self.entries.push_back((entry, size));
        self.bytes += size;
        while self.bytes > limit {
            let Some((_, size)) = self.entries.pop_front() else {
                break;
            };
            self.bytes -= size;
            self.dropped += 1;
        }
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
    let changes: usize = entry
        .writes
        .iter()
        .map(|write| write.managers.len() * ENTRY)
        .sum();
    let admission: usize = entry.admission.iter().map(String::len).sum();
    let texts = entry.path.len()
        + entry.name.len()
        + entry.user_agent.len()
        + entry.manager.len()
        + admission;

    ENTRY + texts + writes + changes + paths.sum::<usize>()
}

tokio::task_local! {
    /// The entry of the request that the task answers. All writes of a request take place in its task.
    static CURRENT: Arc<Mutex<Current>>;
}

/// The record of a request.
struct Current {
    recorder: Arc<Recorder>,
    entry: LogEntry,
    /// What the request did, for the history.
    changes: Vec<ObjectEvent>,
}

/// What a request did to an object.
struct ObjectEvent {
    key: Key,
    /// The object that a write replaced.
    before: Option<(Revision, Value)>,
    event: Event,
}

/// Runs a request or a part of one, and records its writes in an entry that is added to the log when it ends, with the code
/// and the reason of the answer; with 0 if the client ends the request before that. Without a recorder there is no entry.
pub(crate) async fn recorded<T>(
    recorder: Option<&Arc<Recorder>>,
    entry: impl FnOnce() -> LogEntry,
    request: impl Future<Output = T>,
    answer: impl FnOnce(&T) -> (u16, &'static str),
) -> T {
    let Some(recorder) = recorder else {
        return request.await;
    };
    let current = Current {
        recorder: recorder.clone(),
        entry: entry(),
        changes: Vec::new(),
    };
    // A request whose client leaves is dropped here. Its writes are in the log all the same.
    let pending = Pending(Arc::new(Mutex::new(current)));
    let answered = CURRENT.scope(pending.0.clone(), request).await;
    let (status, reason) = answer(&answered);
    let entry = &mut lock(&pending.0).entry;

    entry.status = status;
    if !reason.is_empty() {
        entry.reason = reason.to_owned();
    }
    answered
}

/// A record whose entry becomes a part of the log when this is dropped, also if the client ends the request before that.
struct Pending(Arc<Mutex<Current>>);

impl Drop for Pending {
    fn drop(&mut self) {
        let mut current = lock(&self.0);
        let recorder = current.recorder.clone();
        let (entry, changes) = (
            mem::take(&mut current.entry),
            mem::take(&mut current.changes),
        );
        drop(current);
        recorder.push(entry, changes);
    }
}

/// Adds to the entry of the request that the task answers, if there is one.
pub(crate) fn note(change: impl FnOnce(&mut LogEntry)) {
    record(|current| change(&mut current.entry));
}

/// Records that the request which the task answers was refused, if it is about an object.
pub(crate) fn refused(key: &Key, refusal: Refusal) {
    record(|current| {
        current.changes.push(ObjectEvent {
            key: key.clone(),
            before: None,
            event: Event::Refused(Box::new(refusal)),
        });
    });
}

/// Records a write of the request that the task answers. `written` describes it for the log, and is called only if there is one.
pub(super) fn wrote(
    key: &Key,
    before: Option<(Revision, Value)>,
    event: Event,
    written: impl FnOnce(&LogEntry) -> Written,
) {
    record(|current| {
        // The fields of a write are computed for the log alone. The history computes them when it is shown.
        if current.recorder.has_log() {
            let written = written(&current.entry);
            current.entry.writes.push(written);
        }
        current.changes.push(ObjectEvent {
            key: key.clone(),
            before,
            event,
        });
    });
}

/// Whether the task answers a request that has an entry.
pub(super) fn is_recording() -> bool {
    CURRENT.try_with(|_| ()).is_ok()
}

fn record(change: impl FnOnce(&mut Current)) {
    // Outside of a request, or without a log and a history, nothing is recorded.
    let _ = CURRENT.try_with(|current| change(&mut lock(current)));
}

fn lock(current: &Mutex<Current>) -> MutexGuard<'_, Current> {
    current.lock().unwrap_or_else(PoisonError::into_inner)
}
