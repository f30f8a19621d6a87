//! The end of definitions and namespaces with many objects, in every store.
//!
//! `ENDS=100000` sets the number of objects, by default fewer than that. With it, requests remove all
//! finalizers, and not some of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use fieldmanager_apiserver::store::{Key, List, Memory, Prefix, SharedStore, Write};
use fieldmanager_apiserver::{ApiServer, Collection};
use fieldmanager_value::Value;
use futures::{StreamExt, stream};
use serde_json::{Value as Json, json};

use crate::common::counting::Counting;
use crate::common::failing::Failing;
use crate::common::{CRDS, Client, SHOPS, shop, shops};

/// Makes the tests of this module for a store, given an asynchronous function that returns a new, empty one, and the number
/// of objects.
macro_rules! tests {
    ($module:ident, $store:expr, $objects:expr) => {
        crate::store::ends::tests!(@ $module, $store, $objects,
            a_definition_ends_with_its_objects
            a_definition_waits_for_objects_with_finalizers
            a_server_ends_a_definition_that_another_one_left
            a_namespace_ends_with_its_objects
        );
    };
    (@ $module:ident, $store:expr, $objects:expr, $($name:ident)*) => {
        mod $module {
            $(
                #[tokio::test]
                async fn $name() {
                    let (store, _guard) = $store().await;
                    crate::store::ends::$name(store, $objects).await;
                }
            )*
        }
    };
}
pub(crate) use tests;

tests!(memory_store, crate::store::in_memory, 20_000);
tests!(file_store, crate::store::in_file, 5_000);

#[tokio::test]
async fn a_server_ends_a_definition_that_another_server_of_the_store_left() {
    let memory = Arc::new(Memory::default());
    let store: SharedStore = memory.clone();
    let shared = Failing {
        memory,
        is_shared: true,
        ..Failing::default()
    };
    let client = on(Arc::new(shared)).await;
    open_shops(&client, &store, &shop("a"), 2000).await;
    mark(&client, &store).await;
    gone(&client).await;
    assert_eq!(count(&store).await, 0);
    assert_eq!(client.get(SHOPS).await.code, 404);
}

#[tokio::test]
async fn a_definition_with_many_objects_ends_after_the_answer() {
    let store: SharedStore = Arc::new(Memory::default());
    let builder = ApiServer::builder()
        .store(store.clone())
        .collection(Collection::On)
        .page(false);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    open_shops(&client, &store, &held("a"), 600).await;
    client.delete(DEFINITION).await.expect(200);

    // The objects are marked a page at a time, after the answer.
    let stored = client.get(DEFINITION).await.expect(200);
    let conditions = stored["status"]["conditions"].as_array().unwrap();
    assert!(
        conditions
            .iter()
            .any(|condition| condition["type"] == "Terminating" && condition["status"] == "True"),
        "{stored}"
    );
    client.post(SHOPS, &shop("b")).await.expect(403);

    let left = keys(&store, Prefix::resource("example.com", "shops").unwrap()).await;
    release_all(&client, &store, left, SHOPS).await;
    gone(&client).await;
    assert_eq!(count(&store).await, 0);
}

#[tokio::test]
async fn other_requests_are_answered_while_a_definition_ends() {
    let store: SharedStore = Arc::new(Memory::default());
    let client = on(store.clone()).await;
    open_shops(&client, &store, &shop("a"), 5000).await;
    let answered = AtomicUsize::new(0);
    let others = async {
        while client.get("/api/v1/namespaces/default").await.code == 200 {
            answered.fetch_add(1, Relaxed);
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = end(&client) => {}
        () = others => {}
    }
    // One for each page, and no request waits for more than that.
    assert!(answered.load(Relaxed) >= 10, "{answered:?}");
}

#[tokio::test]
async fn objects_of_all_versions_of_a_definition_that_serves_none_are_deleted() {
    let store: SharedStore = Arc::new(Memory::default());
    let client = on(store.clone()).await;
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("a")).await.expect(201);
    for (path, value) in [("storage", [false, true]), ("served", [false, false])] {
        let mut definition = client.get(DEFINITION).await.expect(200);
        for (version, value) in value.into_iter().enumerate() {
            definition["spec"]["versions"][version][path] = value.into();
        }
        client.put(DEFINITION, &definition).await.expect(200);
        if path == "storage" {
            client.post(SHOPS, &shop("b")).await.expect(201);
        }
    }
    assert_eq!(
        (count(&store).await, client.get(SHOPS).await.code),
        (2, 404)
    );
    client.delete(DEFINITION).await.expect(200);
    client.get(DEFINITION).await.expect(404);
    assert_eq!(count(&store).await, 0);
}

