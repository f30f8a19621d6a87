//! The store in etcd: the suite of every store, and several servers, failures and limits of etcd.
//!
//! The program is that of the variable `ETCD`, or `etcd` on the path.

mod contents;
mod outages;

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
