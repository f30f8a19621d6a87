//! A store compared with a plain model, a map and a log, under random operations.

use std::{collections::BTreeMap, time::Duration};

use fieldmanager_apiserver::store::{
    BoxWatch, Event, Key, List, Prefix, Revision, SharedStore, Store, StoreError, Write,
};
use fieldmanager_value::Value;
use futures::{FutureExt, StreamExt};
use proptest::prelude::*;

use crate::store::{number, object, pod};

/// Makes the test of this module for a store, given a strategy for the number of kept events, and an asynchronous function
/// from this number to a new store.
macro_rules! tests {
    ($module:ident, $events:expr, $store:expr) => {
        mod $module {
            #[allow(unused_imports)]
            use super::*;

            proptest::proptest! {
                #![proptest_config(proptest::prelude::ProptestConfig::with_cases(1000))]

                #[test]
                fn a_store_equals_a_map_and_a_log(
                    events in $events,
                    operations in crate::store::model::operations(),
                ) {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    runtime.block_on(async { crate::store::model::run($store(events).await, events, operations).await });
                }
            }
        }
    };
}
pub(crate) use tests;

/// One operation. Positions are fractions of what there is when the operation runs.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Create(usize),
    /// Updates or deletes with the right revision, or with one of the past.
    Update(usize, Option<u8>),
    Delete(usize, Option<u8>),
    Get(usize, Option<u8>),
    /// Begins a list of pages.
    List(usize, usize, Option<u8>),
    /// Reads the next page of a list that was begun.
    Page(usize),
    Watch(usize, u8),
    ReadWatch(usize, usize),
    Progress(usize),
    DropWatch(usize),
    Compact(u8),
}

pub(crate) fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let key = 0..KEYS.len();
    let prefix = 0..prefixes().len();
    let at = prop_oneof![2 => Just(None), 1 => any::<u8>().prop_map(Some)];
    let stale = prop_oneof![6 => Just(None), 1 => any::<u8>().prop_map(Some)];
    let operation = prop_oneof![
        4 => key.clone().prop_map(Operation::Create),
        4 => (key.clone(), stale.clone()).prop_map(|(key, at)| Operation::Update(key, at)),
        2 => (key.clone(), stale).prop_map(|(key, at)| Operation::Delete(key, at)),
        1 => (key, at.clone()).prop_map(|(key, at)| Operation::Get(key, at)),
        1 => (prefix.clone(), 1..4usize, at).prop_map(|(prefix, limit, at)| Operation::List(prefix, limit, at)),
        2 => (0..4usize).prop_map(Operation::Page),
        2 => (prefix, any::<u8>()).prop_map(|(prefix, after)| Operation::Watch(prefix, after)),
        4 => (0..4usize, 1..4usize).prop_map(|(watch, events)| Operation::ReadWatch(watch, events)),
        2 => (0..4usize).prop_map(Operation::Progress),
        1 => (0..4usize).prop_map(Operation::DropWatch),
        1 => any::<u8>().prop_map(Operation::Compact),
    ];
    proptest::collection::vec(operation, 1..80)
}

const KEYS: [(&str, &str); 7] = [
    ("a", "x"),
    ("a", "xx"),
    ("a", "y"),
    ("a-b", "x"),
    ("ab", "x"),
    ("", "n"),
    ("", "x"),
];

fn key(at: usize) -> Key {
    match KEYS[at] {
        ("", name) => Key::new("apps.example.com", "nodes", None, name).unwrap(),
        (namespace, name) => pod(namespace, name),
    }
}

fn prefixes() -> Vec<Prefix> {
    vec![
        Prefix::all(),
        Prefix::resource("", "pods").unwrap(),
        Prefix::resource("apps.example.com", "nodes").unwrap(),
        Prefix::resource("", "nodes").unwrap(),
        Prefix::namespace("", "pods", "a").unwrap(),
        Prefix::object(&key(0)),
        Prefix::object(&key(6)),
    ]
}

/// The model: the objects as they were at the oldest revision, and all events after it.
struct Model {
    base: BTreeMap<Key, (Value, Revision)>,
    oldest: Revision,
    revision: Revision,
    log: Vec<Event>,
    /// The revisions of all writes, also of forgotten ones.
    written: Vec<(Key, Revision)>,
    limit: usize,
}

impl Model {
    fn state(&self, at: Revision) -> BTreeMap<Key, (Value, Revision)> {
        let mut state = self.base.clone();
        for event in self.log.iter().filter(|event| event.revision <= at) {
            match &event.object {
                Some(object) => state.insert(event.key.clone(), (object.clone(), event.revision)),
                None => state.remove(&event.key),
            };
        }
        state
    }

    fn write(&mut self, key: &Key, object: Option<Value>, revision: Revision) {
        assert!(revision > self.revision);
        let previous = self
            .state(self.revision)
            .remove(key)
            .map(|(object, revision)| fieldmanager_apiserver::store::Entry {
                key: key.clone(),
                object,
                revision,
            });
        self.log.push(Event {
            revision,
            key: key.clone(),
            object,
            previous,
        });
        self.revision = revision;
        self.written.push((key.clone(), revision));
        while self.log.len() > self.limit {
            let oldest = self.log[0].revision;
            self.compact(oldest);
        }
    }

