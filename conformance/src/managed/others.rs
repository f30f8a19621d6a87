//! Random requests that are not sequences.

use serde_json::{Map as JsonMap, Value, json};

use super::entries::{MANAGERS, garbage, list, manager, time};
use super::kinds::{Kind, definitions};
use super::objects::{Version, dressed, set_metadata};
use super::schema;
use crate::generate::objects::Objects;
use crate::generate::random::Random;
use crate::generate::types::Names;

/// A request of one of the other ops.
pub(crate) fn request(rng: &mut Random) -> Value {
    let kind = schema::random(rng);
    let object = Objects::new(&kind.types, false).object(rng);
    let object = if object.is_object() { object } else { json!({}) };
    let versions = [version("example.com/v1"), version("v1")];
    match rng.below(5) {
        0 => scale(rng),
        1 => extract(rng, &kind, &object),
        2 => upgrade(rng, &kind, &versions, &object),
        3 => validation(rng),
        _ => {
            let crowd = rng.chance(20);
            let garbled = rng.chance(15);
            let list = if garbled { garbage(rng) } else { list(rng, &kind, &versions, &object, crowd) };
            json!({"op": "entries", "managedFields": list})
        }
    }
}

fn version(name: &str) -> Version {
    Version { name: name.to_owned(), names: Names::new() }
}

fn scale(rng: &mut Random) -> Value {
    let mut mappings = JsonMap::new();
    mappings.insert("apps/v1".to_owned(), json!(["spec", "replicas"]));
    let size = if rng.chance(30) { Value::Null } else { json!(["spec", "size"]) };
    mappings.insert("apps/v2".to_owned(), size);
    let versions: &[&str] = &["apps/v1", "apps/v1", "apps/v2", "apps/v3"];
    let mut entries = |of_scale: bool| -> Value {
        let count = rng.below(4);
        (0..count)
            .map(|_| {
                let version = if of_scale { "autoscaling/v1" } else { rng.name(versions) };
                let mut spec = JsonMap::new();
                for field in ["replicas", "size", "selector"] {
                    if rng.chance(if of_scale && field != "replicas" { 5 } else { 60 }) {
                        spec.insert(format!("f:{field}"), json!({}));
                    }
                }
                let operation = rng.name(&["Apply", "Update"]);
                let mut entry = json!({
                    "manager": rng.name(MANAGERS), "operation": operation, "apiVersion": version,
                    "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": spec},
                });
                let mut put = |name: &str, value: &str| {
                    entry.as_object_mut().map(|entry| entry.insert(name.to_owned(), json!(value)));
                };
                if rng.chance(60) {
                    put("time", time(rng));
                }
                if of_scale && rng.chance(50) {
                    put("subresource", "scale");
                }
                entry
            })
            .collect()
    };
    let (parent, scale) = (entries(false), entries(true));
    let direction = if rng.chance(30) { "toSubresource" } else { "toParent" };
    json!({
        "op": "scale", "direction": direction, "managedFields": parent, "scaleEntries": scale,
        "groupVersion": "apps/v1", "mappings": mappings,
    })
}

fn extract(rng: &mut Random, kind: &Kind, object: &Value) -> Value {
    let versions = [version("example.com/v1")];
    let mut object = dressed(object, kind, &versions[0], None);
    let entries = list(rng, kind, &versions, &object, false);
    set_metadata(&mut object, "managedFields", entries);
    let mut out = json!({"op": "extract", "object": object, "manager": manager(rng)});
    if let Some(members) = out.as_object_mut() {
        if rng.chance(10) {
            members.insert("subresource".to_owned(), json!("status"));
        }
        if rng.chance(70) {
            let definitions = definitions(kind, "v1", &JsonMap::new());
            members.insert("schemas".to_owned(), json!({"definitions": definitions}));
            members.insert("type".to_owned(), json!("Thing.v1"));
        }
    }
    out
}

fn upgrade(rng: &mut Random, kind: &Kind, versions: &[Version], object: &Value) -> Value {
    let mut object = dressed(object, kind, &version("example.com/v1"), None);
    let entries = list(rng, kind, versions, &object, false);
    set_metadata(&mut object, "managedFields", entries);
    let names: Vec<&str> = (0..rng.between(1, 2)).map(|_| rng.name(MANAGERS)).collect();
    let mut out =
        json!({"op": "upgrade", "object": object, "csaManagers": names, "ssaManager": rng.name(MANAGERS)});
    if rng.chance(10)
        && let Some(members) = out.as_object_mut()
    {
        members.insert("subresource".to_owned(), json!("status"));
    }
    out
}

const NAMES: &[&str] = &["", "ci", "a b", "a\nb", "ünï→", "\u{2028}", "zero\u{200b}width", "\u{0}"];

fn name(rng: &mut Random) -> String {
    let long = rng.between(120, 135);
    if rng.chance(15) { "é".repeat(long / 2) + "x" } else { rng.name(NAMES).to_owned() }
}

fn validation(rng: &mut Random) -> Value {
    let mut entries = Vec::new();
    for _ in 0..rng.below(3) {
        let subresource = if rng.chance(10) { "s".repeat(257) } else { "status".to_owned() };
        entries.push(json!({
            "manager": name(rng), "operation": rng.name(&["Apply", "Update", "", "Patch"]),
            "fieldsType": rng.name(&["FieldsV1", "", "FieldsV2"]), "subresource": subresource,
        }));
    }
    let mut options = |force: bool| {
        let mut out = json!({"fieldManager": name(rng)});
        let mut put =
            |name: &str, value: Value| out.as_object_mut().map(|out| out.insert(name.to_owned(), value));
        if force && rng.chance(50) {
            put("force", json!(rng.chance(50)));
        }
        if rng.chance(40) {
            let all: Vec<&str> = (0..rng.between(1, 2)).map(|_| rng.name(&["All", "Some", ""])).collect();
            put("dryRun", json!(all));
        }
        if rng.chance(40) {
            put("fieldValidation", json!(rng.name(&["", "Ignore", "Strict", "Warn", "strict"])));
        }
        out
    };
    let (patch, create, update) = (options(true), options(false), options(false));
    let types =
        ["application/apply-patch+yaml", "application/merge-patch+json", "application/json-patch+json"];
    json!({
        "op": "requestvalidation", "managedFields": entries, "patchOptions": patch, "createOptions": create,
        "updateOptions": update, "patchType": rng.name(&types),
    })
}