/// A recursion over objects would overflow this stack.
#[test]
fn a_definition_ends_on_a_small_stack() {
    let end = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let store: SharedStore = Arc::new(Memory::default());
        runtime.block_on(a_definition_ends_with_its_objects(store, 5000));
    };
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(end)
        .unwrap()
        .join()
        .unwrap();
}

/// The number of objects of a test.
fn wanted(default: usize) -> usize {
    std::env::var("ENDS").map_or(default, |number| number.parse().unwrap())
}

const DEFINITION: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shops.example.com";

const PAUSE: Duration = Duration::from_millis(5);

/// Deletes the definition, and waits for its end: a request leaves more than a page of objects to a task.
async fn end(client: &Client) {
    client.delete(DEFINITION).await.expect(200);
    gone(client).await;
}

async fn gone(client: &Client) {
    while client.get(DEFINITION).await.code == 200 {
        tokio::time::sleep(PAUSE).await;
    }
}

async fn on(store: SharedStore) -> Client {
    let builder = ApiServer::builder()
        .store(store)
        .collection(Collection::Stepped)
        .page(false);
    Client {
        server: builder.build().await.unwrap(),
    }
}

/// Stores copies of the object of a path, which a request created, without requests.
async fn fill(store: &SharedStore, key: &Key, copies: usize) {
    let object = store.get(key, None).await.unwrap().entry.unwrap().object;
    let parts = key.parts();
    stream::iter(0..copies)
        .for_each_concurrent(256, |number| {
            let name = format!("{}-{number:06}", parts.name);
            let key = Key::new(parts.group, parts.plural, parts.namespace, &name).unwrap();
            let object = named(&object, &name);
            async move {
                store
                    .write(&key, Write::Create(object))
                    .await
                    .map(|_| ())
                    .unwrap()
            }
        })
        .await;
}

/// The object with another name and uid.
fn named(object: &Value, name: &str) -> Value {
    let Value::Map(mut fields) = object.clone() else {
        panic!("{object}")
    };
    let Some(Value::Map(mut metadata)) = fields.get("metadata").cloned() else {
        panic!("{object}")
    };
    metadata.insert("name", name);
    metadata.insert("uid", name);
    fields.insert("metadata", metadata);
    Value::Map(fields)
}

fn held(name: &str) -> Json {
    let mut shop = shop(name);
    shop["metadata"]["finalizers"] = json!(["example.com/hold"]);
    shop
}

fn shop_key(name: &str) -> Key {
    Key::new("example.com", "shops", Some("default"), name).unwrap()
}

/// Creates the definition of shops, and copies of a shop.
async fn open_shops(client: &Client, store: &SharedStore, first: &Json, copies: usize) {
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, first).await.expect(201);
    let name = first["metadata"]["name"].as_str().unwrap();
    fill(store, &shop_key(name), copies).await;
}

