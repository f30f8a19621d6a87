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
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, Sleep};

use crate::object::{at_revision, map, to_value, with, with_field};
use crate::store::{BoxWatch, Entry, Event, Key, List, Prefix, Revision, SharedStore, StoreError};

#[cfg(test)]
mod tests;

/// The type of an event of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EventKind {
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
    pub(crate) fn name(self) -> &'static str {
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
pub(crate) struct WatchEvent {
    /// Its type.
    pub(crate) kind: EventKind,
    /// The object as it is stored; of a bookmark, an object with little more than a `resourceVersion`; of an error, a
    /// `Status`.
    pub(crate) object: Value,
    /// The revision at which a stored object is presented: that of the write, or of the object if it existed when the
    /// watch began; `None` of bookmarks and errors. Events with equal revisions and types have equal objects, so that a
    /// server can present and encode them once for many watches.
    pub(crate) revision: Option<Revision>,
}

impl WatchEvent {
    /// The last event of a watch that failed.
    pub(crate) fn of_error(error: &StoreError) -> Self {
        WatchEvent {
            kind: EventKind::Error,
            object: status(error),
            revision: None,
        }
    }
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
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
pub(crate) type Predicate = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

/// Makes the object that clients get from a stored one: sets `metadata.resourceVersion` and converts the version.
pub(crate) type Present = Arc<dyn Fn(&Value, Revision) -> Value + Send + Sync>;

/// A request to watch.
#[derive(Clone)]
pub(crate) struct WatchRequest {
    /// The watched objects.
    pub(crate) prefix: Prefix,
    /// Where the watch begins.
    pub(crate) start: Start,
    /// Selects objects; `None` selects all.
    pub(crate) selected: Option<Predicate>,
    /// Presents stored objects to `selected`.
    pub(crate) present: Present,
    /// The object of bookmarks without `metadata.resourceVersion`: the `apiVersion` and `kind` of the resource, and the
    /// fields that a typed server writes even if they are empty. `None` if the client does not allow bookmarks.
    pub(crate) bookmark: Option<Value>,
    /// After which time the watch ends; `None` for never.
    pub(crate) timeout: Option<Duration>,
    /// Ends the watch after the events of the moment when it becomes true.
    pub(crate) replaced: Option<Receiver<bool>>,
}

/// How often bookmarks are sent, in addition to the one before the end.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);

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
pub(crate) async fn watch(
    store: SharedStore,
    request: WatchRequest,
) -> BoxStream<'static, WatchEvent> {
    // A time beyond those of the clock is never.
    let deadline = request
        .timeout
        .and_then(|timeout| Instant::now().checked_add(timeout));
    let bookmark = next_bookmark(&request, deadline);
    let position = match open(&store, &request).await {
        Ok(position) => position,
        Err(StoreError::Closed) => return stream::empty().boxed(),
        Err(error) => return stream::iter([WatchEvent::of_error(&error)]).boxed(),
    };
    let watcher = Watcher {
        store,
        request,
        position,
        deadline,
        end: deadline.map(|deadline| Box::pin(tokio::time::sleep_until(deadline))),
        bookmark,
    };

    let events = stream::unfold(Some(watcher), |watcher| async {
        let mut watcher = watcher?;
        let event = watcher.next().await?;
        Some((
            event.clone(),
            (event.kind != EventKind::Error).then_some(watcher),
        ))
    });

    events.boxed()
}

/// The state of a stream.
struct Watcher {
    store: SharedStore,
    request: WatchRequest,
    position: WatchPosition,
    deadline: Option<Instant>,
    end: Option<Pin<Box<Sleep>>>,
    bookmark: Option<Pin<Box<Sleep>>>,
}

/// What a watch has sent.
struct WatchPosition {
    /// The events after the objects that exist.
    watch: BoxWatch,
    /// Events up to this revision are not sent. It is in the future if the client asked for a revision that the store has
    /// not reached.
    after: Revision,
    /// The objects that exist, of one page, while they are being sent, and where the next page begins.
    initial: Option<(vec::IntoIter<Entry>, Option<Key>)>,
}

impl Watcher {
    /// Returns the next event; `None` at the end.
    async fn next(&mut self) -> Option<WatchEvent> {
        match self.try_next().await {
            Ok(next) => next,
            Err(StoreError::Closed) => None,
            Err(error) => Some(WatchEvent::of_error(&error)),
        }
    }

    async fn try_next(&mut self) -> Result<Option<WatchEvent>, StoreError> {
        loop {
            // The deadline is looked at before each event, as a watch with many events never waits for its timer.
            if self
                .deadline
                .is_some_and(|deadline| deadline <= Instant::now())
            {
                return Ok(None);
            }

            // The objects that exist, page by page.
            let position = &mut self.position;
            if let Some((entries, next)) = &mut position.initial {
                if let Some(entry) = entries.next() {
                    if self.request.selects(&entry.object, entry.revision) {
                        return Ok(Some(WatchEvent {
                            kind: EventKind::Added,
                            object: entry.object,
                            revision: Some(entry.revision),
                        }));
                    }
                } else if let Some(key) = next.take() {
                    let list = List::new(self.request.prefix.clone()).after(key);
                    let list = list.at(position.after).limit(PAGE).uncounted();
                    let page = self.store.list(list).await?;
                    position.initial = Some((page.entries.into_iter(), page.next));
                } else {
                    position.initial = None;
                    if let Some(bookmark) = &self.request.bookmark {
                        return Ok(Some(bookmark_event(bookmark, position.after, true)));
                    }
                }
                continue;
            }

            // What happens later, until the end of the watch.
            tokio::select! {
                biased;
                () = elapsed(&mut self.end) => return Ok(None),
                () = elapsed(&mut self.bookmark) => {
                    let progress = position.watch.as_mut().progress();
                    let is_known = progress >= position.after;
                    self.bookmark = next_bookmark(&self.request, self.deadline);
                    if let Some(bookmark) = self.request.bookmark.as_ref().filter(|_| is_known) {
                        return Ok(Some(bookmark_event(bookmark, progress, false)));
                    }
                }
                event = position.watch.next() => {
                    let Some(event) = event.transpose()? else { return Ok(None) };
                    if event.revision > position.after
                        && let Some(event) = self.request.event(&event)
                    {
                        return Ok(Some(event));
                    }
                }
                // It comes last, so that the events before the change are sent.
                () = becomes_true(&mut self.request.replaced) => return Ok(None),
            }
        }
    }
}

