//! Clients that leave or do not read, and servers that end between a write and its consequences.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::sync::Arc;
use std::time::Duration;

use crate::common::failing::Failing;
use crate::common::{CONFIG_MAPS, Client};
use bytes::Bytes;
use fieldmanager_apiserver::store::{Memory, Store};
use fieldmanager_apiserver::{ApiServer, Collection, Limits};
use http::Request;
use http_body::Body;
use http_body_util::Full;
use serde_json::{Value as Json, json};
use tower::ServiceExt;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SHOPS_DEFINITION: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shops.example.com";
const SHOPS: &str = "/apis/example.com/v1/namespaces/default/shops";

/// A store that makes its writes a moment after their requests.
fn slow(memory: &Arc<Memory>) -> Arc<Failing> {
    Arc::new(Failing {
        memory: memory.clone(),
        is_slow: true,
        ..Failing::default()
    })
}

/// A client of a server on a store.
async fn on(store: Arc<dyn Store>) -> Client {
    let builder = ApiServer::builder()
        .store(store)
        .collection(Collection::Stepped);
    Client {
        server: builder.build().await.unwrap(),
    }
}

fn definition() -> Json {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "metadata": {"name": "shops.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "shops", "singular": "shop", "kind": "Shop", "listKind": "ShopList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

fn shop(name: &str) -> Json {
    json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": name}})
}

/// Sends a request whose client leaves while it is answered.
async fn left<T>(request: impl Future<Output = T>) {
    tokio::select! {
        biased;
        _ = request => panic!("the client was too slow to leave"),
        () = std::future::ready(()) => {}
    }
}

/// Waits until something is so.
async fn until(is_so: impl AsyncFn() -> bool) {
    for _ in 0..2000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it did not become so in 10 seconds");
}

#[tokio::test]
async fn definition_is_served_although_its_client_left() {
    let client = on(slow(&Arc::default())).await;
    left(client.post(DEFINITIONS, &definition())).await;
    until(async || client.post(SHOPS, &shop("a")).await.code == 201).await;

    // The objects and the definition end too.
    for number in 0..20 {
        client
            .post(SHOPS, &shop(&format!("b{number}")))
            .await
            .expect(201);
    }
    left(client.delete(SHOPS_DEFINITION)).await;
    until(async || client.get(SHOPS_DEFINITION).await.code == 404).await;
    assert_eq!(client.get(SHOPS).await.code, 404);
}

#[tokio::test]
async fn definition_is_served_whenever_the_server_that_created_it_ended() {
    for writes in 0..3 {
        let store = Arc::new(Memory::default());
        // The objects that exist from the start.
        on(store.clone()).await;
        let stopped = slow(&store);
        let ended = on(stopped.clone()).await;
        stopped.stop_after(writes);
        let definition = definition();
        tokio::select! {
            _ = ended.post(DEFINITIONS, &definition) => {}
            () = stopped.waits.notified() => {}
        }

        let client = on(store).await;
        let code = client.get(SHOPS_DEFINITION).await.code;
        assert_eq!(
            code,
            if writes == 0 { 404 } else { 200 },
            "after {writes} writes"
        );
        assert_eq!(
            client.post(SHOPS, &shop("a")).await.code,
            if writes == 0 { 404 } else { 201 }
        );
    }
}

#[tokio::test]
async fn deleted_definition_ends_whenever_the_server_that_deleted_it_ended() {
    for writes in 0..6 {
        let store = Arc::new(Memory::default());
        let client = on(store.clone()).await;
        client.post(DEFINITIONS, &definition()).await.expect(201);
        for name in ["a", "b", "c"] {
            client.post(SHOPS, &shop(name)).await.expect(201);
        }
        let stopped = slow(&store);
        let ended = on(stopped.clone()).await;
        stopped.stop_after(writes);
        tokio::select! {
            _ = ended.delete(SHOPS_DEFINITION) => {}
            () = stopped.waits.notified() => {}
        }

        let client = on(store).await;
        let code = if writes == 0 { 200 } else { 404 };
        assert_eq!(client.get(SHOPS).await.code, code, "after {writes} writes");
        assert_eq!(client.get(SHOPS_DEFINITION).await.code, code);
    }
}

#[tokio::test]
async fn definition_ends_although_its_deletion_failed() {
    let store = slow(&Arc::default());
    let client = Client {
        server: ApiServer::builder()
            .store(store.clone())
            .build()
            .await
            .unwrap(),
    };
    client.post(DEFINITIONS, &definition()).await.expect(201);
    for name in ["a", "b", "c"] {
        client.post(SHOPS, &shop(name)).await.expect(201);
    }
    store.fail_writes_after(2, Failing::unavailable());
    client.delete(SHOPS_DEFINITION).await.expect(503);
    store.fail(None);
    until(async || client.get(SHOPS_DEFINITION).await.code == 404).await;
}

#[tokio::test]
async fn requests_that_failed_after_their_write_can_be_repeated() {
    let store = slow(&Arc::default());
    let client = on(store.clone()).await;
    let mut applied = definition();
    applied["apiVersion"] = "apiextensions.k8s.io/v1".into();
    applied["kind"] = "CustomResourceDefinition".into();
    store.fail_writes_after(1, Failing::unavailable());
    client
        .apply(SHOPS_DEFINITION, "a", &applied)
        .await
        .expect(503);
    store.fail(None);
    client
        .apply(SHOPS_DEFINITION, "a", &applied)
        .await
        .expect(200);
    client.post(SHOPS, &shop("a")).await.expect(201);
    client.post(SHOPS, &shop("b")).await.expect(201);

    store.fail_writes_after(2, Failing::unavailable());
    client.delete(SHOPS_DEFINITION).await.expect(503);
    store.fail(None);
    client.delete(SHOPS_DEFINITION).await.expect(200);
    client.get(SHOPS_DEFINITION).await.expect(404);
}

#[tokio::test]
async fn refusals_count_their_memory_until_they_are_read() {
    let mut limits = Limits::default();
    limits.buffers = 1 << 20;
    let builder = ApiServer::builder()
        .limits(limits)
        .collection(Collection::Stepped);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    let object = json!({"metadata": {"name": "large"}, "data": {"text": "\"".repeat(100_000)}});
    client.post(CONFIG_MAPS, &object).await.expect(201);
    let refused = async || {
        let patch = Full::<Bytes>::from(r#"[{"op": "add", "path": "/kind", "value": 1}]"#);
        let request = Request::patch(format!("{CONFIG_MAPS}/large"))
            .header("content-type", "application/json-patch+json")
            .body(patch);
        client
            .server
            .clone()
            .oneshot(request.unwrap())
            .await
            .unwrap()
    };
    let unread = refused().await;
    assert_eq!(
        (unread.status().as_u16(), refused().await.status().as_u16()),
        (422, 429)
    );
    // The message has the whole object, and its cause has it again.
    assert!(unread.body().size_hint().lower() > 400_000);
    drop(unread);
    assert_eq!(refused().await.status(), 422);
}
