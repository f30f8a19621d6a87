//! Tests of the log, which read its parts.

use super::super::objects::Stored;
use super::super::size::unshared_bytes;
use super::*;
use futures::StreamExt;
use std::task::Waker;

#[test]
fn nothing_is_kept_for_a_dropped_watch() {
    let shared = Shared::new(State::new(
        Objects::new(),
        Revision::FIRST,
        HistoryLimits::default(),
    ));
    let mut watches: Vec<LogWatch> = (0..3)
        .map(|_| shared.watch(Prefix::all(), Revision::FIRST).unwrap())
        .collect();
    for watch in &mut watches {
        assert!(
            watch
                .poll_next_unpin(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
    }
    let wakers = || {
        shared
            .lock()
            .slots
            .values()
            .map(|slot| slot.wakers.len())
            .sum::<usize>()
    };
    assert_eq!(wakers(), 3);
    watches.pop();
    assert_eq!((wakers(), shared.lock().slots.len()), (2, 1));
    watches.clear();
    assert!(shared.lock().slots.is_empty());
}

#[test]
fn objects_at_every_kept_revision_can_be_read() {
    let limits = HistoryLimits::default().events(3 * PLAIN);
    let shared = Shared::new(State::new(Objects::new(), Revision::FIRST, limits));
    let mut expected = vec![(Revision::FIRST, Objects::new())];
    for number in 0..5 * PLAIN {
        let key = Key::new("", "pods", Some("a"), &format!("x-{}", number % 7)).unwrap();
        let object = (number % 5 > 0).then(|| Value::Int(number as i64));
        let mut state = shared.lock();
        if object.is_none() && !state.objects.contains_key(&key) {
            continue;
        }
        let revision = state.revision.next();
        let aftermath = state.commit(&key, object, revision, 0);
        expected.push((revision, state.objects.clone()));
        drop(state);
        aftermath.finish();
    }
    assert!(
        shared
            .lock()
            .log
            .iter()
            .filter(|record| record.objects.is_some())
            .count()
            >= 2
    );
    let oldest = shared.lock().oldest;
    for (revision, objects) in expected.iter().step_by(97) {
        match shared.at(Some(*revision)) {
            Ok((found, at)) => assert_eq!((&found, at), (objects, *revision)),
            Err(StoreError::Compacted { .. }) => assert!(*revision < oldest),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn the_newest_writes_are_kept_however_many_objects_there_are() {
    let limits = HistoryLimits::default().bytes(1 << 20);
    let key = |number: usize| Key::new("", "pods", Some("a"), &format!("x-{number}")).unwrap();
    let stored = Stored {
        object: Value::Int(0),
        revision: Revision::FIRST,
    };
    let objects: Objects = (0..20_000)
        .map(|number| (key(number), stored.clone()))
        .collect();
    let shared = Shared::new(State::new(objects, Revision::FIRST, limits));
    let mut expected = VecDeque::new();
    for number in 0..30_000 {
        let mut state = shared.lock();
        let revision = state.revision.next();
        let aftermath = state.commit(&key(number % 20_000), Some(Value::Int(1)), revision, 0);
        assert!(state.bytes <= 1 << 20);
        assert!(
            state.log.len() >= 1000.min(number + 1),
            "{} after {number}",
            state.log.len()
        );
        expected.push_back((revision, state.objects.clone()));
        if expected.len() > 1000 {
            expected.pop_front();
        }
        drop(state);
        aftermath.finish();
    }
    for (revision, objects) in expected.iter().step_by(97) {
        assert_eq!(
            shared.at(Some(*revision)).unwrap(),
            (objects.clone(), *revision)
        );
    }
}

#[test]
fn a_watch_that_begins_while_events_are_dropped_misses_none() {
    let limits = HistoryLimits::default().events(1);
    let shared = Shared::new(State::new(Objects::new(), Revision::FIRST, limits));
    let key = Key::new("", "pods", Some("a"), "x").unwrap();
    let writer = {
        let shared = shared.clone();
        std::thread::spawn(move || {
            for number in 0..200_000 {
                let mut state = shared.lock();
                let revision = state.revision.next();
                let aftermath = state.commit(&key, Some(Value::Int(number)), revision, 0);
                drop(state);
                aftermath.finish();
            }
        })
    };
    while !writer.is_finished() {
        let after = shared.lock().revision;
        let Ok(mut watch) = shared.watch(Prefix::all(), after) else {
            continue;
        };
        match watch.poll_next_unpin(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Ok(event))) => assert_eq!(event.revision, after.next()),
            Poll::Ready(Some(Err(StoreError::Compacted { .. }))) | Poll::Pending => {}
            Poll::Ready(other) => panic!("{other:?}"),
        }
    }
    writer.join().unwrap();
}

#[test]
fn names_of_fields_cost_their_length() {
    let old = Value::Map(fieldmanager_value::Map::single(
        "x".repeat(100_000).as_str(),
        1,
    ));
    assert!(unshared_bytes(&old, None) > 100_000);
    assert!(unshared_bytes(&old, Some(&Value::Map(fieldmanager_value::Map::new()))) > 100_000);
    assert_eq!(unshared_bytes(&old, Some(&old.clone())), 0);
}

#[test]
fn shared_parts_of_an_object_cost_nothing() {
    let old =
        Value::from_yaml("{a: {b: 1, c: a string of more than fourteen bytes}, d: [1, 2, 3]}")
            .unwrap();
    let whole = unshared_bytes(&old, None);
    assert_eq!(unshared_bytes(&old, Some(&old.clone())), 0);
    let mut new = old.clone();
    if let Value::Map(fields) = &mut new {
        fields.insert("e", 1);
    }
    let edited = unshared_bytes(&old, Some(&new));
    assert!(edited > 0 && edited < whole / 2, "{edited} of {whole}");
    // Equal, but allocated separately.
    let copy = Value::from_json(&old.to_json()).unwrap();
    assert_eq!(unshared_bytes(&old, Some(&copy)), whole);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_many_watches_gets_the_events_of_two_writes() {
    let shared = Shared::new(State::new(
        Objects::new(),
        Revision::FIRST,
        HistoryLimits::default(),
    ));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..500 {
        let watch = shared.watch(Prefix::all(), Revision::FIRST).unwrap();
        readers.spawn(watch.take(2).count());
    }

    let key = Key::new("", "pods", Some("a"), "x").unwrap();
    for number in 0..2 {
        let mut state = shared.lock();
        let revision = state.revision.next();
        let aftermath = state.commit(&key, Some(Value::Int(number)), revision, 0);
        drop(state);
        aftermath.finish();
    }
    while let Some(events) = readers.join_next().await {
        assert_eq!(events.unwrap(), 2);
    }
}
