//! The types of the expressions of policies. `data/type_checks.jsonl.gz` has policies and the warnings of the controller of
//! Kubernetes, which `comparison/admission/type_checks.py` recorded.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::sync::Arc;

use fieldmanager_admission::policies::{ServedKinds, check_types};
use fieldmanager_apiserver::store::Memory;
use fieldmanager_apiserver::{ApiServer, Collection};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

use crate::common::Client;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

/// What a server says of its resources.
#[derive(Default)]
struct Discovered {
    /// Kinds with the plural and singular names of their resources.
    resources: Vec<(GroupVersionKind, [String; 2])>,
    documents: BTreeMap<(String, String), Value>,
}

impl Discovered {
    async fn read(client: &Client) -> Self {
        let index = client.get("/openapi/v3").await.expect(200);
        let mut out = Discovered::default();
        for path in index["paths"].as_object().unwrap().keys() {
            let parts: Vec<&str> = path.split('/').collect();
            let (group, version) = match parts.as_slice() {
                ["api", version] => ("", *version),
                ["apis", group, version] => (*group, *version),
                _ => continue,
            };
            let found = client.get(&format!("/{path}")).await.expect(200);
            for resource in found["resources"].as_array().unwrap() {
                let name = |field: &str| resource[field].as_str().unwrap().to_owned();
                if !name("name").contains('/') {
                    let kind = GroupVersionKind::new(group, version, name("kind"));
                    out.resources
                        .push((kind, [name("name"), name("singularName")]));
                }
            }
            let document = client.get(&format!("/openapi/v3/{path}")).await;
            let document = Value::from_json_slice(&document.bytes).unwrap();
            out.documents
                .insert((group.to_owned(), version.to_owned()), document);
        }
        out
    }
}

impl ServedKinds for Discovered {
    fn kinds(&self, group: &str, version: &str, resource: &str) -> Vec<GroupVersionKind> {
        let found = self.resources.iter().filter(|(kind, names)| {
            (group.is_empty() || kind.group == group)
                && kind.version == version
                && names.iter().any(|name| name == resource)
        });
        found.map(|(kind, _)| kind.clone()).collect()
    }

    fn document(&self, group: &str, version: &str) -> Option<Value> {
        let place = (group.to_owned(), version.to_owned());
        self.documents.get(&place).cloned()
    }
}

fn recorded() -> Vec<Json> {
    let file = flate2::read::GzDecoder::new(&include_bytes!("data/type_checks.jsonl.gz")[..]);
    let lines = BufReader::new(file).lines();
    lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}

/// A text without the numbers behind the names of the types of parameters.
fn without_numbers(text: &str) -> String {
    let kinds = ["ConfigMap", "Shop", "Free", "Deployment", "Nothing"];
    let text = text.to_owned();
    kinds
        .iter()
        .fold(text, |text, kind| text.replace(&format!("{kind}2"), kind))
}

#[tokio::test]
async fn warnings_are_those_of_the_controller_of_kubernetes() {
    let client = Client::new().await;
    let lines = recorded();
    for definition in lines[0]["definitions"].as_array().unwrap() {
        client.post(DEFINITIONS, definition).await.expect(201);
    }
    let served = Discovered::read(&client).await;

    let mut different = Vec::new();
    // Without optimization, all of them take a minute.
    let step = if cfg!(debug_assertions) { 4 } else { 1 };
    for line in lines[1..].iter().step_by(step) {
        let policy = Value::from_json(&line["policy"].to_string()).unwrap();
        let status = check_types(&policy, &served).unwrap();
        let status: Json = serde_json::from_str(&status.to_json()).unwrap();
        let mut expected = json!({"observedGeneration": 1, "typeChecking": {}});
        if line["warnings"] != json!([]) {
            expected["typeChecking"]["expressionWarnings"] = line["warnings"].clone();
        }
        // Parameters have a number, as types have in Kubernetes, which the recording leaves out.
        let status: Json = serde_json::from_str(&without_numbers(&status.to_string())).unwrap();
        if status != expected {
            different.push(format!(
                "{}\n{status:#}\n{expected:#}",
                line["policy"]["spec"]
            ));
        }
    }
    let shown = different.iter().take(3).cloned().collect::<Vec<_>>();
    assert!(
        different.is_empty(),
        "{} differ: {}",
        different.len(),
        shown.join("\n")
    );
}

fn policy(expression: &str) -> Json {
    let rule = json!({
        "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"],
    });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "replicas.example.com"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}],
        },
    })
}

#[tokio::test]
async fn a_policy_has_its_status_when_it_was_written() {
    let server = ApiServer::builder().build().await.unwrap();
    let client = Client { server };
    let path = format!("{POLICIES}/replicas.example.com");
    let created = client.post(POLICIES, &policy("object.replicas > 1")).await;
    assert!(
        created
            .expect(201)
            .get("status")
            .is_none_or(|status| status == &json!({}))
    );
    let live = client.get(&path).await.expect(200);
    let warning = "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n \
                   | object.replicas > 1\n | ......^\n";
    let warning = json!({"fieldRef": "spec.validations[0].expression", "warning": warning});
    let expected =
        json!({"observedGeneration": 1, "typeChecking": {"expressionWarnings": [warning]}});
    assert_eq!(live["status"], expected);

    let entry = &live["metadata"]["managedFields"][0];
    assert_eq!(entry["manager"], "validatingadmissionpolicy-status");
    assert_eq!(entry["operation"], "Apply");
    assert_eq!(entry["subresource"], "status");
    let fields = json!({"f:status": {
        "f:observedGeneration": {}, "f:typeChecking": {"f:expressionWarnings": {}},
    }});
    assert_eq!(entry["fieldsV1"], fields);

    let mut changed = live.clone();
    changed["spec"]["validations"][0]["expression"] = json!("object.spec.replicas > 1");
    client.put(&path, &changed).await.expect(200);
    let live = client.get(&path).await.expect(200);
    // An empty map that is applied in the place of another one is removed, in Kubernetes too.
    assert_eq!(live["status"], json!({"observedGeneration": 2}));

    // Nothing is written again for the same generation.
    let mut labelled = live.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    let labelled = client.put(&path, &labelled).await.expect(200);
    assert_eq!(client.get(&path).await.expect(200), labelled);
}

#[tokio::test]
async fn without_controllers_there_is_no_status_until_a_start_with_them() {
    let store = Arc::new(Memory::default());
    let builder = ApiServer::builder().store(store.clone());
    let builder = builder.collection(Collection::Stepped);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    client
        .post(POLICIES, &policy("object.replicas > 1"))
        .await
        .expect(201);
    let path = format!("{POLICIES}/replicas.example.com");
    let live = client.get(&path).await.expect(200);
    assert!(live.get("status").is_none_or(|status| status == &json!({})));

    // A server that has them checks what is stored, when it starts.
    let builder = ApiServer::builder().store(store);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    let live = client.get(&path).await.expect(200);
    assert_eq!(live["status"]["observedGeneration"], 1);
    let warnings = &live["status"]["typeChecking"]["expressionWarnings"];
    assert_eq!(warnings[0]["fieldRef"], "spec.validations[0].expression");
}
