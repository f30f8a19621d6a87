//! Clients that leave or do not read, and servers that end between a write and its consequences.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use common::{CONFIG_MAPS, Client};
use fieldmanager_apiserver::store::{
    BoxWatch, Key, List, Memory, Page, Prefix, Read, Result, Revision, Store, StoreError, Write,
};
use fieldmanager_apiserver::{ApiServer, Collection, Limits};
use futures::future::BoxFuture;
use http::Request;
use http_body::Body;
use http_body_util::Full;
use serde_json::{Value as Json, json};
use tokio::sync::Notify;
use tower::ServiceExt;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SHOPS_DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shops.example.com";
const SHOPS: &str = "/apis/example.com/v1/namespaces/default/shops";

/// A store that makes a number of writes, one in each millisecond. Later ones fail, or wait for ever, as those of a server
/// that was killed.
struct Counted {
    store: Arc<Memory>,
    writes: AtomicUsize,
    fails: bool,
    /// Told when a write waits for ever.
    waits: Notify,
}

impl Counted {
    fn new(store: Arc<Memory>, writes: usize) -> Arc<Self> {
        Arc::new(Counted { store, writes: AtomicUsize::new(writes), fails: false, waits: Notify::new() })
    }
}

impl Store for Counted {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.store.revision()
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Result<Read>> {
        self.store.get(key, at)
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<Page>> {
        self.store.list(list)
    }

    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>> {
        Box::pin(async move {
            let left =
                self.writes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            match left {
                Ok(_) => tokio::time::sleep(Duration::from_millis(1)).await,
                Err(_) if self.fails => {
                    let error: Box<dyn std::error::Error + Send + Sync> = "no leader".into();
                    return Err(StoreError::Unavailable(error.into()));
                }
                Err(_) => {
                    self.waits.notify_one();
                    std::future::pending().await
                }
            }
            self.store.write(key, write).await
        })
    }

    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, Result<BoxWatch>> {
        self.store.watch(prefix, after)
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        self.store.compact(oldest)
    }

    fn close(&self) -> BoxFuture<'_, std::result::Result<(), StoreError>> {
        self.store.close()
    }
}

/// A client of a server on a store.
async fn on(store: Arc<dyn Store>) -> Client {
    let builder = ApiServer::builder().store(store).collection(Collection::Stepped);
    Client { server: builder.build().await.unwrap() }
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
    let client = on(Counted::new(Arc::default(), 1000)).await;
    left(client.post(DEFINITIONS, &definition())).await;
    until(async || client.post(SHOPS, &shop("a")).await.code == 201).await;

    // The objects and the definition end too.
    for number in 0..20 {
        client.post(SHOPS, &shop(&format!("b{number}"))).await.expect(201);
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
        let counted = Counted::new(store.clone(), 1000);
        let ended = on(counted.clone()).await;
        counted.writes.store(writes, Ordering::SeqCst);
        let definition = definition();
        tokio::select! {
            _ = ended.post(DEFINITIONS, &definition) => {}
            () = counted.waits.notified() => {}
        }

        let client = on(store).await;
        let code = client.get(SHOPS_DEFINITION).await.code;
        assert_eq!(code, if writes == 0 { 404 } else { 200 }, "after {writes} writes");
        assert_eq!(client.post(SHOPS, &shop("a")).await.code, if writes == 0 { 404 } else { 201 });
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
        let counted = Counted::new(store.clone(), 1000);
        let ended = on(counted.clone()).await;
        counted.writes.store(writes, Ordering::SeqCst);
        tokio::select! {
            _ = ended.delete(SHOPS_DEFINITION) => {}
            () = counted.waits.notified() => {}
        }

        let client = on(store).await;
        let code = if writes == 0 { 200 } else { 404 };
        assert_eq!(client.get(SHOPS).await.code, code, "after {writes} writes");
        assert_eq!(client.get(SHOPS_DEFINITION).await.code, code);
    }
}

#[tokio::test]
async fn requests_that_failed_after_their_write_can_be_repeated() {
    let store =
        Counted { store: Arc::default(), writes: AtomicUsize::new(1000), fails: true, waits: Notify::new() };
    let store = Arc::new(store);
    let client = on(store.clone()).await;
    let mut applied = definition();
    applied["apiVersion"] = "apiextensions.k8s.io/v1".into();
    applied["kind"] = "CustomResourceDefinition".into();
    store.writes.store(1, Ordering::SeqCst);
    client.apply(SHOPS_DEFINITION, "a", &applied).await.expect(503);
    store.writes.store(1000, Ordering::SeqCst);
    client.apply(SHOPS_DEFINITION, "a", &applied).await.expect(200);
    client.post(SHOPS, &shop("a")).await.expect(201);
    client.post(SHOPS, &shop("b")).await.expect(201);

    store.writes.store(2, Ordering::SeqCst);
    client.delete(SHOPS_DEFINITION).await.expect(503);
    store.writes.store(1000, Ordering::SeqCst);
    client.delete(SHOPS_DEFINITION).await.expect(200);
    client.get(SHOPS_DEFINITION).await.expect(404);
}

#[tokio::test]
async fn refusals_count_their_memory_until_they_are_read() {
    let mut limits = Limits::default();
    limits.buffers = 1 << 20;
    let builder = ApiServer::builder().limits(limits).collection(Collection::Stepped);
    let client = Client { server: builder.build().await.unwrap() };
    let object = json!({"metadata": {"name": "large"}, "data": {"text": "\"".repeat(100_000)}});
    client.post(CONFIG_MAPS, &object).await.expect(201);
    let refused = async || {
        let patch = Full::<Bytes>::from(r#"[{"op": "add", "path": "/kind", "value": 1}]"#);
        let request = Request::patch(format!("{CONFIG_MAPS}/large"))
            .header("content-type", "application/json-patch+json")
            .body(patch);
        client.server.clone().oneshot(request.unwrap()).await.unwrap()
    };
    let unread = refused().await;
    assert_eq!((unread.status().as_u16(), refused().await.status().as_u16()), (422, 429));
    // The message has the whole object, and its cause has it again.
    assert!(unread.body().size_hint().lower() > 400_000);
    drop(unread);
    assert_eq!(refused().await.status(), 422);
}
