//! Snapshots, forks, and equal answers of servers that are built alike.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a failed test panics"
)]

use crate::common;

use std::time::{Duration, Instant};

use crate::common::{CONFIG_MAPS, CRDS, Client, SHOPS, config_map, shop, shops};
use fieldmanager_apiserver::store::{
    BoxWatch, Key, List, Memory, Page, Prefix, Read, Revision, Store,
};
use fieldmanager_apiserver::store::{Result as StoreResult, StoreError, Write};
use fieldmanager_apiserver::{ApiServer, Collection, Random};
use futures::future::BoxFuture;
use serde_json::{Value as Json, json};

fn seeded() -> Random {
    Random::seeded(7, "2026-01-31T12:00:00Z".parse().unwrap())
}

fn names(list: &Json) -> Vec<&str> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn restore_goes_back_to_objects_resources_and_time() {
    let client = Client::new().await;
    client.config_map("a").await;
    let before = client.server.snapshot().await.unwrap();

    client.config_map("b").await;
    client.delete(&format!("{CONFIG_MAPS}/a")).await.expect(200);
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("one")).await.expect(201);
    client
        .server
        .random()
        .unwrap()
        .advance(Duration::from_secs(60))
        .unwrap();

    let revision = client.server.restore(&before).await.unwrap();
    assert!(revision > before.revision());
    let list = client.get(CONFIG_MAPS).await.expect(200);
    assert!(
        names(&list).contains(&"a") && !names(&list).contains(&"b"),
        "{list}"
    );
    assert_eq!(list["metadata"]["resourceVersion"], revision.to_string());
    assert_eq!(client.get(SHOPS).await.code, 404);
    let created = client.config_map("c").await;
    assert_eq!(
        created["metadata"]["creationTimestamp"],
        "2026-01-31T12:00:00Z"
    );

    // The definition can be created again, and the server is as good as new.
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("one")).await.expect(201);
}

#[tokio::test]
async fn watches_end_with_410_after_restore() {
    let client = Client::new().await;
    let before = client.server.snapshot().await.unwrap();
    let mut watch = client
        .watch(&format!(
            "{CONFIG_MAPS}?watch=1&resourceVersion={}",
            before.revision()
        ))
        .await;
    client.server.restore(&before).await.unwrap();
    let (kind, status) = watch.next().await.expect("an event");
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)));
    assert_eq!(watch.next().await, None);
}

#[tokio::test]
async fn forks_are_independent() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("one")).await.expect(201);
    let fork = Client {
        server: client.server.fork().await.unwrap(),
    };

    // Both continue with the same revisions and uids, and the fork serves the resource.
    let (own, forked) = (
        client.post(SHOPS, &shop("two")).await,
        fork.post(SHOPS, &shop("two")).await,
    );
    assert_eq!((own.code, forked.code), (201, 201));
    assert_eq!(own.bytes, forked.bytes);

    fork.delete(&format!("{SHOPS}/one")).await.expect(200);
    fork.server
        .random()
        .unwrap()
        .advance(Duration::from_secs(5))
        .unwrap();
    assert_eq!(names(&client.get(SHOPS).await.expect(200)), ["one", "two"]);
    assert_eq!(names(&fork.get(SHOPS).await.expect(200)), ["two"]);
    client.server.stop().await;
    assert_eq!(fork.get(SHOPS).await.code, 200);
}

#[tokio::test]
async fn fork_has_a_running_collector() {
    let server = ApiServer::builder().source(seeded()).build().await.unwrap();
    let client = Client {
        server: server.fork().await.unwrap(),
    };
    drop(server);
    let owner = client.config_map("owner").await;
    let mut owned = config_map("owned");
    owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    client.post(CONFIG_MAPS, &owned).await.expect(201);
    client
        .delete(&format!("{CONFIG_MAPS}/owner"))
        .await
        .expect(200);
    let gone = async {
        while client.get(&format!("{CONFIG_MAPS}/owned")).await.code != 404 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(100), gone)
        .await
        .expect("the dependent is deleted");
}

#[tokio::test]
async fn collector_begins_again_after_restore() {
    let client = Client::new().await;
    let owner = client.config_map("owner").await;
    let mut owned = config_map("owned");
    owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    client.post(CONFIG_MAPS, &owned).await.expect(201);
    assert_eq!(client.server.collect().await.unwrap(), []);
    let before = client.server.snapshot().await.unwrap();
    for _ in 0..2 {
        client
            .delete(&format!("{CONFIG_MAPS}/owner"))
            .await
            .expect(200);
        assert_eq!(client.server.collect().await.unwrap().len(), 1);
        assert_eq!(client.get(&format!("{CONFIG_MAPS}/owned")).await.code, 404);
        client.server.restore(&before).await.unwrap();
        assert_eq!(client.server.collect().await.unwrap(), []);
    }
}

#[tokio::test]
async fn forks_and_restores_cost_the_same_with_many_objects() {
    let client = Client::new().await;
    let least = async |client: &Client| {
        let mut least = Duration::MAX;
        for _ in 0..20 {
            let begun = Instant::now();
            let snapshot = client.server.snapshot().await.unwrap();
            drop(client.server.fork().await.unwrap());
            client.server.restore(&snapshot).await.unwrap();
            least = least.min(begun.elapsed());
        }
        least
    };
    let few = least(&client).await;
    let key =
        |index: usize| Key::new("", "configmaps", Some("default"), &format!("m{index}")).unwrap();
    let object =
        fieldmanager_value::Value::from_yaml("{metadata: {namespace: default}, data: {a: b}}")
            .unwrap();
    let store = Memory::default();
    let empty = ApiServer::builder()
        .source(seeded())
        .collection(Collection::Stepped);
    let store = std::sync::Arc::new(store);
    for index in 0..10_000 {
        store
            .write(&key(index), Write::Create(object.clone()))
            .await
            .unwrap();
    }
    let many = Client {
        server: empty.store(store).build().await.unwrap(),
    };
    assert!(many.server.snapshot().await.unwrap().count() > 10_000);
    let cost = least(&many).await;
    eprintln!("snapshot, fork and restore: {few:?} with few objects, {cost:?} with 10,000");
    // A copy of 10,000 objects takes several milliseconds in a debug build.
    assert!(
        cost < few * 10 + Duration::from_millis(1),
        "{few:?} with few objects, {cost:?} with 10,000"
    );
}