async fn becomes_true(flag: &mut Option<Receiver<bool>>) {
    match flag {
        // A flag that is gone cannot change any more.
        Some(flag) => drop(flag.wait_for(|is_true| *is_true).await),
        None => std::future::pending().await,
    }
}

/// Opens the watch of the store, and reads the first initial objects.
async fn open(store: &SharedStore, request: &WatchRequest) -> Result<WatchPosition, StoreError> {
    let prefix = request.prefix.clone();
    let (watch, after, initial) = match request.start {
        Start::Initial(not_older_than) => {
            if let Some(revision) = not_older_than {
                reach(store, revision).await?;
            }
            // The watch begins at the revision of the list, so that no write is in neither or in both.
            let list = List::new(prefix.clone()).limit(PAGE).uncounted();
            let page = store.list(list).await?;
            let watch = store.watch(prefix, page.revision).await?;
            let initial = (page.entries.into_iter(), page.next);
            (watch, page.revision, Some(initial))
        }
        Start::Now => {
            let after = store.revision().await?;
            (store.watch(prefix, after).await?, after, None)
        }
        Start::After(after) => {
            let watch = match store.watch(prefix.clone(), after).await {
                // A client that is ahead of the store gets the events that it has not seen.
                Err(StoreError::Future { current, .. }) => store.watch(prefix, current).await,
                watch => watch,
            };
            (watch?, after, None)
        }
    };

    Ok(WatchPosition {
        watch,
        after,
        initial,
    })
}

/// Waits until the store has reached a revision.
async fn reach(store: &SharedStore, requested: Revision) -> Result<(), StoreError> {
    let mut current = store.revision().await?;
    if current >= requested {
        return Ok(());
    }
    let mut events = store.watch(Prefix::all(), current).await?;
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

/// The time until the next bookmark; `None` if there is none.
fn next_bookmark(request: &WatchRequest, deadline: Option<Instant>) -> Option<Pin<Box<Sleep>>> {
    let now = Instant::now();
    let regular = now + BOOKMARK_INTERVAL;
    let last = deadline.map(|deadline| deadline.checked_sub(LAST_BOOKMARK).unwrap_or(now));
    let at = last.map_or(regular, |last| last.min(regular));
    let is_due = request.bookmark.is_some() && at > now;
    is_due.then(|| Box::pin(tokio::time::sleep_until(at)))
}

impl WatchRequest {
    /// Whether a stored object is selected.
    fn selects(&self, object: &Value, revision: Revision) -> bool {
        self.selected
            .as_ref()
            .is_none_or(|selected| selected(&(self.present)(object, revision)))
    }

    /// Returns the event of the API for a write, or `None` if it does not concern the selected objects.
    fn event(&self, event: &Event) -> Option<WatchEvent> {
        let new = event.object.as_ref();
        let new = new.filter(|object| self.selects(object, event.revision));
        // An object that begins or ceases to be selected is added or deleted for the client, whatever the write was.
        let previous = event.previous.as_ref();
        let previous = previous.filter(|entry| self.selects(&entry.object, entry.revision));

        let (kind, object) = match (new, previous) {
            (Some(new), None) => (EventKind::Added, new),
            (Some(new), Some(_)) => (EventKind::Modified, new),
            (None, Some(previous)) => (EventKind::Deleted, &previous.object),
            (None, None) => return None,
        };

        Some(WatchEvent {
            kind,
            object: object.clone(),
            revision: Some(event.revision),
        })
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
        object = with_field(
            &object,
            "metadata",
            "annotations",
            map([(INITIAL_EVENTS_END, "true".into())]),
        );
    }

    WatchEvent {
        kind: EventKind::Bookmark,
        object,
        revision: None,
    }
}

/// The `Status` of an error, as the object of an event.
fn status(error: &StoreError) -> Value {
    let (code, reason, message) = match error {
        StoreError::Compacted { requested, oldest } => (
            410,
            "Expired",
            format!("too old resource version: {requested} ({oldest})"),
        ),
        StoreError::Future { requested, current } => {
            let message =
                format!("Timeout: Too large resource version: {requested}, current: {current}");
            (504, "Timeout", message)
        }
        error => (500, "InternalError", error.to_string()),
    };

    let status = to_value(&Status::failure(code, reason, message, None));
    if code != 504 {
        return status;
    }
    // Clients of kube-apiserver recognize a revision of the future by this cause, and try again.
    let cause = [
        ("reason", Value::from("ResourceVersionTooLarge")),
        ("message", "Too large resource version".into()),
    ];
    let details = map([
        ("causes", vec![map(cause)].into()),
        ("retryAfterSeconds", 1.into()),
    ]);

    with(&status, "details", details)
}
