//! Random cases.

use serde_json::{Value as Json, json};

use super::spoil::spoil;
use super::write::{TemplateKind, TemplateWriter};
use crate::generate::random::Random;
use crate::rules::generate::object;

/// The case of a seed.
pub(super) fn case(seed: u64) -> Json {
    let mut random = Random::new(seed);
    let is_wrong = seed % 5 == 4;
    let (has_params, has_access) = (random.chance(60), random.chance(50));
    let names = random.of(&[vec![], vec!["x"], vec!["x", "y"], vec!["spec", "x"]]);
    let mut writer = TemplateWriter::new(&mut random, has_params, has_access);

    // A variable uses those before it, and one that does not compile is a fault of what uses it.
    let mut variables = Vec::new();
    for name in names {
        let (kind, text) = match name {
            "spec" => (TemplateKind::Any, "object.spec".to_owned()),
            _ => writer.variable(),
        };
        let text = if is_wrong && writer.random.chance(10) {
            spoil(writer.random, text)
        } else {
            text
        };
        variables.push(json!({"name": name, "expression": text}));
        writer.variables.push((name, kind));
    }

    let (kind, returns) = writer.random.weighted(
        &[
            (8, (TemplateKind::Bool, "bool")),
            (6, (TemplateKind::Text, "string")),
            (4, (TemplateKind::Text, "either")),
            (4, (TemplateKind::Any, "bool")),
            (20, (TemplateKind::Bool, "")),
            (10, (TemplateKind::Text, "")),
            (8, (TemplateKind::Int, "")),
            (6, (TemplateKind::Texts, "")),
        ],
        (TemplateKind::Any, ""),
    );
    let depth = writer.random.between(1, 3);
    let mut expression = writer.write(kind, depth);
    if is_wrong {
        expression = spoil(writer.random, expression);
    }

    let mut case = json!({
        "expression": expression, "returns": returns, "variables": variables, "new": random.chance(50),
        "hasParams": has_params, "hasAuthorizer": has_access,
    });
    for input in [objects(&mut random), request(&mut random)] {
        if let (Some(case), Json::Object(input)) = (case.as_object_mut(), input) {
            case.extend(input);
        }
    }
    case
}

/// The objects of a request, with its operation.
fn objects(random: &mut Random) -> Json {
    let new = object(random);
    let old = if random.chance(30) {
        new.clone()
    } else {
        object(random)
    };
    let params = match random.below(8) {
        0 => Json::Null,
        1..4 => {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"}, "data": {"n": "3", "name": "a"}})
        }
        _ => stored(object(random)),
    };
    let (operation, new, old) = match random.below(5) {
        0 => ("UPDATE", new, old),
        1 => ("DELETE", Json::Null, old),
        _ => ("CREATE", new, Json::Null),
    };
    let options = match operation {
        "CREATE" => {
            json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "m"})
        }
        "UPDATE" => json!({"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"}),
        _ => {
            json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": 30})
        }
    };
    json!({"object": new, "oldObject": old, "params": params, "operation": operation, "options": options})
}

/// An object as Go stores it: floats without a fraction are written as integers.
fn stored(mut object: Json) -> Json {
    if let Some(ratio) = object.pointer_mut("/spec/ratio")
        && *ratio == json!(2.0)
    {
        *ratio = json!(2);
    }
    object
}

/// The request, with the user and the namespace.
fn request(random: &mut Random) -> Json {
    let mut user = json!({"name": random.name(&["someone", "system:admin", ""])});
    for (name, value) in [
        ("uid", json!("u-1")),
        ("groups", json!(["a", "system:authenticated"])),
        ("extra", json!({"key": ["a", "b"], "x/y": []})),
    ] {
        if random.chance(60) {
            crate::json::set(&mut user, name, value);
        }
    }

    // A namespace may be absent, or lack what expressions ask for.
    let namespace = match random.below(4) {
        0 => Json::Null,
        1 => json!({"metadata": {"name": "team"}, "spec": {}, "status": {}}),
        _ => json!({
            "metadata": {
                "name": "team", "uid": "u-2", "resourceVersion": "7", "generation": 2, "creationTimestamp": "2024-02-29T12:30:45Z",
                "labels": {"environment": "test", "a-b": "c"}, "annotations": {"owner": "me"}, "finalizers": ["f"],
            },
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active", "conditions": [{
                "type": "Ready", "status": "True", "lastTransitionTime": "2024-02-29T12:30:45Z", "reason": "r", "message": "m",
            }]},
        }),
    };

    json!({
        "user": user, "namespaceObject": namespace,
        "namespace": if namespace.is_null() { "" } else { "team" },
        "name": random.name(&["a", "b-1", ""]), "subresource": random.name(&["", "", "status"]), "dryRun": random.chance(30),
        "kind": {"group": "example.com", "version": "v1", "kind": "Shop"},
        "resource": {"group": "example.com", "version": "v1", "resource": "shops"},
    })
}
