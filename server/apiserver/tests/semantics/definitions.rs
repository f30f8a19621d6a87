//! Custom resources, and patches and names that depend on their definitions.

use serde_json::json;

use super::version;
use crate::common::{CRDS, Client, SHOPS, shop, shops};

#[tokio::test]
async fn s20_definitions_live_and_die_with_their_objects() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let path = format!("{CRDS}/shops.example.com");
    let stored = client.get(&path).await.expect(200);
    assert_eq!(stored["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(
        stored["metadata"].get("finalizers"),
        None,
        "a deletion adds the finalizer"
    );
    client.post(SHOPS, &shop("s")).await.expect(201);
    let mut watch = client.watch(&format!("{SHOPS}?watch=1")).await;
    assert_eq!(watch.names(1).await, ["ADDED s"]);
    let patch = json!([{"op": "remove", "path": "/spec/versions/0"}, {"op": "replace", "path": "/spec/versions/0/storage", "value": true}]);
    let headers = [("content-type", "application/json-patch+json")];
    let status = client
        .send("PATCH", &path, &headers, patch.to_string())
        .await
        .expect(422);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("status.storedVersions[0]"),
        "{status}"
    );
    client.delete(&path).await.expect(200);
    assert_eq!(watch.names(1).await, ["DELETED s"]);
    client.get(&path).await.expect(404);
    assert_eq!(client.get(SHOPS).await.code, 404);
}

#[tokio::test]
async fn s21_stored_custom_resources_are_read_with_the_schema_of_today() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let created = client.post(SHOPS, &shop("s")).await.expect(201);
    let add = |version: usize| {
        let path = format!(
            "/spec/versions/{version}/schema/openAPIV3Schema/properties/spec/properties/open"
        );
        json!({"op": "add", "path": path, "value": {"type": "boolean", "default": true}})
    };
    let patch = json!([add(0), add(1)]);
    let headers = [("content-type", "application/json-patch+json")];
    client
        .send(
            "PATCH",
            &format!("{CRDS}/shops.example.com"),
            &headers,
            patch.to_string(),
        )
        .await
        .expect(200);
    let read = client.get(&format!("{SHOPS}/s")).await.expect(200);
    assert_eq!(
        (&read["spec"]["open"], version(&read)),
        (&json!(true), version(&created))
    );
    let other = client
        .get("/apis/example.com/v2/namespaces/default/shops/s")
        .await
        .expect(200);
    assert_eq!(other["apiVersion"], "example.com/v2");
}

#[tokio::test]
async fn s22_patches_that_a_resource_does_not_take() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("s")).await.expect(201);
    let strategic = [("content-type", "application/strategic-merge-patch+json")];
    let status = client
        .send("PATCH", &format!("{SHOPS}/s"), &strategic, "{}")
        .await
        .expect(415);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("application/merge-patch+json")
    );
    client
        .merge(&format!("{SHOPS}/s?force=true"), &json!({}))
        .await
        .expect(422);
    let apply = [("content-type", "application/apply-patch+yaml")];
    client
        .send(
            "PATCH",
            &format!("{SHOPS}/s"),
            &apply,
            shop("s").to_string(),
        )
        .await
        .expect(422);
}
