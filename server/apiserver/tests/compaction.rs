//! The end of old revisions, with the answers of a kube-apiserver 1.37.1.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::sync::Arc;
use std::time::Duration;

use fieldmanager_apiserver::store::{HistoryLimits, Memory, SharedStore};
use fieldmanager_apiserver::{ApiServer, Collection, Limits};
use serde_json::{Value as Json, json};

use crate::common::{CONFIG_MAPS, Client};

const INTERVAL: Duration = Duration::from_secs(300);

/// A server whose clock is that of the test.
async fn server(store: SharedStore) -> Client {
    let mut limits = Limits::default();
    limits.compaction_interval = INTERVAL;
    let builder = ApiServer::builder().store(store).limits(limits);
    Client {
        server: builder
            .collection(Collection::Stepped)
            .build()
            .await
            .unwrap(),
    }
}

/// Moves the clock on by some intervals. A compaction ends in the second after each.
async fn pass(intervals: u32) {
    for _ in 0..intervals {
        tokio::time::sleep(INTERVAL).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn list(client: &Client, query: &str) -> (u16, Json) {
    let answer = client.get(&format!("{CONFIG_MAPS}?{query}")).await;
    (answer.code, answer.json())
}

fn names(list: &Json) -> Vec<&str> {
    let items = list["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

/// Lists at a revision end after one to two intervals. Watches from it go on, if the store has its history.
async fn lists_end(client: &Client, watches_remain: bool) {
    for name in ["a", "b", "c"] {
        client.config_map(name).await;
    }
    let (_, page) = list(client, "limit=1").await;
    let version = page["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    let queries = [
        format!("limit=1&continue={token}"),
        format!("resourceVersionMatch=Exact&resourceVersion={version}"),
        format!("limit=1&resourceVersion={version}"),
    ];
    client.delete(&format!("{CONFIG_MAPS}/b")).await.expect(200);
    pass(1).await;
    for query in &queries {
        assert_eq!(list(client, query).await.0, 200, "{query}");
    }
    pass(1).await;

    let (code, first) = list(client, &queries[0]).await;
    assert_eq!((code, &first["reason"]), (410, &json!("Expired")));
    let message = first["message"].as_str().unwrap();
    assert!(
        message.starts_with("The provided continue parameter is too old"),
        "{message}"
    );
    for query in &queries[1..] {
        let (code, expired) = list(client, query).await;
        assert_eq!(code, 410, "{query}");
        assert_eq!(
            expired["message"],
            "The resourceVersion for the provided list is too old."
        );
        assert_eq!(expired["metadata"], json!({}));
    }

    // The token of the answer leads to the rest, as it is now.
    let next = first["metadata"]["continue"].as_str().unwrap();
    let (code, rest) = list(client, &format!("limit=5&continue={next}")).await;
    assert_eq!((code, names(&rest)), (200, vec!["c"]));
    assert_ne!(rest["metadata"]["resourceVersion"], version.as_str());
    assert_eq!(
        list(client, &format!("resourceVersion={version}")).await.0,
        200
    );

    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={version}");
    let (kind, event) = client.watch(&path).await.next().await.unwrap();
    if watches_remain {
        assert_eq!(
            (kind.as_str(), &event["metadata"]["name"]),
            ("DELETED", &json!("b"))
        );
    } else {
        assert_eq!((kind.as_str(), &event["code"]), ("ERROR", &json!(410)));
    }
}

#[tokio::test(start_paused = true)]
async fn lists_at_old_revisions_end_and_watches_do_not() {
    let client = server(Arc::new(Memory::default())).await;
    lists_end(&client, true).await;
}

#[tokio::test(start_paused = true)]
async fn the_history_of_a_shared_store_is_compacted() {
    let client = server(Arc::new(Memory::shared(HistoryLimits::default()))).await;
    lists_end(&client, false).await;
}

#[tokio::test(start_paused = true)]
async fn without_an_interval_nothing_ends() {
    let builder = ApiServer::builder().collection(Collection::Stepped);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    client.config_map("a").await;
    client.config_map("b").await;
    let (_, page) = list(&client, "limit=1").await;
    let token = page["metadata"]["continue"].as_str().unwrap();
    pass(10).await;
    assert_eq!(
        list(&client, &format!("limit=1&continue={token}")).await.0,
        200
    );
}
