//! OpenAPI definitions like those of built-in types.

use serde_json::{Map, Value, json};

use super::set;
use crate::generate::random::Random;

const DEFINITIONS: &[&str] = &["t", "u", "v", "io.example.v1.A"];
const NAMES: &[&str] = &["a", "b", "c"];

pub(super) fn definitions(random: &mut Random) -> Value {
    let mut out = Map::new();
    for name in DEFINITIONS {
        if random.chance(75) {
            let depth = random.between(1, 3);
            let schema = if random.chance(5) { reference(random) } else { schema(random, depth) };
            out.insert((*name).to_owned(), schema);
        }
    }
    if random.chance(20) {
        out.insert("io.k8s.apimachinery.pkg.api.resource.Quantity".to_owned(), json!({"type": "string"}));
    }
    if random.chance(20) {
        out.insert("io.k8s.apimachinery.pkg.runtime.RawExtension".to_owned(), json!({"type": "object"}));
    }
    if random.chance(12) {
        let names: Vec<String> = out.keys().cloned().collect();
        if let Some(schema) = random.pick(&names).and_then(|name| out.get_mut(name)) {
            break_one(random, schema);
        }
    }
    // Most documents define the types that they refer to.
    if !random.chance(8) {
        let mut wanted = Vec::new();
        out.values().for_each(|schema| references(schema, &mut wanted));
        for name in wanted {
            out.entry(name)
                .or_insert_with(|| json!({"type": "object", "properties": {"a": {"type": "string"}}}));
        }
    }
    Value::Object(out)
}

/// The names that a schema refers to.
fn references(schema: &Value, out: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if name == "$ref" => {
                        out.extend(
                            text.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned),
                        );
                    }
                    other => references(other, out),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, out)),
        _ => {}
    }
}

/// A property, item or additional property.
fn below(random: &mut Random, depth: usize) -> Value {
    if random.chance(25) {
        return reference(random);
    }
    let mut schema = schema(random, depth.saturating_sub(1));
    if random.chance(10) {
        set(&mut schema, "nullable", random.chance(80));
    }
    schema
}

fn reference(random: &mut Random) -> Value {
    let name = match random.below(20) {
        0 | 1 => "io.k8s.apimachinery.pkg.api.resource.Quantity",
        2 | 3 => "io.k8s.apimachinery.pkg.runtime.RawExtension",
        _ => random.name(DEFINITIONS),
    };
    let text = format!("{}{name}", random.name(&["#/definitions/", "#/components/schemas/", ""]));
    let mut out = match random.below(10) {
        0..=5 => json!({"$ref": text}),
        6..=8 => json!({"allOf": [{"$ref": text}]}),
        _ => json!({"allOf": [{"$ref": text}, {"type": "object"}]}),
    };
    if random.chance(10) {
        set(&mut out, "x-kubernetes-map-type", random.name(&["atomic", "granular"]));
    }
    if random.chance(15) {
        set(&mut out, "default", any(random));
    }
    if random.chance(10) {
        set(&mut out, "nullable", true);
    }
    if random.chance(5) {
        set(&mut out, "x-kubernetes-preserve-unknown-fields", true);
    }
    if random.chance(5) {
        set(&mut out, "type", random.name(&["object", "array", "string"]));
    }
    out
}

fn schema(random: &mut Random, depth: usize) -> Value {
    let kind = if depth == 0 { 60 + random.below(40) } else { random.below(100) };
    let mut out = match kind {
        0..=34 => json!({"type": "object"}),
        35..=59 => json!({"type": "array"}),
        60..=69 => json!({}),
        _ => scalar(random),
    };
    if random.chance(4)
        && let Some(name) = out.get("type").cloned()
    {
        set(&mut out, "type", json!([name, "string"]));
    }
    if kind < 35 || (60..70).contains(&kind) && random.chance(50) {
        map(random, &mut out, depth);
    }
    if (35..60).contains(&kind) || (60..70).contains(&kind) && random.chance(30) {
        list(random, &mut out, depth);
    }
    if random.chance(6) {
        set(&mut out, "x-kubernetes-preserve-unknown-fields", random.chance(80));
    }
    if random.chance(3) {
        set(&mut out, "x-kubernetes-int-or-string", true);
    }
    if random.chance(15) {
        set(&mut out, "default", any(random));
    }
    out
}

fn scalar(random: &mut Random) -> Value {
    let mut out = json!({"type": random.name(&["string", "string", "integer", "number", "boolean"])});
    if random.chance(30) {
        set(&mut out, "format", random.name(&["", "byte", "date-time", "int-or-string", "int64"]));
    }
    out
}

