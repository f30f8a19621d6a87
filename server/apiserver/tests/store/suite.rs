//! The guarantees of `Store`, as tests of any store.

use std::{sync::Arc, time::Duration};

use fieldmanager_apiserver::store::{
    BoxWatch, Event, Key, List, Prefix, Revision, SharedStore, StoreError, Write,
};
use futures::{FutureExt, StreamExt};

use crate::store::{number, object, pod};

/// Makes the tests of this module for a store, given an asynchronous function that returns a new, empty one, and what
/// has to live as long as it.
macro_rules! tests {
    ($module:ident, $store:expr) => {
        crate::store::suite::tests!(@ $module, $store,
            a_store_without_writes_is_at_a_revision_above_zero
            writes_have_increasing_revisions
            a_write_that_expects_another_state_is_a_conflict_with_the_stored_object
            old_revisions_can_be_read
            a_page_continues_at_the_revision_of_the_first_page
            a_list_is_ordered_by_key_and_bounded_by_its_prefix
            a_list_with_limit_zero_counts
            a_page_that_is_not_counted_says_whether_entries_follow
            unknown_revisions_are_errors
            a_compacted_revision_cannot_be_read_or_watched
            a_watch_begins_after_its_revision
            a_watch_yields_only_events_of_its_prefix
            an_event_has_the_object_before_and_after
            a_watch_of_one_object_yields_only_that_object
            progress_advances_with_other_writes_but_not_past_undelivered_events
            closing_ends_watches
            sixty_four_writers_on_one_object_lose_nothing
            sixty_four_creators_of_one_object_have_one_winner
            watches_see_concurrent_writes_once_and_in_order
            pages_are_consistent_under_concurrent_writes
        );
    };
    (@ $module:ident, $store:expr, $($name:ident)*) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $name() {
                    let (store, _guard) = $store().await;
                    crate::store::suite::$name(store).await;
                }
            )*
        }
    };
}
pub(crate) use tests;

async fn create(store: &SharedStore, key: &Key, n: i64) -> Revision {
    store.write(key, Write::Create(object(n))).await.unwrap()
}

async fn update(store: &SharedStore, key: &Key, expected: Revision, n: i64) -> Revision {
    store
        .write(
            key,
            Write::Update {
                expected,
                object: object(n),
            },
        )
        .await
        .unwrap()
}

async fn delete(store: &SharedStore, key: &Key, expected: Revision) -> Revision {
    store.write(key, Write::Delete { expected }).await.unwrap()
}

/// Waits for the next event.
async fn next(watch: &mut BoxWatch) -> Result<Event, StoreError> {
    tokio::time::timeout(Duration::from_secs(100), watch.next())
        .await
        .expect("no event")
        .expect("the watch ended")
}

fn pods() -> Prefix {
    Prefix::resource("", "pods").unwrap()
}

fn names(page: &fieldmanager_apiserver::store::Page) -> Vec<String> {
    page.entries
        .iter()
        .map(|entry| entry.key.parts().name.to_owned())
        .collect()
}

pub(crate) async fn a_store_without_writes_is_at_a_revision_above_zero(store: SharedStore) {
    let revision = store.revision().await.unwrap();
    assert!(revision >= Revision::FIRST);
    let page = store.list(List::new(Prefix::all())).await.unwrap();
    assert_eq!(
        (page.entries.len(), page.revision, page.next, page.remaining),
        (0, revision, None, 0)
    );
    let read = store.get(&pod("a", "x"), Some(revision)).await.unwrap();
    assert_eq!((read.entry, read.revision), (None, revision));
    assert!(store.watch(Prefix::all(), revision).await.is_ok());
}

pub(crate) async fn writes_have_increasing_revisions(store: SharedStore) {
    let key = pod("a", "x");
    let first = store.revision().await.unwrap();
    let created = create(&store, &key, 1).await;
    let updated = update(&store, &key, created, 2).await;
    let deleted = delete(&store, &key, updated).await;
    let again = create(&store, &key, 3).await;
    assert!(first < created && created < updated && updated < deleted && deleted < again);
    let read = store.get(&key, None).await.unwrap();
    assert_eq!(read.revision, again);
    assert_eq!(read.entry.unwrap().revision, again);
}

