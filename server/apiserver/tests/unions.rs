//! Unions of custom resources and of built-in kinds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use crate::common::{CRDS, Client};
use fieldmanager_apiserver::{ApiServer, Collection};
use serde_json::{Value as Json, json};

const BUILDS: &str = "/apis/example.com/v1/namespaces/default/builds";

fn source() -> Json {
    json!([{"discriminator": "type", "fields-to-discriminateBy": {"git": "Git", "image": "Image"}}])
}

/// A definition with a union of `git` and `image` in `spec.source`, and one of `spec.trigger` with a list of values.
fn builds() -> Json {
    let text = json!({"type": "string"});
    let members = json!({"Cron": {"name": "cron"}, "Push": {"name": "push"}, "Never": null});
    let kind = json!({"type": "string", "x-kubernetes-unions": {"fieldMembers": members}});
    let spec = json!({"type": "object", "properties": {
        "source": {"type": "object", "x-kubernetes-unions": source(),
            "properties": {"type": text, "git": text, "image": text}},
        "trigger": {"type": "object", "properties": {"type": kind, "cron": text, "push": text}},
    }});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "builds.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "builds", "kind": "Build"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}})
}

fn build(spec: &Json) -> Json {
    json!({"apiVersion": "example.com/v1", "kind": "Build", "metadata": {"name": "web"}, "spec": spec})
}

fn declared(definition: &Json) -> &Json {
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    &schema["properties"]["spec"]["properties"]["source"]["x-kubernetes-unions"]
}

async fn with_builds() -> Client {
    let client = Client::new().await;
    client
        .post(&format!("{CRDS}?fieldValidation=Strict"), &builds())
        .await
        .expect(201);
    client
}

/// A server on which unions have no effect.
async fn without_unions() -> Client {
    let builder = ApiServer::builder()
        .collection(Collection::Stepped)
        .unions(false);
    Client {
        server: builder.build().await.unwrap(),
    }
}

