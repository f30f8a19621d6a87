//! Several server processes on one etcd, of which one is killed under load.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use fieldmanager_apiserver::ApiServer;
use fieldmanager_apiserver::net::Listening;
use fieldmanager_apiserver::store::HistoryLimits;
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, Config, ResourceExt};
use serde_json::json;

use crate::store::etcd::{Server, connect};

/// The address of etcd, for a process that serves.
const ETCD: &str = "FIELDMANAGER_TEST_ETCD";

/// The line that a process prints before its address.
const SERVING: &str = "serving ";

/// Serves until the process is killed, in a process that the test below starts; elsewhere it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_process() {
    let Ok(etcd) = std::env::var(ETCD) else {
        return;
    };
    let server = ApiServer::builder()
        .store(connect(&etcd, HistoryLimits::default()).await)
        .build()
        .await
        .unwrap();
    let listening = Listening::bind("127.0.0.1:0".parse().unwrap(), None)
        .await
        .unwrap();
    writeln!(std::io::stdout(), "\n{SERVING}{}", listening.address()).unwrap();
    listening.run(server, std::future::pending()).await.unwrap();
}

/// A process that runs `server_process`, and is killed when this is dropped.
struct Process {
    child: Child,
    address: String,
}

impl Process {
    fn start(etcd: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "store::etcd_processes::server_process",
                "--nocapture",
            ])
            .env(ETCD, etcd)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| line.unwrap().strip_prefix(SERVING).map(str::to_owned));
        Process {
            child,
            address: address.expect("the process ended before it served"),
        }
    }

    fn maps(&self) -> Api<ConfigMap> {
        let client = Client::try_from(Config::new(
            format!("http://{}", self.address).parse().unwrap(),
        ));
        Api::namespaced(client.unwrap(), "default")
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn number(map: &ConfigMap) -> i64 {
    map.data
        .as_ref()
        .map_or(0, |data| data["number"].parse().unwrap())
}

/// Adds one to the number of a ConfigMap, and begins again after a conflict.
async fn increment(maps: &Api<ConfigMap>, name: &str) -> kube::Result<()> {
    loop {
        let mut map = maps.get(name).await?;
        map.data = Some(BTreeMap::from([(
            "number".to_owned(),
            (number(&map) + 1).to_string(),
        )]));
        match maps.replace(name, &PostParams::default(), &map).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(error),
        }
    }
}

const WRITERS: usize = 16;
const ROUNDS: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_process_that_is_killed_takes_no_acknowledged_write_with_it() {
    let etcd = Server::start(&[]);
    let (mut killed, surviving) = (Process::start(&etcd.client), Process::start(&etcd.client));
    let maps = surviving.maps();
    let names: Vec<String> = (0..4).map(|n| format!("x-{n}")).collect();
    for name in &names {
        let map =
            serde_json::from_value(json!({"metadata": {"name": name}, "data": {"number": "0"}}));
        maps.create(&PostParams::default(), &map.unwrap())
            .await
            .unwrap();
    }
    let begin = maps
        .list(&ListParams::default())
        .await
        .unwrap()
        .metadata
        .resource_version
        .unwrap();
    let watching = maps.clone();
    let (newest, mut wanted) = tokio::sync::watch::channel(None::<BTreeMap<String, i64>>);
    let watcher = tokio::spawn(async move {
        let mut seen: BTreeMap<String, i64> = BTreeMap::new();
        let mut events = Box::pin(
            watching
                .watch(&WatchParams::default().disable_bookmarks(), &begin)
                .await
                .unwrap(),
        );
        while wanted.borrow().as_ref() != Some(&seen) {
            tokio::select! {
                event = events.next() => match event.unwrap().unwrap() {
                    WatchEvent::Modified(map) => {
                        let before = seen.insert(map.name_any(), number(&map)).unwrap_or_default();
                        assert_eq!(number(&map), before + 1, "{}", map.name_any());
                    }
                    other => panic!("{other:?}"),
                },
                changed = wanted.changed() => changed.unwrap(),
            }
        }
    });

    let acknowledged = Arc::new(AtomicI64::new(0));
    let load = |process: &Process, rounds: usize| -> Vec<_> {
        let maps = process.maps();
        let writer = |n: usize| {
            let (maps, names, acknowledged) = (maps.clone(), names.clone(), acknowledged.clone());
            tokio::spawn(async move {
                for round in 0..rounds {
                    increment(&maps, &names[(n + round) % names.len()]).await?;
                    acknowledged.fetch_add(1, Ordering::SeqCst);
                }
                Ok::<(), kube::Error>(())
            })
        };
        (0..WRITERS).map(writer).collect()
    };
    let lost = load(&killed, usize::MAX);
    let begun = async {
        while acknowledged.load(Ordering::SeqCst) < 50 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(100), begun)
        .await
        .expect("no write was acknowledged");
    let kept = load(&surviving, ROUNDS);
    tokio::time::sleep(Duration::from_millis(200)).await;
    killed.kill();
    for writer in lost {
        assert!(writer.await.unwrap().is_err());
    }
    for writer in kept {
        writer.await.unwrap().unwrap();
    }

    let list = maps.list(&ListParams::default()).await.unwrap();
    let numbers: BTreeMap<String, i64> = list
        .iter()
        .map(|map| (map.name_any(), number(map)))
        .collect();
    let (stored, acknowledged) = (
        numbers.values().sum::<i64>(),
        acknowledged.load(Ordering::SeqCst),
    );
    // A write of the killed server may have been made without its answer: one of each of its clients.
    let possible = acknowledged..=acknowledged + i64::try_from(WRITERS).unwrap();
    assert!(
        possible.contains(&stored),
        "{stored} writes, {acknowledged} acknowledged"
    );
    // The watch of the other server has every write once, in order.
    newest.send(Some(numbers)).unwrap();
    tokio::time::timeout(Duration::from_secs(100), watcher)
        .await
        .expect("the watch lacks writes")
        .unwrap();
    // A server in place of the killed one serves the same objects.
    let begun = Process::start(&etcd.client)
        .maps()
        .list(&ListParams::default())
        .await
        .unwrap();
    assert_eq!(begun.items, list.items);
}
