//! Schemas of custom resources.

use serde_json::{Map, Value, json};

use super::{objects, set};
use crate::generate::random::Random;

const NAMES: &[&str] = &["a", "b", "c", "spec"];
const META_NAMES: &[&str] = &["metadata", "kind", "apiVersion"];

/// The schema of a resource.
pub(super) fn root(random: &mut Random) -> Value {
    let depth = random.between(1, 4);
    let mut schema = object(random, depth, true);
    dress(random, &mut schema, depth, true);
    schema
}

/// A schema of any kind.
fn node(random: &mut Random, depth: usize) -> Value {
    let mut schema = if depth == 0 {
        scalar(random)
    } else {
        match random.below(100) {
            0..=39 => object(random, depth, false),
            40..=63 => array(random, depth),
            _ => scalar(random),
        }
    };
    dress(random, &mut schema, depth, false);
    schema
}

fn scalar(random: &mut Random) -> Value {
    match random.below(100) {
        0..=29 => {
            let mut schema = json!({"type": "string"});
            if random.chance(15) {
                set(
                    &mut schema,
                    "pattern",
                    random.name(&["^[a-z]+$", "(", "(?=a)b", "[[:alpha:]]", "\\d{2,1}", "a**"]),
                );
            }
            if random.chance(15) {
                set(&mut schema, "format", random.name(&["date-time", "byte", "int-or-string"]));
            }
            if random.chance(10) {
                set(&mut schema, "maxLength", 3);
            }
            schema
        }
        30..=54 => {
            let mut schema = json!({"type": "integer"});
            if random.chance(15) {
                set(&mut schema, "minimum", 1);
            }
            if random.chance(10) {
                set(&mut schema, "format", "int32");
            }
            schema
        }
        55..=62 => json!({"type": "number"}),
        63..=74 => json!({"type": "boolean"}),
        75..=89 => int_or_string(random),
        _ => json!({"x-kubernetes-preserve-unknown-fields": true}),
    }
}

fn int_or_string(random: &mut Random) -> Value {
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let mut schema = json!({"x-kubernetes-int-or-string": true});
    match random.below(100) {
        0..=29 => set(&mut schema, "anyOf", either),
        30..=44 => {
            set(&mut schema, "allOf", json!([{"anyOf": either}]));
            if random.chance(50) {
                set(&mut schema, "anyOf", json!([{"pattern": "^a$"}]));
            }
        }
        45..=52 => set(&mut schema, "anyOf", json!([{"pattern": "^a$"}, {"minimum": 1}])),
        53..=57 => set(&mut schema, "anyOf", json!([{"type": "string"}, {"type": "integer"}])),
        _ => {}
    }
    if random.chance(5) {
        set(&mut schema, "type", "string");
    }
    schema
}

fn object(random: &mut Random, depth: usize, root: bool) -> Value {
    let mut schema = json!({"type": "object"});
    let embedded = !root && random.chance(12);
    match if root || embedded { random.below(60) } else { random.below(100) } {
        0..=64 => {
            let properties = properties(random, depth, root || embedded);
            set(&mut schema, "properties", properties);
        }
        65..=79 => set(&mut schema, "additionalProperties", node(random, depth.saturating_sub(1))),
        80..=85 => set(&mut schema, "additionalProperties", random.chance(60)),
        86..=89 => {
            set(&mut schema, "properties", properties(random, depth, false));
            set(&mut schema, "additionalProperties", node(random, depth.saturating_sub(1)));
        }
        _ => {}
    }
    if random.chance(12) {
        set(&mut schema, "x-kubernetes-preserve-unknown-fields", true);
    }
    if embedded {
        set(&mut schema, "x-kubernetes-embedded-resource", true);
    }
    if random.chance(10) {
        set(&mut schema, "x-kubernetes-map-type", random.name(&["atomic", "granular"]));
    }
    if random.chance(15) {
        let names = schema.get("properties").and_then(Value::as_object);
        let required: Vec<String> =
            names.into_iter().flat_map(Map::keys).filter(|_| random.chance(50)).cloned().collect();
        set(&mut schema, "required", required);
    }
    schema
}

fn properties(random: &mut Random, depth: usize, resource: bool) -> Value {
    let mut out = Map::new();
    for _ in 0..random.below(4) {
        out.insert(random.name(NAMES).to_owned(), node(random, depth.saturating_sub(1)));
    }
    for name in META_NAMES {
        if random.chance(if resource { 25 } else { 4 }) {
            let schema = match *name {
                "metadata" => metadata(random),
                _ => json!({"type": "string"}),
            };
            out.insert((*name).to_owned(), schema);
        }
    }
    Value::Object(out)
}

/// A schema of metadata, valid or not.
fn metadata(random: &mut Random) -> Value {
    let name = json!({"type": "string", "maxLength": 5});
    match random.below(10) {
        0..=4 => json!({"type": "object"}),
        5 => json!({"type": "object", "properties": {"name": name}}),
        6 => json!({"type": "object", "properties": {"name": name, "generateName": {"type": "string"}}}),
        7 => json!({"type": "object", "properties": {"name": name, "labels": {"type": "object"}}}),
        8 => json!({"type": "object", "default": {"name": "x"}, "description": "d"}),
        _ => json!({"type": "object", "properties": {"name": {"type": "string", "default": "x"}}}),
    }
}

