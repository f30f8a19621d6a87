//! Answers of a server while its store fails and afterwards.

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
use crate::common::{CONFIG_MAPS, Client, config_map};
use fieldmanager_apiserver::store::{Key, Store as _, StoreError};
use fieldmanager_apiserver::{ApiServer, Collection};
use serde_json::{Value as Json, json};

const NAMESPACES: &str = "/api/v1/namespaces";

async fn client(collection: Collection) -> (Arc<Failing>, Client) {
    let store = Arc::new(Failing::default());
    let server = ApiServer::builder()
        .store(store.clone())
        .collection(collection)
        .build()
        .await
        .unwrap();
    (store, Client { server })
}

fn full() -> StoreError {
    StoreError::Full("no space left on device".to_owned())
}

fn too_large() -> StoreError {
    let key = Key::new("", "configmaps", Some("default"), "a").unwrap();
    StoreError::TooLarge {
        key,
        size: 2_000_000,
        limit: 1_572_864,
    }
}

fn status(code: u16, reason: &str, message: &str) -> Json {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason, "code": code})
}

#[tokio::test]
async fn writes_that_the_store_cannot_keep_are_refused_and_reads_go_on() {
    let (store, client) = client(Collection::Stepped).await;
    let before = client.config_map("kept").await;
    for (error, answer) in [
        (
            full(),
            status(
                507,
                "InternalError",
                "the store is full: no space left on device",
            ),
        ),
        (
            too_large(),
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "etcdserver: request is too large", "code": 500}),
        ),
    ] {
        store.fail(Some(error));
        let code = u16::try_from(answer["code"].as_u64().unwrap()).unwrap();
        let kept = format!("{CONFIG_MAPS}/kept");
        let patch = json!({"data": {"color": "blue"}});
        for refused in [
            client.post(CONFIG_MAPS, &config_map("a")).await,
            client
                .put(&kept, &json!({"metadata": {"name": "kept"}}))
                .await,
            client.merge(&kept, &patch).await,
            client
                .apply(&format!("{kept}?force=true"), "alice", &config_map("kept"))
                .await,
            client.delete(&kept).await,
        ] {
            assert_eq!(refused.expect(code), answer);
        }
        assert_eq!(client.get(&kept).await.expect(200), before);
        assert_eq!(client.get(CONFIG_MAPS).await.code, 200);
        store.fail(None);
        assert_eq!(client.post(CONFIG_MAPS, &config_map("a")).await.code, 201);
        client.delete(&format!("{CONFIG_MAPS}/a")).await.expect(200);
    }
}

#[tokio::test]
async fn requests_to_a_store_that_is_unavailable_are_answered_with_503() {
    let (store, client) = client(Collection::Stepped).await;
    client.config_map("kept").await;
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion=1"))
        .await;
    assert!(watch.next().await.is_some_and(|(kind, _)| kind == "ADDED"));
    store.fail(Some(Failing::unavailable()));
    let answer = status(
        503,
        "ServiceUnavailable",
        "the store is unavailable: no leader",
    );
    let kept = format!("{CONFIG_MAPS}/kept");
    for refused in [
        client.post(CONFIG_MAPS, &config_map("a")).await,
        client.delete(&kept).await,
        client.get(&kept).await,
        client.get(CONFIG_MAPS).await,
    ] {
        assert_eq!(refused.expect(503), answer);
    }
    store.fail(None);
    client.post(CONFIG_MAPS, &config_map("a")).await.expect(201);
    assert_eq!(watch.names(1).await, ["ADDED a"]);
}

#[tokio::test]
async fn the_collector_goes_on_after_the_store_failed() {
    for error in [full(), Failing::unavailable()] {
        let (store, client) = client(Collection::On).await;
        client
            .post(NAMESPACES, &json!({"metadata": {"name": "team"}}))
            .await
            .expect(201);
        let owned = "/api/v1/namespaces/team/configmaps";
        for name in ["a", "b"] {
            client.post(owned, &config_map(name)).await.expect(201);
        }
        // The namespace becomes terminating, and the store fails before the collector has looked at it.
        client
            .delete(&format!("{NAMESPACES}/team"))
            .await
            .expect(200);
        store.fail(Some(error.clone()));
        tokio::time::sleep(Duration::from_millis(300)).await;
        let of_team = store
            .memory
            .snapshot()
            .unwrap()
            .entries()
            .filter(|entry| entry.key.parts().namespace == Some("team"))
            .count();
        assert!(of_team > 0);
        store.fail(None);
        let began = Instant::now();
        while client.get(&format!("{NAMESPACES}/team")).await.code != 404 {
            assert!(
                began.elapsed() < Duration::from_secs(100),
                "the namespace remains after: {error}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn a_stepped_collector_tries_again_what_the_store_refused() {
    let (store, client) = client(Collection::Stepped).await;
    let mut owned = config_map("owned");
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "1"}]);
    client.post(CONFIG_MAPS, &owned).await.expect(201);
    store.fail(Some(full()));
    let steps = client.server.collect().await.unwrap();
    assert_eq!(steps.len(), 1);
    assert_eq!(
        steps[0].refused.as_deref(),
        Some("the store is full: no space left on device")
    );
    store.fail(None);
    let steps = client.server.collect().await.unwrap();
    assert_eq!(
        steps.iter().map(|step| &step.refused).collect::<Vec<_>>(),
        [&None]
    );
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/owned")).await.code, 404);
}

#[tokio::test]
async fn the_collector_does_not_wait_for_writes_of_other_programs() {
    let store = Arc::new(Failing {
        foreign_writes: 1,
        ..Failing::default()
    });
    let builder = ApiServer::builder()
        .store(store)
        .collection(Collection::Stepped);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    client.server.collect().await.unwrap();
    client
        .post(NAMESPACES, &json!({"metadata": {"name": "team"}}))
        .await
        .expect(201);
    client
        .post("/api/v1/namespaces/team/configmaps", &config_map("a"))
        .await
        .expect(201);
    client
        .delete(&format!("{NAMESPACES}/team"))
        .await
        .expect(200);
    let steps = tokio::time::timeout(Duration::from_secs(100), client.server.collect()).await;
    assert!(!steps.expect("the collector waits").unwrap().is_empty());
    assert_eq!(client.get(&format!("{NAMESPACES}/team")).await.code, 404);
}
