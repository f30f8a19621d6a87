//! The flow schemas of requests, with the answers of a kube-apiserver 1.37.1.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use fieldmanager_apiserver::{ApiServer, Authorization, Collection};
use serde_json::{Value as Json, json};

use crate::common::{Answer, CONFIG_MAPS, Client};

const SCHEMAS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
const LEVELS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";

/// The names of the flow schema and of the priority level in the headers of an answer; empty without them.
async fn flow(client: &Client, answer: &Answer) -> [String; 2] {
    let mut names = [String::new(), String::new()];
    let headers = [
        "x-kubernetes-pf-flowschema-uid",
        "x-kubernetes-pf-prioritylevel-uid",
    ];
    for ((name, header), path) in names.iter_mut().zip(headers).zip([SCHEMAS, LEVELS]) {
        let list = client.get(path).await.expect(200);
        let uid = answer.headers.get(header).map(|uid| uid.to_str().unwrap());
        let items = list["items"].as_array().unwrap();
        let found = items
            .iter()
            .find(|item| item["metadata"]["uid"].as_str() == uid);
        if let Some(item) = found {
            *name = item["metadata"]["name"].as_str().unwrap().to_owned();
        }
    }
    names
}

/// A request of a user.
async fn of(client: &Client, user: &str, path: &str) -> Answer {
    let headers = [
        ("impersonate-user", user),
        ("impersonate-group", "system:authenticated"),
    ];
    client.send("GET", path, &headers, "").await
}

