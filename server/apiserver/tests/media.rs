//! Methods and media types of documents and of built-in kinds. The answers are those of kube-apiserver.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use serde_json::Value as Json;

use crate::common::{Answer, CONFIG_MAPS, Client, message};

const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

async fn get(client: &Client, path: &str, accept: &str) -> Answer {
    client.send("GET", path, &[("accept", accept)], "").await
}

#[tokio::test]
async fn documents_of_built_in_versions_have_one_method_and_others_any() {
    let client = Client::new().await;
    for method in ["POST", "PUT", "PATCH", "DELETE", "HEAD"] {
        for path in ["/version", "/api", "/api/v1", "/apis/apps/v1"] {
            let answer = client.send(method, path, &[], "").await;
            assert_eq!(answer.code, 405, "{method} {path}");
        }
        for path in [
            "/",
            "/healthz",
            "/readyz/ping",
            "/apis",
            "/apis/apps",
            "/openapi/v2",
            "/metrics",
        ] {
            let answer = client.send(method, path, &[], "").await;
            assert_eq!(answer.code, 200, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_route_names_its_media_types_and_knows_no_wildcard_of_them() {
    let client = Client::new().await;
    let produced = "406: Not Acceptable\n\nAvailable representations: application/json";
    let object = ", application/yaml, application/vnd.kubernetes.protobuf";
    let list = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    for (path, rest) in [
        ("/version".to_owned(), String::new()),
        ("/apis/apps/v1".to_owned(), object.to_owned()),
        ("/api/v1/namespaces/default".to_owned(), object.to_owned()),
        (CONFIG_MAPS.to_owned(), format!("{object}{list}")),
    ] {
        for accept in ["application/*", "text/plain"] {
            let answer = get(&client, &path, accept).await.expect(406);
            assert_eq!(message(&answer), format!("{produced}{rest}"), "{path}");
        }
        get(&client, &path, "text/plain, */*;q=0.1")
            .await
            .expect(200);
    }

    // Other documents are negotiated, and know it.
    get(&client, "/apis", "application/*").await.expect(200);
    let answer = get(&client, "/apis/apps", "text/plain").await.expect(406);
    assert!(message(&answer).starts_with("only the following media types are accepted: "));
}

#[tokio::test]
async fn documents_of_openapi_are_refused_without_words() {
    let client = Client::new().await;
    for (path, code) in [
        ("/openapi/v2", 406),
        ("/openapi/v3/api/v1", 406),
        ("/openapi/v3/nothing", 404),
    ] {
        let answer = get(&client, path, "text/plain").await;
        assert_eq!((answer.code, answer.bytes.len()), (code, 0), "{path}");
    }
    let index = get(&client, "/openapi/v3", "text/plain").await;
    assert_eq!(index.code, 200);
}

#[tokio::test]
async fn metadata_of_a_list_are_a_list() {
    let client = Client::new().await;
    client.config_map("web").await;
    let object = format!("{CONFIG_MAPS}/web");
    get(&client, &object, METADATA).await.expect(200);
    get(&client, CONFIG_MAPS, METADATA_LIST).await.expect(200);

    let refused = get(&client, CONFIG_MAPS, METADATA).await.expect(406);
    assert_eq!(
        message(&refused),
        "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"
    );
    let refused = get(&client, &object, METADATA_LIST).await.expect(406);
    assert_eq!(
        message(&refused),
        "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)"
    );
    let refused = get(&client, "/apis/events.k8s.io/v1/events", METADATA)
        .await
        .expect(406);
    assert!(message(&refused).ends_with("(*core.EventList)"));
}

#[tokio::test]
async fn a_status_of_success_has_the_serialization_of_a_table() {
    let client = Client::new().await;
    client.config_map("web").await;
    let accept = [("accept", "application/yaml;as=Table;v=v1;g=meta.k8s.io")];
    let object = format!("{CONFIG_MAPS}/web");
    let deleted = client.send("DELETE", &object, &accept, "").await;
    assert!(
        deleted.bytes.starts_with(b"apiVersion: v1\n"),
        "{:?}",
        deleted.bytes
    );
    let missing = client.send("DELETE", &object, &accept, "").await;
    assert!(missing.bytes.starts_with(b"{"), "{:?}", missing.bytes);
}

#[tokio::test]
async fn the_paths_of_a_server_have_its_health_checks() {
    let client = Client::new().await;
    let answer = client.get("/").await.expect(200);
    let paths: Vec<&str> = answer["paths"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Json::as_str)
        .collect();
    for path in [
        "/healthz",
        "/healthz/ping",
        "/livez/etcd",
        "/readyz/poststarthook/storage-readiness",
        "/readyz/shutdown",
    ] {
        assert!(paths.contains(&path), "{path}");
    }
}