/// Removes the finalizers of objects, most of them without requests.
async fn release_all(client: &Client, store: &SharedStore, keys: Vec<Key>, collection: &str) {
    let requests = if std::env::var("ENDS").is_ok() {
        keys.len()
    } else {
        1000
    };
    stream::iter(keys.iter().rev().skip(requests))
        .for_each_concurrent(64, |key| async move {
            let expected = store.get(key, None).await.unwrap().entry.unwrap().revision;
            store
                .write(key, Write::Delete { expected })
                .await
                .map(|_| ())
                .unwrap();
        })
        .await;
    stream::iter(keys.iter().rev().take(requests))
        .for_each_concurrent(64, |key| async move {
            release(client, &format!("{collection}/{}", key.parts().name)).await;
        })
        .await;
}

/// Deletes the definition as a server does that is killed before it deleted an object.
async fn mark(client: &Client, store: &SharedStore) {
    let mut marked = client.get(DEFINITION).await.expect(200);
    marked["metadata"]["deletionTimestamp"] = json!("2026-01-31T12:00:00Z");
    marked["metadata"]["finalizers"] = json!(["customresourcecleanup.apiextensions.k8s.io"]);
    marked["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    let key = Key::new(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        None,
        "shops.example.com",
    )
    .unwrap();
    let expected = store.get(&key, None).await.unwrap().entry.unwrap().revision;
    let object = Value::from_json(&marked.to_string()).unwrap();
    store
        .write(&key, Write::Update { expected, object })
        .await
        .unwrap();
}

/// The keys of all objects of a prefix.
async fn keys(store: &SharedStore, prefix: Prefix) -> Vec<Key> {
    let entries = store.list(List::new(prefix)).await.unwrap().entries;
    entries.into_iter().map(|entry| entry.key).collect()
}

/// The number of stored shops.
async fn count(store: &SharedStore) -> u64 {
    let shops = Prefix::resource("example.com", "shops").unwrap();
    store
        .list(List::new(shops).limit(0))
        .await
        .unwrap()
        .remaining
}

async fn release(client: &Client, path: &str) {
    client
        .merge(path, &json!({"metadata": {"finalizers": null}}))
        .await
        .expect(200);
}

pub(crate) async fn a_definition_ends_with_its_objects(store: SharedStore, objects: usize) {
    let objects = wanted(objects);
    let counting = Counting::new(store.clone());
    let client = on(counting.clone()).await;
    open_shops(&client, &store, &shop("a"), objects).await;
    counting.clear();
    end(&client).await;
    assert_eq!(count(&store).await, 0);
    let (operations, entries) = counting.counts();
    assert!(
        operations < objects + objects / 50 + 100,
        "{operations} operations"
    );
    // The request reads a page to see that there are more.
    assert!(entries < objects + 600, "{entries} entries");
    assert!(
        counting.largest.load(Relaxed) <= 1000,
        "objects are read a page at a time"
    );

    // The name is free.
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("a")).await.expect(201);
}

pub(crate) async fn a_definition_waits_for_objects_with_finalizers(
    store: SharedStore,
    objects: usize,
) {
    let objects = wanted(objects);
    let counting = Counting::new(store.clone());
    let client = on(counting.clone()).await;
    open_shops(&client, &store, &held("a"), objects).await;
    client.post(SHOPS, &shop("z")).await.expect(201);
    client.delete(DEFINITION).await.expect(200);
    // Those without finalizers are deleted.
    while count(&store).await > objects as u64 + 1 {
        tokio::time::sleep(PAUSE).await;
    }
    assert!(
        counting.largest.load(Relaxed) <= 1000,
        "objects are read a page at a time"
    );

    let stored = client.get(DEFINITION).await.expect(200);
    let conditions = stored["status"]["conditions"].as_array().unwrap();
    let condition = conditions
        .iter()
        .find(|condition| condition["type"] == "Terminating")
        .unwrap();
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("True"), &json!("InstanceDeletionInProgress"))
    );
    client.post(SHOPS, &shop("b")).await.expect(403);

    // What a removed finalizer costs depends neither on the number of objects nor on that of those before.
    let mut costs = Vec::new();
    for number in 0..20 {
        counting.clear();
        release(&client, &format!("{SHOPS}/a-{number:06}")).await;
        costs.push(counting.counts());
    }
    assert!(
        costs
            .iter()
            .all(|(operations, entries)| *operations <= 6 && *entries <= 1),
        "{costs:?}"
    );

    // A repeated request deletes no object again.
    let revision = store.revision().await.unwrap();
    client.delete(DEFINITION).await.expect(200);
    assert_eq!(store.revision().await.unwrap(), revision);

    let left = keys(&store, Prefix::resource("example.com", "shops").unwrap()).await;
    release_all(&client, &store, left, SHOPS).await;
    client.get(DEFINITION).await.expect(404);
    assert_eq!(count(&store).await, 0);
}

