//! Servers for tests: how they are made, requests, and assertions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use crate::common::{config_map, shop, shops};
use fieldmanager_apiserver::{ApiServer, Collection, assert_not_owned, assert_owned};
use serde_json::json;

#[tokio::test]
async fn manifests_are_yaml_values_and_files_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("objects.yaml");
    std::fs::write(
        &file,
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: market}\n",
    )
    .unwrap();
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: market}\n---\n\
                apiVersion: v1\nkind: List\nitems:\n- {apiVersion: example.com/v1, kind: Shop, metadata: {name: corner}}\n";
    let server = ApiServer::for_test()
        .objects([yaml])
        .objects([file])
        .crds([shops()])
        .build()
        .await
        .unwrap();
    server.get("v1", "ConfigMap", "market/a").await.unwrap();
    server
        .get("example.com/v1", "Shop", "corner")
        .await
        .unwrap();
    assert_eq!(server.log().len(), 2);
    server.delete("v1", "ConfigMap", "market/a").await.unwrap();
    server.reset().await.unwrap();
    server.get("v1", "ConfigMap", "market/a").await.unwrap();
}

#[tokio::test]
async fn manifests_that_cannot_be_used_are_named() {
    let refused = async |manifest: &str| {
        ApiServer::for_test()
            .objects([manifest])
            .build()
            .await
            .unwrap_err()
            .to_string()
    };
    let unknown = refused("{apiVersion: example.com/v1, kind: Shop, metadata: {name: a}}").await;
    assert_eq!(
        unknown,
        "Shop \"a\": the kind example.com/v1, Kind=Shop is not served"
    );
    assert!(refused("{").await.starts_with("a manifest: "));
    let missing = std::path::Path::new("/nowhere/a.yaml");
    let error = ApiServer::for_test()
        .objects([missing])
        .build()
        .await
        .unwrap_err();
    assert!(
        error.to_string().starts_with("/nowhere/a.yaml: "),
        "{error}"
    );
}

#[tokio::test]
async fn requests_act_as_managers_and_refusals_have_codes() {
    let server = ApiServer::for_test()
        .crds([shops()])
        .collection(Collection::Stepped)
        .build()
        .await
        .unwrap();
    let created = server.create(shop("a")).await.unwrap();
    assert_eq!(
        created["metadata"]["creationTimestamp"],
        "2026-01-31T12:00:00Z"
    );
    assert_owned!(created, "test", ".spec.color");
    assert_eq!(
        server.create(shop("a")).await.unwrap_err().reason,
        "AlreadyExists"
    );
    let sized = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "spec": {"size": 3}});
    let object = server.apply("alice", &sized).await.unwrap();
    assert_owned!(object, "alice", ".spec.size");
    let patched = server
        .patch(
            "bob",
            "example.com/v1",
            "Shop",
            "a",
            json!({"spec": {"size": 4}}),
        )
        .await
        .unwrap();
    assert_not_owned!(patched, "alice", ".spec.size");
    let refused = server.apply("alice", &sized).await.unwrap_err();
    assert_eq!((refused.code, refused.reason.as_str()), (409, "Conflict"));
    assert!(
        refused.to_string().contains("conflict with \"bob\""),
        "{refused}"
    );
    assert_eq!(
        server.force_apply("alice", &sized).await.unwrap()["spec"]["size"],
        3
    );
    let mut whole = server
        .get("example.com/v1", "Shop", "default/a")
        .await
        .unwrap();
    whole["spec"]["color"] = "blue".into();
    let updated = server.update("carol", whole).await.unwrap();
    assert_owned!(updated, "carol", ".spec.color");
    assert_eq!(
        server.list("example.com/v1", "Shop").await.unwrap().len(),
        1
    );
    server.delete("example.com/v1", "Shop", "a").await.unwrap();
    assert_eq!(
        server
            .get("example.com/v1", "Shop", "a")
            .await
            .unwrap_err()
            .code,
        404
    );
    let unknown = server
        .get("example.com/v1", "House", "a")
        .await
        .unwrap_err();
    assert_eq!(
        unknown.message,
        "the kind example.com/v1, Kind=House is not served"
    );
}

#[tokio::test]
async fn servers_with_equal_seeds_are_equal_and_forks_are_independent() {
    let build = || {
        ApiServer::for_test()
            .seed(3)
            .collection(Collection::Stepped)
            .build()
    };
    let (one, other) = (build().await.unwrap(), build().await.unwrap());
    let map = one.create(config_map("a")).await.unwrap();
    assert_eq!(map, other.create(config_map("a")).await.unwrap());
    let fork = one.fork().await.unwrap();
    fork.delete("v1", "ConfigMap", "a").await.unwrap();
    one.get("v1", "ConfigMap", "a").await.unwrap();
    fork.reset().await.unwrap();
    assert_eq!(fork.get("v1", "ConfigMap", "a").await.unwrap(), map);
}
