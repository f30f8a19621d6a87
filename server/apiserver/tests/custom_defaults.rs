//! Defaults of custom resources in the answers and in the store, at the stored version and at another one.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use serde_json::{Value as Json, json};

use crate::common::Client;

const SHOPS: &str = "/apis/example.com/v1/shops";

/// A definition of two versions, with these defaults of `spec` and `status` at each.
fn definition(v1: &Json, v2: &Json) -> Json {
    let fields = |defaults: &Json| {
        let names = ["a", "b", "own"];
        let properties: serde_json::Map<_, _> = names
            .iter()
            .map(|name| {
                let mut schema = json!({"type": "string"});
                if let Some(default) = defaults.get(name) {
                    schema["default"] = default.clone();
                }
                ((*name).to_owned(), schema)
            })
            .collect();
        json!({"type": "object", "properties": properties})
    };
    let version = |name: &str, storage: bool, defaults: &Json| {
        let mut status = fields(defaults);
        status["default"] = json!({"own": "yes"});
        let schema =
            json!({"type": "object", "properties": {"spec": fields(defaults), "status": status}});
        json!({"name": name, "served": true, "storage": storage, "subresources": {"status": {}},
               "schema": {"openAPIV3Schema": schema}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster",
                 "names": {"kind": "Shop", "plural": "shops", "singular": "shop", "listKind": "ShopList"},
                 "versions": [version("v1", true, v1), version("v2", false, v2)]}
    })
}

async fn client(v1: Json, v2: Json) -> Client {
    let client = Client::new().await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    client.post(path, &definition(&v1, &v2)).await.expect(201);
    client
}

fn shop(version: &str) -> Json {
    json!({"apiVersion": format!("example.com/{version}"), "kind": "Shop", "metadata": {"name": "a"}, "spec": {}})
}

fn version(object: &Json) -> &Json {
    &object["metadata"]["resourceVersion"]
}

#[tokio::test]
async fn the_answer_to_a_create_has_the_default_of_the_status() {
    let client = client(json!({}), json!({})).await;
    let status = json!({"own": "yes"});
    let dry = format!("{SHOPS}?dryRun=All");
    let answer = client.post(&dry, &shop("v1")).await.expect(201);
    assert_eq!(answer["status"], status);
    let answer = client.post(SHOPS, &shop("v1")).await.expect(201);
    assert_eq!(answer["status"], status);

    let mut other = shop("v1");
    other["metadata"]["name"] = json!("b");
    let path = format!("{SHOPS}/b?fieldManager=ci");
    let apply = [("content-type", "application/apply-patch+yaml")];
    let answer = client.send("PATCH", &path, &apply, other.to_string()).await;
    assert_eq!(answer.expect(201)["status"], status);
}

#[tokio::test]
async fn the_default_of_the_status_is_stored_by_the_first_update() {
    let client = client(json!({}), json!({})).await;
    for name in ["v1", "v2"] {
        let path = format!("/apis/example.com/{name}/shops/{name}");
        let mut object = shop(name);
        object["metadata"]["name"] = json!(name);
        let collection = format!("/apis/example.com/{name}/shops");
        let created = client.post(&collection, &object).await.expect(201);
        let first = client.put(&path, &created).await.expect(200);
        assert_ne!(version(&first), version(&created), "{name}");
        let second = client.put(&path, &first).await.expect(200);
        assert_eq!(version(&second), version(&first), "{name}");
    }
}

#[tokio::test]
async fn an_update_of_the_status_at_another_version_stores_no_default_of_it_in_the_spec() {
    let client = client(json!({"a": "A"}), json!({"b": "B"})).await;
    client.post(SHOPS, &shop("v1")).await.expect(201);
    let path = "/apis/example.com/v2/shops/a";
    let status = format!("{path}/status");
    let mut live = client.get(path).await.expect(200);
    live["status"] = json!({"own": "new"});
    let put = client.put(&status, &live).await.expect(200);
    assert_eq!(put["status"]["b"], "B");
    let merge = [("content-type", "application/merge-patch+json")];
    let body = r#"{"status": {"own": "newer"}}"#;
    client
        .send("PATCH", &status, &merge, body)
        .await
        .expect(200);

    for path in [path.to_owned(), format!("{SHOPS}/a")] {
        let read = client.get(&path).await.expect(200);
        assert_eq!(read["spec"], json!({"a": "A"}), "{path}");
        assert_eq!(read["status"]["own"], "newer");
    }
}

#[tokio::test]
async fn a_number_that_becomes_a_float_raises_the_generation() {
    let client = client(json!({}), json!({})).await;
    let mut definition = client
        .get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shops.example.com")
        .await
        .expect(200);
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a";
    *definition.pointer_mut(schema).unwrap() = json!({"type": "number"});
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shops.example.com";
    client.put(path, &definition).await.expect(200);

    let mut object = shop("v1");
    object["spec"]["a"] = json!(3);
    let created = client.post(SHOPS, &object).await.expect(201);
    assert_eq!(created["metadata"]["generation"], 1);
    let merge = [("content-type", "application/merge-patch+json")];
    let path = format!("{SHOPS}/a");
    for (number, generation) in [("3.0", 2), ("3.0", 3), ("3", 3)] {
        let body = format!(r#"{{"spec": {{"a": {number}}}}}"#);
        let patched = client.send("PATCH", &path, &merge, body).await.expect(200);
        assert_eq!(patched["metadata"]["generation"], generation);
        assert_eq!(patched["spec"]["a"].as_i64(), Some(3));
    }
}
