//! The status of components, with the answers of a kube-apiserver 1.37.1.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use serde_json::{Value as Json, json};

use crate::common::Client;

const COMPONENTS: &str = "/api/v1/componentstatuses";
const DEPRECATED: &str = "299 - \"v1 ComponentStatus is deprecated in v1.19+\"";

fn names(list: &Json) -> Vec<&str> {
    let items = list["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn components_are_asked_and_listed() {
    let client = Client::new().await;
    let answer = client.get(COMPONENTS).await;
    assert_eq!(answer.warnings(), [DEPRECATED]);
    let list = answer.expect(200);
    assert_eq!(
        (&list["kind"], &list["metadata"]),
        (&json!("ComponentStatusList"), &json!({}))
    );
    assert_eq!(names(&list), ["scheduler", "controller-manager", "etcd-0"]);

    let store = json!({
        "kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": "etcd-0"},
        "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}],
    });
    let answer = client.get(&format!("{COMPONENTS}/etcd-0")).await;
    assert_eq!(answer.warnings(), [DEPRECATED]);
    assert_eq!(answer.expect(200), store);
    // A machine with a cluster has a scheduler.
    let condition = &list["items"][0]["conditions"][0];
    if condition["status"] == "False" {
        let refused = "Get \"https://127.0.0.1:10259/healthz\": dial tcp 127.0.0.1:10259: connect: connection refused";
        assert_eq!(
            condition,
            &json!({"type": "Healthy", "status": "False", "message": refused})
        );
    }

    // Selectors of a list count, its pages and revisions do not.
    for (query, expected) in [
        (
            "fieldSelector=metadata.name%3Dscheduler",
            &["scheduler"][..],
        ),
        ("labelSelector=a%3Db", &[]),
        (
            "limit=1&continue=x&resourceVersion=99999999",
            &["scheduler", "controller-manager", "etcd-0"],
        ),
    ] {
        let list = client
            .get(&format!("{COMPONENTS}?{query}"))
            .await
            .expect(200);
        assert_eq!(names(&list), expected, "{query}");
    }
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = client.send("GET", COMPONENTS, &table, "").await.expect(200);
    assert_eq!(table["metadata"], json!({}));
    assert_eq!(
        table["rows"][2]["cells"],
        json!(["etcd-0", "Healthy", "ok", ""])
    );
}

#[tokio::test]
async fn components_are_only_read() {
    let client = Client::new().await;
    let missing = client.get(&format!("{COMPONENTS}/nope")).await;
    assert_eq!(missing.warnings(), [DEPRECATED]);
    let missing = missing.expect(404);
    assert_eq!(missing["message"], "componentstatus \"nope\" not found");
    assert_eq!(
        missing["details"],
        json!({"name": "nope", "kind": "componentstatus"})
    );

    let watch = client.get(&format!("{COMPONENTS}?watch=1")).await;
    assert_eq!(watch.warnings(), [DEPRECATED]);
    let watch = watch.expect(405);
    assert_eq!(
        watch["message"],
        "watch is not supported on resources of kind \"componentstatuses\""
    );
    assert_eq!(watch["details"], json!({"kind": "componentstatuses"}));

    for (method, path, code) in [
        ("POST", COMPONENTS, 405),
        ("DELETE", COMPONENTS, 405),
        ("PUT", "/api/v1/componentstatuses/etcd-0", 405),
        ("PATCH", "/api/v1/componentstatuses/etcd-0", 405),
        ("DELETE", "/api/v1/componentstatuses/etcd-0", 405),
        ("GET", "/api/v1/watch/componentstatuses", 404),
        ("GET", "/api/v1/watch/componentstatuses/etcd-0", 404),
        ("GET", "/api/v1/componentstatuses/etcd-0/status", 404),
        ("GET", "/api/v1/namespaces/x/componentstatuses", 404),
    ] {
        let json = [("content-type", "application/json")];
        let answer = client.send(method, path, &json, "{}").await;
        assert_eq!(
            (answer.code, answer.warnings().as_slice()),
            (code, &[][..]),
            "{method} {path}"
        );
    }
}
