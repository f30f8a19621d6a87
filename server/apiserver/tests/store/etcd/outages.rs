//! An etcd that ends, is compacted or cannot be reached.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fieldmanager_apiserver::store::{HistoryLimits, List, Prefix, Store, StoreError, Write};
use fieldmanager_apiserver::{ApiServer, Collection};
use futures::StreamExt;

use super::{Server, ask_until, connect, events_until, increment};
use crate::common::Client;
use crate::store::{number, object, pod};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_watch_continues_after_etcd_was_killed() {
    let etcd = Server::start(&[]);
    let (one, other) = (
        etcd.connect(HistoryLimits::default()).await,
        etcd.connect(HistoryLimits::default()).await,
    );
    let key = pod("a", "x");
    let begin = increment(&one, &key).await;
    let mut watch = one.watch(Prefix::all(), begin).await.unwrap();
    etcd.kill();
    let error = one
        .write(&pod("a", "y"), Write::Create(object(1)))
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    etcd.resume();
    // A write that failed can be made again as soon as etcd answers.
    let started = Instant::now();
    let last = loop {
        match other.write(&pod("a", "z"), Write::Create(object(7))).await {
            Ok(revision) => break revision,
            Err(StoreError::Conflict { current, .. }) => break current.unwrap().revision,
            Err(error) => assert!(started.elapsed() < Duration::from_secs(100), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let event = tokio::time::timeout(Duration::from_secs(100), watch.next())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!((event.revision, event.key.clone()), (last, pod("a", "z")));
    assert_eq!(events_until(other.as_ref(), begin, last).await, [event]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_watch_ends_if_etcd_was_compacted_while_it_could_not_be_reached() {
    let etcd = Server::start(&[]);
    let store = etcd.connect(HistoryLimits::default()).await;
    let begin = increment(&store, &pod("a", "x")).await;
    let mut watch = store.watch(Prefix::all(), begin).await.unwrap();
    let gate = Gate::start(&etcd.client);
    let behind = connect(&gate.address, HistoryLimits::default()).await;
    let mut cut_off = behind.watch(Prefix::all(), begin).await.unwrap();
    gate.close();
    let mut last = begin;
    for _ in 0..10 {
        last = increment(&store, &pod("a", "x")).await;
    }
    store.compact(last).await.unwrap();
    gate.open();
    let ended = tokio::time::timeout(Duration::from_secs(100), cut_off.next())
        .await
        .unwrap();
    assert!(
        matches!(ended, Some(Err(StoreError::Compacted { .. }))),
        "{ended:?}"
    );
    assert_eq!(
        number(
            &behind
                .get(&pod("a", "x"), None)
                .await
                .unwrap()
                .entry
                .unwrap()
                .object
        ),
        11
    );
    // A new watch continues from a list.
    let page = behind.list(List::new(Prefix::all())).await.unwrap();
    let next = increment(&store, &pod("a", "x")).await;
    assert_eq!(
        events_until(behind.as_ref(), page.revision, next)
            .await
            .len(),
        1
    );
    // The other server was compacted too.
    let ended = watch.next().await;
    assert!(
        matches!(ended, Some(Err(StoreError::Compacted { .. }))),
        "{ended:?}"
    );
}

/// A proxy of connections that can be cut.
struct Gate {
    address: String,
    is_open: Arc<tokio::sync::watch::Sender<bool>>,
}

impl Gate {
    fn start(to: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let is_open = Arc::new(tokio::sync::watch::Sender::new(true));
        let (state, to) = (is_open.clone(), to.to_owned());
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let mut state = state.subscribe();
                if !*state.borrow_and_update() {
                    continue;
                }
                let to = to.clone();
                tokio::spawn(async move {
                    let mut onward = tokio::net::TcpStream::connect(to).await.unwrap();
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut connection, &mut onward) => {}
                        _ = state.changed() => {}
                    }
                });
            }
        });
        Gate { address, is_open }
    }

    fn close(&self) {
        self.is_open.send_replace(false);
    }

    fn open(&self) {
        self.is_open.send_replace(true);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_are_answered_with_503_until_etcd_runs_again() {
    let etcd = Server::start(&[]);
    let store = etcd.connect(HistoryLimits::default()).await;
    let server = ApiServer::builder()
        .store(store)
        .collection(Collection::Stepped)
        .build()
        .await
        .unwrap();
    let client = Client { server };
    let path = "/api/v1/namespaces/default/configmaps";
    let config_map = |name: &str| serde_json::json!({"metadata": {"name": name}});
    let created = client.post(path, &config_map("a")).await.expect(201);
    let revision = created["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut watch = client
        .watch(&format!("{path}?watch=1&resourceVersion={revision}"))
        .await;
    etcd.kill();
    let refused = client.post(path, &config_map("b")).await.expect(503);
    assert_eq!(
        (&refused["kind"], &refused["reason"]),
        (&"Status".into(), &"ServiceUnavailable".into())
    );
    etcd.resume();
    let started = Instant::now();
    loop {
        let answer = client.post(path, &config_map("c")).await;
        if answer.code == 201 {
            break;
        }
        assert!(
            answer.code == 503 && started.elapsed() < Duration::from_secs(100),
            "{answer:?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(watch.names(1).await, ["ADDED c"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_namespace_that_ends_while_etcd_is_restarted_is_removed() {
    let etcd = Server::start(&[]);
    let store = etcd.connect(HistoryLimits::default()).await;
    let client = Client {
        server: ApiServer::builder().store(store).build().await.unwrap(),
    };
    let namespaces = "/api/v1/namespaces";
    let named = |name: &str| serde_json::json!({"metadata": {"name": name}});
    client.post(namespaces, &named("team")).await.expect(201);
    for number in 0..20 {
        let path = format!("{namespaces}/team/configmaps");
        client
            .post(&path, &named(&format!("a-{number}")))
            .await
            .expect(201);
    }
    client
        .delete(&format!("{namespaces}/team"))
        .await
        .expect(200);
    etcd.kill();
    tokio::time::sleep(Duration::from_millis(300)).await;
    etcd.resume();
    ask_until(&client, &format!("{namespaces}/team"), 404).await;
}
