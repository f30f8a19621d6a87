//! The watch of a resource, as a stream of events of the API.
//!
//! Behaviour: `k8s.io/apiserver/pkg/storage/cacher`.

use std::{pin::Pin, sync::Arc, time::Duration, vec};

use fieldmanager_managedfields::Status;
use fieldmanager_value::Value;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use tokio::time::{Instant, Sleep};

use crate::object::{at_revision, map, to_value, with, with_field};
use crate::store::{BoxWatch, Entry, Event, Key, List, Prefix, Revision, SharedStore, StoreError};

mod encoded;
#[cfg(test)]
mod tests;

pub(crate) use encoded::Encoded;

/// The type of an event of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// An object was created, began to be selected, or existed when the watch began.
    Added,
    /// A selected object was changed.
    Modified,
    /// An object was deleted or is no longer selected.
    Deleted,
    /// All events up to the revision of the object were delivered.
    Bookmark,
    /// The watch failed. The object is a `Status`, and the event is the last one.
    Error,
}

impl EventKind {
    /// Returns the value of the field `type`.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
            EventKind::Bookmark => "BOOKMARK",
            EventKind::Error => "ERROR",
        }
    }
}

/// An event of a watch.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchEvent {
    /// Its type.
    pub kind: EventKind,
    /// The object as it is presented; of a bookmark, an object with little more than a `resourceVersion`; of an error, a
    /// `Status`.
    pub object: Value,
    /// The revision of the write, or of the object if it existed when the watch began; `None` of bookmarks and errors.
    /// Events with equal revisions and types have equal objects if they are presented in the same way, so that a server
    /// can encode them once for many watches.
    pub revision: Option<Revision>,
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With an event for every object that exists, and if bookmarks are wanted with a bookmark that ends them; then the
    /// later events. The state is that of the current revision, and not older than the given one.
    ///
    /// This is `sendInitialEvents=true`, and also a request without `sendInitialEvents` whose `resourceVersion` is unset or
    /// "0".
    Initial(Option<Revision>),
    /// With the first event after the current revision: `sendInitialEvents=false` with a `resourceVersion` that is unset
    /// or "0".
    Now,
    /// With the first event after a revision.
    After(Revision),
}

/// Whether an object is selected. It is called with objects as they are presented.
pub type Predicate = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

/// Makes the object that clients get from a stored one: sets `metadata.resourceVersion` and converts the version.
pub type Present = Arc<dyn Fn(&Value, Revision) -> Value + Send + Sync>;

/// A request to watch.
#[derive(Clone)]
pub struct WatchRequest {
    /// The watched objects.
    pub prefix: Prefix,
    /// Where the watch begins.
    pub start: Start,
    /// Selects objects; `None` selects all.
    pub selected: Option<Predicate>,
    /// Presents stored objects.
    pub present: Present,
    /// The object of bookmarks without `metadata.resourceVersion`: the `apiVersion` and `kind` of the resource, and the
    /// fields that a typed server writes even if they are empty. `None` if the client does not allow bookmarks.
    pub bookmark: Option<Value>,
    /// How often bookmarks are sent, in addition to the one before the end.
    pub bookmark_interval: Duration,
    /// After which time the watch ends; `None` for never.
    pub timeout: Option<Duration>,
}

/// How often kube-apiserver sends bookmarks.
pub const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);

/// How long before the end of a watch the last bookmark is sent.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// How long a watch waits for the store to reach its revision.
const REVISION_TIMEOUT: Duration = Duration::from_secs(3);

/// The number of initial objects that are read at once.
const PAGE: usize = 500;

/// The annotation of the bookmark after the initial events.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Watches a prefix of a store.
///
/// The stream ends after the time-out, after an event of kind [`EventKind::Error`], or when the store is closed. It holds
/// no events: a client that reads slowly delays no writer, and its watch ends with an error once the store no longer has
/// the events that it has not read. Time is that of tokio.
///
/// When the future is ready, the position of the watch is fixed: later writes are events. Why a watch cannot begin is its
/// first event.
pub async fn watch(store: SharedStore, request: WatchRequest) -> BoxStream<'static, WatchEvent> {
    // A time beyond those of the clock is never.
    let deadline = request.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut watcher = Watcher {
        store,
        request,
        phase: Phase::Start,
        deadline,
        end: deadline.map(|deadline| Box::pin(tokio::time::sleep_until(deadline))),
        bookmark: None,
    };
    watcher.schedule_bookmark();
    match watcher.open().await {
        Ok(phase) => watcher.phase = phase,
        Err(StoreError::Closed) => return stream::empty().boxed(),
        Err(error) => {
            let event = WatchEvent { kind: EventKind::Error, object: status(&error), revision: None };
            return stream::iter([event]).boxed();
        }
    }
    let events = stream::unfold(Some(watcher), |watcher| async {
        let mut watcher = watcher?;
        let event = watcher.next().await?;
        Some((event.clone(), (event.kind != EventKind::Error).then_some(watcher)))
    });
    events.boxed()
}