fn conflicts(status: &Json) -> Vec<&str> {
    let causes = status["details"]["causes"].as_array().unwrap();
    causes
        .iter()
        .map(|cause| cause["field"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn declared_unions_are_stored_and_published() {
    let client = with_builds().await;
    let path = format!("{CRDS}/builds.example.com");
    assert_eq!(*declared(&client.get(&path).await.expect(200)), source());

    // A definition that is applied, and one that is patched.
    client
        .apply(&format!("{path}?force=true"), "ops", &builds())
        .await
        .expect(200);
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(
        *declared(&client.merge(&path, &labels).await.expect(200)),
        source()
    );

    let document = client
        .get("/openapi/v3/apis/example.com/v1")
        .await
        .expect(200);
    let spec = |schemas: &Json| schemas["com.example.v1.Build"]["properties"]["spec"].clone();
    let v3 = spec(&document["components"]["schemas"]);
    assert_eq!(v3["properties"]["source"]["x-kubernetes-unions"], source());
    let member = "/properties/trigger/properties/type/x-kubernetes-unions/fieldMembers/Cron/name";
    assert_eq!(v3.pointer(member), Some(&json!("cron")));
    let v2 = spec(&client.get("/openapi/v2").await.expect(200)["definitions"]);
    assert_eq!(v2["properties"]["source"]["x-kubernetes-unions"], source());
}

#[tokio::test]
async fn applier_of_another_member_gets_a_conflict_on_the_discriminator() {
    let client = with_builds().await;
    let path = format!("{BUILDS}/web");
    let git = build(&json!({"source": {"git": "https://example.org"}}));
    let applied = client.apply(&path, "alice", &git).await.expect(201);
    assert_eq!(applied["spec"]["source"]["type"], "Git");

    let image = build(&json!({"source": {"image": "nginx"}}));
    let refused = client.apply(&path, "bob", &image).await.expect(409);
    assert_eq!(conflicts(&refused), [".spec.source.type"]);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("conflict with \"alice\""),
        "{refused}"
    );

    let forced = client
        .apply(&format!("{path}?force=true"), "bob", &image)
        .await
        .expect(200);
    assert_eq!(
        forced["spec"]["source"],
        json!({"type": "Image", "image": "nginx"})
    );
}

#[tokio::test]
async fn update_clears_the_other_members() {
    let client = with_builds().await;
    client
        .post(BUILDS, &build(&json!({"source": {"git": "a"}})))
        .await
        .expect(201);
    let path = format!("{BUILDS}/web");
    let patched = client
        .merge(&path, &json!({"spec": {"source": {"image": "nginx"}}}))
        .await
        .expect(200);
    assert_eq!(
        patched["spec"]["source"],
        json!({"type": "Image", "image": "nginx"})
    );
}

#[tokio::test]
async fn object_with_faults_of_unions_is_refused() {
    let client = with_builds().await;
    for (spec, field) in [
        (json!({"source": {"git": "a", "image": "b"}}), "spec.source"),
        (
            json!({"trigger": {"type": "Push", "cron": "* * * * *"}}),
            "spec.trigger.cron",
        ),
        (json!({"trigger": {"type": "Other"}}), "spec.trigger.type"),
    ] {
        let refused = client.post(BUILDS, &build(&spec)).await.expect(422);
        assert!(conflicts(&refused).contains(&field), "{refused}");
    }
    client
        .post(BUILDS, &build(&json!({"trigger": {"type": "Never"}})))
        .await
        .expect(201);
}

#[tokio::test]
async fn contradictory_declaration_is_refused() {
    let client = Client::new().await;
    let mut definition = builds();
    let source = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/source";
    definition.pointer_mut(source).unwrap()["required"] = json!(["git"]);
    let refused = client.post(CRDS, &definition).await.expect(422);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("a member of a union must be optional"),
        "{refused}"
    );
    definition.pointer_mut(source).unwrap()["required"] = json!([]);
    definition.pointer_mut(source).unwrap()["x-kubernetes-unions"] = json!("odd");
    client.post(CRDS, &definition).await.expect(422);
}

fn priority_level(spec: &Json) -> Json {
    json!({"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "slow"}, "spec": spec})
}

const PRIORITY_LEVEL: &str =
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/slow";

#[tokio::test]
async fn unions_of_built_in_kinds_have_an_effect() {
    let client = Client::new().await;
    let limited = priority_level(&json!({"type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}}));
    client
        .apply(PRIORITY_LEVEL, "alice", &limited)
        .await
        .expect(201);
    let queuing = priority_level(&queuing());
    let refused = client
        .apply(PRIORITY_LEVEL, "bob", &queuing)
        .await
        .expect(409);
    assert_eq!(conflicts(&refused), [".spec.limited.limitResponse.type"]);
    let forced = client
        .apply(&format!("{PRIORITY_LEVEL}?force=true"), "bob", &queuing)
        .await
        .expect(200);
    assert_eq!(forced["spec"]["limited"]["limitResponse"]["type"], "Queue");
}

fn queuing() -> Json {
    let queuing = json!({"queues": 8, "handSize": 2, "queueLengthLimit": 5});
    json!({"limited": {"limitResponse": {"queuing": queuing}}})
}

#[tokio::test]
async fn switched_off_unions_are_stored_and_have_no_effect() {
    let client = without_unions().await;
    let definition = client.post(CRDS, &builds()).await.expect(201);
    assert_eq!(*declared(&definition), source());
    let both = build(&json!({"source": {"git": "a", "image": "b"}}));
    let created = client.post(BUILDS, &both).await.expect(201);
    assert_eq!(created["spec"], both["spec"]);

    let limited = priority_level(&json!({"type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}}));
    client
        .apply(PRIORITY_LEVEL, "alice", &limited)
        .await
        .expect(201);
    let refused = client
        .apply(PRIORITY_LEVEL, "bob", &priority_level(&queuing()))
        .await
        .expect(422);
    let message = refused["message"].as_str().unwrap_or_default();
    assert!(
        message.ends_with("spec.limited.limitResponse.queuing: Forbidden"),
        "{message}"
    );
}