pub(crate) async fn a_write_that_expects_another_state_is_a_conflict_with_the_stored_object(
    store: SharedStore,
) {
    let key = pod("a", "x");
    let conflict = async |write| match store.write(&key, write).await {
        Err(StoreError::Conflict {
            key: found,
            current,
        }) => {
            assert_eq!(found, key);
            current
        }
        other => panic!("{other:?}"),
    };
    let absent = store.revision().await.unwrap();
    assert_eq!(
        conflict(Write::Update {
            expected: absent,
            object: object(0)
        })
        .await,
        None
    );
    assert_eq!(conflict(Write::Delete { expected: absent }).await, None);
    let first = create(&store, &key, 1).await;
    let second = update(&store, &key, first, 2).await;
    for write in [
        Write::Create(object(3)),
        Write::Update {
            expected: first,
            object: object(3),
        },
        Write::Delete { expected: first },
    ] {
        let current = conflict(write).await.unwrap();
        assert_eq!((current.revision, number(&current.object)), (second, 2));
    }
    assert_eq!(
        store.revision().await.unwrap(),
        second,
        "a conflict writes nothing"
    );
    delete(&store, &key, second).await;
    assert_eq!(conflict(Write::Delete { expected: second }).await, None);
}

pub(crate) async fn old_revisions_can_be_read(store: SharedStore) {
    let key = pod("a", "x");
    let first = store.revision().await.unwrap();
    let created = create(&store, &key, 1).await;
    let updated = update(&store, &key, created, 2).await;
    let deleted = delete(&store, &key, updated).await;
    for (at, expected) in [
        (first, None),
        (created, Some((1, created))),
        (updated, Some((2, updated))),
        (deleted, None),
    ] {
        let read = store.get(&key, Some(at)).await.unwrap();
        let found = read
            .entry
            .as_ref()
            .map(|entry| (number(&entry.object), entry.revision));
        assert_eq!((found, read.revision), (expected, at));
        let page = store.list(List::new(pods()).at(at)).await.unwrap();
        assert_eq!(page.revision, at);
        assert_eq!(page.entries, read.entry.into_iter().collect::<Vec<_>>());
    }
}

pub(crate) async fn a_page_continues_at_the_revision_of_the_first_page(store: SharedStore) {
    let mut last = store.revision().await.unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        last = create(&store, &pod("n", name), 0).await;
    }
    let first = store.list(List::new(pods()).limit(2)).await.unwrap();
    assert_eq!(
        (names(&first), first.remaining, first.revision),
        (vec!["a".into(), "b".into()], 3, last)
    );
    let c = store
        .get(&pod("n", "c"), None)
        .await
        .unwrap()
        .entry
        .unwrap();
    delete(&store, &c.key, c.revision).await;
    create(&store, &pod("n", "cc"), 1).await;
    let rest = List::new(pods())
        .after(first.next.unwrap())
        .at(first.revision);
    let second = store.list(rest.clone().limit(2)).await.unwrap();
    assert_eq!(
        (names(&second), second.remaining, second.revision),
        (vec!["c".into(), "d".into()], 1, last)
    );
    let third = store
        .list(
            List::new(pods())
                .after(second.next.unwrap())
                .at(last)
                .limit(2),
        )
        .await
        .unwrap();
    assert_eq!(
        (names(&third), third.remaining, third.next),
        (vec!["e".into()], 0, None)
    );
    // A page that ends with the last object has no next page.
    let whole = store.list(rest.limit(3)).await.unwrap();
    assert_eq!(
        (whole.entries.len(), whole.remaining, whole.next),
        (3, 0, None)
    );
}

pub(crate) async fn a_list_is_ordered_by_key_and_bounded_by_its_prefix(store: SharedStore) {
    let keys = [
        Key::new("", "pods", Some("a"), "z").unwrap(),
        Key::new("", "pods", Some("a-b"), "y").unwrap(),
        Key::new("", "pods", Some("ab"), "x").unwrap(),
        Key::new("", "podtemplates", Some("a"), "w").unwrap(),
        Key::new("", "nodes", None, "a").unwrap(),
        Key::new("apps", "deployments", Some("a"), "z").unwrap(),
    ];
    for key in &keys {
        create(&store, key, 0).await;
    }
    let list = async |list| -> Vec<String> {
        let page = store.list(list).await.unwrap();
        page.entries
            .iter()
            .map(|entry| entry.key.to_string())
            .collect()
    };
    // "-" sorts before "/", which ends the namespace.
    let expected = [
        "/registry/core/pods/a-b/y",
        "/registry/core/pods/a/z",
        "/registry/core/pods/ab/x",
    ]
    .map(String::from);
    assert_eq!(list(List::new(pods())).await, expected);
    assert_eq!(
        list(List::new(Prefix::namespace("", "pods", "a").unwrap())).await,
        expected[1..2]
    );
    assert_eq!(
        list(List::new(Prefix::object(&keys[0]))).await,
        expected[1..2]
    );
    assert_eq!(
        list(List::new(Prefix::object(&keys[0])).after(keys[0].clone())).await,
        [""; 0]
    );
    assert_eq!(
        list(List::new(Prefix::object(&pod("a", "zz")))).await,
        [""; 0]
    );
    assert_eq!(list(List::new(Prefix::all())).await.len(), keys.len());
    // A key outside of the prefix is compared like any other.
    assert_eq!(
        list(List::new(pods()).after(keys[4].clone())).await,
        expected
    );
    assert_eq!(
        list(List::new(pods()).after(keys[5].clone())).await,
        expected
    );
    assert_eq!(
        list(List::new(pods()).after(keys[3].clone())).await,
        [""; 0]
    );
}

