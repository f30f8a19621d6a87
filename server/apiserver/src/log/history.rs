//! The history of objects: each write with the object that it stored, and the requests that were refused.
//!
//! Objects of successive revisions share what did not change, so a revision costs what changed.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use fieldmanager_value::Value;

use super::{Change, LogEntry, ManagerChange, fields};
use crate::store::{Key, Revision, unshared_bytes};

/// The memory of an item besides what it refers to, in bytes.
const ITEM: usize = 512;

/// How many requests are remembered, so that equal ones share their texts.
const KNOWN: usize = 256;

/// The maximum length of the strings of a request that is remembered, in bytes.
const KNOWN_SIZE: usize = 1024;

/// What happened to one object at one time.
#[derive(Debug)]
pub(crate) struct Item {
    /// The number among the items of all objects, from 1.
    pub(crate) number: u64,
    /// When the request began; empty for a state that the server found in its store.
    pub(crate) time: Box<str>,
    /// The request; `None` for a state that the server found in its store.
    pub(crate) request: Option<Arc<Request>>,
    pub(crate) event: Event,
}

/// A request without its time and the object that it is about, see [`LogEntry`]. Equal ones are shared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Request {
    pub(crate) user: String,
    pub(crate) user_agent: String,
    pub(crate) manager: String,
    pub(crate) verb: String,
    pub(crate) version: String,
    pub(crate) subresource: String,
    pub(crate) dry_run: bool,
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) fault: Option<String>,
    pub(crate) admission: Vec<String>,
}

impl Request {
    fn of(entry: &LogEntry) -> Self {
        Request {
            user: entry.user.clone(),
            user_agent: entry.user_agent.clone(),
            manager: entry.manager.clone(),
            verb: entry.verb.clone(),
            version: entry.version.clone(),
            subresource: entry.subresource.clone(),
            dry_run: entry.dry_run,
            status: entry.status,
            reason: entry.reason.clone(),
            fault: entry.fault.clone(),
            admission: entry.admission.clone(),
        }
    }

    /// The length of its strings, in bytes.
    fn size(&self) -> usize {
        let texts = [
            &self.user,
            &self.user_agent,
            &self.manager,
            &self.verb,
            &self.version,
            &self.subresource,
            &self.reason,
        ];
        texts.into_iter().chain(&self.fault).map(String::len).sum()
    }
}

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// The object was found in the store: it is older than the history, or another server wrote it.
    Found { revision: Revision, object: Value },
    /// The object was written; `None` if it was removed.
    Written {
        revision: Revision,
        change: Change,
        object: Option<Value>,
    },
    /// A request was refused.
    Refused(Box<Refusal>),
}

/// Why a request was refused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    /// The conflicts: the message of each, such as `conflict with "alice"`, and the path.
    pub(crate) conflicts: Vec<(String, String)>,
    /// The body of the request.
    pub(crate) body: Bytes,
}

impl Event {
    /// The revision of a state.
    pub(crate) fn revision(&self) -> Option<Revision> {
        match self {
            Event::Found { revision, .. } | Event::Written { revision, .. } => Some(*revision),
            Event::Refused(_) => None,
        }
    }

    /// The object after the event; `None` if there is none, or if the event changed nothing.
    pub(crate) fn object(&self) -> Option<&Value> {
        match self {
            Event::Found { object, .. } => Some(object),
            Event::Written { object, .. } => object.as_ref(),
            Event::Refused(_) => None,
        }
    }

    /// About how many bytes it takes, without the object.
    fn size(&self) -> usize {
        match self {
            Event::Refused(refusal) => {
                let texts = refusal
                    .conflicts
                    .iter()
                    .map(|(message, path)| message.len() + path.len());
                texts.sum::<usize>() + refusal.message.len() + refusal.body.len()
            }
            _ => 0,
        }
    }
}

/// The items of one object, the oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectHistory {
    pub(crate) items: Vec<Arc<Item>>,
    /// The number of older items that are no longer kept.
    pub(crate) dropped: u64,
}

