//! Answers that the comparison with kube-apiserver over HTTP found to differ.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use crate::common::{self, CONFIG_MAPS, Client, config_map};
use http::Request;
use http_body::Body;
use http_body_util::{BodyExt, Empty};
use serde_json::{Value as Json, json};
use tower::ServiceExt;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/example.com/v1/namespaces/default/things";
const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A definition with two versions, whose members of `spec` differ.
fn things() -> Json {
    let version = |name: &str, storage: bool, members: Json| {
        let spec = json!({"type": "object", "properties": members});
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
    };
    let versions = json!([
        version("v1", true, json!({"a": {"type": "string"}})),
        version(
            "v2",
            false,
            json!({"a": {"type": "string"}, "only": {"type": "string", "default": "two"}})
        ),
    ]);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": versions,
        },
    })
}

fn thing(version: &str) -> Json {
    json!({"apiVersion": format!("example.com/{version}"), "kind": "Thing", "metadata": {"name": "x"}, "spec": {"a": "b"}})
}

#[tokio::test]
async fn every_request_to_a_deprecated_version_has_the_warning() {
    let client = Client::new().await;
    let object = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"}});
    assert_eq!(client.post(ENDPOINTS, &object).await.warnings().len(), 1);
    let path = format!("{ENDPOINTS}/e");
    for answer in [
        client.get(&path).await,
        client.delete(&path).await,
        client.get(&path).await,
    ] {
        let warnings = answer.warnings();
        assert!(
            warnings.len() == 1 && warnings[0].contains("v1 Endpoints is deprecated"),
            "{warnings:?}"
        );
    }
}

#[tokio::test]
async fn deletion_of_a_job_without_a_policy_warns_about_its_pods() {
    let client = Client::new().await;
    let warns = |answer: common::Answer| {
        answer
            .warnings()
            .iter()
            .any(|warning| warning.contains("child pods are preserved by default"))
    };
    assert!(warns(client.delete(&format!("{JOBS}/j")).await));
    assert!(!warns(
        client
            .delete(&format!("{JOBS}/j?propagationPolicy=Background"))
            .await
    ));
}

#[tokio::test]
async fn pod_that_is_deleted_at_once_is_marked_first() {
    let client = Client::new().await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    client.post(PODS, &pod).await.expect(201);
    let mut watch = client.watch(&format!("{PODS}?watch=1")).await;
    let deleted = client.delete(&format!("{PODS}/p")).await.expect(200);
    assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(deleted["metadata"]["generation"], 2);
    assert_eq!(watch.names(3).await, ["ADDED p", "MODIFIED p", "DELETED p"]);
}

#[tokio::test]
async fn unknown_subresource_of_a_custom_resource_is_not_found() {
    let client = Client::new().await;
    client.post(CRDS, &things()).await.expect(201);
    let status = client.get(&format!("{THINGS}/x/status")).await.expect(404);
    assert_eq!(status["message"], "things.example.com \"x\" not found");
}