    fn compact(&mut self, oldest: Revision) {
        if oldest > self.oldest {
            self.base = self.state(oldest);
            self.log.retain(|event| event.revision > oldest);
            self.oldest = oldest;
        }
    }

    /// A revision from before the oldest to after the current one.
    fn revision(&self, fraction: u8) -> Revision {
        let range = self.revision.get() + 2;
        Revision::new(u64::from(fraction) * range / 256 + 1).unwrap()
    }

    fn expected(&self, at: Revision) -> Result<(), &'static str> {
        if at > self.revision {
            Err("future")
        } else if at < self.oldest {
            Err("compacted")
        } else {
            Ok(())
        }
    }

    /// The events of a prefix that are kept, after a revision.
    fn events(&self, prefix: &Prefix, after: Revision) -> Vec<Event> {
        let kept = self
            .log
            .iter()
            .filter(|event| event.revision > after && prefix.contains(&event.key));
        kept.cloned().collect()
    }

    /// Whether an event of a prefix after a revision was forgotten.
    fn lost(&self, prefix: &Prefix, after: Revision) -> bool {
        let mut forgotten = self
            .written
            .iter()
            .filter(|(_, revision)| *revision <= self.oldest);
        forgotten.any(|(key, revision)| *revision > after && prefix.contains(key))
    }
}

fn kind(error: &StoreError) -> &'static str {
    match error {
        StoreError::Compacted { .. } => "compacted",
        StoreError::Future { .. } => "future",
        StoreError::Conflict { .. } => "conflict",
        _ => "other",
    }
}

struct OpenWatch {
    watch: BoxWatch,
    prefix: Prefix,
    position: Revision,
}

struct OpenList {
    list: List,
    revision: Revision,
    /// The part of the whole list that follows the pages so far.
    expected: Vec<(Key, Revision)>,
}

pub(crate) async fn run(store: SharedStore, limit: usize, operations: Vec<Operation>) {
    let revision = store.revision().await.unwrap();
    let mut model = Model {
        base: BTreeMap::new(),
        oldest: revision,
        revision,
        log: Vec::new(),
        written: Vec::new(),
        limit,
    };
    let mut watches: Vec<OpenWatch> = Vec::new();
    let mut lists: Vec<OpenList> = Vec::new();
    for (number, operation) in operations.into_iter().enumerate() {
        step(
            &*store,
            &mut model,
            &mut watches,
            &mut lists,
            operation,
            number as i64,
        )
        .await;
        assert_eq!(store.revision().await.unwrap(), model.revision);
    }
    // In the end every watch yields all that it has not yet yielded.
    while let Some(mut open) = watches.pop() {
        read_watch(&model, &mut open, usize::MAX).await;
    }
}

async fn step(
    store: &dyn Store,
    model: &mut Model,
    watches: &mut Vec<OpenWatch>,
    lists: &mut Vec<OpenList>,
    operation: Operation,
    n: i64,
) {
    match operation {
        Operation::Create(at) => write(store, model, &key(at), Write::Create(object(n))).await,
        Operation::Update(at, stale) => {
            let expected = expected(model, at, stale);
            write(
                store,
                model,
                &key(at),
                Write::Update {
                    expected,
                    object: object(n),
                },
            )
            .await;
        }
        Operation::Delete(at, stale) => {
            let expected = expected(model, at, stale);
            write(store, model, &key(at), Write::Delete { expected }).await;
        }
        Operation::Get(which, at) => {
            let at = at.map(|at| model.revision(at));
            let found = store.get(&key(which), at).await;
            let at = at.unwrap_or(model.revision);
            match model.expected(at) {
                Ok(()) => {
                    let found = found.unwrap();
                    let entry = found.entry.map(|entry| (entry.object, entry.revision));
                    assert_eq!(
                        (entry, found.revision),
                        (model.state(at).remove(&key(which)), at)
                    );
                }
                Err(expected) => assert_eq!(kind(&found.unwrap_err()), expected),
            }
        }
        Operation::List(prefix, limit, at) => {
            let prefix = prefixes()[prefix].clone();
            let at = at.map(|at| model.revision(at));
            let list = List {
                at,
                ..List::new(prefix.clone()).limit(limit)
            };
            let revision = at.unwrap_or(model.revision);
            let state = model
                .state(revision)
                .into_iter()
                .filter(|(key, _)| prefix.contains(key));
            let expected = state.map(|(key, (_, revision))| (key, revision)).collect();
            page(
                store,
                model,
                lists,
                OpenList {
                    list,
                    revision,
                    expected,
                },
            )
            .await;
        }
        Operation::Page(which) => {
            if which < lists.len() {
                let open = lists.remove(which);
                page(store, model, lists, open).await;
            }
        }
        Operation::Watch(prefix, after) => {
            let (prefix, after) = (prefixes()[prefix].clone(), model.revision(after));
            let watch = store.watch(prefix.clone(), after).await;
            match (model.expected(after), watch) {
                (Ok(()), Ok(watch)) => watches.push(OpenWatch {
                    watch,
                    prefix,
                    position: after,
                }),
                (Err(expected), Err(error)) => assert_eq!(kind(&error), expected),
                (expected, watch) => panic!("expected {expected:?}, found {:?}", watch.err()),
            }
        }
        Operation::ReadWatch(which, events) => {
            if which < watches.len() {
                let mut open = watches.swap_remove(which);
                if read_watch(model, &mut open, events).await {
                    watches.push(open);
                }
            }
        }
        Operation::Progress(which) => {
            if let Some(open) = watches.get_mut(which) {
                let progress = open.watch.as_mut().progress();
                assert!(progress >= open.position && progress <= model.revision);
                let undelivered = |event: &Event| event.revision <= progress;
                assert!(
                    !model
                        .events(&open.prefix, open.position)
                        .iter()
                        .any(undelivered)
                );
                if !model.lost(&open.prefix, open.position) {
                    open.position = progress;
                }
            }
        }
        Operation::DropWatch(which) => {
            if which < watches.len() {
                watches.swap_remove(which);
            }
        }
        Operation::Compact(at) => {
            let at = model.revision(at);
            match store.compact(at).await {
                Ok(()) => {
                    assert!(at <= model.revision);
                    model.compact(at);
                }
                Err(error) => assert_eq!((kind(&error), at > model.revision), ("future", true)),
            }
        }
    }
}