impl ObjectHistory {
    /// The object after an item, and the one before it.
    pub(crate) fn states(&self, at: usize) -> (Option<&Value>, Option<&Value>) {
        let last_state = |items: &'_ [Arc<Item>]| -> Option<usize> {
            items
                .iter()
                .rposition(|item| item.event.revision().is_some())
        };
        let object = |at: usize| self.items.get(at).and_then(|item| item.event.object());
        let up_to = self.items.get(..=at).and_then(last_state);
        let before = match up_to {
            Some(state) if state == at => {
                self.items.get(..at).and_then(last_state).and_then(object)
            }
            state => state.and_then(object),
        };

        (up_to.and_then(object), before)
    }

    /// The fields that managers own in a state that was found, as if they had gained them since the state before.
    pub(crate) fn found(&self, at: usize) -> Vec<ManagerChange> {
        let (after, before) = self.states(at);
        fields::changes(before, after, "")
    }

    /// The fields that an item changed, by manager.
    pub(crate) fn changes(&self, at: usize) -> Vec<ManagerChange> {
        let Some(item) = self.items.get(at) else {
            return Vec::new();
        };
        let (Some(request), Event::Written { .. }) = (&item.request, &item.event) else {
            return Vec::new();
        };
        let (after, before) = self.states(at);
        fields::changes(before, after, &request.manager)
    }
}

/// The histories of all objects, bounded in bytes, and in items of one object.
pub(crate) struct History {
    bytes: usize,
    items: usize,
    /// Whether the store keeps the objects that it was given: the last state of an object is then in memory anyway.
    store_shares: bool,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    objects: BTreeMap<Key, KeptObject>,
    /// The object of each item, the oldest item first.
    order: BTreeMap<u64, Key>,
    /// The requests that later ones may be equal to.
    known: HashSet<Arc<Request>>,
    bytes: usize,
    last: u64,
}

#[derive(Default)]
struct KeptObject {
    items: VecDeque<KeptItem>,
    dropped: u64,
}

struct KeptItem {
    item: Arc<Item>,
    /// The bytes that it keeps in memory, without its object.
    own: usize,
    /// The bytes of its object that no later state shares.
    object: usize,
}

impl History {
    /// A history of at most a number of bytes, and of items for each object; `None` if one of them is 0. `store_shares` is
    /// whether the store keeps the objects that it was given, and not copies of them.
    pub(crate) fn new(bytes: usize, items: usize, store_shares: bool) -> Option<Self> {
        (bytes > 0 && items > 0).then(|| History {
            bytes,
            items,
            store_shares,
            kept: Mutex::default(),
        })
    }

    /// Adds what happened to an object. `before` is the object that a write replaced.
    pub(super) fn push(
        &self,
        key: &Key,
        before: Option<(Revision, Value)>,
        entry: &LogEntry,
        event: Event,
    ) {
        let time = entry.time.as_str().into();
        let request = Request::of(entry);
        let mut kept = self.kept();
        let request = kept.shared(request);

        // The last state is not the one that was replaced: it was written before the history, or by another server.
        if let Some((revision, object)) = before {
            let objects = kept.objects.get(key);
            let known = objects.is_some_and(|object| {
                object
                    .items
                    .iter()
                    .rev()
                    .any(|kept| kept.item.event.revision() == Some(revision))
            });

            if !known {
                kept.add(
                    key,
                    Box::default(),
                    None,
                    Event::Found { revision, object },
                    self.store_shares,
                );
            }
        }

        kept.add(key, time, Some(request), event, self.store_shares);
        let is_over = |kept: &Kept| {
            kept.objects
                .get(key)
                .is_some_and(|own| own.items.len() > self.items)
        };
        while is_over(&kept) {
            kept.drop_first(&key.clone());
        }

        // The oldest item of all objects is the first to go, so that an idle object loses its history to a busy one.
        while kept.bytes > self.bytes {
            let Some(oldest) = kept.order.first_key_value().map(|(_, key)| key.clone()) else {
                break;
            };
            kept.drop_first(&oldest);
        }
    }

    /// The history of an object; `None` if nothing happened to it.
    pub(crate) fn of(&self, key: &Key) -> Option<ObjectHistory> {
        self.kept().objects.get(key).map(KeptObject::history)
    }

    /// The histories of all objects, in the order of their keys.
    pub(crate) fn all(&self) -> Vec<(Key, ObjectHistory)> {
        self.kept()
            .objects
            .iter()
            .map(|(key, object)| (key.clone(), object.history()))
            .collect()
    }

