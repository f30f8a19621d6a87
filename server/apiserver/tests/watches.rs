//! Watches in the forms and on the paths that clients use.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use crate::common::{CONFIG_MAPS, CRDS, Client, SHOPS, config_map, shop, shops};
use serde_json::json;

const INITIAL: &str =
    "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";

#[tokio::test]
async fn bookmark_of_a_table_is_a_row_with_its_version() {
    let client = Client::new().await;
    client.config_map("a").await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let mut watch = client
        .watch_as(&format!("{CONFIG_MAPS}?{INITIAL}"), accept)
        .await;
    let (kind, table) = watch.next().await.unwrap();
    assert_eq!((kind.as_str(), &table["kind"]), ("ADDED", &json!("Table")));
    assert!(!table["columnDefinitions"].as_array().unwrap().is_empty());
    let (kind, table) = watch.next().await.unwrap();
    assert_eq!(
        (kind.as_str(), &table["kind"]),
        ("BOOKMARK", &json!("Table"))
    );
    assert!(
        table["columnDefinitions"].is_null(),
        "only the first table has columns: {table}"
    );
    let row = &table["rows"][0]["object"];
    assert_eq!(
        row["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(
        row["metadata"]["resourceVersion"],
        table["metadata"]["resourceVersion"]
    );
    assert!(
        row["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse::<u64>()
            .unwrap()
            > 0
    );
}

#[tokio::test]
async fn watch_with_the_longest_timeout_does_not_end() {
    let client = Client::new().await;
    for seconds in [i64::MAX, i64::MAX / 1_000_000_000, i64::MAX / 1000] {
        let path =
            format!("{CONFIG_MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}");
        let mut watch = client.watch(&path).await;
        let name = format!("a-{seconds}");
        client.config_map(&name).await;
        while watch.next().await.unwrap().1["metadata"]["name"] != name.as_str() {}
    }
}

#[tokio::test]
async fn paths_of_old_clients_watch() {
    let client = Client::new().await;
    client.config_map("a").await;
    client.config_map("b").await;
    for (path, names) in [
        (
            "/api/v1/watch/namespaces/default/configmaps",
            vec!["ADDED a", "ADDED b"],
        ),
        (
            "/api/v1/watch/namespaces/default/configmaps/b",
            vec!["ADDED b"],
        ),
    ] {
        let mut watch = client.watch(path).await;
        assert_eq!(watch.names(names.len()).await, names, "{path}");
        client
            .merge(&format!("{CONFIG_MAPS}/b"), &json!({"data": {"at": path}}))
            .await
            .expect(200);
        assert_eq!(watch.names(1).await, ["MODIFIED b"], "{path}");
    }
    let mut watch = client
        .watch("/api/v1/watch/configmaps?fieldSelector=metadata.namespace%3Ddefault")
        .await;
    assert_eq!(watch.names(2).await, ["ADDED a", "ADDED b"]);
    assert_eq!(
        client
            .post(
                "/api/v1/watch/namespaces/default/configmaps",
                &config_map("c")
            )
            .await
            .code,
        405
    );
}

#[tokio::test]
async fn a_watch_ends_when_the_definition_serves_something_else() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let definition = format!("{CRDS}/shops.example.com");
    let mut watch = client.watch(&format!("{SHOPS}?watch=true")).await;
    client
        .merge(&definition, &json!({"metadata": {"labels": {"a": "b"}}}))
        .await
        .expect(200);
    client.post(SHOPS, &shop("a")).await.expect(201);
    assert_eq!(watch.names(1).await, ["ADDED a"]);

    client.post(SHOPS, &shop("b")).await.expect(201);
    let columns = json!([{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]);
    let mut changed = client.get(&definition).await.expect(200);
    changed["spec"]["versions"][0]["additionalPrinterColumns"] = columns;
    client.put(&definition, &changed).await.expect(200);
    // What happened before is sent first.
    assert_eq!(watch.names(1).await, ["ADDED b"]);
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn terminating_definition_takes_no_new_objects() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let mut held = shop("held");
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    client.post(SHOPS, &held).await.expect(201);
    let definition = format!("{CRDS}/shops.example.com");
    client.delete(&definition).await.expect(200);

    let conditions = client.get(&definition).await.expect(200)["status"]["conditions"].clone();
    let terminating = conditions
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["type"] == "Terminating")
        .unwrap();
    assert_eq!(
        (&terminating["status"], &terminating["reason"]),
        (&json!("True"), &json!("InstanceDeletionInProgress"))
    );
    let resources = client.get("/apis/example.com/v1").await.expect(200);
    let verbs = json!(["delete", "deletecollection", "get", "list", "watch"]);
    assert_eq!(resources["resources"][0]["verbs"], verbs);
    let refused = client.post(SHOPS, &shop("new")).await.expect(403);
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.ends_with(
            "is forbidden: create not allowed while custom resource definition is terminating"
        ),
        "{message}"
    );
    client
        .apply(&format!("{SHOPS}/new"), "ops", &shop("new"))
        .await
        .expect(403);

    // The end of the last object ends the definition.
    client
        .merge(
            &format!("{SHOPS}/held"),
            &json!({"metadata": {"finalizers": null}}),
        )
        .await
        .expect(200);
    client.get(&definition).await.expect(404);
}

#[tokio::test]
async fn dependents_of_objects_of_a_new_kind_are_collected() {
    let client = Client::new().await;
    let mut dependent = config_map("dependent");
    let owner =
        json!({"apiVersion": "example.com/v1", "kind": "Shop", "name": "gone", "uid": "1-2-3"});
    dependent["metadata"]["ownerReferences"] = json!([owner]);
    client.post(CONFIG_MAPS, &dependent).await.expect(201);
    assert!(
        client.server.collect().await.unwrap().is_empty(),
        "the kind of the owner is unknown"
    );
    client.post(CRDS, &shops()).await.expect(201);
    client.server.collect().await.unwrap();
    assert_eq!(
        client.get(&format!("{CONFIG_MAPS}/dependent")).await.code,
        404
    );
}

#[tokio::test]
async fn selectors_of_watches_take_memory_of_the_budget() {
    let client = Client::with_buffers(1 << 20).await;
    let selector: String = (0..2000)
        .map(|number| format!("!label-{number},"))
        .collect();
    let path = format!(
        "{CONFIG_MAPS}?watch=true&labelSelector={}",
        selector.trim_end_matches(',')
    );
    let mut watches = Vec::new();
    let refused = loop {
        let request = http::Request::get(&path)
            .body(http_body_util::Full::new(bytes::Bytes::new()))
            .unwrap();
        let response = tower::ServiceExt::oneshot(client.server.clone(), request)
            .await
            .unwrap();
        if response.status() != 200 {
            break response.status();
        }
        watches.push(response);
        assert!(watches.len() < 100);
    };
    assert_eq!(refused, 429);
    assert!(!watches.is_empty());
    // Watches without long selectors begin, and the memory is free after the others.
    let _short = client
        .watch(&format!("{CONFIG_MAPS}?watch=true&labelSelector=a"))
        .await;
    watches.clear();
    client.watch(&path).await;
}
