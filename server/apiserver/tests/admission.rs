//! What plugins and closures make of requests.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use fieldmanager_apiserver::{ApiServer, Builder};
use fieldmanager_value::Value;
use futures::future::join_all;
use serde_json::{Value as Json, json};

use crate::common::{CONFIG_MAPS, Client, config_map};

const PODS: &str = "/api/v1/namespaces/default/pods";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

async fn client(builder: Builder) -> Client {
    Client {
        server: builder.build().await.unwrap(),
    }
}

fn plain() -> Builder {
    ApiServer::builder().test_api(true)
}

fn pod(name: &str) -> Json {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    })
}

fn quota(hard: Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "all"}, "spec": {"hard": hard}})
}

/// The object with a field of the data of a ConfigMap.
fn with_data(object: &Value, field: &str) -> Value {
    let mut object: Json = serde_json::from_str(&object.to_json()).unwrap();
    object["data"][field] = json!("admission");
    Value::from_json(&object.to_string()).unwrap()
}

/// A server whose admission adds a field to ConfigMaps, and refuses those that are frozen.
async fn adding() -> Client {
    let builder = plain()
        .mutate("add.example.com", |request| {
            let object = request.object.filter(|_| request.is_of("", "configmaps"));
            Ok(object.map(|object| with_data(object, "added")))
        })
        .validate("freeze.example.com", |request| {
            let frozen = request.old_field(&["metadata", "labels", "frozen"]);
            match frozen.as_str() {
                Some(reason) => Err(reason.to_owned()),
                None => Ok(()),
            }
        });
    client(builder).await
}

#[tokio::test]
async fn what_a_mutation_adds_has_no_owner() {
    let client = adding().await;
    let made = client
        .post(CONFIG_MAPS, &config_map("web"))
        .await
        .expect(201);
    assert_eq!(made["data"]["added"], "admission");
    assert!(
        !made["metadata"]["managedFields"]
            .to_string()
            .contains("f:added")
    );

    // An apply of the same object by another manager does not own it either, and is not a conflict.
    let web = format!("{CONFIG_MAPS}/web");
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"own": "b"}});
    let applied = client.apply(&web, "ops", &config).await.expect(200);
    assert_eq!(applied["data"]["added"], "admission");
    assert!(
        !applied["metadata"]["managedFields"]
            .to_string()
            .contains("f:added")
    );

    // Whoever applies it with the same value becomes its owner.
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"added": "admission"}});
    let applied = client.apply(&web, "ops", &config).await.expect(200);
    assert!(
        applied["metadata"]["managedFields"]
            .to_string()
            .contains("f:added")
    );
}

#[tokio::test]
async fn a_refusal_has_the_words_of_a_webhook_for_each_verb() {
    let client = adding().await;
    let mut frozen = config_map("web");
    frozen["metadata"]["labels"] = json!({"frozen": "winter"});
    client.post(CONFIG_MAPS, &frozen).await.expect(201);

    let web = format!("{CONFIG_MAPS}/web");
    let patch = json!({"data": {"color": "blue"}});
    let answers = [
        client.put(&web, &frozen).await,
        client.merge(&web, &patch).await,
        client.merge(&format!("{web}?dryRun=All"), &patch).await,
        client.delete(&web).await,
        client.delete(CONFIG_MAPS).await,
    ];
    for answer in answers {
        let status = answer.expect(403);
        let words = "admission webhook \"freeze.example.com\" denied the request: winter";
        assert_eq!(
            (&status["message"], &status["reason"]),
            (&json!(words), &json!("Forbidden"))
        );
    }
}

#[tokio::test]
async fn bodies_of_actions_are_checked_before_anybody_validates_them() {
    let builder = plain()
        .mutate("rename.example.com", |request| {
            let mut object: Json =
                serde_json::from_str(&request.object.unwrap().to_json()).unwrap();
            if !request.subresource.is_empty() {
                object["metadata"]["name"] = json!("other");
            }
            Ok(Some(Value::from_json(&object.to_string()).unwrap()))
        })
        .validate("freeze.example.com", |request| match request.subresource {
            "" => Ok(()),
            _ => Err("actions are not allowed".to_owned()),
        });
    let client = client(builder).await;
    client.post(PODS, &pod("web")).await.expect(201);

    for (action, body) in [
        (
            "Eviction",
            json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}}),
        ),
        (
            "Binding",
            json!({"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "n"}}),
        ),
    ] {
        let path = format!("{PODS}/web/{}", action.to_lowercase());
        let status = client.post(&path, &body).await.expect(400);
        let words = format!("name in URL does not match name in {action} object");
        assert_eq!(status["message"], words);
    }
}

