//! Histories that the page of the API server exports are scenarios that pass.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a failed test panics"
)]

use crate::common::{Folder, Run, line};
use fastrand::Rng;
use fieldmanager_apiserver::{ApiServer, Collection, Random};
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value as Json, json};
use tower::ServiceExt;

const HISTORIES: usize = 40;
const REQUESTS: usize = 25;
const SHOPS: &str = "/apis/example.com/v1/namespaces/default/shops";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

struct Client(ApiServer);

impl Client {
    async fn send(&self, method: &str, path: &str, media: &str, body: &Json) -> (u16, String) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media);
        let request = request.body(text(body)).unwrap();
        let response = self.0.clone().oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn get(&self, path: &str) -> (u16, String) {
        self.send("GET", path, "application/json", &Json::Null)
            .await
    }
}

fn text(body: &Json) -> String {
    if body.is_null() {
        String::new()
    } else {
        body.to_string()
    }
}

/// A custom resource with every kind of list and map, defaults, and a status.
fn definition() -> Json {
    let item = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "size": {"type": "integer", "default": 1}, "note": {"type": "string"},
        "marks": {"type": "object", "additionalProperties": {"type": "string"}},
        "zone": {"type": "string", "default": "a"}}});
    let spec = json!({"type": "object", "properties": {
        "count": {"type": "integer"},
        "color": {"type": "string", "default": "red"},
        "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "zone"], "items": item},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "order": {"type": "array", "items": {"type": "integer"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "box": {"type": "object", "default": {}, "properties": {"size": {"type": "integer"}, "lid": {"type": "boolean", "default": true}}}}});
    let status = json!({"type": "object", "properties": {"ready": {"type": "integer"}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "shops.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "shops", "kind": "Shop"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}}]}})
}

fn one(rng: &mut Rng, of: [&'static str; 2]) -> &'static str {
    of[rng.usize(..2)]
}

fn shop(rng: &mut Rng) -> Json {
    let mut spec = json!({});
    let mut maybe = |name: &str, value: Json, rng: &mut Rng| {
        if rng.u8(..3) == 0 {
            spec[name] = value;
        }
    };
    maybe("count", json!(rng.u8(..3)), rng);
    maybe("color", json!(one(rng, ["blue", "green"])), rng);
    let mut items: Vec<Json> = Vec::new();
    for name in ["x", "y", "z"] {
        if rng.bool() {
            let mut item = json!({"name": name});
            if rng.bool() {
                item["size"] = json!(rng.u8(..3));
            }
            if rng.u8(..4) == 0 {
                item["zone"] = json!("b");
            }
            if rng.u8(..4) == 0 {
                item["marks"] = if rng.bool() {
                    json!({})
                } else {
                    json!({"a": "1"})
                };
            }
            items.push(item);
        }
    }
    maybe("items", json!(items), rng);
    let tags: Vec<&str> = ["a", "b", "c"].into_iter().filter(|_| rng.bool()).collect();
    maybe("tags", json!(tags), rng);
    maybe("order", json!([rng.u8(..3), 1]), rng);
    let label = json!({one(rng, ["a", "b"]): one(rng, ["1", "2"])});
    maybe(
        "labels",
        if rng.u8(..4) == 0 { json!({}) } else { label },
        rng,
    );
    maybe("whole", json!({one(rng, ["a", "b"]): "1"}), rng);
    maybe(
        "box",
        if rng.u8(..4) == 0 {
            json!({})
        } else {
            json!({"size": rng.u8(..3)})
        },
        rng,
    );
    json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "spec": spec})
}

fn deployment(rng: &mut Rng) -> Json {
    let mut container = json!({"name": "web", "image": one(rng, ["one", "two"])});
    if rng.bool() {
        container["ports"] =
            json!([{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}]);
    }
    if rng.bool() {
        container["env"] = json!([{"name": one(rng, ["A", "B"]), "value": one(rng, ["1", "2"])}]);
    }
    if rng.u8(..3) == 0 {
        container["resources"] = json!({"limits": {"memory": "1Gi"}});
    }
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}}});
    if rng.bool() {
        object["spec"]["replicas"] = json!(rng.u8(1..4));
    }
    if rng.u8(..3) == 0 {
        object["metadata"]["annotations"] = json!({"note": one(rng, ["1", "2"])});
    }
    object
}

/// Random requests to one object.
async fn live(client: &Client, collection: &str, make: fn(&mut Rng) -> Json, rng: &mut Rng) {
    let path = format!("{collection}/a");
    for _ in 0..REQUESTS {
        let manager = ["alice", "bob", "carol"][rng.usize(..3)];
        let object = make(rng);
        let (method, path, media, body) = match rng.u8(..12) {
            0..=3 => (
                "PATCH",
                format!("{path}?fieldManager={manager}"),
                "application/apply-patch+yaml",
                object,
            ),
            4..=6 => (
                "PATCH",
                format!("{path}?force=true&fieldManager={manager}"),
                "application/apply-patch+yaml",
                object,
            ),
            7 => {
                let patch =
                    json!({"spec": object["spec"], "metadata": {"labels": {"by": manager}}});
                (
                    "PATCH",
                    format!("{path}?fieldManager={manager}"),
                    "application/merge-patch+json",
                    patch,
                )
            }
            8 => {
                let status = if collection == SHOPS {
                    json!({"ready": rng.u8(..3)})
                } else {
                    json!({"replicas": rng.u8(..3)})
                };
                let patch = json!({ "status": status });
                (
                    "PATCH",
                    format!("{path}/status?fieldManager={manager}"),
                    "application/merge-patch+json",
                    patch,
                )
            }
            9 | 10 => {
                let (_, live) = client.get(&path).await;
                let mut live: Json = serde_json::from_str(&live).unwrap();
                live["spec"] = object["spec"].clone();
                (
                    "PUT",
                    format!("{path}?fieldManager={manager}"),
                    "application/json",
                    live,
                )
            }
            _ if rng.u8(..3) == 0 => ("DELETE", path.clone(), "application/json", Json::Null),
            _ => (
                "POST",
                format!("{collection}?fieldManager={manager}"),
                "application/json",
                object,
            ),
        };
        let (code, answer) = client.send(method, &path, media, &body).await;
        assert!(code < 500, "{method} {path} {body}: {answer}");
    }
}

/// A server with the definition.
async fn client(seed: u64) -> Client {
    let random = Random::seeded(seed, "2026-01-31T12:00:00Z".parse().unwrap());
    let builder = ApiServer::builder()
        .source(random)
        .collection(Collection::Stepped)
        .export(fieldmanager_harness::export_history);
    let client = Client(builder.build().await.unwrap());
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(
        client
            .send("POST", definitions, "application/json", &definition())
            .await
            .0,
        201
    );
    client
}

/// Runs an exported scenario.
fn run(export: &str) -> Run {
    let folder = Folder::new(&[("export.yaml", export)]);
    line(&folder.line("test @/export.yaml"))
}

#[tokio::test]
async fn exports_of_random_histories_pass() {
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    eprintln!("SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let (mut conflicts, mut left_out) = (0, 0);
    for number in 0..HISTORIES {
        let client = client(rng.u64(..)).await;
        let (collection, make): (_, fn(&mut Rng) -> Json) = if number % 2 == 0 {
            (SHOPS, shop)
        } else {
            (DEPLOYMENTS, deployment)
        };
        live(&client, collection, make, &mut rng).await;
        let resource = if collection == SHOPS {
            "shops.example.com"
        } else {
            "deployments.apps"
        };
        let (code, export) = client
            .get(&format!("/ui/export/{resource}/default/a"))
            .await;
        assert_eq!(code, 200, "{export}");
        conflicts += export.matches("conflicts:").count();
        left_out += export.matches("Left out:").count();
        let run = run(&export);
        assert_eq!(
            run.code, 0,
            "SEED={seed}, history {number}\n{}{}\n{export}",
            run.out, run.err
        );
    }
    assert!(
        conflicts > HISTORIES / 4,
        "SEED={seed}: {conflicts} conflicts"
    );
    assert!(
        left_out < conflicts / 10,
        "SEED={seed}: {left_out} left out, {conflicts} conflicts"
    );
}

#[tokio::test]
async fn an_apply_owns_an_empty_map_that_it_removed_from_the_object() {
    let client = client(1).await;
    let path = format!("{SHOPS}/a?fieldManager=carol");
    for spec in [json!({"color": "blue", "tags": []}), json!({})] {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "spec": spec});
        let (code, answer) = client
            .send("PATCH", &path, "application/apply-patch+yaml", &object)
            .await;
        assert!(code < 300, "{answer}");
    }
    let (_, object) = client.get(&format!("{SHOPS}/a")).await;
    let object: Json = serde_json::from_str(&object).unwrap();
    assert_eq!(
        object["metadata"]["managedFields"][0]["fieldsV1"],
        json!({"f:spec": {}})
    );
    assert!(object.get("spec").is_none(), "{object}");
    let (_, export) = client.get("/ui/export/shops.example.com/default/a").await;
    assert!(
        export.contains("        fields:\n          f:spec: {}\n"),
        "{export}"
    );
    assert!(!export.contains("Unlike on the server"), "{export}");
    let run = run(&export);
    assert_eq!(run.code, 0, "{}{}\n{export}", run.out, run.err);
}

