//! Definitions of custom resources.

use serde_json::{Value as Json, json};

use super::names;
use crate::common::{CRDS, Client, SHOPS, shop, shops};

#[tokio::test]
async fn definition_is_served_with_the_answer_that_created_it() {
    let client = Client::new().await;
    assert_eq!(client.get(SHOPS).await.code, 404);
    let created = client.post(CRDS, &shops()).await.expect(201);
    assert_eq!(created["kind"], "CustomResourceDefinition");
    assert_eq!(client.get(SHOPS).await.expect(200)["kind"], "ShopList");
    let group = client.get("/apis/example.com").await.expect(200);
    assert_eq!(group["versions"].as_array().unwrap().len(), 2);
    let resources = client.get("/apis/example.com/v1").await.expect(200);
    let resources: Vec<&str> = resources["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["name"].as_str().unwrap())
        .collect();
    assert_eq!(resources, ["shops", "shops/status"]);
    let document = client
        .get("/openapi/v3/apis/example.com/v1")
        .await
        .expect(200);
    assert!(
        document["paths"]["/apis/example.com/v1/namespaces/{namespace}/shops/{name}"].is_object()
    );
}

#[tokio::test]
async fn definition_that_changes_changes_what_is_served() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("s")).await.expect(201);
    let path = format!("{CRDS}/shops.example.com");
    let mut definition = client.get(&path).await.expect(200);
    let version = definition["spec"]["versions"][1].as_object_mut().unwrap();
    version.insert("served".to_owned(), false.into());
    definition["spec"]["versions"][0]["subresources"]["scale"] =
        json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"});
    client.put(&path, &definition).await.expect(200);
    assert_eq!(
        client
            .get("/apis/example.com/v2/namespaces/default/shops")
            .await
            .code,
        404
    );
    let scale = client
        .merge(
            &format!("{SHOPS}/s/scale"),
            &json!({"spec": {"replicas": 4}}),
        )
        .await
        .expect(200);
    assert_eq!(
        (&scale["kind"], &scale["spec"]["replicas"]),
        (&json!("Scale"), &json!(4))
    );
    assert_eq!(
        client.get(&format!("{SHOPS}/s")).await.expect(200)["spec"]["size"],
        4
    );
}

/// The status, the reason and the message of a condition of a definition.
async fn condition(client: &Client, name: &str, kind: &str) -> [Json; 3] {
    let stored = client.get(&format!("{CRDS}/{name}")).await.expect(200);
    let conditions = stored["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|one| one["type"] == kind).unwrap();
    ["status", "reason", "message"].map(|name| found[name].clone())
}

#[tokio::test]
async fn definitions_with_equal_short_names_conflict() {
    let client = Client::new().await;
    let mut first = shops();
    first["spec"]["names"]["shortNames"] = json!(["x", "y", "z"]);
    client.post(CRDS, &first).await.expect(201);
    let mut other = shops();
    other["metadata"]["name"] = "stores.example.com".into();
    other["spec"]["names"] =
        json!({"plural": "stores", "kind": "Store", "shortNames": ["x", "q", "y"]});
    client.post(CRDS, &other).await.expect(201);

    let name = "stores.example.com";
    let message = r#"["x" is already in use, "y" is already in use]"#;
    let expected = ["False", "ShortNamesConflict", message].map(Json::from);
    assert_eq!(condition(&client, name, "NamesAccepted").await, expected);
    let [established, ..] = condition(&client, name, "Established").await;
    assert_eq!(established, "False");
}

#[tokio::test]
async fn definitions_in_groups_of_kubernetes_have_a_condition_of_their_approval() {
    let client = Client::new().await;
    let mut definition = shops();
    definition["metadata"]["name"] = "shops.networking.k8s.io".into();
    definition["spec"]["group"] = "networking.k8s.io".into();
    let annotations = json!({"api-approved.kubernetes.io": "unapproved, a test"});
    definition["metadata"]["annotations"] = annotations;
    client.post(CRDS, &definition).await.expect(201);
    let (name, kind) = (
        "shops.networking.k8s.io",
        "KubernetesAPIApprovalPolicyConformant",
    );
    let message = r#"not approved: "unapproved, a test""#;
    let expected = ["False", "UnapprovedAnnotation", message].map(Json::from);
    assert_eq!(condition(&client, name, kind).await, expected);

    let url = "https://example.com/1";
    let patch = json!({"metadata": {"annotations": {"api-approved.kubernetes.io": url}}});
    let path = format!("{CRDS}/{name}");
    client.merge(&path, &patch).await.expect(200);
    let message = format!("approved in {url}");
    let expected = ["True", "ApprovedAnnotation", &message].map(Json::from);
    assert_eq!(condition(&client, name, kind).await, expected);

    // The handlers of a version of built-in kinds hide the definition.
    let resources = "/apis/networking.k8s.io/v1";
    let found = client.get(resources).await.expect(200);
    let found = found["resources"].as_array().unwrap();
    assert!(found.iter().all(|resource| resource["name"] != "shops"));
    let missing = format!("{resources}/namespaces/default/shops");
    assert_eq!(client.get(&missing).await.code, 404);
}

#[tokio::test]
async fn definition_with_a_finalizer_of_a_client_takes_no_new_objects_after_its_deletion() {
    let client = Client::new().await;
    let mut definition = shops();
    definition["metadata"]["finalizers"] = json!(["example.com/held"]);
    client.post(CRDS, &definition).await.expect(201);
    let path = format!("{CRDS}/shops.example.com");
    client.delete(&path).await.expect(200);
    let object = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}});
    let path = "/apis/example.com/v1/namespaces/default/shops";
    client.post(path, &object).await.expect(403);
    let dry = format!("{path}/a?fieldManager=ci&dryRun=All");
    let headers = [("content-type", "application/apply-patch+yaml")];
    let answer = client
        .send("PATCH", &dry, &headers, object.to_string())
        .await;
    answer.expect(403);
}