#[tokio::test]
async fn the_log_says_what_admission_did() {
    let client = adding().await;
    client
        .post(CONFIG_MAPS, &config_map("web"))
        .await
        .expect(201);
    let labels = json!({"metadata": {"labels": {"frozen": "no"}}});
    let web = format!("{CONFIG_MAPS}/web");
    client.merge(&web, &labels).await.expect(200);
    client.delete(&web).await.expect(403);
    let log = client.server.log();
    let effects: Vec<String> = log
        .iter()
        .flat_map(|entry| entry.admission.clone())
        .collect();
    let changed = "add.example.com changed the object";
    assert_eq!(
        effects,
        [changed, changed, "freeze.example.com refused the request"]
    );
}

#[tokio::test]
async fn plugins_run_by_default_and_can_be_left_out() {
    let with = client(plain()).await;
    let made = with.post(PODS, &pod("web")).await.expect(201);
    assert_eq!(made["spec"]["priority"], 0);
    assert_eq!(made["spec"]["tolerations"][0]["tolerationSeconds"], 300);

    let without = client(plain().admission_plugins(&[])).await;
    let made = without.post(PODS, &pod("web")).await.expect(201);
    assert_eq!(made["spec"].get("priority"), None);

    let labels =
        json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    with.merge("/api/v1/namespaces/default", &labels)
        .await
        .expect(200);
    let refused = with.post(PODS, &pod("next")).await.expect(403);
    let message = refused["message"].as_str().unwrap();
    assert!(
        message
            .starts_with("pods \"next\" is forbidden: violates PodSecurity \"restricted:latest\"")
    );
}

#[tokio::test]
async fn faulty_labels_of_a_renamed_namespace_are_those_of_the_name_in_the_request() {
    let renaming = plain().mutate("rename.example.com", |request| {
        let object = request.object.filter(|_| request.is_of("", "namespaces"));
        let renamed =
            |object: &Value| Value::from_json(&object.to_json().replace("three", "other"));
        Ok(object.map(|object| renamed(object).unwrap()))
    });
    let client = client(renaming).await;

    let labels = json!({"pod-security.kubernetes.io/warn": "odd"});
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "three", "labels": labels}});
    let refused = client.post("/api/v1/namespaces", &body).await.expect(422);
    assert_eq!(refused["details"]["name"], "three");
}

#[tokio::test]
async fn a_quota_is_counted_when_it_is_written_and_charged_by_requests() {
    let client = client(plain()).await;
    client.post(PODS, &pod("first")).await.expect(201);
    client
        .post(QUOTAS, &quota(json!({"pods": "2"})))
        .await
        .expect(201);
    let used = async || {
        client.get(&format!("{QUOTAS}/all")).await.expect(200)["status"]["used"]["pods"].clone()
    };
    assert_eq!(used().await, "1");

    client.post(PODS, &pod("second")).await.expect(201);
    assert_eq!(used().await, "2");
    let refused = client.post(PODS, &pod("third")).await.expect(403);
    let words = "pods \"third\" is forbidden: exceeded quota: all, requested: pods=1, used: pods=2, limited: pods=2";
    assert_eq!(refused["message"], words);
}

#[tokio::test]
async fn a_deletion_frees_what_a_quota_has() {
    let client = client(ApiServer::builder()).await;
    client
        .post(QUOTAS, &quota(json!({"pods": "1"})))
        .await
        .expect(201);
    client.post(PODS, &pod("first")).await.expect(201);
    client.delete(&format!("{PODS}/first")).await.expect(200);
    // The count follows soon.
    while client.post(PODS, &pod("second")).await.code != 201 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_quota_is_never_exceeded_under_many_clients() {
    const CLIENTS: usize = 32;
    const ALLOWED: usize = 40;
    let client = client(plain()).await;
    client
        .post(QUOTAS, &quota(json!({"pods": ALLOWED.to_string()})))
        .await
        .expect(201);

    let made = join_all((0..CLIENTS).map(|number| {
        let server = client.server.clone();
        tokio::spawn(async move {
            let client = Client { server };
            let mut made = 0;
            for at in 0..4 {
                let answer = client.post(PODS, &pod(&format!("pod-{number}-{at}"))).await;
                made += usize::from(answer.code == 201);
            }
            made
        })
    }));
    let made: usize = made.await.into_iter().map(Result::unwrap).sum();
    let stored = client.get(PODS).await.expect(200)["items"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!((made, stored), (ALLOWED, ALLOWED));
}
