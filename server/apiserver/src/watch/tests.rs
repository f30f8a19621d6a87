//! The semantics of watches.

use std::{sync::Arc, time::Duration};

use fieldmanager_value::Value;
use futures::{FutureExt, StreamExt, stream::BoxStream};
use tokio::time::Instant;

use super::*;
use crate::store::{HistoryLimits, Memory, Store, Write};

/// A store of Pods with a label `app` and a number.
struct Pods(Arc<Memory>);

fn key(name: &str) -> Key {
    Key::new("", "pods", Some("default"), name).unwrap()
}

fn pod(name: &str, app: &str, number: i64) -> Value {
    let yaml = format!(
        "{{metadata: {{name: {name}, labels: {{app: {app}}}}}, spec: {{number: {number}}}}}"
    );
    Value::from_yaml(&yaml).unwrap()
}

fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

fn revision(n: u64) -> Revision {
    Revision::new(n).unwrap()
}

impl Pods {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn write(&self, key: &Key, write: Write) -> u64 {
        self.0
            .write(key, write)
            .now_or_never()
            .unwrap()
            .unwrap()
            .get()
    }

    fn create(&self, name: &str, app: &str) -> u64 {
        self.write(&key(name), Write::Create(pod(name, app, 0)))
    }

    fn update(&self, name: &str, expected: u64, app: &str, number: i64) -> u64 {
        self.write(
            &key(name),
            Write::Update {
                expected: revision(expected),
                object: pod(name, app, number),
            },
        )
    }

    fn delete(&self, name: &str, expected: u64) -> u64 {
        self.write(
            &key(name),
            Write::Delete {
                expected: revision(expected),
            },
        )
    }

    fn create_service(&self, name: &str) -> u64 {
        let key = Key::new("", "services", Some("default"), name).unwrap();
        self.write(&key, Write::Create(pod(name, "other", 0)))
    }

    fn watch(&self, start: Start, options: impl FnOnce(&mut WatchRequest)) -> Watching {
        let mut request = WatchRequest {
            prefix: Prefix::resource("", "pods").unwrap(),
            start,
            selected: None,
            present: Arc::new(at_revision),
            bookmark: None,
            timeout: None,
            replaced: None,
        };
        options(&mut request);
        let store: SharedStore = self.0.clone();
        Watching(watch(store, request).flatten_stream().boxed())
    }
}

fn with_bookmarks(request: &mut WatchRequest) {
    request.bookmark = Some(Value::from_yaml("{apiVersion: v1, kind: Pod}").unwrap());
}

fn only_web(request: &mut WatchRequest) {
    request.selected = Some(Arc::new(|object| {
        at(object, &["metadata", "labels", "app"]).and_then(Value::as_str) == Some("web")
    }));
}