pub(crate) async fn a_server_ends_a_definition_that_another_one_left(
    store: SharedStore,
    objects: usize,
) {
    let objects = wanted(objects / 5);
    let client = on(store.clone()).await;
    open_shops(&client, &store, &held("a"), objects).await;
    client.post(SHOPS, &shop("z")).await.expect(201);
    mark(&client, &store).await;

    let client = on(store.clone()).await;
    assert_eq!(count(&store).await, objects as u64 + 1);
    client.get(&format!("{SHOPS}/z")).await.expect(404);
    let left = keys(&store, Prefix::resource("example.com", "shops").unwrap()).await;
    release_all(&client, &store, left, SHOPS).await;
    client.get(DEFINITION).await.expect(404);
}

pub(crate) async fn a_namespace_ends_with_its_objects(store: SharedStore, objects: usize) {
    let objects = wanted(objects / 5);
    let counting = Counting::new(store.clone());
    let client = on(counting.clone()).await;
    client
        .post("/api/v1/namespaces", &json!({"metadata": {"name": "team"}}))
        .await
        .expect(201);
    let maps = "/api/v1/namespaces/team/configmaps";
    client
        .post(maps, &json!({"metadata": {"name": "a"}}))
        .await
        .expect(201);
    client
        .post(
            maps,
            &json!({"metadata": {"name": "b", "finalizers": ["example.com/hold"]}}),
        )
        .await
        .expect(201);
    let map = |name| Key::new("", "configmaps", Some("team"), name).unwrap();
    let (plain, kept) = (objects / 2, objects - objects / 2);
    fill(&store, &map("a"), plain).await;
    fill(&store, &map("b"), kept).await;
    client.server.collect().await.unwrap();
    counting.clear();

    client.delete("/api/v1/namespaces/team").await.expect(200);
    let deleted = client.server.collect().await.unwrap().len();
    assert_eq!(deleted, objects + 2);
    let remaining = store
        .list(List::new(Prefix::namespace("", "configmaps", "team").unwrap()).limit(0))
        .await;
    assert_eq!(remaining.unwrap().remaining, kept as u64 + 1);
    let (operations, entries) = counting.counts();
    assert!(
        operations < objects * 7 / 2 + objects / 10 + 300,
        "{operations} operations"
    );
    assert!(entries < objects + 100, "{entries} entries");
    assert!(
        counting.largest.load(Relaxed) <= 1000,
        "objects are read a page at a time"
    );

    let mut costs = Vec::new();
    for number in 0..20 {
        counting.clear();
        release(&client, &format!("{maps}/b-{number:06}")).await;
        assert_eq!(client.server.collect().await.unwrap(), []);
        costs.push(counting.counts());
    }
    assert!(
        costs
            .iter()
            .all(|(operations, entries)| *operations <= 200 && *entries <= 1),
        "{costs:?}"
    );
    assert!(costs.windows(2).all(|two| two[0] == two[1]), "{costs:?}");

    let left = keys(&store, Prefix::namespace("", "configmaps", "team").unwrap()).await;
    release_all(&client, &store, left, maps).await;
    assert_eq!(client.server.collect().await.unwrap().len(), 1);
    client.get("/api/v1/namespaces/team").await.expect(404);
}
