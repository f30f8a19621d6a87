//! Times and memory of API servers in the same process; prints one JSON object. `benches/servers/run` sets them beside those
//! of other servers and of fakes.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "its output is read by a script"
)]

use std::time::{Duration, Instant};

use fieldmanager_apiserver::ApiServer;
use fieldmanager_apiserver::testing::TestServer;
use serde_json::{Value, json};

/// The number of objects that are created for one time.
const CREATES: usize = 5_000;
/// The number of objects that a forked or restored server has.
const STORED: usize = 10_000;
/// The number of servers at once.
const SERVERS: usize = 100;

fn config_map(at: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("a-{at}")}, "data": {"color": "red"}})
}

fn definition() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "shops", "kind": "Shop"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}})
}

async fn started() -> TestServer {
    let server = ApiServer::for_test().build().await.unwrap();
    server.get("v1", "Namespace", "default").await.unwrap();
    server
}

fn milliseconds(time: Duration) -> Value {
    json!(time.as_secs_f64() * 1e3)
}

/// The resident memory of this process in bytes.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // The first server of the process decompresses what kube-apiserver serves.
    let began = Instant::now();
    let server = started().await;
    let start = began.elapsed();

    let began = Instant::now();
    server.create(definition()).await.unwrap();
    let shop = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "spec": {"size": 1}});
    server.create(shop).await.unwrap();
    let custom = began.elapsed();

    let began = Instant::now();
    for at in 0..CREATES {
        server.create(config_map(at)).await.unwrap();
    }
    let creates = began.elapsed();
    let began = Instant::now();
    server.reset().await.unwrap();
    let reset = began.elapsed();

    for at in 0..STORED {
        server.create(config_map(at)).await.unwrap();
    }
    let snapshot = server.snapshot().await.unwrap();
    let began = Instant::now();
    let fork = server.fork().await.unwrap();
    let forked = began.elapsed();
    let began = Instant::now();
    fork.restore(&snapshot).await.unwrap();
    let restored = began.elapsed();
    drop((server, fork, snapshot));

    let before = resident();
    let began = Instant::now();
    let mut servers = Vec::new();
    for _ in 0..SERVERS {
        servers.push(started().await);
    }
    let another = began.elapsed() / u32::try_from(SERVERS).unwrap();
    let memory = resident().saturating_sub(before);
    let figures = json!({
        "start": milliseconds(start),
        "another": milliseconds(another),
        "custom": milliseconds(custom),
        "creates": milliseconds(creates),
        "reset": milliseconds(reset),
        "fork": milliseconds(forked),
        "restore": milliseconds(restored),
        "memory": memory,
    });
    println!("{figures}");
}
