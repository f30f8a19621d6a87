//! Objects that are mostly valid.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::generate::random::Random;
use crate::generate::template::Templates;
use crate::json::{flag, member, members, text};

pub(super) static TEMPLATES: LazyLock<Templates> =
    LazyLock::new(|| Templates::of(include_str!("schemas.yaml")));

/// A resource.
pub(super) fn root(random: &mut Random, schema: &Value) -> Value {
    let mut object = match fitting(random, schema, 6) {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    object.extend(resource(random));
    Value::Object(object)
}

/// A value for a schema. One in twelve is invalid.
pub(super) fn value(random: &mut Random, schema: &Value, depth: usize) -> Value {
    match random.below(24) {
        0 => TEMPLATES.part(random, "any", 2),
        1 => Value::Null,
        _ => fitting(random, schema, depth + 2),
    }
}

fn fitting(random: &mut Random, schema: &Value, depth: usize) -> Value {
    // Depth is bounded by giving lists no items, and maps no members, at the last level.
    let part = match text(schema, "type") {
        _ if flag(schema, "x-kubernetes-int-or-string") => random.name(&["small", "text"]),
        "object" if depth > 0 => return object(random, schema, depth),
        "object" => return json!({}),
        "array" => {
            let length = if depth > 0 { random.below(5) } else { 0 };
            let items = member(schema, "items");
            return (0..length)
                .map(|_| value(random, items, depth.saturating_sub(3)))
                .collect();
        }
        "boolean" => return json!(random.chance(50)),
        "string" => "text",
        "integer" => "small",
        "number" => "number",
        _ => "any",
    };

    TEMPLATES.part(random, part, 2)
}

fn object(random: &mut Random, schema: &Value, depth: usize) -> Value {
    let below = depth.saturating_sub(3);
    let mut out = Map::new();
    for (name, property) in members(schema, "properties") {
        if random.chance(65) {
            let is_null = random.chance(10);
            let value = (!is_null).then(|| value(random, property, below));
            out.insert(name.clone(), value.unwrap_or_default());
        }
    }

    if let Some(additional) = schema.get("additionalProperties") {
        for _ in 0..random.below(3) {
            let name = random.name(&["a", "b", "x"]).to_owned();
            out.insert(name, value(random, additional, below));
        }
    }

    // The schema may not declare this member, so that pruning has an effect.
    if random.chance(15) {
        let name = random.name(&["a", "b", "c", "zz"]).to_owned();
        out.insert(name, TEMPLATES.part(random, "any", 2));
    }
    if flag(schema, "x-kubernetes-embedded-resource") {
        out.extend(resource(random));
    }

    Value::Object(out)
}

/// Most of the fields of a resource.
fn resource(random: &mut Random) -> Map<String, Value> {
    match TEMPLATES.part(random, "resource", 0) {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