    /// The last items of all objects, the latest first.
    pub(crate) fn latest(&self, count: usize) -> Vec<(Key, Arc<Item>)> {
        let kept = self.kept();
        let latest = kept.order.iter().rev().take(count);
        latest
            .filter_map(|(number, key)| Some((key.clone(), kept.item(key, *number)?)))
            .collect()
    }

    /// The number of the last item, which increases with each.
    pub(crate) fn last(&self) -> u64 {
        self.kept().last
    }

    /// Removes all items.
    pub(super) fn clear(&self) {
        let mut kept = self.kept();
        // The number rises, so that an open page is not taken for the current one.
        *kept = Kept {
            last: kept.last + 1,
            ..Kept::default()
        };
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// An equal request that is remembered, or this one.
    fn shared(&mut self, request: Request) -> Arc<Request> {
        if let Some(known) = self.known.get(&request) {
            return known.clone();
        }
        let is_small = request.size() <= KNOWN_SIZE;
        let request = Arc::new(request);

        // A controller repeats its requests, so equal ones share their texts. Large ones are seldom equal.
        if is_small {
            if self.known.len() == KNOWN {
                self.known.clear();
            }
            self.known.insert(request.clone());
        }
        request
    }

    fn add(
        &mut self,
        key: &Key,
        time: Box<str>,
        request: Option<Arc<Request>>,
        event: Event,
        store_shares: bool,
    ) {
        self.last += 1;
        let number = self.last;
        let object = self.objects.entry(key.clone()).or_default();

        // Two writers of an object may end in another order than that of their writes.
        let is_later = |item: &Item| match (item.event.revision(), event.revision()) {
            (Some(other), Some(own)) => other > own,
            _ => false,
        };
        let later = object
            .items
            .iter()
            .rev()
            .take_while(|kept| is_later(&kept.item))
            .count();
        let at = object.items.len() - later;
        let texts = request.as_ref().map_or(0, |request| request.size());

        let own = event.size().saturating_add(texts).saturating_add(ITEM);
        self.bytes = self.bytes.saturating_add(own);
        let is_state = event.revision().is_some();
        let item = Arc::new(Item {
            number,
            time,
            request,
            event,
        });
        object.items.insert(
            at,
            KeptItem {
                item,
                own,
                object: 0,
            },
        );

        if is_state {
            // The state before has another one after it.
            let before = object
                .items
                .range(..at)
                .rposition(|kept| kept.item.event.revision().is_some());
            for at in before.into_iter().chain([at]) {
                let (old, new) = object.count(at, store_shares);
                self.bytes = self.bytes.saturating_sub(old).saturating_add(new);
            }
        }
        self.order.insert(number, key.clone());
    }

    fn drop_first(&mut self, key: &Key) {
        let Some(object) = self.objects.get_mut(key) else {
            return;
        };
        let Some(KeptItem {
            item,
            own,
            object: bytes,
        }) = object.items.pop_front()
        else {
            return;
        };

        object.dropped += 1;
        self.bytes = self.bytes.saturating_sub(own).saturating_sub(bytes);
        self.order.remove(&item.number);
        // Objects come and go, so their names must not remain for ever.
        if object.items.is_empty() {
            self.objects.remove(key);
        }
    }

    fn item(&self, key: &Key, number: u64) -> Option<Arc<Item>> {
        let items = &self.objects.get(key)?.items;
        items
            .iter()
            .rev()
            .find(|kept| kept.item.number == number)
            .map(|kept| kept.item.clone())
    }
}

impl KeptObject {
    fn history(&self) -> ObjectHistory {
        let items = self.items.iter().map(|kept| kept.item.clone()).collect();
        ObjectHistory {
            items,
            dropped: self.dropped,
        }
    }

