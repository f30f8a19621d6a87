//! What is in an etcd: objects of the server, keys of other programs, and limits.

use std::collections::BTreeMap;
use std::time::Duration;

use fieldmanager_apiserver::store::{HistoryLimits, Key, List, Prefix, Store, StoreError, Write};
use fieldmanager_value::Value;
use futures::StreamExt;

use super::{Server, events_until, in_etcd};
use crate::store::{object, pod};

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