#[tokio::test]
async fn an_owner_that_only_the_scenario_has_is_named_in_a_comment() {
    let client = client(1).await;
    let path = format!("{SHOPS}/a?fieldManager");
    for (manager, spec) in [
        ("alice", json!({"count": 1})),
        ("bob", json!({"box": {"size": 2}})),
    ] {
        let patch = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "spec": spec});
        let media = if manager == "alice" {
            "application/apply-patch+yaml"
        } else {
            "application/merge-patch+json"
        };
        assert!(
            client
                .send("PATCH", &format!("{path}={manager}"), media, &patch)
                .await
                .0
                < 300
        );
    }
    let (_, export) = client.get("/ui/export/shops.example.com/default/a").await;
    assert!(
        export.contains("Unlike on the server: bob owns .spec.box.\n"),
        "{export}"
    );
    let run = run(&export);
    assert_eq!(run.code, 0, "{}{}\n{export}", run.out, run.err);
}

#[tokio::test]
async fn an_export_has_a_scenario_for_each_life_of_the_object() {
    let client = client(1).await;
    let path = format!("{SHOPS}/a?fieldManager");
    let apply = async |manager: &str, count: u8| {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"},
            "spec": {"count": count}});
        let path = format!("{path}={manager}");
        let sent = client.send("PATCH", &path, "application/apply-patch+yaml", &object);
        sent.await.0
    };
    assert_eq!(apply("alice", 1).await, 201);
    assert_eq!(apply("bob", 2).await, 409);
    for (manager, count) in [("bob", 2), ("alice", 1), ("bob", 3)] {
        assert_eq!(apply(&format!("{manager}&force=true"), count).await, 200);
    }
    let deleted = client
        .send(
            "DELETE",
            &format!("{SHOPS}/a"),
            "application/json",
            &Json::Null,
        )
        .await;
    assert_eq!(deleted.0, 200, "{}", deleted.1);
    assert_eq!(apply("alice", 1).await, 201);

    let (_, export) = client.get("/ui/export/shops.example.com/default/a").await;
    let documents: Vec<&str> = export.split("---\n").collect();
    assert_eq!(documents.len(), 2, "{export}");
    assert_eq!(documents[0].matches("- apply:").count(), 5, "{export}");
    assert!(
        documents[0].contains("conflicts:\n    - manager: alice\n      path: .spec.count"),
        "{export}"
    );
    assert!(
        documents[1].contains("kind: CustomResourceDefinition"),
        "{export}"
    );
    let run = run(&export);
    assert_eq!(run.code, 0, "{}{}\n{export}", run.out, run.err);
}

