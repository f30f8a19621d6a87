//! Features of the store in memory: limits of the history, snapshots and forks.

use fieldmanager_apiserver::store::{
    HistoryLimits, Key, List, Memory, Prefix, Revision, Store, StoreError, Write,
};
use futures::{FutureExt, StreamExt};

use crate::store::{number, object, pod};

fn create(store: &Memory, key: &Key, n: i64) -> Revision {
    store
        .write(key, Write::Create(object(n)))
        .now_or_never()
        .unwrap()
        .unwrap()
}

fn update(store: &dyn Store, key: &Key, expected: Revision, n: i64) -> Revision {
    let write = Write::Update {
        expected,
        object: object(n),
    };
    store.write(key, write).now_or_never().unwrap().unwrap()
}

fn stored(store: &dyn Store, key: &Key) -> Option<i64> {
    let read = store.get(key, None).now_or_never().unwrap().unwrap();
    read.entry.map(|entry| number(&entry.object))
}

#[test]
fn the_first_write_has_revision_2() {
    assert_eq!(create(&Memory::default(), &pod("a", "x"), 1).get(), 2);
}

#[tokio::test]
async fn a_watch_that_is_not_read_is_cut_off_and_delays_no_writer() {
    let store = Memory::new(HistoryLimits::default().events(10));
    let key = pod("a", "x");
    let mut revision = create(&store, &key, 0);
    let mut slow = store.watch(Prefix::all(), revision).await.unwrap();
    let mut quiet = store
        .watch(Prefix::resource("apps", "deployments").unwrap(), revision)
        .await
        .unwrap();
    for n in 1..=100 {
        revision = update(&store, &key, revision, n);
    }
    assert_eq!(store.stats().events, 10);
    match slow.next().await {
        Some(Err(StoreError::Compacted { oldest, .. })) => {
            assert_eq!(oldest.get(), revision.get() - 10)
        }
        other => panic!("{other:?}"),
    }
    assert!(slow.next().await.is_none());
    // A watch without events of its own loses none.
    assert!(quiet.next().now_or_never().is_none());
    let deployment = Key::new("apps", "deployments", Some("a"), "x").unwrap();
    create(&store, &deployment, 5);
    assert_eq!(quiet.next().await.unwrap().unwrap().key, deployment);
}

#[test]
fn the_history_is_bounded_in_bytes() {
    let limit = 100_000;
    let store = Memory::new(HistoryLimits::default().bytes(limit));
    let key = pod("a", "x");
    let large = |n: usize| {
        fieldmanager_value::Value::from_json(&format!(
            r#"{{"data": "{}", "spec": {{"number": {n}}}}}"#,
            "x".repeat(10_000)
        ))
        .unwrap()
    };
    let mut revision = store
        .write(&key, Write::Create(large(0)))
        .now_or_never()
        .unwrap()
        .unwrap();
    for n in 1..100 {
        let write = Write::Update {
            expected: revision,
            object: large(n),
        };
        revision = store.write(&key, write).now_or_never().unwrap().unwrap();
        assert!(store.stats().history_bytes <= limit);
    }
    let stats = store.stats();
    assert!((7..=9).contains(&stats.events), "{stats:?}");
    assert_eq!(stats.oldest.get(), revision.get() - stats.events as u64);
    store.compact(revision).now_or_never().unwrap().unwrap();
    assert_eq!((store.stats().events, store.stats().history_bytes), (0, 0));
}

#[tokio::test]
async fn dropping_a_watch_frees_what_the_store_keeps_for_it() {
    let store = Memory::default();
    let start = store.revision().await.unwrap();
    let mut watches = Vec::new();
    for _ in 0..10 {
        let mut watch = store.watch(Prefix::all(), start).await.unwrap();
        assert!(watch.next().now_or_never().is_none());
        watches.push(watch);
    }
    assert_eq!(store.stats().watches, 10);
    watches.truncate(3);
    assert_eq!(store.stats().watches, 3);
    watches.clear();
    assert_eq!(store.stats().watches, 0);
}

#[test]
fn a_fork_is_independent() {
    let store = Memory::default();
    let key = pod("a", "x");
    let revision = create(&store, &key, 1);
    let fork = store.fork().unwrap();
    assert_eq!(fork.revision().now_or_never().unwrap().unwrap(), revision);
    assert_eq!(
        update(&*fork, &key, revision, 2),
        update(&store, &key, revision, 3)
    );
    assert_eq!(
        (stored(&*fork, &key), stored(&store, &key)),
        (Some(2), Some(3))
    );
}

#[tokio::test]
async fn restoring_brings_objects_back_and_makes_earlier_revisions_unknown() {
    let store = Memory::default();
    let (kept, removed, added) = (pod("a", "x"), pod("a", "y"), pod("a", "z"));
    let first = create(&store, &kept, 1);
    create(&store, &removed, 1);
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.count(), 2);
    let second = update(&store, &kept, first, 2);
    let third = store
        .write(
            &removed,
            Write::Delete {
                expected: snapshot.revision(),
            },
        )
        .await
        .unwrap();
    let last = create(&store, &added, 1);
    assert!(first < second && second < third && third < last);
    let mut watch = store.watch(Prefix::all(), last).await.unwrap();

    let restored = store.restore(&snapshot).unwrap();
    assert!(restored > last, "a revision is never used twice");
    assert_eq!(
        [&kept, &removed, &added].map(|key| stored(&store, key)),
        [Some(1), Some(1), None]
    );
    assert_eq!(
        store
            .get(&kept, None)
            .await
            .unwrap()
            .entry
            .unwrap()
            .revision,
        first
    );
    assert!(matches!(
        watch.next().await,
        Some(Err(StoreError::Compacted { .. }))
    ));
    let old = store.list(List::new(Prefix::all()).at(last)).await;
    assert!(matches!(old, Err(StoreError::Compacted { .. })));
    let mut watch = store.watch(Prefix::all(), restored).await.unwrap();
    assert_eq!(update(&store, &kept, first, 3), restored.next());
    assert_eq!(
        watch.next().await.unwrap().unwrap().revision,
        restored.next()
    );
}

#[tokio::test]
async fn a_watch_passes_many_events_of_other_prefixes() {
    let store = Memory::default();
    let deployments = Prefix::resource("apps", "deployments").unwrap();
    let mut watch = store.watch(deployments, Revision::FIRST).await.unwrap();
    let mut revision = create(&store, &pod("a", "x"), 0);
    for n in 1..1000 {
        revision = update(&store, &pod("a", "x"), revision, n);
    }
    assert_eq!(watch.as_mut().progress(), revision);
    for n in 1000..2000 {
        revision = update(&store, &pod("a", "x"), revision, n);
    }
    let deployment = Key::new("apps", "deployments", Some("a"), "x").unwrap();
    let created = create(&store, &deployment, 0);
    assert_eq!(
        watch
            .next()
            .now_or_never()
            .unwrap()
            .unwrap()
            .unwrap()
            .revision,
        created
    );
}
