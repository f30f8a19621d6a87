//! Options of deletions and of lists. The answers are those of kube-apiserver.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use crate::common::{CONFIG_MAPS, Client, config_map, message};
use serde_json::{Value as Json, json};

const UNSAFE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

#[tokio::test]
async fn a_deletion_with_a_body_of_another_kind_or_type_deletes_nothing() {
    let client = Client::new().await;
    client.config_map("web").await;
    let path = format!("{CONFIG_MAPS}/web");
    let bodies = [
        config_map("web"),
        json!({"kind": "Foo"}),
        json!({"dryRun": "All"}),
        json!({"gracePeriodSeconds": "0"}),
        json!({"preconditions": "x"}),
        json!([]),
    ];
    for body in &bodies {
        client.delete_with(&path, body).await.expect(400);
        client.delete_with(CONFIG_MAPS, body).await.expect(400);
    }
    client.get(&path).await.expect(200);
}

#[tokio::test]
async fn the_query_of_a_deletion_has_preconditions() {
    let client = Client::new().await;
    client.config_map("web").await;
    let path = format!("{CONFIG_MAPS}/web");
    let refused = client.delete(&format!("{path}?uid=x")).await.expect(409);
    assert!(message(&refused).starts_with(
        "Operation cannot be fulfilled on ConfigMap \"web\": the UID in the precondition (x) does not match the UID in record"
    ));
    let refused = client.delete(&format!("{path}?resourceVersion=x")).await;
    let refused = refused.expect(409);
    assert!(message(&refused).contains("the ResourceVersion in the precondition (x)"));
    client.delete(&format!("{path}?uid=")).await.expect(200);
}

#[tokio::test]
async fn an_object_that_can_be_read_is_not_deleted_as_one_that_cannot() {
    let client = Client::new().await;
    client.config_map("web").await;
    let path = format!("{CONFIG_MAPS}/web");
    let refused = client.delete_with(&path, &json!({UNSAFE: true})).await;
    let text = "Operation cannot be fulfilled on configmaps \"web\": unsafe deletion is not allowed because the object is \
                decodable from storage";
    assert_eq!(message(&refused.expect(409)), text);

    let options = json!({UNSAFE: true, "gracePeriodSeconds": 0});
    let refused = client.delete_with(&path, &options).await.expect(422);
    let text = format!(
        "DeleteOptions.meta.k8s.io \"\" is invalid: {UNSAFE}: Invalid value: true: cannot be set together with \
         .gracePeriodSeconds"
    );
    assert_eq!(message(&refused), text);
    let refused = client.delete(&format!("{CONFIG_MAPS}?{UNSAFE}=true")).await;
    let text = "is not allowed with DELETECOLLECTION, try again after removing the option";
    assert!(message(&refused.expect(422)).ends_with(text));
}

#[tokio::test]
async fn a_second_deletion_that_waits_is_accepted_too() {
    let client = Client::new().await;
    let mut object = config_map("web");
    object["metadata"]["finalizers"] = json!(["example.com/f"]);
    client.post(CONFIG_MAPS, &object).await.expect(201);
    let path = format!("{CONFIG_MAPS}/web");
    for _ in 0..2 {
        let options = json!({"orphanDependents": false});
        client.delete_with(&path, &options).await.expect(202);
    }
}

#[tokio::test]
async fn a_deletion_of_a_page_leaves_the_rest() {
    let client = Client::new().await;
    for name in ["a", "b", "c"] {
        client.config_map(name).await;
    }
    let path = format!("{CONFIG_MAPS}?limit=x");
    let refused = client.delete(&path).await.expect(400);
    assert_eq!(
        message(&refused),
        "strconv.ParseInt: parsing \"x\": invalid syntax"
    );
    let page = client.delete(&format!("{CONFIG_MAPS}?limit=2")).await;
    let page = page.expect(200);
    assert_eq!(page["items"].as_array().unwrap().len(), 2);
    assert_eq!(page["metadata"]["remainingItemCount"], 1);
    let rest = client.get(CONFIG_MAPS).await.expect(200);
    assert_eq!(rest["items"][0]["metadata"]["name"], "c");
}

#[tokio::test]
async fn a_list_at_any_version_has_no_pages() {
    let client = Client::new().await;
    for name in ["a", "b", "c"] {
        client.config_map(name).await;
    }
    let path = format!("{CONFIG_MAPS}?limit=1&resourceVersion=0");
    let whole = client.get(&path).await.expect(200);
    assert_eq!(whole["items"].as_array().unwrap().len(), 3);
    assert_eq!(whole["metadata"].get("continue"), None);
}