fn level(name: &str) -> Json {
    json!({"metadata": {"name": name},
        "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}}})
}

fn schema(name: &str, level: &str, user: &str) -> Json {
    json!({"metadata": {"name": name}, "spec": {
        "matchingPrecedence": 1000,
        "priorityLevelConfiguration": {"name": level},
        "rules": [{
            "subjects": [{"kind": "User", "user": {"name": user}}],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/version"]}],
            "resourceRules": [{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["shop"]}],
        }],
    }})
}

#[tokio::test]
async fn requests_can_be_classified_by_adding_a_flow_schema_and_a_priority_level() {
    let client = Client::new().await;
    client.post(LEVELS, &level("e2e")).await.expect(201);
    client
        .post(SCHEMAS, &schema("e2e", "e2e", "noxu"))
        .await
        .expect(201);

    for (user, path, expected) in [
        ("noxu", "/version", ["e2e", "e2e"]),
        ("noxu", "/api/v1/namespaces/shop/pods", ["e2e", "e2e"]),
        ("noxu", "/api/v1/pods", ["global-default", "global-default"]),
        ("foo", "/version", ["global-default", "global-default"]),
        // Health is answered without credentials, and so classified as of the administrator.
        ("foo", "/healthz", ["exempt", "exempt"]),
        ("foo", "/nowhere", ["global-default", "global-default"]),
        (
            "system:serviceaccount:kube-system:x",
            "/version",
            ["kube-system-service-accounts", "workload-high"],
        ),
    ] {
        // Of a service account, Kubernetes finds the groups out.
        let answer = match user.split(':').nth(1) {
            Some(_) => {
                client
                    .send("GET", path, &[("impersonate-user", user)], "")
                    .await
            }
            None => of(&client, user, path).await,
        };
        assert_eq!(flow(&client, &answer).await, expected, "{user} {path}");
    }
    client.delete(&format!("{SCHEMAS}/e2e")).await.expect(200);
    let answer = of(&client, "noxu", "/version").await;
    assert_eq!(
        flow(&client, &answer).await,
        ["global-default", "global-default"]
    );

    // The share of a level in the requests that are answered at once.
    let metrics = client.get("/metrics").await;
    let text = String::from_utf8(metrics.bytes.to_vec()).unwrap();
    let seats = |level: &str| {
        let start =
            format!("apiserver_flowcontrol_nominal_limit_seats{{priority_level=\"{level}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&start));
        line.map(str::to_owned)
    };
    assert_eq!(seats("e2e").as_deref(), Some("2"));
    assert_eq!(seats("exempt").as_deref(), Some("0"));
}

#[tokio::test]
async fn answers_without_a_flow_have_no_headers() {
    let client = Client::new().await;
    let none = [String::new(), String::new()];
    let log = client.get("/api/v1/namespaces/default/pods/a/log").await;
    assert_eq!(flow(&client, &log).await, none);
    let late = client.get("/api/v1/pods?timeout=x").await;
    assert_eq!((late.code, flow(&client, &late).await), (400, none.clone()));
    let watch = client.get("/api/v1/pods?watch=1&timeoutSeconds=x").await;
    assert_eq!(flow(&client, &watch).await, ["exempt", "exempt"]);

    let off = ApiServer::builder()
        .priority_and_fairness(false)
        .collection(Collection::Stepped);
    let off = Client {
        server: off.build().await.unwrap(),
    };
    let answer = off.get(CONFIG_MAPS).await;
    assert!(
        !answer
            .headers
            .contains_key("x-kubernetes-pf-flowschema-uid")
    );
    let exempt = off.get(&format!("{SCHEMAS}/exempt")).await.expect(200);
    assert_eq!(exempt["status"], json!({}));
}

#[tokio::test]
async fn a_refused_request_is_classified_as_its_user() {
    let builder = ApiServer::builder().authorization(Authorization::Rbac);
    let server = builder
        .collection(Collection::Stepped)
        .build()
        .await
        .unwrap();
    let admin = Client {
        server: server.client_as("admin", &["system:masters"]),
    };
    let bob = Client {
        server: server.client_as("bob", &[]),
    };
    let refused = bob.get(CONFIG_MAPS).await;
    assert_eq!(refused.code, 403);
    assert_eq!(
        flow(&admin, &refused).await,
        ["global-default", "global-default"]
    );
}

#[tokio::test]
async fn a_flow_schema_says_whether_its_priority_level_exists() {
    let client = Client::new().await;
    let path = format!("{SCHEMAS}/e2e");
    let dangling = |status: &str, reason: &str, end: &str| {
        let message = format!(
            "This FlowSchema references the PriorityLevelConfiguration object named \"e2e\" {end}"
        );
        json!({"conditions": [{"type": "Dangling", "status": status, "lastTransitionTime": "2026-01-31T12:00:00Z",
            "reason": reason, "message": message}]})
    };
    let missing = dangling("True", "NotFound", "but there is no such object");
    let found = dangling("False", "Found", "and it exists");

    // The answer has the object from before, as the condition follows the write.
    let created = client
        .post(SCHEMAS, &schema("e2e", "e2e", "noxu"))
        .await
        .expect(201);
    assert_eq!(created["status"], json!({}));
    let read = client.get(&path).await.expect(200);
    assert_eq!(read["status"], missing);
    assert_eq!(read["metadata"]["generation"], 1);
    let manager = &read["metadata"]["managedFields"][0];
    assert_eq!(
        manager["manager"],
        "api-priority-and-fairness-config-consumer-v1"
    );
    assert_eq!(
        (&manager["operation"], &manager["subresource"]),
        (&json!("Apply"), &json!("status"))
    );
    client.post(LEVELS, &level("e2e")).await.expect(201);
    assert_eq!(client.get(&path).await.expect(200)["status"], found);

    // A client that removes the condition finds it again.
    let mut read = client.get(&path).await.expect(200);
    read["status"] = json!({});
    client
        .put(&format!("{path}/status"), &read)
        .await
        .expect(200);
    assert_eq!(client.get(&path).await.expect(200)["status"], found);
    client.delete(&format!("{LEVELS}/e2e")).await.expect(200);
    assert_eq!(client.get(&path).await.expect(200)["status"], missing);

    // So do the flow schemas of the start, whose entries are those of a kube-apiserver.
    let probes = client.get(&format!("{SCHEMAS}/probes")).await.expect(200);
    assert_eq!(probes["status"]["conditions"][0]["reason"], "Found");
    let entries = probes["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0]["fieldsV1"], manager["fieldsV1"]);
    assert_eq!(
        entries[1]["manager"],
        "api-priority-and-fairness-config-producer-v1"
    );
}