/// A server converts the sets of such owners, which a scenario at one version cannot.
#[tokio::test]
async fn a_history_with_owners_at_another_version_is_refused_and_says_why() {
    let random = Random::seeded(1, "2026-01-31T12:00:00Z".parse().unwrap());
    let builder = ApiServer::builder()
        .source(random)
        .collection(Collection::Stepped)
        .export(fieldmanager_harness::export_history);
    let client = Client(builder.build().await.unwrap());
    let mut definition = definition();
    let versions = definition["spec"]["versions"].as_array_mut().unwrap();
    let mut beta = versions[0].clone();
    beta["name"] = json!("v1beta1");
    beta["storage"] = json!(false);
    versions.push(beta);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(
        client
            .send("POST", definitions, "application/json", &definition)
            .await
            .0,
        201
    );
    let object = json!({"apiVersion": "example.com/v1beta1", "kind": "Shop", "metadata": {"name": "a"},
        "spec": {"count": 1}});
    let path = "/apis/example.com/v1beta1/namespaces/default/shops/a?fieldManager=alice";
    assert_eq!(
        client
            .send("PATCH", path, "application/apply-patch+yaml", &object)
            .await
            .0,
        201
    );
    let (code, answer) = client.get("/ui/export/shops.example.com/default/a").await;
    assert_eq!(code, 422, "{answer}");
    let reason = "the history cannot be a scenario: alice wrote version example.com/v1beta1, and objects are \
                  stored at example.com/v1";
    assert!(answer.contains(reason), "{answer}");
}