#[tokio::test]
async fn malformed_versions_have_a_code_for_each_verb() {
    let client = Client::new().await;
    client.config_map("web").await;
    let one = format!("{CONFIG_MAPS}/web");
    let text =
        "resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax";
    let read = client.get(&format!("{one}?resourceVersion=x")).await;
    assert_eq!(message(&read.expect(500)), text);
    let watch = format!("{CONFIG_MAPS}?watch=1&resourceVersion=x");
    assert_eq!(message(&client.get(&watch).await.expect(500)), text);
    let list = client
        .get(&format!("{CONFIG_MAPS}?resourceVersion=x"))
        .await;
    let list = list.expect(400);
    assert_eq!(message(&list), format!("invalid resource version: {text}"));

    client
        .get(&format!("{one}?resourceVersion=01"))
        .await
        .expect(200);
    let large = format!("{one}?resourceVersion=18446744073709551616");
    let large = client.get(&large).await.expect(500);
    assert!(message(&large).ends_with("value out of range"));
}

#[tokio::test]
async fn a_watch_from_the_state_has_no_continuation() {
    let client = Client::new().await;
    let refused = client
        .get(&format!("{CONFIG_MAPS}?watch=1&continue=x"))
        .await;
    let text = "resourceVersionMatch is forbidden when continue is provided";
    assert!(message(&refused.expect(422)).ends_with(text));
    let path = "/api/v1/watch/namespaces/default/configmaps/a?fieldSelector=metadata.name%3Db";
    let refused = client.get(path).await.expect(400);
    assert_eq!(
        message(&refused),
        "fieldSelector metadata.name doesn't match requested name"
    );
}

#[tokio::test]
async fn a_name_beside_a_generated_one_is_taken_for_generated() {
    let client = Client::new().await;
    client.config_map("web").await;
    let mut object = config_map("web");
    object["metadata"]["generateName"] = json!("web-");
    let refused = client.post(CONFIG_MAPS, &object).await.expect(409);
    assert_eq!(
        message(&refused),
        "configmaps \"web\" already exists, the server was not able to generate a unique name for the object"
    );
    assert_eq!(refused["details"]["retryAfterSeconds"], 1);
}

#[tokio::test]
async fn finalizing_a_namespace_is_an_update_of_it() {
    let client = Client::new().await;
    let path = "/api/v1/namespaces/default/finalize";
    let finalize = |metadata: Json, finalizers: Json| {
        let body = json!({"metadata": metadata, "spec": {"finalizers": finalizers}});
        let client = &client;
        async move { client.put(path, &body).await }
    };
    let refused = finalize(json!({}), json!([])).await.expect(400);
    assert!(message(&refused).ends_with("name must be provided"));
    let refused = finalize(json!({"name": "default"}), json!("x")).await;
    assert_eq!(
        message(&refused.expect(400)),
        "Namespace in version \"v1\" cannot be handled as a Namespace: json: cannot unmarshal string into Go struct field \
         NamespaceSpec.spec.finalizers of type []v1.FinalizerName"
    );
    let old = json!({"name": "default", "resourceVersion": "1"});
    finalize(old, json!(["kubernetes"])).await.expect(409);

    let labeled = json!({"name": "default", "labels": {"a": "1"}});
    let all = json!(["kubernetes", "example.com/f"]);
    let namespace = finalize(labeled, all).await.expect(200);
    assert_eq!(namespace["metadata"]["labels"]["a"], "1");
    let entries = namespace["metadata"]["managedFields"].as_array().unwrap();
    let entry = entries
        .iter()
        .find(|entry| entry["subresource"] == "finalize");
    let fields = &entry.unwrap()["fieldsV1"]["f:spec"];
    assert_eq!(*fields, json!({"f:finalizers": {}}));
}

#[tokio::test]
async fn members_of_json_patches_are_strings() {
    let client = Client::new().await;
    client.config_map("web").await;
    let patch = json!([{"op": "add", "path": 1, "value": 1}]).to_string();
    let headers = [("content-type", "application/json-patch+json")];
    let path = format!("{CONFIG_MAPS}/web");
    let refused = client.send("PATCH", &path, &headers, patch).await;
    assert_eq!(
        message(&refused.expect(400)),
        "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string"
    );
}