/// A store without snapshots.
struct Opaque(Memory);

impl Store for Opaque {
    fn revision(&self) -> BoxFuture<'_, StoreResult<Revision>> {
        self.0.revision()
    }
    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, StoreResult<Read>> {
        self.0.get(key, at)
    }
    fn list(&self, list: List) -> BoxFuture<'_, StoreResult<Page>> {
        self.0.list(list)
    }
    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, StoreResult<Revision>> {
        self.0.write(key, write)
    }
    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, StoreResult<BoxWatch>> {
        self.0.watch(prefix, after)
    }
    fn compact(&self, oldest: Revision) -> BoxFuture<'_, StoreResult<()>> {
        self.0.compact(oldest)
    }
    fn close(&self) -> BoxFuture<'_, StoreResult<()>> {
        self.0.close()
    }
}

#[tokio::test]
async fn watches_after_a_restore_have_the_objects_of_the_snapshot() {
    let client = Client::new().await;
    let fork = Client {
        server: client.server.fork().await.unwrap(),
    };
    // Both servers make a write of the same revision.
    let (own, forked) = (
        client.config_map("own").await,
        fork.config_map("forked").await,
    );
    assert_eq!(
        own["metadata"]["resourceVersion"],
        forked["metadata"]["resourceVersion"]
    );
    let initial = format!("{CONFIG_MAPS}?watch=1&resourceVersion=0");
    let mut before = client.watch(&initial).await;
    assert_eq!(before.names(1).await, ["ADDED own"]);
    client
        .server
        .restore(&fork.server.snapshot().await.unwrap())
        .await
        .unwrap();
    let mut after = client.watch(&initial).await;
    assert_eq!(after.names(1).await, ["ADDED forked"]);
}

#[tokio::test]
async fn other_stores_have_no_snapshots() {
    let builder = ApiServer::builder().collection(Collection::Stepped);
    let server = builder
        .store(std::sync::Arc::new(Opaque(Memory::default())))
        .build()
        .await
        .unwrap();
    let error = server.snapshot().await.unwrap_err();
    assert!(matches!(error, StoreError::NoSnapshots));
    assert_eq!(
        error.to_string(),
        "the store has no snapshots: one in memory has them"
    );
    assert!(server.fork().await.is_err());
}

/// One random request.
async fn act(client: &Client, random: &mut fastrand::Rng) -> common::Answer {
    let name = ["a", "b", "c"][random.usize(..3)];
    let manager = ["alice", "bob"][random.usize(..2)];
    let path = format!("{SHOPS}/{name}");
    let size = random.u32(..4);
    let object = || json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": name}, "spec": {"size": size}});
    match random.u32(..10) {
        0 => {
            let body = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"generateName": "g-"}, "spec": {}});
            client.post(SHOPS, &body).await
        }
        1 => {
            client
                .post(&format!("{SHOPS}?fieldManager={manager}"), &object())
                .await
        }
        2 => {
            client
                .apply(&format!("{path}?force=true"), manager, &object())
                .await
        }
        3 => client.apply(&path, manager, &object()).await,
        4 => {
            client
                .merge(
                    &format!("{path}?fieldManager={manager}"),
                    &json!({"spec": {"size": size}}),
                )
                .await
        }
        5 => client.put(&path, &object()).await,
        6 => client.delete(&path).await,
        7 => {
            client
                .merge(
                    &format!("{path}/status"),
                    &json!({"status": {"open": size > 1}}),
                )
                .await
        }
        8 => {
            client
                .server
                .random()
                .unwrap()
                .advance(Duration::from_secs(1))
                .unwrap();
            client.get(&path).await
        }
        _ => {
            client.server.collect().await.unwrap();
            client.get(SHOPS).await
        }
    }
}

#[tokio::test]
async fn servers_that_are_built_alike_answer_with_equal_bytes() {
    let (one, other) = (Client::new().await, Client::new().await);
    for client in [&one, &other] {
        client.post(CRDS, &shops()).await.expect(201);
    }
    let mut random = fastrand::Rng::with_seed(3);
    for step in 0..300 {
        let mut again = random.clone();
        let (expected, found) = (act(&one, &mut random).await, act(&other, &mut again).await);
        assert_eq!(
            (expected.code, &expected.bytes),
            (found.code, &found.bytes),
            "step {step}"
        );
        assert_eq!(expected.headers, found.headers, "step {step}");
    }
    for path in [
        SHOPS,
        CONFIG_MAPS,
        "/api/v1/namespaces",
        CRDS,
        "/openapi/v3",
    ] {
        assert_eq!(
            one.get(path).await.bytes,
            other.get(path).await.bytes,
            "{path}"
        );
    }
    let (one, other) = (
        one.server.snapshot().await.unwrap(),
        other.server.snapshot().await.unwrap(),
    );
    assert_eq!(
        (one.count(), one.revision()),
        (other.count(), other.revision())
    );
}