fn array(random: &mut Random, depth: usize) -> Value {
    let mut schema = json!({"type": "array"});
    let below = depth.saturating_sub(1);
    match random.below(100) {
        0..=34 => set(&mut schema, "items", node(random, below)),
        35..=44 => {
            set(&mut schema, "items", node(random, below));
            set(&mut schema, "x-kubernetes-list-type", "atomic");
        }
        45..=64 => {
            let items = if random.chance(75) { scalar(random) } else { node(random, below) };
            set(&mut schema, "items", items);
            set(&mut schema, "x-kubernetes-list-type", "set");
        }
        _ => keyed(random, &mut schema, below),
    }
    schema
}

/// A list whose items have keys.
fn keyed(random: &mut Random, schema: &mut Value, depth: usize) {
    let mut properties = Map::new();
    for _ in 0..random.between(1, 3) {
        let value = if random.chance(70) { scalar(random) } else { node(random, depth) };
        properties.insert(random.name(NAMES).to_owned(), value);
    }
    let names: Vec<String> = properties.keys().cloned().collect();
    let mut keys: Vec<String> = names.iter().filter(|_| random.chance(60)).cloned().collect();
    random.shuffle(&mut keys);
    for name in &keys {
        if random.chance(30)
            && let Some(property) = properties.get_mut(name)
        {
            let default = objects::value(random, property, 0);
            set(property, "default", default);
        }
    }
    let mut items = json!({"type": "object", "properties": properties});
    if random.chance(60) {
        set(&mut items, "required", keys.clone());
    }
    set(schema, "items", items);
    set(schema, "x-kubernetes-list-type", "map");
    set(schema, "x-kubernetes-list-map-keys", keys);
}

/// Adds keywords that any schema may have.
fn dress(random: &mut Random, schema: &mut Value, depth: usize, root: bool) {
    if random.chance(if root { 2 } else { 15 }) {
        set(schema, "nullable", true);
    }
    if random.chance(if root { 3 } else { 18 }) {
        let default = objects::value(random, schema, depth);
        set(schema, "default", default);
    }
    if random.chance(5) {
        set(schema, "description", "d");
    }
    if random.chance(3) {
        set(schema, "title", "t");
    }
    if random.chance(2) {
        set(schema, "externalDocs", json!({"url": "u"}));
    }
    if random.chance(2) {
        set(schema, "example", json!({"a": 1}));
    }
    if random.chance(4) {
        set(schema, "enum", json!(["x", 1, null]));
    }
    if random.chance(3) {
        set(schema, "x-kubernetes-validations", json!([{"rule": "true", "message": "m"}]));
    }
    if random.chance(if root { 35 } else { 12 }) {
        junctors(random, schema);
    }
}

/// Adds `allOf`, `anyOf`, `oneOf` and `not`.
fn junctors(random: &mut Random, schema: &mut Value) {
    for _ in 0..random.between(1, 2) {
        let name = random.name(&["allOf", "anyOf", "oneOf", "not"]);
        // Those of an int-or-string stay.
        if schema.get(name).is_some() {
            continue;
        }
        let about = schema.clone();
        let value = if name == "not" {
            nested(random, &about, 3)
        } else {
            (0..random.between(1, 2)).map(|_| nested(random, &about, 3)).collect()
        };
        set(schema, name, value);
    }
}

/// A schema inside a junctor, mostly with properties that exist outside of it.
fn nested(random: &mut Random, about: &Value, depth: usize) -> Value {
    let mut out = json!({});
    if random.chance(40) {
        set(&mut out, "required", json!([random.name(NAMES)]));
    }
    if depth == 0 {
        return out;
    }
    if let Some(properties) = about.get("properties").and_then(Value::as_object) {
        let mut mentioned = Map::new();
        for (name, property) in properties {
            if random.chance(40) && (name != "metadata" || random.chance(10)) {
                mentioned.insert(name.clone(), nested(random, property, depth - 1));
            }
        }
        if random.chance(6) {
            mentioned.insert(random.name(NAMES).to_owned(), nested(random, &Value::Null, depth - 1));
        }
        if !mentioned.is_empty() {
            set(&mut out, "properties", mentioned);
        }
    }
    if let Some(items) = about.get("items")
        && random.chance(50)
    {
        set(&mut out, "items", nested(random, items, depth - 1));
    }
    if random.chance(15) {
        set(&mut out, "pattern", random.name(&["^a", "("]));
    }
    if random.chance(15) {
        let value = (0..random.between(1, 2)).map(|_| nested(random, about, depth - 1)).collect::<Vec<_>>();
        set(&mut out, random.name(&["allOf", "anyOf", "oneOf"]), value);
    }
    if random.chance(6) {
        set(&mut out, "not", nested(random, about, depth - 1));
    }
    out
}