#[tokio::test]
async fn writes_to_unusual_paths_of_custom_resources_are_answered_as_by_kubernetes() {
    const COLLECTION: &str = "/apis/example.com/v1/namespaces/default/things";
    let json = [("content-type", "application/json")];
    let client = Client::new().await;
    client.post(CRDS, &things()).await.expect(201);
    let thing = thing("v1");
    for answer in [
        client.put(COLLECTION, &thing).await,
        client.merge(COLLECTION, &thing).await,
        client.apply(COLLECTION, "alice", &thing).await,
    ] {
        assert_eq!(answer.expect(400)["message"], "name must be provided");
    }
    client
        .send("PATCH", COLLECTION, &[("content-type", "text/plain")], "{}")
        .await
        .expect(415);
    let created = client
        .post(&format!("{COLLECTION}/other"), &thing)
        .await
        .expect(201);
    assert_eq!(created["metadata"]["name"], thing["metadata"]["name"]);
    for (method, path) in [("POST", ""), ("PUT", ""), ("DELETE", ""), ("GET", "/x")] {
        let answer = client
            .send(
                method,
                &format!("/apis/example.com/v1/things{path}"),
                &json,
                "{}",
            )
            .await;
        assert_eq!(
            (answer.code, &answer.bytes[..]),
            (404, &b"404 page not found\n"[..]),
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn defaults_of_another_version_than_the_stored_one_are_not_added() {
    let client = Client::new().await;
    client.post(CRDS, &things()).await.expect(201);
    client.post(THINGS, &thing("v1")).await.expect(201);
    let path = "/apis/example.com/v2/namespaces/default/things/x";
    let config = json!({"apiVersion": "example.com/v2", "kind": "Thing", "metadata": {"labels": {"l": "m"}}});
    let applied = client.apply(path, "a", &config).await.expect(200);
    assert_eq!(applied["spec"], json!({"a": "b"}));
}

#[tokio::test]
async fn object_that_ends_with_an_update_keeps_its_version() {
    let client = Client::new().await;
    let mut object = common::config_map("c");
    object["metadata"]["finalizers"] = json!(["example.com/f"]);
    client.post(common::CONFIG_MAPS, &object).await.expect(201);
    let path = format!("{}/c", common::CONFIG_MAPS);
    let marked = client.delete(&path).await.expect(200);
    let ended = client
        .merge(&path, &json!({"metadata": {"finalizers": null}}))
        .await
        .expect(200);
    assert_eq!(
        ended["metadata"]["resourceVersion"],
        marked["metadata"]["resourceVersion"]
    );
    client.get(&path).await.expect(404);
}

#[tokio::test]
async fn update_of_a_terminating_namespace_does_not_end_it() {
    let client = Client::new().await;
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    client.post("/api/v1/namespaces", &object).await.expect(201);
    client.delete("/api/v1/namespaces/n").await.expect(200);
    client
        .put("/api/v1/namespaces/n", &object)
        .await
        .expect(200);
    let namespace = client.get("/api/v1/namespaces/n").await.expect(200);
    assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
}

#[tokio::test]
async fn server_owns_the_status_of_a_definition() {
    let client = Client::new().await;
    client.post(CRDS, &things()).await.expect(201);
    let path = format!("{CRDS}/things.example.com");
    let stored = client.get(&path).await.expect(200);
    let entries = stored["metadata"]["managedFields"].as_array().unwrap();
    let own = entries
        .iter()
        .find(|entry| entry["manager"] == "kube-apiserver")
        .unwrap();
    assert_eq!(
        (&own["subresource"], &own["operation"]),
        (&json!("status"), &json!("Update"))
    );
    assert_eq!(
        own["fieldsV1"]["f:status"]["f:acceptedNames"]["f:plural"],
        json!({})
    );
    let deleted = client.delete(&path).await.expect(200);
    assert_eq!(
        deleted["metadata"]["finalizers"],
        json!(["customresourcecleanup.apiextensions.k8s.io"])
    );
    assert_eq!(
        deleted["status"]["conditions"][2]["reason"],
        "InstanceDeletionPending"
    );
}

#[tokio::test]
async fn a_long_list_is_that_of_its_revision_however_late_it_is_read() {
    let client = Client::new().await;
    for number in 0..100 {
        let mut map = config_map(&format!("map-{number}"));
        map["data"] = json!({"text": "x".repeat(5000)});
        client.post(CONFIG_MAPS, &map).await.expect(201);
    }
    let whole = client.get(CONFIG_MAPS).await.expect(200);
    let request = Request::get(CONFIG_MAPS)
        .body(Empty::<bytes::Bytes>::new())
        .unwrap();
    let response = client.server.clone().oneshot(request).await.unwrap();
    assert_eq!(
        response.body().size_hint().exact(),
        None,
        "the list is written while it is read"
    );
    client.delete(CONFIG_MAPS).await.expect(200);
    let read = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(serde_json::from_slice::<Json>(&read).unwrap(), whole);
    assert_eq!(whole["items"].as_array().unwrap().len(), 100);
}
