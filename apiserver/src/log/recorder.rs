//! The entries that are kept, and the entry of the request that a task answers.

use std::collections::VecDeque;
use std::future::Future;
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
        is_needed.then(|| Arc::new(Recorder { limit, kept: Mutex::default(), history }))
    }

    /// The log; empty if there is none.
    pub(crate) fn log(&self) -> Log {
        if !self.has_log() {
            return Log::default();
        }
        let kept = self.kept();
        let entries = kept.entries.iter().map(|(entry, _)| entry.clone()).collect();
        Log { entries, dropped: Some(kept.dropped) }
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
        let old = std::mem::take(&mut *self.kept());
        drop(old);
    }

    /// Removes the history.
    pub(crate) fn clear_history(&self) {
        if let Some(history) = &self.history {
            history.clear();
        }
    }

    fn push(&self, mut current: Current) {
        let mut kept = self.kept();
        kept.last += 1;
        current.entry.number = kept.last;
        let entry = Arc::new(current.entry);
        if self.has_log() {
            kept.push(entry.clone(), size(&entry), self.limit);
        }
        drop(kept);
        let Some(history) = &self.history else { return };
        for Step { key, before, event } in current.steps {
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
            let Some((_, size)) = self.entries.pop_front() else { break };
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
    let changes: usize = entry.writes.iter().map(|write| write.managers.len() * ENTRY).sum();
    let texts = entry.path.len() + entry.name.len() + entry.user_agent.len() + entry.manager.len();
    ENTRY + texts + writes + changes + paths.sum::<usize>()
}

tokio::task_local! {
    /// The entry of the request that the task answers. All writes of a request take place in its task.
    static CURRENT: Arc<Mutex<Current>>;
}

/// The record of a request.
struct Current {
    entry: LogEntry,
    /// Whether there is a log.
    is_logged: bool,
    /// What the request did, for the history.
    steps: Vec<Step>,
}

/// What a request did to an object.
struct Step {
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
    let Some(recorder) = recorder else { return request.await };
    let current = Current { entry: entry(), is_logged: recorder.has_log(), steps: Vec::new() };
    let pending = Pending { recorder: recorder.clone(), current: Arc::new(Mutex::new(current)) };
    let answered = CURRENT.scope(pending.current.clone(), request).await;
    let (status, reason) = answer(&answered);
    pending.answered(status, reason);
    answered
}

/// An entry that becomes a part of the log when this is dropped, also if the client ends the request before that.
struct Pending {
    recorder: Arc<Recorder>,
    current: Arc<Mutex<Current>>,
}

impl Pending {
    fn answered(&self, status: u16, reason: &str) {
        let entry = &mut lock(&self.current).entry;
        entry.status = status;
        if !reason.is_empty() {
            entry.reason = reason.to_owned();
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut current = lock(&self.current);
        let is_logged = current.is_logged;
        let empty = Current { entry: LogEntry::default(), is_logged, steps: Vec::new() };
        let ended = std::mem::replace(&mut *current, empty);
        drop(current);
        self.recorder.push(ended);
    }
}

/// Adds to the entry of the request that the task answers, if there is one.
pub(crate) fn note(change: impl FnOnce(&mut LogEntry)) {
    record(|current| change(&mut current.entry));
}

/// Records that the request which the task answers was refused, if it is about an object.
pub(crate) fn refused(key: &Key, refusal: Refusal) {
    record(|current| {
        current.steps.push(Step { key: key.clone(), before: None, event: Event::Refused(Box::new(refusal)) });
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
        if current.is_logged {
            let written = written(&current.entry);
            current.entry.writes.push(written);
        }
        current.steps.push(Step { key: key.clone(), before, event });
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
