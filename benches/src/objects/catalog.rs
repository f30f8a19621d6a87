//! A large custom resource: a catalog of services with their operations.

use serde_json::{Map, Value, json};

use super::words::Words;

const SERVICES: u64 = 338;

pub(super) fn catalog() -> Value {
    let mut words = Words::new(5);
    let services: Vec<Value> = (0..SERVICES).map(|at| service(&mut words, at)).collect();
    json!({
        "apiVersion": "catalog.example.com/v1",
        "kind": "Catalog",
        "metadata": {
            "annotations": {"catalog.example.com/source": "discovery"},
            "labels": {"environment": "production"},
            "name": "services",
            "namespace": "shop",
            "uid": words.uid()
        },
        "spec": {"owner": "platform", "regions": ["eu-north", "eu-west", "us-east"], "services": services},
        "status": {"conditions": [{"message": "all services answer", "status": "True", "type": "Ready"}]}
    })
}

fn service(words: &mut Words, at: u64) -> Value {
    let columns: Vec<Value> = ["Name", "Phase", "Age"]
        .iter()
        .map(|name| json!({"format": "string", "name": name, "path": format!(".status.{name}"), "priority": 0}))
        .collect();
    let operations: Vec<Value> = (0..5)
        .map(|number| {
            json!({"deprecated": number == 4, "name": format!("operation-{number}"),
                   "path": format!("/v1/{}/{number}", words.hex(6)), "timeout": 1 + words.number(60),
                   "verbs": ["get", "list", "watch"]})
        })
        .collect();
    let mut parameters = Map::new();
    for name in ["cache", "queue", "retry"] {
        parameters.insert(
            name.to_owned(),
            json!({"limit": words.number(1000), "enabled": true}),
        );
    }
    json!({
        "columns": columns,
        "description": words.sentence(16),
        "group": format!("group-{}", at % 12),
        "labels": {"team": format!("team-{}", words.number(20)), "tier": "backend"},
        "name": format!("service-{at}"),
        "operations": operations,
        "parameters": parameters
    })
}