#[tokio::test]
async fn definition_with_names_of_another_one_is_not_served() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let mut other = shops();
    other["metadata"]["name"] = "stores.example.com".into();
    other["spec"]["names"] = json!({"plural": "stores", "kind": "Shop"});
    client.post(CRDS, &other).await.expect(201);
    let stored = client
        .get(&format!("{CRDS}/stores.example.com"))
        .await
        .expect(200);
    let condition = |kind: &str| {
        let conditions = stored["status"]["conditions"].as_array().unwrap();
        conditions
            .iter()
            .find(|condition| condition["type"] == kind)
            .unwrap()["status"]
            .clone()
    };
    assert_eq!(
        (condition("NamesAccepted"), condition("Established")),
        (json!("False"), json!("False"))
    );
    assert_eq!(
        client
            .get("/apis/example.com/v1/namespaces/default/stores")
            .await
            .code,
        404
    );
    // The names are free when the first definition is deleted.
    client
        .delete(&format!("{CRDS}/shops.example.com"))
        .await
        .expect(200);
    client.server.collect().await.unwrap();
    assert_eq!(
        client
            .get("/apis/example.com/v1/namespaces/default/stores")
            .await
            .code,
        200
    );
}

#[tokio::test]
async fn columns_and_selectable_fields_are_those_of_the_definition() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let mut blue = shop("b");
    blue["spec"]["color"] = "blue".into();
    client.post(SHOPS, &blue).await.expect(201);
    client.post(SHOPS, &shop("r")).await.expect(201);
    let selected = client
        .get(&format!("{SHOPS}?fieldSelector=spec.color%3Dblue"))
        .await
        .expect(200);
    assert_eq!(names(&selected), ["b"]);
    let status = client
        .get(&format!("{SHOPS}?fieldSelector=spec.size%3D1"))
        .await
        .expect(400);
    assert_eq!(status["message"], "field label not supported: spec.size");
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = client
        .send("GET", &format!("{SHOPS}?labelSelector=a!%3Db"), &accept, "")
        .await
        .expect(200);
    let columns: Vec<&str> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    assert_eq!(columns, ["Name", "Color"]);
    assert_eq!(table["rows"][0]["cells"], json!(["b", "blue"]));
}

#[tokio::test]
async fn an_established_definition_gets_back_the_time_that_a_client_removed() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let path = format!("{CRDS}/shops.example.com");
    let mut stored = client.get(&path).await.expect(200);
    let status = &mut stored["status"];
    status["acceptedNames"] = json!({"plural": "", "kind": ""});
    status["conditions"] = json!([{"type": "Established", "status": "True", "reason": "Mine", "message": "kept", "lastTransitionTime": null}]);
    client
        .put(&format!("{path}/status"), &stored)
        .await
        .expect(200);

    let stored = client.get(&path).await.expect(200);
    let conditions = stored["status"]["conditions"].as_array().unwrap();
    let established = conditions
        .iter()
        .find(|condition| condition["type"] == "Established")
        .unwrap();
    assert!(established["lastTransitionTime"].is_string(), "{stored}");
    assert_eq!(
        (&established["reason"], &established["message"]),
        (&json!("Mine"), &json!("kept"))
    );
}

#[tokio::test]
async fn definitions_with_invalid_certificates_are_not_established() {
    let client = Client::new().await;
    let mut definition = shops();
    let config = |bundle: &str| json!({"url": "https://example.com/convert", "caBundle": bundle});
    definition["spec"]["conversion"] = json!({"strategy": "Webhook",
        "webhook": {"clientConfig": config("bm90aGluZw=="), "conversionReviewVersions": ["v1"]}});
    client.post(CRDS, &definition).await.expect(201);
    let path = format!("{}/shops.example.com", CRDS);
    let established = async || {
        let stored = client.get(&path).await.json();
        let conditions = stored["status"]["conditions"].as_array().unwrap().clone();
        let condition = conditions
            .into_iter()
            .find(|condition| condition["type"] == "Established")
            .unwrap();
        format!(
            "{} {}",
            condition["status"].as_str().unwrap(),
            condition["reason"].as_str().unwrap()
        )
    };
    assert_eq!(established().await, "False InvalidCABundle");
    assert_eq!(client.get(SHOPS).await.code, 404);
    let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": config("")}}}});
    client.merge(&path, &patch).await.expect(200);
    assert_eq!(established().await, "True InitialNamesAccepted");
    client.get(SHOPS).await.expect(200);
    let refused = client
        .merge(
            &path,
            &json!({"spec": {"conversion": {"webhook": {"clientConfig": config("bm90aGluZw==")}}}}),
        )
        .await;
    assert_eq!(
        refused.expect(422)["details"]["causes"][0]["field"],
        "spec.conversion.webhookClientConfig.caBundle"
    );
}
