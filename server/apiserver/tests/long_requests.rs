//! Requests that take long: they have a deadline, and others do not wait for them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::failing::Failing;
use crate::common::{CONFIG_MAPS, CRDS, Client, SHOPS, config_map, shop, shops};
use fieldmanager_apiserver::{ApiServer, Collection, Limits};
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};
use tokio::task::JoinSet;

/// A list that takes until its deadline.
const ENDLESS: &str = "/api/v1/secrets?labelSelector=a";

/// The longest wait for an answer while others take long.
const SOON: Duration = Duration::from_millis(100);

async fn client(deadline: Duration) -> Client {
    let mut limits = Limits::default();
    limits.request_deadline = deadline;
    let store = Failing {
        endless: "secrets",
        ..Failing::default()
    };
    let builder = ApiServer::builder()
        .store(Arc::new(store))
        .limits(limits)
        .collection(Collection::Stepped);
    Client {
        server: builder.build().await.unwrap(),
    }
}

fn timed_out() -> Json {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "details": {},
        "message": "Timeout: request did not complete within requested timeout - context deadline exceeded",
        "reason": "Timeout", "code": 504})
}

/// Begins eight requests that never end.
async fn begin_eight(client: &Client) -> JoinSet<Json> {
    let mut running = JoinSet::new();
    for _ in 0..8 {
        let client = client.clone();
        running.spawn(async move { client.get(ENDLESS).await.expect(504) });
    }
    // Each of them has begun.
    tokio::task::yield_now().await;
    running
}

async fn others_do_not_wait() {
    let client = client(Duration::from_secs(3600)).await;
    client.config_map("a").await;
    let mut running = begin_eight(&client).await;

    // The machine may have other work, so this is tried some times.
    let mut rounds = Vec::new();
    for _ in 0..20 {
        let mut longest = Duration::ZERO;
        for path in [
            "/healthz",
            "/api/v1/namespaces/default",
            &format!("{CONFIG_MAPS}/a"),
            CONFIG_MAPS,
        ] {
            let began = Instant::now();
            assert_eq!(client.get(path).await.code, 200, "{path}");
            longest = longest.max(began.elapsed());
        }
        rounds.push(longest);
        if longest <= SOON {
            break;
        }
    }
    assert!(rounds.iter().any(|longest| *longest <= SOON), "{rounds:?}");

    // Other requests that move to the pool are answered too.
    client.post(CONFIG_MAPS, &config_map("b")).await.expect(201);
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("corner")).await.expect(201);
    assert_eq!(
        client.get(&format!("{SHOPS}?labelSelector=a")).await.code,
        200
    );
    assert!(
        running.try_join_next().is_none(),
        "the eight requests still run"
    );

    client.server.stop().await;
    let ended = tokio::time::timeout(Duration::from_secs(60), running.join_all())
        .await
        .unwrap();
    assert!(
        ended.iter().all(|answer| *answer == timed_out()),
        "{ended:?}"
    );
}

#[tokio::test]
async fn requests_beside_eight_endless_ones_are_answered_on_one_thread() {
    others_do_not_wait().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_beside_eight_endless_ones_are_answered_on_two_threads() {
    others_do_not_wait().await;
}

#[tokio::test]
async fn a_request_is_answered_with_504_at_its_deadline() {
    let client = client(Duration::from_millis(50)).await;
    assert_eq!(client.get(ENDLESS).await.expect(504), timed_out());
    assert_eq!(client.get(CONFIG_MAPS).await.code, 200);

    // The answer is in the form that was asked for, as other refusals are.
    let accepts = [("accept", "application/yaml"), ("user-agent", "kubectl")];
    let answer = client.send("GET", ENDLESS, &accepts, "").await;
    assert_eq!(
        (answer.code, &answer.headers["content-type"]),
        (504, &"application/yaml".parse().unwrap())
    );
    assert!(
        answer.bytes.starts_with(b"apiVersion: v1\ncode: 504\n"),
        "{:?}",
        answer.bytes
    );
    let answer = client
        .send("GET", ENDLESS, &[("user-agent", "curl/8.0")], "")
        .await;
    assert!(answer.bytes.starts_with(b"{\n  \""), "{:?}", answer.bytes);
}

#[tokio::test]
async fn a_write_that_is_stopped_stores_nothing() {
    let mut limits = Limits::default();
    limits.request_deadline = Duration::from_millis(500);
    let builder = ApiServer::builder()
        .limits(limits)
        .collection(Collection::Stepped);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    let mut definition = shops();
    // Each item is checked against each part.
    let parts = vec![json!({"maximum": 7}); 20_000];
    let items = json!({"type": "array", "items": {"type": "integer", "allOf": parts}});
    let versions = definition["spec"]["versions"].as_array_mut().unwrap();
    versions.truncate(1);
    versions[0]["schema"]["openAPIV3Schema"]["properties"]["items"] = items;
    // A definition that the program loads has no deadline.
    client
        .server
        .load(&Value::from_json(&definition.to_string()).unwrap())
        .await
        .unwrap();
    let mut object = shop("corner");
    object["items"] = vec![7; 300_000].into();
    assert_eq!(client.post(SHOPS, &object).await.expect(504), timed_out());
    // The schema may still be compiled, which takes longer than the deadline.
    let mut answer = client.get(&format!("{SHOPS}/corner")).await;
    while answer.code == 504 {
        answer = client.get(&format!("{SHOPS}/corner")).await;
    }
    assert_eq!(answer.code, 404);
}

#[tokio::test]
async fn requests_of_clients_that_leave_are_stopped() {
    let client = client(Duration::from_secs(3600)).await;
    // More than there are threads.
    for _ in 0..100 {
        let left = tokio::time::timeout(Duration::from_millis(5), client.get(ENDLESS)).await;
        assert!(left.is_err());
    }
    assert_eq!(
        client
            .get(&format!("{CONFIG_MAPS}?labelSelector=a"))
            .await
            .code,
        200
    );
}