fn map(random: &mut Random, out: &mut Value, depth: usize) {
    if random.chance(70) {
        let mut properties = Map::new();
        for _ in 0..random.below(4) {
            properties.insert(random.name(NAMES).to_owned(), below(random, depth));
        }
        set(out, "properties", properties);
    }
    match random.below(10) {
        0 | 1 => set(out, "additionalProperties", below(random, depth)),
        2 => set(out, "additionalProperties", random.chance(50)),
        _ => {}
    }
    if random.chance(12) {
        set(out, "x-kubernetes-map-type", random.name(&["atomic", "granular"]));
    }
    if random.chance(6) {
        let unions = json!([{"discriminator": "a", "fields-to-discriminateBy": {"b": "B", "c": "C"}}]);
        set(out, "x-kubernetes-unions", unions);
    }
}

fn list(random: &mut Random, out: &mut Value, depth: usize) {
    let keys: Vec<&str> = NAMES.iter().filter(|_| random.chance(40)).copied().collect();
    let mut items = below(random, depth);
    match random.below(10) {
        0 => set(out, "x-kubernetes-list-type", "atomic"),
        1 | 2 => set(out, "x-kubernetes-list-type", "set"),
        3..=5 => {
            if random.chance(70) {
                items = json!({"type": "object", "properties":
                    keys.iter().map(|key| ((*key).to_owned(), scalar(random))).collect::<Map<_, _>>()});
            }
            set(out, "x-kubernetes-list-type", "map");
            set(out, "x-kubernetes-list-map-keys", json!(keys));
        }
        6 => {
            set(
                out,
                "x-kubernetes-patch-strategy",
                random.name(&["merge", "merge,retainKeys", "retainKeys"]),
            );
            if random.chance(60) {
                items = json!({"type": "object", "properties": {"a": {"type": "string"}}});
                set(out, "x-kubernetes-patch-merge-key", "a");
            }
        }
        _ => {}
    }
    if !random.chance(2) {
        set(out, "items", items);
    }
}

/// Sets a keyword somewhere in a schema to a value that is invalid there.
fn break_one(random: &mut Random, schema: &mut Value) {
    let inner = match schema.get("properties").and_then(Value::as_object) {
        Some(properties) if random.chance(60) => random
            .pick(&properties.keys().cloned().collect::<Vec<_>>())
            .map(|name| format!("/properties/{name}")),
        _ if schema.get("items").is_some_and(Value::is_object) && random.chance(60) => {
            Some("/items".to_owned())
        }
        _ => None,
    };
    if let Some(inner) = inner.and_then(|place| schema.pointer_mut(&place)) {
        return break_one(random, inner);
    }
    let changes = [
        ("type", json!("odd")),
        ("type", json!(7)),
        ("type", json!([])),
        ("type", json!(null)),
        ("format", json!(7)),
        ("items", json!([])),
        ("items", json!([{"type": "string"}])),
        ("items", json!(true)),
        ("items", json!(null)),
        ("properties", json!([])),
        ("properties", json!(null)),
        ("properties", json!({"a": null})),
        ("properties", json!({"a": 7})),
        ("additionalProperties", json!(7)),
        ("additionalProperties", json!(null)),
        ("nullable", json!("yes")),
        ("nullable", json!(null)),
        ("description", json!(7)),
        ("$ref", json!(7)),
        ("$ref", json!("")),
        ("$ref", json!("#/definitions/nowhere")),
        ("$ref", json!(null)),
        ("allOf", json!([{"$ref": "#/definitions/t"}])),
        ("allOf", json!({})),
        ("x-kubernetes-preserve-unknown-fields", json!("true")),
        ("x-kubernetes-preserve-unknown-fields", json!(null)),
        ("x-kubernetes-list-type", json!("odd")),
        ("x-kubernetes-list-type", json!("map")),
        ("x-kubernetes-list-type", json!(null)),
        ("x-kubernetes-list-map-keys", json!(["a", 7])),
        ("x-kubernetes-list-map-keys", json!("a")),
        ("x-kubernetes-map-type", json!("odd")),
        ("x-kubernetes-map-type", json!(null)),
        ("x-kubernetes-patch-strategy", json!("replace")),
        ("x-kubernetes-patch-merge-key", json!(7)),
        ("x-kubernetes-unions", json!("odd")),
        ("x-kubernetes-unions", json!([{"fields-to-discriminateBy": {"a": 1}}])),
        ("x-kubernetes-group-version-kind", json!("odd")),
        ("x-kubernetes-group-version-kind", json!([{"group": "g", "version": 1, "kind": "K"}])),
        ("x-kubernetes-group-version-kind", json!([{"group": "g", "version": "v1", "kind": "K"}])),
    ];
    if let Some((name, value)) = random.pick(&changes) {
        set(schema, name, value.clone());
    }
}

fn any(random: &mut Random) -> Value {
    let values = [json!(null), json!(1), json!("x"), json!({}), json!({"a": [1.5]}), json!(false), json!([])];
    random.pick(&values).cloned().unwrap_or_default()
}