/// The state of a stream.
struct Watcher {
    store: SharedStore,
    request: WatchRequest,
    phase: Phase,
    deadline: Option<Instant>,
    end: Option<Pin<Box<Sleep>>>,
    bookmark: Option<Pin<Box<Sleep>>>,
}

enum Phase {
    Start,
    Initial(Initial),
    Live(Live),
}

/// The objects that exist are being sent.
struct Initial {
    /// The events after `revision`.
    watch: BoxWatch,
    revision: Revision,
    entries: vec::IntoIter<Entry>,
    next: Option<Key>,
}

/// Later events are being sent.
struct Live {
    watch: BoxWatch,
    /// Events up to this revision are not sent. It is in the future if the client asked for a revision that the store has
    /// not reached.
    after: Revision,
}

impl Watcher {
    /// Returns the next event; `None` at the end.
    async fn next(&mut self) -> Option<WatchEvent> {
        match self.try_next().await {
            Ok(next) => next,
            Err(StoreError::Closed) => None,
            Err(error) => Some(WatchEvent { kind: EventKind::Error, object: status(&error), revision: None }),
        }
    }

    async fn try_next(&mut self) -> Result<Option<WatchEvent>, StoreError> {
        loop {
            if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(None);
            }

            match &mut self.phase {
                Phase::Start => return Ok(None),

                // The objects that exist, page by page.
                Phase::Initial(initial) => {
                    if let Some(entry) = initial.entries.next() {
                        let object = (self.request.present)(&entry.object, entry.revision);
                        if self.request.selects(&object) {
                            let revision = Some(entry.revision);
                            return Ok(Some(WatchEvent { kind: EventKind::Added, object, revision }));
                        }
                    } else if let Some(key) = initial.next.take() {
                        let list = List::new(self.request.prefix.clone()).after(key).at(initial.revision);
                        let page = self.store.list(list.limit(PAGE).uncounted()).await?;
                        initial.entries = page.entries.into_iter();
                        initial.next = page.next;
                    } else {
                        let after = initial.revision;
                        let Phase::Initial(initial) = std::mem::replace(&mut self.phase, Phase::Start) else {
                            return Ok(None);
                        };
                        self.phase = Phase::Live(Live { watch: initial.watch, after });
                        if let Some(bookmark) = &self.request.bookmark {
                            return Ok(Some(bookmark_event(bookmark, after, true)));
                        }
                    }
                }

                // What happens later, until the end of the watch.
                Phase::Live(live) => {
                    tokio::select! {
                        biased;
                        () = elapsed(&mut self.end) => return Ok(None),
                        () = elapsed(&mut self.bookmark) => {
                            let progress = live.watch.as_mut().progress();
                            let is_known = progress >= live.after;
                            self.schedule_bookmark();
                            if let Some(bookmark) = self.request.bookmark.as_ref().filter(|_| is_known) {
                                return Ok(Some(bookmark_event(bookmark, progress, false)));
                            }
                        }
                        event = live.watch.next() => {
                            let Some(event) = event.transpose()? else { return Ok(None) };
                            if event.revision > live.after
                                && let Some(event) = self.request.event(&event)
                            {
                                return Ok(Some(event));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Opens the watch of the store, and reads the first initial objects.
    async fn open(&mut self) -> Result<Phase, StoreError> {
        let prefix = self.request.prefix.clone();
        match self.request.start {
            Start::Initial(not_older_than) => {
                if let Some(revision) = not_older_than {
                    self.reach(revision).await?;
                }
                let page = self.store.list(List::new(prefix.clone()).limit(PAGE).uncounted()).await?;
                let watch = self.store.watch(prefix, page.revision).await?;
                let (entries, next) = (page.entries.into_iter(), page.next);
                Ok(Phase::Initial(Initial { watch, revision: page.revision, entries, next }))
            }
            Start::Now => {
                let after = self.store.revision().await?;
                Ok(Phase::Live(Live { watch: self.store.watch(prefix, after).await?, after }))
            }
            Start::After(after) => {
                let watch = match self.store.watch(prefix.clone(), after).await {
                    // A client that is ahead of the store gets the events that it has not seen.
                    Err(StoreError::Future { current, .. }) => self.store.watch(prefix, current).await,
                    watch => watch,
                };
                Ok(Phase::Live(Live { watch: watch?, after }))
            }
        }
    }

    /// Waits until the store has reached a revision.
    async fn reach(&mut self, requested: Revision) -> Result<(), StoreError> {
        let mut current = self.store.revision().await?;
        if current >= requested {
            return Ok(());
        }
        let mut events = self.store.watch(Prefix::all(), current).await?;
        let reached = async {
            while current < requested {
                match events.next().await {
                    Some(event) => current = event?.revision,
                    None => return Err(StoreError::Closed),
                }
            }
            Ok(())
        };
        let reached = tokio::time::timeout(REVISION_TIMEOUT, reached).await;
        reached.unwrap_or(Err(StoreError::Future { requested, current }))
    }

    fn schedule_bookmark(&mut self) {
        let now = Instant::now();
        let regular = now + self.request.bookmark_interval;
        let last = self.deadline.map(|deadline| deadline.checked_sub(LAST_BOOKMARK).unwrap_or(now));
        let at = last.map_or(regular, |last| last.min(regular));
        let is_due = self.request.bookmark.is_some() && at > now;
        self.bookmark = is_due.then(|| Box::pin(tokio::time::sleep_until(at)));
    }
}

impl WatchRequest {
    fn selects(&self, object: &Value) -> bool {
        self.selected.as_ref().is_none_or(|selected| selected(object))
    }

    /// Returns the event of the API for a write, or `None` if it does not concern the selected objects.
    fn event(&self, event: &Event) -> Option<WatchEvent> {
        let new = event.object.as_ref().map(|object| (self.present)(object, event.revision));
        let new = new.filter(|object| self.selects(object));
        let was_selected = |previous: &Entry| {
            self.selected.is_none() || self.selects(&(self.present)(&previous.object, previous.revision))
        };
        let previous = event.previous.as_ref().filter(|previous| was_selected(previous));
        let (kind, object) = match (new, previous) {
            (Some(new), None) => (EventKind::Added, new),
            (Some(new), Some(_)) => (EventKind::Modified, new),
            (None, Some(previous)) => (EventKind::Deleted, (self.present)(&previous.object, event.revision)),
            (None, None) => return None,
        };
        Some(WatchEvent { kind, object, revision: Some(event.revision) })
    }
}

/// Waits for a time; forever if there is none.
async fn elapsed(sleep: &mut Option<Pin<Box<Sleep>>>) {
    match sleep {
        Some(sleep) => sleep.as_mut().await,
        None => std::future::pending().await,
    }
}

fn bookmark_event(bookmark: &Value, revision: Revision, ends_initial_events: bool) -> WatchEvent {
    let mut object = at_revision(bookmark, revision);
    if ends_initial_events {
        object = with_field(&object, "metadata", "annotations", map([(INITIAL_EVENTS_END, "true".into())]));
    }
    WatchEvent { kind: EventKind::Bookmark, object, revision: None }
}

/// The `Status` of an error, as the object of an event.
pub(crate) fn status(error: &StoreError) -> Value {
    let (code, reason, message) = match error {
        StoreError::Compacted { requested, oldest } => {
            (410, "Expired", format!("too old resource version: {requested} ({oldest})"))
        }
        StoreError::Future { requested, current } => {
            let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
            (504, "Timeout", message)
        }
        error => (500, "InternalError", error.to_string()),
    };
    let status = to_value(&Status::failure(code, reason, message, None));
    if code != 504 {
        return status;
    }
    let cause = [
        ("reason", Value::from("ResourceVersionTooLarge")),
        ("message", "Too large resource version".into()),
    ];
    let details = map([("causes", vec![map(cause)].into()), ("retryAfterSeconds", 1.into())]);
    with(&status, "details", details)
}
