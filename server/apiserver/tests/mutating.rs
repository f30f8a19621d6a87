//! Policies that mutate, as a kube-apiserver was recorded with them: `comparison/admission/mutating.py`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use fieldmanager_apiserver::ApiServer;
use serde_json::{Value as Json, json};

use crate::common::Client;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// An answer without what differs in each run.
fn scrubbed(mut answer: Json) -> Json {
    if let Some(metadata) = answer.get_mut("metadata").and_then(Json::as_object_mut) {
        for name in ["uid", "creationTimestamp", "resourceVersion"] {
            metadata.remove(name);
        }
        let entries = metadata
            .get_mut("managedFields")
            .and_then(Json::as_array_mut);
        for entry in entries.into_iter().flatten() {
            entry.as_object_mut().unwrap().remove("time");
        }
    }
    answer
}

fn folder(object: &Json) -> String {
    match object["kind"].as_str().unwrap() {
        "MutatingAdmissionPolicy" => format!("{GROUP}/mutatingadmissionpolicies"),
        "MutatingAdmissionPolicyBinding" => format!("{GROUP}/mutatingadmissionpolicybindings"),
        _ => "/api/v1/namespaces/default/configmaps".to_owned(),
    }
}

#[tokio::test]
async fn objects_owners_and_refusals_are_those_of_kube_apiserver() {
    let mut definition = None;
    let (mut compared, mut differing) = (0, Vec::new());
    for line in include_str!("data/mutating.jsonl").lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        if let Some(found) = case.get("definition") {
            definition = Some(found.clone());
            continue;
        }
        let server = ApiServer::builder().test_api(true).build().await.unwrap();
        let client = Client { server };
        if let Some(definition) = &definition {
            client.post(DEFINITIONS, definition).await.expect(201);
        }

        let mut compare = |what: &Json, code: u16, answer: Json, wanted: &Json| {
            compared += 1;
            let (found, wanted) = (
                json!([code, scrubbed(answer)]),
                json!([wanted["code"], wanted["answer"]]),
            );
            if found != wanted {
                let name = &case["name"];
                differing.push(format!("{name} {what}\n  there {wanted}\n  here  {found}"));
            }
        };
        for object in case["objects"].as_array().unwrap() {
            let path = format!("{}?fieldManager=me", folder(object));
            let answer = client.post(&path, object).await;
            let refused = case["refused"].as_array().unwrap();
            let own = |refused: &&Json| refused["object"] == object["metadata"]["name"];
            match refused.iter().find(own) {
                Some(wanted) => compare(&wanted["object"], answer.code, answer.json(), wanted),
                None => drop(answer.expect(201)),
            }
        }
        for request in case["requests"].as_array().unwrap() {
            let path = request["path"].as_str().unwrap();
            let (method, kind) = (&request["method"], request["type"].as_str().unwrap());
            let query = if kind.contains("apply") {
                "&force=true"
            } else {
                ""
            };
            let path = format!("{path}?fieldManager=me{query}");
            let answer = client
                .send(
                    method.as_str().unwrap(),
                    &path,
                    &[("content-type", kind)],
                    request["body"].to_string(),
                )
                .await;
            compare(method, answer.code, answer.json(), request);
        }
    }
    assert!(
        differing.is_empty(),
        "{} of {compared} differ:\n{}",
        differing.len(),
        differing.join("\n")
    );
    assert!(compared > 70, "{compared}");
}
