//! Lists, pages and watches.

use serde_json::{Value as Json, json};

use super::version;
use crate::common::{CONFIG_MAPS, Client};

#[tokio::test]
async fn s01_version_of_a_list_is_the_revision_of_the_store() {
    let client = Client::new().await;
    let empty = client.get(CONFIG_MAPS).await.expect(200);
    assert!(version(&empty) > 0);
    client.config_map("a").await;
    let written = version(
        &client
            .post(
                "/api/v1/namespaces/default/secrets",
                &json!({"metadata": {"name": "s"}}),
            )
            .await
            .expect(201),
    );
    assert_eq!(version(&client.get(CONFIG_MAPS).await.expect(200)), written);
}

#[tokio::test]
async fn s02_pages_are_parts_of_one_snapshot() {
    let client = Client::new().await;
    for name in ["a", "b", "c", "d"] {
        client.config_map(name).await;
    }
    let first = client
        .get(&format!("{CONFIG_MAPS}?limit=2"))
        .await
        .expect(200);
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    client.delete(&format!("{CONFIG_MAPS}/c")).await.expect(200);
    client.config_map("e").await;
    let next = first["metadata"]["continue"].as_str().unwrap();
    let second = client
        .get(&format!("{CONFIG_MAPS}?limit=2&continue={next}"))
        .await
        .expect(200);
    assert_eq!(version(&first), version(&second));
    let names = |list: &Json| -> Vec<String> {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(second["metadata"].get("continue"), None);
}

#[tokio::test]
async fn s03_future_version_times_out() {
    let client = Client::new().await;
    client.config_map("a").await;
    for path in [
        format!("{CONFIG_MAPS}?resourceVersion=99999999"),
        format!("{CONFIG_MAPS}/a?resourceVersion=99999999"),
    ] {
        let status = client.get(&path).await.expect(504);
        assert_eq!(status["reason"], "Timeout", "{path}");
        assert_eq!(
            status["details"]["causes"][0]["reason"], "ResourceVersionTooLarge",
            "{path}"
        );
        assert!(
            status["message"]
                .as_str()
                .unwrap()
                .starts_with("Timeout: Too large resource version: 99999999, current: ")
        );
    }
}

#[tokio::test]
async fn s04_options_of_lists_fit_together() {
    let client = Client::new().await;
    for query in [
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=Exact&resourceVersion=0",
        "resourceVersionMatch=NotOlderThan&resourceVersion=1&continue=x",
        "resourceVersionMatch=Other&resourceVersion=1",
        "sendInitialEvents=true",
    ] {
        let status = client
            .get(&format!("{CONFIG_MAPS}?{query}"))
            .await
            .expect(422);
        assert_eq!(status["reason"], "Invalid", "{query}");
        assert_eq!(status["details"]["kind"], "ListOptions", "{query}");
    }
}

#[tokio::test]
async fn s05_watch_without_a_version_begins_with_what_exists() {
    let client = Client::new().await;
    let first = client.config_map("a").await;
    for query in ["watch=1", "watch=1&resourceVersion=0"] {
        let mut watch = client.watch(&format!("{CONFIG_MAPS}?{query}")).await;
        assert_eq!(watch.names(1).await, ["ADDED a"], "{query}");
    }
    let mut later = client
        .watch(&format!(
            "{CONFIG_MAPS}?watch=1&resourceVersion={}",
            version(&first)
        ))
        .await;
    client.config_map("b").await;
    assert_eq!(later.names(1).await, ["ADDED b"]);
}

#[tokio::test]
async fn s06_watch_of_a_compacted_version_expires() {
    let client = Client::with_history(10).await;
    let first = client.config_map("first").await;
    for number in 0..20 {
        client.config_map(&format!("later-{number}")).await;
    }
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", version(&first));
    let mut watch = client.watch(&path).await;
    let (kind, status) = watch.next().await.unwrap();
    assert_eq!(
        (kind.as_str(), &status["code"], &status["reason"]),
        ("ERROR", &json!(410), &json!("Expired"))
    );
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn s07_bookmarks_follow_the_events_that_were_delivered() {
    let client = Client::new().await;
    let mut watch = client
        .watch(&format!(
            "{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=150"
        ))
        .await;
    let created = client.config_map("a").await;
    // A bookmark may be first, but not with the revision of an event that follows it.
    loop {
        let (kind, object) = watch.next().await.unwrap();
        if kind == "ADDED" {
            assert_eq!(object, created);
            break;
        }
        assert_eq!(kind, "BOOKMARK");
        assert!(version(&object) < version(&created));
    }
    // Writes to other resources move a bookmark.
    let secret = client
        .post(
            "/api/v1/namespaces/default/secrets",
            &json!({"metadata": {"name": "s"}}),
        )
        .await;
    let secret = secret.expect(201);
    let mut last = 0;
    while let Some((kind, bookmark)) = watch.next().await {
        assert_eq!(
            (kind.as_str(), &bookmark["kind"]),
            ("BOOKMARK", &json!("ConfigMap"))
        );
        assert!(version(&bookmark) >= version(&created).max(last));
        last = version(&bookmark);
    }
    assert_eq!(last, version(&secret));
}

#[tokio::test]
async fn s08_selectors_of_watches_look_at_both_states() {
    let client = Client::new().await;
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&labelSelector=on"))
        .await;
    client.config_map("a").await;
    let path = format!("{CONFIG_MAPS}/a");
    client
        .merge(&path, &json!({"metadata": {"labels": {"on": "x"}}}))
        .await
        .expect(200);
    let off = client
        .merge(&path, &json!({"metadata": {"labels": {"on": null}}}))
        .await
        .expect(200);
    assert_eq!(watch.names(1).await, ["ADDED a"]);
    let (kind, object) = watch.next().await.unwrap();
    assert_eq!(
        (kind.as_str(), &object["metadata"]["labels"]["on"]),
        ("DELETED", &json!("x"))
    );
    assert_eq!(version(&object), version(&off));
}
