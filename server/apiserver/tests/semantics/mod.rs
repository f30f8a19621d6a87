//! Behaviour of kube-apiserver that is easily implemented wrong, by number.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod definitions;
mod deletions;
mod kinds;
mod reads;

use serde_json::{Value as Json, json};

use crate::common::{CONFIG_MAPS, CRDS, Client, SHOPS, config_map, shop, shops};

fn version(object: &Json) -> u64 {
    object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

fn pod(name: &str) -> Json {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]}})
}

const PODS: &str = "/api/v1/namespaces/default/pods";

#[tokio::test]
async fn s14_dry_run_stores_nothing() {
    let client = Client::new().await;
    let before = version(&client.get(CONFIG_MAPS).await.expect(200));
    let dry = client
        .post(&format!("{CONFIG_MAPS}?dryRun=All"), &config_map("a"))
        .await
        .expect(201);
    assert_eq!(dry["metadata"].get("resourceVersion"), None);
    assert!(dry["metadata"]["uid"].is_string());
    client.get(&format!("{CONFIG_MAPS}/a")).await.expect(404);
    let live = client.config_map("a").await;
    let path = format!("{CONFIG_MAPS}/a?dryRun=All");
    let dry = client
        .merge(&path, &json!({"data": {"color": "blue"}}))
        .await
        .expect(200);
    assert_eq!(
        (&dry["data"]["color"], version(&dry)),
        (&json!("blue"), version(&live))
    );
    client
        .post(&format!("{CONFIG_MAPS}?dryRun=All"), &config_map("a"))
        .await
        .expect(409);
    client.delete(&path).await.expect(200);
    assert_eq!(
        version(&client.get(CONFIG_MAPS).await.expect(200)),
        before + 1
    );
}

#[tokio::test]
async fn s15_generated_names_have_five_characters() {
    let client = Client::new().await;
    let object = json!({"metadata": {"generateName": "a".repeat(70)}});
    let created = client.post(CONFIG_MAPS, &object).await.expect(201);
    let name = created["metadata"]["name"].as_str().unwrap();
    assert_eq!(name.len(), 63);
    assert!(name.starts_with(&"a".repeat(58)));
}

#[tokio::test]
async fn s16_missing_objects() {
    let client = Client::new().await;
    let path = format!("{CONFIG_MAPS}/a");
    client.merge(&path, &json!({"data": {}})).await.expect(404);
    client.put(&path, &config_map("a")).await.expect(404);
    // The version of a configuration is no precondition while there is no object.
    let mut config = config_map("a");
    config["metadata"]["resourceVersion"] = json!("1");
    client.apply(&path, "ci", &config).await.expect(201);
    client.apply(&path, "ci", &config).await.expect(409);
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}});
    client
        .put(
            "/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
            &lease,
        )
        .await
        .expect(201);
}

#[tokio::test]
async fn s17_write_without_a_change_changes_nothing() {
    let client = Client::new().await;
    let path = format!("{CONFIG_MAPS}/a");
    let first = client
        .apply(&path, "ci", &config_map("a"))
        .await
        .expect(201);
    assert_eq!(
        client
            .apply(&path, "ci", &config_map("a"))
            .await
            .expect(200),
        first
    );
    assert_eq!(
        client
            .merge(&path, &json!({"data": {"color": "red"}}))
            .await
            .expect(200),
        first
    );
}

#[tokio::test]
async fn s18_version_of_an_update_is_a_precondition() {
    let client = Client::new().await;
    let created = client.config_map("a").await;
    let path = format!("{CONFIG_MAPS}/a");
    client.put(&path, &config_map("a")).await.expect(200);
    client
        .merge(&path, &json!({"data": {"color": "blue"}}))
        .await
        .expect(200);
    let status = client.put(&path, &created).await.expect(409);
    assert!(status["message"].as_str().unwrap().ends_with(
        "the object has been modified; please apply your changes to the latest version and try again"
    ));
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("s")).await.expect(201);
    let status = client
        .put(&format!("{SHOPS}/s"), &shop("s"))
        .await
        .expect(422);
    assert!(
        status["message"].as_str().unwrap().contains(
            "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        )
    );
}

#[tokio::test]
async fn s19_status_and_spec_are_written_apart() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let mut object = shop("s");
    object["status"] = json!({"open": true});
    let created = client.post(SHOPS, &object).await.expect(201);
    assert_eq!(
        (created.get("status"), &created["metadata"]["generation"]),
        (None, &json!(1))
    );
    let path = format!("{SHOPS}/s");
    let patch =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"size": 3}, "status": {"open": true}});
    let status = client
        .merge(&format!("{path}/status"), &patch)
        .await
        .expect(200);
    assert_eq!(
        (
            &status["status"]["open"],
            status["spec"].get("size"),
            status["metadata"].get("labels")
        ),
        (&json!(true), None, None)
    );
    let spec = client
        .merge(
            &path,
            &json!({"spec": {"size": 3}, "status": {"open": false}}),
        )
        .await
        .expect(200);
    assert_eq!(
        (&spec["status"]["open"], &spec["metadata"]["generation"]),
        (&json!(true), &json!(2))
    );
}

