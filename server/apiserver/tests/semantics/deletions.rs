//! What a deletion leaves, and when it ends.

use serde_json::{Value as Json, json};

use super::{PODS, pod, version};
use crate::common::{CONFIG_MAPS, Client, config_map};

#[tokio::test]
async fn s09_deleted_has_the_last_state_and_the_version_of_the_deletion() {
    let client = Client::new().await;
    let mut object = config_map("a");
    object["metadata"]["finalizers"] = json!(["example.com/x"]);
    let created = client.post(CONFIG_MAPS, &object).await.expect(201);
    let mut watch = client
        .watch(&format!(
            "{CONFIG_MAPS}?watch=1&resourceVersion={}",
            version(&created)
        ))
        .await;
    let path = format!("{CONFIG_MAPS}/a");
    let terminating = client.delete(&path).await.expect(200);
    assert_eq!(terminating["kind"], "ConfigMap");
    client
        .merge(&path, &json!({"metadata": {"finalizers": null}}))
        .await
        .expect(200);
    assert_eq!(watch.names(1).await, ["MODIFIED a"]);
    let (kind, last) = watch.next().await.unwrap();
    assert_eq!(kind, "DELETED");
    assert!(version(&last) > version(&terminating));
    assert_eq!(last["data"]["color"], "red");
}

#[tokio::test]
async fn s10_finished_deletion_answers_a_status_or_the_object() {
    let client = Client::new().await;
    let object = client.config_map("a").await;
    let status = client.delete(&format!("{CONFIG_MAPS}/a")).await.expect(200);
    assert_eq!(
        (&status["kind"], &status["status"]),
        (&json!("Status"), &json!("Success"))
    );
    assert_eq!(
        status["details"],
        json!({"name": "a", "kind": "configmaps", "uid": object["metadata"]["uid"]})
    );
    client.post(PODS, &pod("p")).await.expect(201);
    assert_eq!(
        client.delete(&format!("{PODS}/p")).await.expect(200)["kind"],
        "Pod"
    );
}

#[tokio::test]
async fn s11_grace_period_of_a_pod_only_becomes_shorter() {
    let client = Client::new().await;
    let mut object = pod("p");
    object["spec"]["nodeName"] = json!("node-1");
    client.post(PODS, &object).await.expect(201);
    let path = format!("{PODS}/p");
    let grace = |object: &Json| object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    let terminating = client.delete(&path).await.expect(200);
    assert_eq!(
        (
            grace(&terminating),
            &terminating["metadata"]["deletionTimestamp"]
        ),
        (Some(30), &json!("2026-01-31T12:00:30Z"))
    );
    let longer = client
        .delete(&format!("{path}?gracePeriodSeconds=60"))
        .await
        .expect(200);
    assert_eq!(grace(&longer), Some(30));
    let shorter = client
        .delete(&format!("{path}?gracePeriodSeconds=5"))
        .await
        .expect(200);
    assert_eq!(
        (grace(&shorter), &shorter["metadata"]["deletionTimestamp"]),
        (Some(5), &json!("2026-01-31T12:00:05Z"))
    );
    client
        .delete(&format!("{path}?gracePeriodSeconds=0"))
        .await
        .expect(200);
    client.get(&path).await.expect(404);
}

#[tokio::test]
async fn grace_period_of_a_pod_ends_with_the_last_time_that_there_is() {
    let client = Client::new().await;
    let path = format!("{PODS}/p");
    let grace = |object: &Json| object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    for (own, query) in [
        (30, format!("?gracePeriodSeconds={}", i64::MAX)),
        (i64::MAX, String::new()),
    ] {
        let mut object = pod("p");
        object["spec"]["nodeName"] = json!("node-1");
        object["spec"]["terminationGracePeriodSeconds"] = json!(own);
        client.post(PODS, &object).await.expect(201);
        let terminating = client.delete(&format!("{path}{query}")).await.expect(200);
        assert_eq!(
            terminating["metadata"]["deletionTimestamp"],
            "9999-12-31T23:59:59Z"
        );
        assert!(grace(&terminating).is_some_and(|grace| grace > 0));
        let shorter = client
            .delete(&format!("{path}?gracePeriodSeconds=5"))
            .await
            .expect(200);
        let ends = &shorter["metadata"]["deletionTimestamp"];
        assert_eq!(
            (grace(&shorter), ends),
            (Some(5), &json!("2026-01-31T12:00:05Z"))
        );
        client
            .delete(&format!("{path}?gracePeriodSeconds=0"))
            .await
            .expect(200);
        client.get(&path).await.expect(404);
    }
}

#[tokio::test]
async fn s12_last_finalizer_ends_the_object() {
    let client = Client::new().await;
    let mut object = config_map("a");
    object["metadata"]["finalizers"] = json!(["example.com/x"]);
    client.post(CONFIG_MAPS, &object).await.expect(201);
    let path = format!("{CONFIG_MAPS}/a");
    client.delete(&path).await.expect(200);
    let status = client
        .merge(
            &path,
            &json!({"metadata": {"finalizers": ["example.com/x", "example.com/y"]}}),
        )
        .await
        .expect(422);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("no new finalizers can be added")
    );
    assert_eq!(
        client
            .merge(&path, &json!({"metadata": {"finalizers": null}}))
            .await
            .expect(200)["kind"],
        "ConfigMap"
    );
    client.get(&path).await.expect(404);
}

#[tokio::test]
async fn s13_collector_removes_the_finalizers_of_propagation() {
    let client = Client::new().await;
    let owner = client.config_map("owner").await;
    let mut dependent = config_map("dependent");
    dependent["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true}]);
    client.post(CONFIG_MAPS, &dependent).await.expect(201);
    let path = format!("{CONFIG_MAPS}/owner");
    let marked = client
        .delete(&format!("{path}?propagationPolicy=Foreground"))
        .await
        .expect(200);
    assert_eq!(
        marked["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    client.server.collect().await.unwrap();
    client.get(&path).await.expect(404);
    client
        .get(&format!("{CONFIG_MAPS}/dependent"))
        .await
        .expect(404);

    let owner = client.config_map("owner").await;
    dependent["metadata"]["ownerReferences"][0]["uid"] = owner["metadata"]["uid"].clone();
    client.post(CONFIG_MAPS, &dependent).await.expect(201);
    let marked = client
        .delete_with(&path, &json!({"propagationPolicy": "Orphan"}))
        .await
        .expect(200);
    assert_eq!(marked["metadata"]["finalizers"], json!(["orphan"]));
    client.server.collect().await.unwrap();
    client.get(&path).await.expect(404);
    let orphan = client
        .get(&format!("{CONFIG_MAPS}/dependent"))
        .await
        .expect(200);
    assert_eq!(orphan["metadata"].get("ownerReferences"), None);
}
