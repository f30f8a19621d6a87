//! The store in etcd: the suite of every store, and several servers, failures and limits of etcd.
//!
//! The program is that of the variable `ETCD`, or `etcd` on the path.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fieldmanager_apiserver::store::{
    Etcd, EtcdTls, Event, HistoryLimits, Key, List, Prefix, Revision, SharedStore, Store,
    StoreError, Write,
};
use fieldmanager_apiserver::{ApiServer, Collection};
use fieldmanager_value::Value;
use futures::StreamExt;

use crate::common::Client;
use crate::store::{number, object, pod};

/// A running etcd, which is killed when this is dropped.
pub(crate) struct Server {
    process: Mutex<Option<Child>>,
    folder: tempfile::TempDir,
    pub(crate) client: String,
    peer: String,
    options: Vec<String>,
}

impl Server {
    pub(crate) fn start(options: &[&str]) -> Self {
        let folder = match std::path::Path::new("/dev/shm") {
            memory if memory.is_dir() => tempfile::tempdir_in(memory),
            _ => tempfile::tempdir(),
        };
        let server = Server {
            process: Mutex::new(None),
            folder: folder.unwrap(),
            client: free_address(),
            peer: free_address(),
            options: options.iter().map(ToString::to_string).collect(),
        };
        server.resume();
        server
    }