pub(crate) async fn a_list_with_limit_zero_counts(store: SharedStore) {
    for name in ["a", "b", "c"] {
        create(&store, &pod("n", name), 0).await;
    }
    let page = store.list(List::new(pods()).limit(0)).await.unwrap();
    assert_eq!((page.entries.len(), page.remaining), (0, 3));
}

pub(crate) async fn a_page_that_is_not_counted_says_whether_entries_follow(store: SharedStore) {
    for name in ["a", "b", "c"] {
        create(&store, &pod("n", name), 0).await;
    }
    for (limit, follows) in [(1, true), (2, true), (3, false), (4, false)] {
        let page = store
            .list(List::new(pods()).limit(limit).uncounted())
            .await
            .unwrap();
        assert_eq!(
            (page.entries.len(), page.remaining > 0),
            (limit.min(3), follows)
        );
        assert_eq!(
            page.next,
            follows.then(|| page.entries.last().unwrap().key.clone())
        );
    }
}

pub(crate) async fn unknown_revisions_are_errors(store: SharedStore) {
    let key = pod("a", "x");
    let current = create(&store, &key, 1).await;
    let future = Revision::new(current.get() + 100).unwrap();
    let check = |error: StoreError| match error {
        StoreError::Future {
            requested,
            current: found,
        } => assert_eq!((requested, found), (future, current)),
        other => panic!("{other:?}"),
    };
    check(store.get(&key, Some(future)).await.unwrap_err());
    check(store.list(List::new(pods()).at(future)).await.unwrap_err());
    check(store.watch(pods(), future).await.err().unwrap());
    check(store.compact(future).await.unwrap_err());
}

pub(crate) async fn a_compacted_revision_cannot_be_read_or_watched(store: SharedStore) {
    let key = pod("a", "x");
    let first = create(&store, &key, 1).await;
    let second = update(&store, &key, first, 2).await;
    let third = update(&store, &key, second, 3).await;
    let mut behind = store.watch(pods(), second).await.unwrap();
    store.compact(second).await.unwrap();
    store.compact(first).await.unwrap();
    let check = |error: StoreError| match error {
        StoreError::Compacted { requested, oldest } => {
            assert_eq!((requested, oldest), (first, second))
        }
        other => panic!("{other:?}"),
    };
    check(store.get(&key, Some(first)).await.unwrap_err());
    check(store.list(List::new(pods()).at(first)).await.unwrap_err());
    check(store.watch(pods(), first).await.err().unwrap());
    // The oldest revision itself can be read and watched from.
    let read = store.get(&key, Some(second)).await.unwrap();
    assert_eq!(number(&read.entry.unwrap().object), 2);
    let mut watch = store.watch(pods(), second).await.unwrap();
    assert_eq!(next(&mut watch).await.unwrap().revision, third);
    assert_eq!(next(&mut behind).await.unwrap().revision, third);
    assert_eq!(
        number(&store.get(&key, None).await.unwrap().entry.unwrap().object),
        3
    );
}

pub(crate) async fn a_watch_begins_after_its_revision(store: SharedStore) {
    let key = pod("a", "x");
    let first = create(&store, &key, 1).await;
    let second = update(&store, &key, first, 2).await;
    let mut from_first = store.watch(pods(), first).await.unwrap();
    let mut from_second = store.watch(pods(), second).await.unwrap();
    assert_eq!(next(&mut from_first).await.unwrap().revision, second);
    let third = delete(&store, &key, second).await;
    assert_eq!(next(&mut from_first).await.unwrap().revision, third);
    assert_eq!(next(&mut from_second).await.unwrap().revision, third);
    assert!(from_second.next().now_or_never().is_none());
}

