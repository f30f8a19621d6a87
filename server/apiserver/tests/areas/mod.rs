//! The server by area: definitions, subresources, formats, options and the verbs of collections.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod definitions;
mod formats;
mod subresources;

use serde_json::{Value as Json, json};

use crate::common::{CONFIG_MAPS, Client, config_map};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

const PODS: &str = "/api/v1/namespaces/default/pods";

fn names(list: &Json) -> Vec<&str> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

fn deployment(name: &str) -> Json {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]}}}})
}

fn pod(name: &str) -> Json {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]}})
}

#[tokio::test]
async fn unknown_fields_are_refused_warned_about_or_ignored() {
    let client = Client::new().await;
    let body = |name: &str| json!({"metadata": {"name": name}, "data": {}, "colour": "red"});
    let create = async |name: &str, validation: &str| {
        client
            .post(
                &format!("{CONFIG_MAPS}?fieldValidation={validation}"),
                &body(name),
            )
            .await
    };
    let status = create("a", "Strict").await.expect(400);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains(r#"unknown field "colour""#),
        "{status}"
    );
    let warned = create("b", "Warn").await;
    assert_eq!(
        (warned.code, warned.warnings()),
        (201, vec![r#"299 - "unknown field \"colour\"""#.to_owned()])
    );
    let ignored = create("c", "Ignore").await;
    assert_eq!((ignored.code, ignored.warnings().len()), (201, 0));
    create("d", "Sometimes").await.expect(422);
    let duplicates = r#"{"metadata": {"name": "e"}, "data": {"a": "1", "a": "2"}}"#;
    let headers = [("content-type", "application/json")];
    let answer = client.send("POST", CONFIG_MAPS, &headers, duplicates).await;
    assert_eq!(answer.warnings(), [r#"299 - "duplicate field \"data.a\"""#]);

    // The body is read before the namespace is looked up.
    let elsewhere = "/api/v1/namespaces/none/configmaps";
    let answer = client.post(elsewhere, &body("f")).await;
    assert_eq!(
        (answer.code, answer.warnings()),
        (404, vec![r#"299 - "unknown field \"colour\"""#.to_owned()])
    );
}

#[tokio::test]
async fn collections_are_deleted_by_selector() {
    let client = Client::new().await;
    for (name, tier) in [("a", "web"), ("b", "db"), ("c", "web")] {
        let mut object = config_map(name);
        object["metadata"]["labels"] = json!({"tier": tier});
        client.post(CONFIG_MAPS, &object).await.expect(201);
    }
    let answer = client
        .delete(&format!("{CONFIG_MAPS}?labelSelector=tier%3Dweb"))
        .await
        .expect(200);
    assert_eq!(answer["kind"], "ConfigMapList");
    assert_eq!(names(&client.get(CONFIG_MAPS).await.expect(200)), ["b"]);
    client
        .delete(&format!("{CONFIG_MAPS}?dryRun=All"))
        .await
        .expect(200);
    assert_eq!(names(&client.get(CONFIG_MAPS).await.expect(200)), ["b"]);
    let everywhere = client
        .get("/api/v1/configmaps?fieldSelector=metadata.namespace%3Ddefault")
        .await;
    assert_eq!(names(&everywhere.expect(200)), ["b"]);
}

#[tokio::test]
async fn deprecated_paths_of_watches_work() {
    let client = Client::new().await;
    client.config_map("a").await;
    client.config_map("b").await;
    let mut all = client
        .watch("/api/v1/watch/namespaces/default/configmaps")
        .await;
    assert_eq!(all.names(2).await, ["ADDED a", "ADDED b"]);
    let mut one = client
        .watch("/api/v1/watch/namespaces/default/configmaps/b")
        .await;
    assert_eq!(one.names(1).await, ["ADDED b"]);
}

#[tokio::test]
async fn objects_of_missing_and_terminating_namespaces_are_refused() {
    let client = Client::new().await;
    let path = "/api/v1/namespaces/shop/configmaps";
    client.post(path, &config_map("a")).await.expect(404);
    client
        .post("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}}))
        .await
        .expect(201);
    client.post(path, &config_map("a")).await.expect(201);
    client.delete("/api/v1/namespaces/shop").await.expect(200);
    let status = client.post(path, &config_map("b")).await.expect(403);
    assert_eq!(
        status["details"]["causes"][0]["reason"],
        "NamespaceTerminating"
    );
    client.server.collect().await.unwrap();
    client.get("/api/v1/namespaces/shop").await.expect(404);
    assert_eq!(
        names(&client.get(path).await.expect(200)),
        Vec::<&str>::new()
    );
}

#[tokio::test]
async fn bodies_over_the_limit_and_requests_beyond_it_are_refused() {
    let client = Client::new().await;
    let mut large = config_map("large");
    large["data"]["color"] = "x".repeat(3 * 1024 * 1024).into();
    let status = client.post(CONFIG_MAPS, &large).await.expect(413);
    assert_eq!(status["reason"], "RequestEntityTooLarge");
    let deep = format!(
        r#"{{"metadata": {{"name": "deep"}}, "data": {}{}}}"#,
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    let answer = client
        .send(
            "POST",
            CONFIG_MAPS,
            &[("content-type", "application/json")],
            deep,
        )
        .await;
    assert_eq!(answer.code, 400);
}