#[tokio::test]
async fn s23_warnings_are_headers() {
    let client = Client::new().await;
    let mut object = config_map("a");
    object["unknown\"field"] = json!(1);
    let answer = client
        .post(&format!("{CONFIG_MAPS}?fieldValidation=Warn"), &object)
        .await;
    assert_eq!(
        answer.warnings(),
        [r#"299 - "unknown field \"unknown\\\"field\"""#]
    );
}

#[tokio::test]
async fn s24_large_answers_are_compressed() {
    let client = Client::new().await;
    let mut object = config_map("a");
    object["data"]["large"] = json!("x".repeat(200_000));
    client.post(CONFIG_MAPS, &object).await.expect(201);
    let gzip = [("accept-encoding", "gzip")];
    let large = client.send("GET", CONFIG_MAPS, &gzip, "").await;
    assert_eq!(large.headers["content-encoding"], "gzip");
    assert!(large.bytes.len() < 20_000);
    let small = client.send("GET", "/api/v1/namespaces", &gzip, "").await;
    assert!(!small.headers.contains_key("content-encoding"));
}

#[tokio::test]
async fn s25_names_and_namespaces_agree_with_the_path() {
    let client = Client::new().await;
    let mut object = config_map("a");
    object["metadata"]["namespace"] = json!("other");
    client.post(CONFIG_MAPS, &object).await.expect(400);
    client.config_map("a").await;
    client
        .put(&format!("{CONFIG_MAPS}/a"), &config_map("b"))
        .await
        .expect(400);
    let precondition = json!({"preconditions": {"uid": "x"}});
    client
        .delete_with(&format!("{CONFIG_MAPS}/a"), &precondition)
        .await
        .expect(409);
    for name in ["default", "kube-system", "kube-public"] {
        client
            .delete(&format!("/api/v1/namespaces/{name}"))
            .await
            .expect(403);
    }
    client
        .post("/api/v1/namespaces/missing/configmaps", &config_map("a"))
        .await
        .expect(404);
    client
        .post("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}}))
        .await
        .expect(201);
    client
        .post("/api/v1/namespaces/shop/configmaps", &config_map("a"))
        .await
        .expect(201);
    let terminating = client.delete("/api/v1/namespaces/shop").await.expect(200);
    assert_eq!(terminating["status"]["phase"], "Terminating");
    let status = client
        .post("/api/v1/namespaces/shop/configmaps", &config_map("b"))
        .await
        .expect(403);
    assert_eq!(
        status["details"]["causes"][0]["reason"],
        "NamespaceTerminating"
    );
    client.server.collect().await.unwrap();
    client.get("/api/v1/namespaces/shop").await.expect(404);
    assert_eq!(
        client
            .get("/api/v1/namespaces/shop/configmaps")
            .await
            .expect(200)["items"],
        json!([])
    );
}

#[tokio::test]
async fn groups_and_versions_are_in_the_order_of_preference() {
    let client = Client::new().await;
    let group = client.get("/apis/autoscaling").await.expect(200);
    assert_eq!(group["preferredVersion"]["version"], "v2");
}

#[tokio::test]
async fn answers_in_the_forms_that_clients_ask_for() {
    let client = Client::new().await;
    client.config_map("a").await;
    let accept =
        |form: &str| format!("application/json;as={form};v=v1;g=meta.k8s.io,application/json");
    let table = client
        .send(
            "GET",
            CONFIG_MAPS,
            &[("accept", accept("Table").as_str())],
            "",
        )
        .await
        .expect(200);
    assert_eq!(
        (&table["kind"], &table["rows"][0]["cells"][0]),
        (&json!("Table"), &json!("a"))
    );
    let form = accept("PartialObjectMetadataList");
    let list = client
        .send("GET", CONFIG_MAPS, &[("accept", form.as_str())], "")
        .await
        .expect(200);
    assert_eq!(
        (&list["kind"], &list["items"][0]["kind"]),
        (
            &json!("PartialObjectMetadataList"),
            &json!("PartialObjectMetadata")
        )
    );
    assert_eq!(list["items"][0].get("data"), None);
    let yaml = client
        .send(
            "GET",
            &format!("{CONFIG_MAPS}/a"),
            &[("accept", "application/yaml")],
            "",
        )
        .await;
    assert!(yaml.bytes.starts_with(b"apiVersion: v1\n"));
    client
        .send("GET", CONFIG_MAPS, &[("accept", "text/plain")], "")
        .await
        .expect(406);
}

#[tokio::test]
async fn appliers_conflict_and_share() {
    let client = Client::new().await;
    let path = format!("{CONFIG_MAPS}/a");
    client
        .apply(&path, "one", &config_map("a"))
        .await
        .expect(201);
    let mut other = config_map("a");
    other["data"]["color"] = json!("blue");
    let status = client.apply(&path, "two", &other).await.expect(409);
    assert_eq!(
        status["message"],
        "Apply failed with 1 conflict: conflict with \"one\": .data.color"
    );
    client
        .apply(&format!("{path}?force=true"), "two", &other)
        .await
        .expect(200);
}