pub(crate) async fn a_watch_yields_only_events_of_its_prefix(store: SharedStore) {
    let start = store.revision().await.unwrap();
    let mut watch = store
        .watch(Prefix::namespace("", "pods", "a").unwrap(), start)
        .await
        .unwrap();
    for key in [
        Key::new("", "pods", Some("ab"), "x").unwrap(),
        Key::new("", "services", Some("a"), "x").unwrap(),
        Key::new("", "pods", Some("a"), "x").unwrap(),
    ] {
        create(&store, &key, 0).await;
    }
    assert_eq!(next(&mut watch).await.unwrap().key, pod("a", "x"));
}

pub(crate) async fn an_event_has_the_object_before_and_after(store: SharedStore) {
    let key = pod("a", "x");
    let start = store.revision().await.unwrap();
    let first = create(&store, &key, 1).await;
    let second = update(&store, &key, first, 2).await;
    let third = delete(&store, &key, second).await;
    let mut watch = store.watch(pods(), start).await.unwrap();
    for expected in [
        (first, Some(1), None),
        (second, Some(2), Some((1, first))),
        (third, None, Some((2, second))),
    ] {
        let event = next(&mut watch).await.unwrap();
        let previous = event
            .previous
            .map(|entry| (number(&entry.object), entry.revision));
        assert_eq!(
            (event.revision, event.object.as_ref().map(number), previous),
            expected
        );
        assert_eq!(event.key, key);
    }
}

pub(crate) async fn a_watch_of_one_object_yields_only_that_object(store: SharedStore) {
    let start = store.revision().await.unwrap();
    let mut watch = store
        .watch(Prefix::object(&pod("a", "x")), start)
        .await
        .unwrap();
    create(&store, &pod("a", "xx"), 1).await;
    create(&store, &pod("a", "x"), 2).await;
    assert_eq!(next(&mut watch).await.unwrap().key, pod("a", "x"));
}

pub(crate) async fn progress_advances_with_other_writes_but_not_past_undelivered_events(
    store: SharedStore,
) {
    let start = store.revision().await.unwrap();
    let mut watch = store.watch(pods(), start).await.unwrap();
    let service = Key::new("", "services", Some("a"), "x").unwrap();
    let other = create(&store, &service, 1).await;
    let reached = async |watch: &mut BoxWatch, revision| {
        for _ in 0..1000 {
            if watch.as_mut().progress() == revision {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!(
            "progress is {}, expected {revision}",
            watch.as_mut().progress()
        );
    };
    reached(&mut watch, other).await;
    let created = create(&store, &pod("a", "x"), 1).await;
    let last = update(&store, &service, other, 2).await;
    assert!(
        watch.as_mut().progress() < created,
        "the event was not delivered"
    );
    assert_eq!(next(&mut watch).await.unwrap().revision, created);
    reached(&mut watch, last).await;
}

pub(crate) async fn closing_ends_watches(store: SharedStore) {
    let start = store.revision().await.unwrap();
    let mut watch = store.watch(pods(), start).await.unwrap();
    let waiting = tokio::spawn(async move {
        let last = next(&mut watch).await;
        (last, watch.next().await.is_none())
    });
    tokio::task::yield_now().await;
    store.close().await.unwrap();
    let (last, ended) = waiting.await.unwrap();
    assert!(matches!(last, Err(StoreError::Closed)) && ended);
    let key = pod("a", "x");
    assert!(matches!(
        store.get(&key, None).await,
        Err(StoreError::Closed)
    ));
    assert!(matches!(
        store.write(&key, Write::Create(object(1))).await,
        Err(StoreError::Closed)
    ));
    assert!(matches!(
        store.watch(pods(), start).await,
        Err(StoreError::Closed)
    ));
}

pub(crate) async fn sixty_four_writers_on_one_object_lose_nothing(store: SharedStore) {
    const WRITERS: i64 = 64;
    const WRITES: i64 = 25;
    let key = pod("a", "x");
    let first = create(&store, &key, 0).await;
    let mut watch = store.watch(pods(), first).await.unwrap();
    let writers = (0..WRITERS).map(|_| {
        let (store, key) = (Arc::clone(&store), key.clone());
        tokio::spawn(async move {
            for _ in 0..WRITES {
                let mut current = store.get(&key, None).await.unwrap().entry.unwrap();
                loop {
                    let object = object(number(&current.object) + 1);
                    match store
                        .write(
                            &key,
                            Write::Update {
                                expected: current.revision,
                                object,
                            },
                        )
                        .await
                    {
                        Ok(_) => break,
                        Err(StoreError::Conflict { current: found, .. }) => {
                            current = found.unwrap()
                        }
                        Err(other) => panic!("{other}"),
                    }
                    tokio::task::yield_now().await;
                }
            }
        })
    });
    for writer in futures::future::join_all(writers).await {
        writer.unwrap();
    }
    let last = store.get(&key, None).await.unwrap().entry.unwrap();
    assert_eq!(number(&last.object), WRITERS * WRITES);
    let mut previous = first;
    for expected in 1..=WRITERS * WRITES {
        let event = next(&mut watch).await.unwrap();
        assert_eq!(number(event.object.as_ref().unwrap()), expected);
        assert_eq!(event.previous.unwrap().revision, previous);
        previous = event.revision;
    }
    assert_eq!(previous, last.revision);
}

pub(crate) async fn sixty_four_creators_of_one_object_have_one_winner(store: SharedStore) {
    let creators = (0..64).map(|n| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            store
                .write(&pod("a", "x"), Write::Create(object(n)))
                .await
                .map(|_| n)
        })
    });
    let results = futures::future::join_all(creators).await;
    let winners: Vec<i64> = results
        .into_iter()
        .filter_map(|result| result.unwrap().ok())
        .collect();
    let stored = store
        .get(&pod("a", "x"), None)
        .await
        .unwrap()
        .entry
        .unwrap();
    assert_eq!(winners, [number(&stored.object)]);
}