/// The revision that a write expects: the right one, or one of the past.
fn expected(model: &Model, at: usize, stale: Option<u8>) -> Revision {
    let current = model
        .state(model.revision)
        .get(&key(at))
        .map(|(_, revision)| *revision);
    match stale {
        Some(fraction) => model.revision(fraction),
        None => current.unwrap_or(model.revision),
    }
}

async fn write(store: &dyn Store, model: &mut Model, key: &Key, write: Write) {
    let current = model.state(model.revision).remove(key);
    let (expected, object) = match &write {
        Write::Create(object) => (None, Some(object.clone())),
        Write::Update { expected, object } => (Some(*expected), Some(object.clone())),
        Write::Delete { expected } => (Some(*expected), None),
    };
    let result = store.write(key, write).await;
    if current.as_ref().map(|(_, revision)| *revision) == expected {
        model.write(key, object, result.unwrap());
        return;
    }
    match result {
        Err(StoreError::Conflict { current: found, .. }) => {
            assert_eq!(found.map(|entry| (entry.object, entry.revision)), current);
        }
        other => panic!("{other:?}"),
    }
}

async fn page(store: &dyn Store, model: &Model, lists: &mut Vec<OpenList>, mut open: OpenList) {
    let result = store.list(open.list.clone()).await;
    let page = match (model.expected(open.revision), result) {
        (Ok(()), Ok(page)) => page,
        (Err(expected), Err(error)) => return assert_eq!(kind(&error), expected),
        (expected, result) => panic!("expected {expected:?}, found {result:?}"),
    };
    assert_eq!(page.revision, open.revision);
    let count = open.expected.len().min(open.list.limit.unwrap());
    let expected: Vec<_> = open.expected.drain(..count).collect();
    let found: Vec<_> = page
        .entries
        .into_iter()
        .map(|entry| (entry.key, entry.revision))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(page.remaining as usize, open.expected.len());
    assert_eq!(page.next.is_some(), !open.expected.is_empty());
    if let Some(next) = page.next {
        assert_eq!(next, found.last().unwrap().0);
        open.list = open.list.after(next).at(page.revision);
        lists.push(open);
    }
}

/// Reads at most a number of events and returns whether the watch continues.
async fn read_watch(model: &Model, open: &mut OpenWatch, count: usize) -> bool {
    let pending = model.events(&open.prefix, open.position);
    let lost = model.lost(&open.prefix, open.position);
    if pending.is_empty() && !lost {
        assert!(open.watch.next().now_or_never().is_none());
        return true;
    }
    for expected in pending.into_iter().map(Some).chain([None]).take(count) {
        if expected.is_none() && !lost {
            return true;
        }
        let next = tokio::time::timeout(Duration::from_secs(100), open.watch.next())
            .await
            .expect("no event");
        match next {
            Some(Ok(event)) => {
                assert!(!lost, "the watch continues although it has lost events");
                assert_eq!(
                    event.object.as_ref().map(number),
                    expected.as_ref().unwrap().object.as_ref().map(number)
                );
                assert_eq!(Some(&event), expected.as_ref());
                open.position = event.revision;
            }
            Some(Err(error)) => {
                assert!(lost && kind(&error) == "compacted", "{error}");
                assert!(open.watch.next().await.is_none());
                return false;
            }
            None => panic!("the watch ended without an error"),
        }
    }
    true
}