    /// Counts again the bytes that a state keeps of its object. Returns the old and the new number.
    fn count(&mut self, at: usize, store_shares: bool) -> (usize, usize) {
        let mut states = self
            .items
            .range_mut(at..)
            .filter(|kept| kept.item.event.revision().is_some());
        let Some(state) = states.next() else {
            return (0, 0);
        };

        // A state costs what its successor does not share. The last one is free if the store has it in memory anyway.
        let bytes = match (state.item.event.object(), states.next()) {
            (Some(object), Some(next)) => unshared_bytes(object, next.item.event.object()),
            (Some(object), None) if !store_shares => unshared_bytes(object, None),
            _ => 0,
        };
        (std::mem::replace(&mut state.object, bytes), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::new("", "configmaps", Some("default"), name).unwrap()
    }

    fn revision(number: u64) -> Revision {
        Revision::parse(&number.to_string()).unwrap()
    }

    fn object(size: usize) -> Value {
        Value::from_yaml(&format!("{{data: {{a: {}}}}}", "x".repeat(size))).unwrap()
    }

    fn written(number: u64, size: usize) -> Event {
        Event::Written {
            revision: revision(number),
            change: Change::Updated,
            object: Some(object(size)),
        }
    }

    fn revisions(history: &History, name: &str) -> Vec<Option<u64>> {
        let items = history.of(&key(name)).unwrap_or_default().items;
        items
            .iter()
            .map(|item| item.event.revision().map(Revision::get))
            .collect()
    }

    #[test]
    fn writes_are_in_the_order_of_their_revisions() {
        let history = History::new(1 << 20, 10, true).unwrap();
        let request = LogEntry::default();
        for number in [3, 5, 4] {
            history.push(&key("a"), None, &request, written(number, 1));
        }
        history.push(&key("a"), None, &request, Event::Refused(Box::default()));
        history.push(
            &key("a"),
            Some((revision(6), object(1))),
            &request,
            written(7, 1),
        );
        assert_eq!(
            revisions(&history, "a"),
            [Some(3), Some(4), Some(5), None, Some(6), Some(7)]
        );
        assert_eq!(history.latest(2)[0].1.event.revision(), Some(revision(7)));
    }

    /// The bytes of a history after writes of numbered objects of a size, in an order.
    fn bytes_after(history: &History, order: &[u64]) -> usize {
        let request = LogEntry::default();
        for number in order {
            history.push(&key("a"), None, &request, written(*number, 10_000));
        }
        history.kept().bytes
    }

    #[test]
    fn every_object_that_a_later_one_replaced_is_counted_once() {
        let new = || History::new(1 << 20, 100, true).unwrap();
        let in_order = bytes_after(&new(), &[1, 2, 3, 4]);
        assert!(in_order > 3 * 10_000 && in_order < 4 * 10_000, "{in_order}");
        for order in [[4, 3, 2, 1], [1, 4, 2, 3], [2, 1, 4, 3]] {
            assert_eq!(bytes_after(&new(), &order), in_order, "{order:?}");
        }
    }

    #[test]
    fn the_last_object_is_counted_if_the_store_has_a_copy_of_it() {
        let history = History::new(1 << 20, 3, false).unwrap();
        let one = bytes_after(&history, &[1]);
        assert!(one > 10_000, "{one}");
        assert_eq!(bytes_after(&history, &[2, 3]), 3 * one);
        // The first is dropped.
        assert_eq!(bytes_after(&history, &[4]), 3 * one);
    }

    #[test]
    fn the_oldest_items_are_dropped_first() {
        let request = LogEntry::default();
        let history = History::new(64 << 10, 5, true).unwrap();
        for number in 1..=8 {
            history.push(&key("a"), None, &request, written(number, 1));
        }
        assert_eq!(
            revisions(&history, "a"),
            (4..=8).map(Some).collect::<Vec<_>>()
        );
        assert_eq!(history.of(&key("a")).unwrap().dropped, 3);
        // Those of other objects, if the whole history is too large.
        for number in 9..40 {
            history.push(
                &key(&format!("b{number}")),
                None,
                &request,
                written(number, 1),
            );
            history.push(
                &key(&format!("b{number}")),
                None,
                &request,
                written(number + 100, 10_000),
            );
            history.push(
                &key(&format!("b{number}")),
                None,
                &request,
                written(number + 200, 1),
            );
            assert!(history.kept().bytes <= 64 << 10);
        }
        assert!(history.of(&key("a")).is_none());
        assert_eq!(revisions(&history, "b39"), [Some(39), Some(139), Some(239)]);
        history.clear();
        assert_eq!((history.all().len(), history.kept().bytes), (0, 0));
    }
}