pub(crate) async fn watches_see_concurrent_writes_once_and_in_order(store: SharedStore) {
    const WRITERS: i64 = 8;
    const WRITES: i64 = 50;
    let start = store.revision().await.unwrap();
    let watchers: Vec<_> = (0..20)
        .map(|n| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let prefix = if n % 2 == 0 { Prefix::all() } else { pods() };
                let mut watch = store.watch(prefix, start).await.unwrap();
                let mut revisions = Vec::new();
                let mut counts = [0; WRITERS as usize];
                for _ in 0..WRITERS * WRITES {
                    let event = next(&mut watch).await.unwrap();
                    revisions.push(event.revision);
                    let writer: usize = event.key.parts().name.parse().unwrap();
                    counts[writer] += 1;
                    assert_eq!(number(event.object.as_ref().unwrap()), counts[writer]);
                    assert!(watch.as_mut().progress() >= event.revision);
                }
                revisions
            })
        })
        .collect();
    let writers = (0..WRITERS).map(|n| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let key = pod("a", &n.to_string());
            let mut revision = create(&store, &key, 1).await;
            for write in 2..=WRITES {
                revision = update(&store, &key, revision, write).await;
                tokio::task::yield_now().await;
            }
        })
    });
    futures::future::join_all(writers)
        .await
        .into_iter()
        .for_each(|writer| writer.unwrap());
    let seen = futures::future::join_all(watchers).await;
    let seen: Vec<Vec<Revision>> = seen.into_iter().map(|watcher| watcher.unwrap()).collect();
    assert!(seen[0].is_sorted_by(|a, b| a < b));
    assert!(seen.iter().all(|revisions| *revisions == seen[0]));
}

pub(crate) async fn pages_are_consistent_under_concurrent_writes(store: SharedStore) {
    const OBJECTS: usize = 7;
    const ROUNDS: i64 = 60;
    let keys: Vec<Key> = (0..OBJECTS).map(|n| pod("a", &n.to_string())).collect();
    let mut revisions = Vec::new();
    for key in &keys {
        revisions.push(create(&store, key, 0).await);
    }
    // The writer raises one number after the other, so that in every state each is that of the first or one less.
    let writer = {
        let (store, keys) = (Arc::clone(&store), keys.clone());
        tokio::spawn(async move {
            for round in 1..=ROUNDS {
                for (key, revision) in keys.iter().zip(&mut revisions) {
                    *revision = update(&store, key, *revision, round).await;
                    tokio::task::yield_now().await;
                }
            }
        })
    };
    while !writer.is_finished() {
        let mut numbers = Vec::new();
        let mut list = List::new(pods()).limit(2);
        loop {
            let page = store.list(list.clone()).await.unwrap();
            assert!(
                page.entries
                    .iter()
                    .all(|entry| entry.revision <= page.revision)
            );
            numbers.extend(page.entries.iter().map(|entry| number(&entry.object)));
            assert_eq!(numbers.len() + page.remaining as usize, OBJECTS);
            let Some(next) = page.next else { break };
            list = list.after(next).at(page.revision);
            tokio::task::yield_now().await;
        }
        assert_eq!(numbers.len(), OBJECTS);
        assert!(
            numbers.is_sorted_by(|a, b| a >= b) && numbers[0] - numbers[OBJECTS - 1] <= 1,
            "{numbers:?}"
        );
    }
    writer.await.unwrap();
}