    /// Starts the process, with the data that it had.
    fn resume(&self) {
        let has_tls = self.options.iter().any(|option| option == "--cert-file");
        let scheme = if has_tls { "https" } else { "http" };
        let (client, peer) = (
            format!("{scheme}://{}", self.client),
            format!("http://{}", self.peer),
        );
        let program = std::env::var("ETCD").unwrap_or_else(|_| "etcd".to_owned());
        let mut process = Command::new(&program)
            .args([
                "--data-dir",
                self.folder.path().to_str().unwrap(),
                "--log-level",
                "error",
                "--logger",
                "zap",
            ])
            .args([
                "--listen-client-urls",
                &client,
                "--advertise-client-urls",
                &client,
            ])
            .args([
                "--listen-peer-urls",
                &peer,
                "--initial-advertise-peer-urls",
                &peer,
            ])
            .args(["--initial-cluster", &format!("default={peer}")])
            .args(&self.options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("{program}: {error}; it is in Debian's package etcd-server")
            });
        let started = Instant::now();
        while std::net::TcpStream::connect(&self.client).is_err() {
            assert!(process.try_wait().unwrap().is_none(), "etcd ended");
            assert!(
                started.elapsed() < Duration::from_secs(100),
                "etcd does not listen"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        *self.process.lock().unwrap() = Some(process);
    }

    fn kill(&self) {
        if let Some(mut process) = self.process.lock().unwrap().take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    async fn connect(&self, limits: HistoryLimits) -> Arc<Etcd> {
        connect(&self.client, limits).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) async fn connect(address: &str, limits: HistoryLimits) -> Arc<Etcd> {
    Arc::new(
        Etcd::connect(&[format!("http://{address}")], &EtcdTls::default(), limits)
            .await
            .unwrap(),
    )
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string()
}

async fn in_etcd() -> (SharedStore, Server) {
    let server = Server::start(&[]);
    (server.connect(HistoryLimits::default()).await, server)
}

crate::store::suite::tests!(suite, crate::store::etcd::in_etcd);

crate::store::ends::tests!(ends, crate::store::etcd::in_etcd, 2_000);

thread_local! {
    /// One etcd for all cases of the model, which run one after the other. It ends with the thread of the test.
    static SHARED: Server = Server::start(&[]);
}

async fn emptied() -> SharedStore {
    let address = SHARED.with(|server| server.client.clone());
    let store = connect(&address, HistoryLimits::default()).await;
    for entry in store.list(List::new(Prefix::all())).await.unwrap().entries {
        store
            .write(
                &entry.key,
                Write::Delete {
                    expected: entry.revision,
                },
            )
            .await
            .unwrap();
    }
    // The history of a new store begins now.
    connect(&address, HistoryLimits::default()).await
}

crate::store::model::tests!(
    model,
    proptest::prelude::Just(usize::MAX),
    async |_: usize| { crate::store::etcd::emptied().await }
);

/// Adds one to the number of an object, and begins again after a conflict.
async fn increment(store: &Etcd, key: &Key) -> Revision {
    loop {
        let read = store.get(key, None).await.unwrap();
        let write = match &read.entry {
            Some(entry) => Write::Update {
                expected: entry.revision,
                object: object(number(&entry.object) + 1),
            },
            None => Write::Create(object(1)),
        };
        match store.write(key, write).await {
            Ok(revision) => return revision,
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Reads the events of a watch until it has read a revision.
async fn events_until(store: &dyn Store, after: Revision, last: Revision) -> Vec<Event> {
    let mut watch = store.watch(Prefix::all(), after).await.unwrap();
    let mut events = Vec::new();
    while events
        .last()
        .is_none_or(|event: &Event| event.revision < last)
    {
        let next = tokio::time::timeout(Duration::from_secs(100), watch.next())
            .await
            .expect("no event");
        events.push(next.unwrap().unwrap());
    }
    events
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_share_an_etcd_lose_no_update_and_see_one_order() {
    for count in [2, 3] {
        share_an_etcd(count).await;
    }
}

/// 32 writers and 20 watchers of `count` servers on one etcd.
async fn share_an_etcd(count: usize) {
    let etcd = Server::start(&[]);
    let mut servers = Vec::new();
    for _ in 0..count {
        servers.push(etcd.connect(HistoryLimits::default()).await);
    }
    let begin = servers[0].revision().await.unwrap();
    let keys: Vec<Key> = (0..4).map(|n| pod("a", &format!("x-{n}"))).collect();
    // 20 watchers that read all the time.
    let done = Arc::new(AtomicBool::new(false));
    let watchers: Vec<_> = (0..20)
        .map(|n| {
            let (server, done) = (servers[n % count].clone(), done.clone());
            tokio::spawn(async move {
                let mut watch = server.watch(Prefix::all(), begin).await.unwrap();
                let mut events = Vec::new();
                loop {
                    match tokio::time::timeout(Duration::from_millis(200), watch.next()).await {
                        Ok(next) => events.push(next.unwrap().unwrap()),
                        Err(_) if done.load(Ordering::SeqCst) => return events,
                        Err(_) => {}
                    }
                }
            })
        })
        .collect();
    let writers: Vec<_> = (0..32)
        .map(|n| {
            let (server, keys) = (servers[n % count].clone(), keys.clone());
            tokio::spawn(async move {
                for round in 0..15 {
                    increment(&server, &keys[(n + round) % 4]).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    done.store(true, Ordering::SeqCst);
    let mut numbers = 0;
    for key in &keys {
        numbers += number(
            &servers[1]
                .get(key, None)
                .await
                .unwrap()
                .entry
                .unwrap()
                .object,
        );
    }
    assert_eq!(numbers, 32 * 15);
    let mut first: Option<Vec<Event>> = None;
    for watcher in watchers {
        let events = watcher.await.unwrap();
        assert_eq!(events.len(), 32 * 15);
        assert!(
            events
                .windows(2)
                .all(|pair| pair[0].revision < pair[1].revision)
        );
        assert_eq!(first.get_or_insert_with(|| events.clone()), &events);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_is_reached_over_tls_with_certificates_of_both_sides() {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        (
            params.signed_by(&key, &authority).unwrap().pem(),
            key.serialize_pem(),
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (certificate, key) = signed("127.0.0.1");
    let etcd = Server::start(&[
        "--cert-file",
        &file("cert", &certificate),
        "--key-file",
        &file("key", &key),
        "--trusted-ca-file",
        &file("authority", &authority.pem()),
        "--client-cert-auth",
    ]);
    let urls = [format!("https://{}", etcd.client)];
    let mut tls = EtcdTls::default();
    tls.authority = Some(authority.pem().into_bytes());
    let refused = Etcd::connect(&urls, &tls, HistoryLimits::default())
        .await
        .unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused}");
    let (certificate, key) = signed("client");
    tls.identity = Some((certificate.into_bytes(), key.into_bytes()));
    let store = Etcd::connect(&urls, &tls, HistoryLimits::default())
        .await
        .unwrap();
    increment(&store, &pod("a", "x")).await;
    assert_eq!(
        number(
            &store
                .get(&pod("a", "x"), None)
                .await
                .unwrap()
                .entry
                .unwrap()
                .object
        ),
        1
    );
    let stranger = Etcd::connect(&urls, &EtcdTls::default(), HistoryLimits::default())
        .await
        .unwrap_err();
    assert!(matches!(stranger, StoreError::Unavailable(_)), "{stranger}");
}

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_over_the_limit_of_etcd_is_refused() {
    let (store, _etcd) = in_etcd().await;
    let large = |bytes: usize| {
        Value::from_json(&format!(r#"{{"data": "{}"}}"#, "x".repeat(bytes))).unwrap()
    };
    for bytes in [1_600_000, 2_200_000] {
        let error = store
            .write(&pod("a", "x"), Write::Create(large(bytes)))
            .await
            .unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::TooLarge {
                    limit: 1_572_864,
                    ..
                }
            ),
            "{error}"
        );
    }
    store
        .write(&pod("a", "x"), Write::Create(large(1_000_000)))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_etcd_without_space_refuses_writes_and_is_read() {
    let etcd = Server::start(&["--quota-backend-bytes", "4194304"]);
    let store = etcd.connect(HistoryLimits::default()).await;
    let large = Value::from_json(&format!(r#"{{"data": "{}"}}"#, "x".repeat(500_000))).unwrap();
    let mut written = 0;
    let error = loop {
        match store
            .write(
                &pod("a", &format!("x-{written}")),
                Write::Create(large.clone()),
            )
            .await
        {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 100);
    };
    assert!(matches!(error, StoreError::Full(_)), "{error}");
    assert_eq!(
        store
            .list(List::new(Prefix::all()))
            .await
            .unwrap()
            .entries
            .len(),
        written
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_of_other_programs_are_no_objects() {
    let (store, etcd) = in_etcd().await;
    let mut client = etcd_client::Client::connect([format!("http://{}", etcd.client)], None)
        .await
        .unwrap();
    for (key, value) in [
        ("/registry/core/pods/a/x", &b"k8s\0\x0a\x01"[..]),
        ("/registry/leases/kube-system/apiserver", b"k8s\0"),
        ("/registry/core/pods/a", b"not JSON"),
        ("/elsewhere", b"{}"),
    ] {
        client.put(key, value, None).await.unwrap();
    }
    let revision = store
        .write(&pod("a", "y"), Write::Create(object(1)))
        .await
        .unwrap();
    let page = store.list(List::new(Prefix::all())).await.unwrap();
    assert_eq!(
        page.entries
            .iter()
            .map(|entry| &entry.key)
            .collect::<Vec<_>>(),
        [&pod("a", "y")]
    );
    let again = etcd.connect(HistoryLimits::default()).await;
    assert_eq!(again.stats().objects, 1);
    assert_eq!(store.get(&pod("a", "x"), None).await.unwrap().entry, None);
    let error = store
        .write(&pod("a", "x"), Write::Create(object(1)))
        .await
        .unwrap_err();
    let expected = "the store is unavailable: /registry/core/pods/a/x of etcd has a value that is no JSON object: another \
                    program wrote it";
    assert_eq!(error.to_string(), expected);
    // An event of another program is none of this store.
    client
        .put("/registry/core/pods/a/x", "k8s\0", None)
        .await
        .unwrap();
    let next = store
        .write(
            &pod("a", "y"),
            Write::Update {
                expected: revision,
                object: object(2),
            },
        )
        .await
        .unwrap();
    let mut watch = store.watch(Prefix::all(), revision).await.unwrap();
    assert_eq!(watch.next().await.unwrap().unwrap().revision, next);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_is_json_under_the_key_of_a_custom_resource() {
    let (store, etcd) = in_etcd().await;
    let key = Key::new("shop.example.com", "carts", Some("default"), "mine").unwrap();
    store.write(&key, Write::Create(object(5))).await.unwrap();
    let mut client = etcd_client::Client::connect([format!("http://{}", etcd.client)], None)
        .await
        .unwrap();
    let found = client
        .get("/registry/shop.example.com/carts/default/mine", None)
        .await
        .unwrap();
    let found: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(found.kvs()[0].value()).unwrap();
    assert_eq!(found["spec"]["number"], 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_another_program_changes_in_one_transaction_are_all_changed() {
    use etcd_client::{DeleteOptions, Txn, TxnOp};
    let (store, etcd) = in_etcd().await;
    let mut client = etcd_client::Client::connect([format!("http://{}", etcd.client)], None)
        .await
        .unwrap();
    let names = async || -> Vec<String> {
        let page = store.list(List::new(Prefix::all())).await.unwrap();
        page.entries
            .iter()
            .map(|entry| entry.key.parts().name.to_owned())
            .collect()
    };
    let ended = async |watch: &mut fieldmanager_apiserver::store::BoxWatch| {
        let next = tokio::time::timeout(Duration::from_secs(100), watch.next())
            .await
            .expect("no event");
        assert!(
            matches!(next, Some(Err(StoreError::Compacted { .. }))),
            "{next:?}"
        );
    };
    let mut revision = store.revision().await.unwrap();
    for name in ["x", "y", "z"] {
        revision = store
            .write(&pod("a", name), Write::Create(object(1)))
            .await
            .unwrap();
    }
    // One deletion of a range.
    let mut watch = store.watch(Prefix::all(), revision).await.unwrap();
    let options = DeleteOptions::new().with_prefix();
    client
        .delete("/registry/core/pods/a/", Some(options))
        .await
        .unwrap();
    ended(&mut watch).await;
    assert!(names().await.is_empty());
    // One transaction that writes.
    let mut watch = store
        .watch(Prefix::all(), store.revision().await.unwrap())
        .await
        .unwrap();
    let puts =
        ["v", "w"].map(|name| TxnOp::put(pod("a", name).as_str(), object(2).to_json(), None));
    client.txn(Txn::new().and_then(puts)).await.unwrap();
    ended(&mut watch).await;
    assert_eq!(names().await, ["v", "w"]);
    // One of other programs has no effect, and later events are those of single writes again.
    let revision = store.revision().await.unwrap();
    let puts = ["a", "b"].map(|name| TxnOp::put(format!("/registry/leases/{name}"), "k8s", None));
    client.txn(Txn::new().and_then(puts)).await.unwrap();
    let last = store
        .write(&pod("a", "x"), Write::Create(object(3)))
        .await
        .unwrap();
    assert_eq!(events_until(store.as_ref(), revision, last).await.len(), 1);
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

/// Asks until an answer has a code.
async fn ask_until(client: &Client, path: &str, code: u16) {
    let started = Instant::now();
    loop {
        let answer = client.get(path).await;
        if answer.code == code {
            return;
        }
        assert!(
            started.elapsed() < Duration::from_secs(100),
            "{path}: {answer:?}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn definitions_of_one_server_are_served_by_another() {
    let etcd = Server::start(&[]);
    let mut servers = Vec::new();
    for _ in 0..2 {
        let store = etcd.connect(HistoryLimits::default()).await;
        let server = ApiServer::builder()
            .store(store)
            .collection(Collection::Stepped)
            .build()
            .await;
        servers.push(Client {
            server: server.unwrap(),
        });
    }
    let definition = serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "carts.shop.example.com"},
        "spec": {
            "group": "shop.example.com", "scope": "Namespaced", "names": {"plural": "carts", "kind": "Cart"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    servers[0].post(definitions, &definition).await.expect(201);
    let carts = "/apis/shop.example.com/v1/namespaces/default/carts";
    ask_until(&servers[1], carts, 200).await;
    let cart = serde_json::json!({"apiVersion": "shop.example.com/v1", "kind": "Cart", "metadata": {"name": "a"}});
    let made = servers[1].post(carts, &cart).await.expect(201);
    assert_eq!(
        servers[0].get(&format!("{carts}/a")).await.expect(200),
        made
    );
    servers[1]
        .delete(&format!("{definitions}/carts.shop.example.com"))
        .await;
    ask_until(&servers[0], carts, 404).await;
}