struct Watching(BoxStream<'static, WatchEvent>);

impl Watching {
    /// The next event as type, name, resourceVersion and number.
    async fn next(&mut self) -> String {
        let event = tokio::time::timeout(Duration::from_secs(100_000), self.0.next())
            .await
            .expect("no event");
        let Some(event) = event else {
            return "end".into();
        };
        let text = |path: &[&str]| {
            at(&event.object, path)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let revision = event.revision.map(|revision| revision.to_string());
        let revision = revision.unwrap_or_else(|| text(&["metadata", "resourceVersion"]).into());
        match event.kind {
            EventKind::Error => format!("ERROR {}", event.object.to_json()),
            EventKind::Bookmark => {
                assert_eq!((text(&["apiVersion"]), text(&["kind"])), ("v1", "Pod"));
                let annotations =
                    at(&event.object, &["metadata", "annotations"]).map(Value::to_json);
                format!("BOOKMARK {revision} {}", annotations.unwrap_or_default())
                    .trim_end()
                    .into()
            }
            kind => {
                let number = at(&event.object, &["spec", "number"])
                    .and_then(Value::as_i64)
                    .unwrap();
                format!(
                    "{} {} {revision} {number}",
                    kind.name(),
                    text(&["metadata", "name"])
                )
            }
        }
    }

    async fn expect<const N: usize>(&mut self, expected: [&str; N]) {
        for expected in expected {
            assert_eq!(self.next().await, expected);
        }
    }

    fn is_silent(&mut self) -> bool {
        self.0.next().now_or_never().is_none()
    }
}

#[tokio::test(start_paused = true)]
async fn semantic_5_without_a_revision_a_watch_begins_with_what_exists() {
    let pods = Pods::new();
    let b = pods.create("b", "web");
    pods.create("a", "web");
    pods.delete("b", b);
    pods.create("c", "web");
    let mut watch = pods.watch(Start::Initial(None), |_| {});
    watch.expect(["ADDED a 3 0", "ADDED c 5 0"]).await;
    assert!(watch.is_silent());
    pods.update("a", 3, "web", 1);
    pods.create("b", "web");
    watch.expect(["MODIFIED a 6 1", "ADDED b 7 0"]).await;
}

#[tokio::test(start_paused = true)]
async fn semantic_5_with_a_revision_a_watch_has_only_later_events() {
    let pods = Pods::new();
    let a = pods.create("a", "web");
    let a2 = pods.update("a", a, "web", 1);
    let mut watch = pods.watch(Start::After(revision(a)), |_| {});
    let mut current = pods.watch(Start::After(revision(a2)), |_| {});
    watch.expect(["MODIFIED a 3 1"]).await;
    assert!(watch.is_silent() && current.is_silent());
    pods.delete("a", a2);
    watch.expect(["DELETED a 4 1"]).await;
    current.expect(["DELETED a 4 1"]).await;
}

#[tokio::test(start_paused = true)]
async fn semantic_5_a_watch_from_now_has_no_initial_events() {
    let pods = Pods::new();
    pods.create("a", "web");
    let mut watch = pods.watch(Start::Now, with_bookmarks);
    assert!(watch.is_silent());
    pods.create("b", "web");
    watch.expect(["ADDED b 3 0"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_after_a_future_revision_has_only_events_after_it() {
    let pods = Pods::new();
    let mut watch = pods.watch(Start::After(revision(3)), with_bookmarks);
    assert!(watch.is_silent());
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(watch.is_silent(), "a bookmark would lead the client back");
    for name in ["a", "b", "c"] {
        pods.create(name, "web");
    }
    watch.expect(["ADDED c 4 0", "BOOKMARK 4"]).await;
}

#[tokio::test(start_paused = true)]
async fn semantic_6_a_watch_after_a_compacted_revision_is_an_expired_error() {
    let pods = Pods::new();
    pods.create("a", "web");
    let b = pods.create("b", "web");
    pods.0.compact(revision(b)).await.unwrap();
    let mut watch = pods.watch(Start::After(revision(2)), |_| {});
    let expected = r#"ERROR {"apiVersion":"v1","code":410,"kind":"Status","message":"too old resource version: 2 (3)","metadata":{},"reason":"Expired","status":"Failure"}"#;
    watch.expect([expected, "end"]).await;
}

#[tokio::test(start_paused = true)]
async fn semantic_6_a_watch_that_is_not_read_is_cut_off() {
    let pods = Pods(Arc::new(Memory::new(HistoryLimits::default().events(5))));
    let mut revision = pods.create("a", "web");
    let mut watch = pods.watch(Start::Initial(None), |_| {});
    watch.expect(["ADDED a 2 0"]).await;
    for number in 1..=6 {
        revision = pods.update("a", revision, "web", number);
    }
    let error = watch.next().await;
    assert!(
        error.starts_with("ERROR") && error.contains("too old resource version: 2 (3)"),
        "{error}"
    );
    assert_eq!(watch.next().await, "end");
}

#[tokio::test(start_paused = true)]
async fn semantic_7_bookmarks_are_sent_each_minute_and_before_the_end() {
    let pods = Pods::new();
    let begin = Instant::now();
    let seconds = || (Instant::now() - begin).as_secs();
    let mut watch = pods.watch(Start::After(Revision::FIRST), |request| {
        with_bookmarks(request);
        request.timeout = Some(Duration::from_secs(150));
    });
    watch.expect(["BOOKMARK 1"]).await;
    assert_eq!(seconds(), 60);
    // Writes of other resources advance the bookmark.
    pods.create_service("s");
    watch.expect(["BOOKMARK 2"]).await;
    assert_eq!(seconds(), 120);
    watch.expect(["BOOKMARK 2"]).await;
    assert_eq!(seconds(), 148);
    watch.expect(["end"]).await;
    assert_eq!(seconds(), 150);
}

#[tokio::test(start_paused = true)]
async fn semantic_7_without_bookmarks_a_watch_only_ends() {
    let pods = Pods::new();
    let begin = Instant::now();
    let mut watch = pods.watch(Start::Initial(None), |request| {
        request.timeout = Some(Duration::from_secs(150))
    });
    watch.expect(["end"]).await;
    assert_eq!((Instant::now() - begin).as_secs(), 150);
}

#[tokio::test(start_paused = true)]
async fn semantic_7_a_watch_ends_in_time_although_initial_events_wait() {
    let pods = Pods::new();
    pods.create("a", "web");
    pods.create("b", "web");
    let mut watch = pods.watch(Start::Initial(None), |request| {
        request.timeout = Some(Duration::from_secs(10))
    });
    watch.expect(["ADDED a 2 0"]).await;
    tokio::time::advance(Duration::from_secs(11)).await;
    watch.expect(["end"]).await;
}

#[tokio::test(start_paused = true)]
async fn semantic_7_a_bookmark_is_never_ahead_of_an_event() {
    let pods = Pods::new();
    let mut watch = pods.watch(Start::After(Revision::FIRST), with_bookmarks);
    assert!(watch.is_silent());
    pods.create_service("s");
    pods.create("a", "web");
    pods.create_service("t");
    // The bookmark is due while the event waits.
    tokio::time::advance(Duration::from_secs(61)).await;
    watch
        .expect(["BOOKMARK 2", "ADDED a 3 0", "BOOKMARK 4"])
        .await;
}

#[tokio::test(start_paused = true)]
async fn semantic_7_a_bookmark_passes_events_that_are_not_selected() {
    let pods = Pods::new();
    let mut watch = pods.watch(Start::Initial(None), |request| {
        with_bookmarks(request);
        only_web(request);
    });
    watch
        .expect([r#"BOOKMARK 1 {"k8s.io/initial-events-end":"true"}"#])
        .await;
    pods.create("a", "db");
    watch.expect(["BOOKMARK 2"]).await;
}

#[tokio::test(start_paused = true)]
async fn semantic_7_a_stream_of_events_delays_neither_bookmarks_nor_the_end() {
    let pods = Pods::new();
    let mut revision = pods.create("a", "web");
    let mut watch = pods.watch(Start::Now, |request| {
        with_bookmarks(request);
        request.timeout = Some(Duration::from_secs(90));
    });
    assert!(watch.is_silent());
    let (mut bookmarks, mut number) = (0, 0);
    loop {
        for _ in 0..3 {
            number += 1;
            revision = pods.update("a", revision, "web", number);
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        let event = watch.next().await;
        bookmarks += i32::from(event.starts_with("BOOKMARK"));
        if event == "end" {
            break;
        }
    }
    assert_eq!((bookmarks, number), (2, 90 * 3));
}

#[tokio::test(start_paused = true)]
async fn semantic_8_a_selector_looks_at_the_old_and_the_new_object() {
    let pods = Pods::new();
    let mut watch = pods.watch(Start::Initial(None), only_web);
    assert!(watch.is_silent());
    let a = pods.create("a", "db");
    let a = pods.update("a", a, "web", 1);
    let a = pods.update("a", a, "web", 2);
    let a = pods.update("a", a, "db", 3);
    let a = pods.update("a", a, "db", 4);
    let a = pods.update("a", a, "web", 5);
    pods.delete("a", a);
    let b = pods.create("b", "db");
    pods.delete("b", b);
    // Leaving has the old state and the new revision.
    watch
        .expect([
            "ADDED a 3 1",
            "MODIFIED a 4 2",
            "DELETED a 5 2",
            "ADDED a 7 5",
            "DELETED a 8 5",
        ])
        .await;
    assert!(watch.is_silent());
}

#[tokio::test(start_paused = true)]
async fn semantic_8_initial_events_are_selected() {
    let pods = Pods::new();
    for (name, app) in [("a", "web"), ("b", "db"), ("c", "web")] {
        pods.create(name, app);
    }
    let mut watch = pods.watch(Start::Initial(None), only_web);
    watch.expect(["ADDED a 2 0", "ADDED c 4 0"]).await;
    assert!(watch.is_silent());
}

#[tokio::test(start_paused = true)]
async fn semantic_9_deleted_has_the_last_state_and_the_revision_of_the_deletion() {
    let pods = Pods::new();
    let mut watch = pods.watch(Start::Now, |_| {});
    assert!(watch.is_silent());
    let a = pods.create("a", "web");
    let a = pods.update("a", a, "web", 1);
    pods.create_service("s");
    pods.delete("a", a);
    watch
        .expect(["ADDED a 2 0", "MODIFIED a 3 1", "DELETED a 5 1"])
        .await;
}

#[tokio::test(start_paused = true)]
async fn fact_6_initial_events_end_with_a_bookmark() {
    let pods = Pods::new();
    pods.create("a", "web");
    pods.create("b", "web");
    let mut watch = pods.watch(Start::Initial(None), with_bookmarks);
    let end = r#"BOOKMARK 3 {"k8s.io/initial-events-end":"true"}"#;
    watch.expect(["ADDED a 2 0", "ADDED b 3 0", end]).await;
    pods.create("c", "web");
    // Later bookmarks do not have the annotation.
    watch.expect(["ADDED c 4 0", "BOOKMARK 4"]).await;
}

#[tokio::test(start_paused = true)]
async fn fact_6_an_empty_collection_has_the_bookmark_too() {
    let mut watch = Pods::new().watch(Start::Initial(Some(Revision::FIRST)), with_bookmarks);
    watch
        .expect([r#"BOOKMARK 1 {"k8s.io/initial-events-end":"true"}"#])
        .await;
}

#[tokio::test(start_paused = true)]
async fn fact_6_initial_events_of_many_pages_are_one_state() {
    let pods = Pods::new();
    let count = PAGE * 2 + 10;
    for n in 0..count {
        pods.create(&format!("p{n:04}"), "web");
    }
    let mut watch = pods.watch(Start::Initial(None), with_bookmarks);
    assert_eq!(watch.next().await, "ADDED p0000 2 0");
    // These writes are after the state.
    let last = pods.create("p9999", "web");
    pods.update("p1005", 1007, "web", 1);
    for n in 1..count {
        assert_eq!(watch.next().await, format!("ADDED p{n:04} {} 0", n + 2));
    }
    let bookmark = format!(
        r#"BOOKMARK {} {{"k8s.io/initial-events-end":"true"}}"#,
        last - 1
    );
    assert_eq!(watch.next().await, bookmark);
    assert_eq!(watch.next().await, format!("ADDED p9999 {last} 0"));
    assert_eq!(watch.next().await, format!("MODIFIED p1005 {} 1", last + 1));
}

#[tokio::test(start_paused = true)]
async fn fact_6_initial_events_are_not_older_than_the_revision() {
    let pods = Pods::new();
    pods.create("a", "web");
    let mut watch = pods.watch(Start::Initial(Some(revision(4))), with_bookmarks);
    assert!(watch.is_silent());
    tokio::time::advance(Duration::from_secs(1)).await;
    pods.create_service("s");
    assert!(watch.is_silent());
    pods.create("b", "web");
    let end = r#"BOOKMARK 4 {"k8s.io/initial-events-end":"true"}"#;
    watch.expect(["ADDED a 2 0", "ADDED b 4 0", end]).await;
}

#[tokio::test(start_paused = true)]
async fn fact_6_a_revision_that_is_not_reached_is_a_timeout() {
    let pods = Pods::new();
    pods.create("a", "web");
    let begin = Instant::now();
    let mut watch = pods.watch(Start::Initial(Some(revision(100))), with_bookmarks);
    let error = watch.next().await;
    assert_eq!((Instant::now() - begin).as_secs(), 3);
    let expected = r#"ERROR {"apiVersion":"v1","code":504,"details":{"causes":[{"message":"Too large resource version","reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1},"kind":"Status","message":"Timeout: Too large resource version: 100, current: 2","metadata":{},"reason":"Timeout","status":"Failure"}"#;
    assert_eq!(error, expected);
    assert_eq!(watch.next().await, "end");
}

#[tokio::test(start_paused = true)]
async fn a_closed_store_ends_watches_without_an_error() {
    let pods = Pods::new();
    let mut watch = pods.watch(Start::Now, |_| {});
    assert!(watch.is_silent());
    pods.0.close().await.unwrap();
    watch.expect(["end"]).await;
}

#[tokio::test(start_paused = true)]
async fn dropping_a_watch_frees_it() {
    let pods = Pods::new();
    let mut watch = pods.watch(Start::Now, |_| {});
    assert!(watch.is_silent());
    assert_eq!(pods.0.stats().watches, 1);
    drop(watch);
    assert_eq!(pods.0.stats().watches, 0);
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_one_object_has_only_its_events() {
    let pods = Pods::new();
    let mut watch = pods.watch(Start::Initial(None), |request| {
        request.prefix = Prefix::object(&key("a"))
    });
    assert!(watch.is_silent());
    pods.create("aa", "web");
    pods.create("a", "web");
    watch.expect(["ADDED a 3 0"]).await;
    assert!(watch.is_silent());
}
