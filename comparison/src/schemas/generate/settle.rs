//! The parts of a generated schema that depend on other parts of it.

use serde_json::{Map, Value, json};

use super::objects::value;
use crate::generate::random::Random;
use crate::json::{members, set, text, unset};

/// The names of properties.
const NAMES: &[&str] = &["a", "b", "c", "spec"];

/// Replaces what templates leave open in a schema, and in all schemas inside.
pub(super) fn settle(random: &mut Random, schema: &mut Value) {
    for place in places_of(schema) {
        if let Some(inner) = schema.pointer_mut(&place) {
            settle_one(random, inner);
        }
    }
}

fn settle_one(random: &mut Random, schema: &mut Value) {
    // A word with `$` stands for a value that depends on other keywords, which a template cannot know.
    let open = |name: &str, word: &str| schema.get(name).is_some_and(|value| value == word);
    let (half, keyed) = (
        open("required", "$half"),
        open("x-kubernetes-list-map-keys", "$keys"),
    );
    let fitting = open("default", "$fitting");

    if half {
        let names: Vec<String> = members(schema, "properties")
            .map(|(name, _)| name.clone())
            .filter(|_| random.chance(50))
            .collect();
        set(schema, "required", names);
    }

    if keyed && let Some(items) = schema.get_mut("items") {
        let keys = keys(random, items);
        set(schema, "x-kubernetes-list-map-keys", keys);
    }
    if unset(schema, "$types").is_some()
        && let Some(name) = schema.get("type").cloned()
    {
        set(schema, "type", json!([name, "string"]));
    }

    // A default must fit the rest of the schema, so everything else but the junctors is settled before.
    let has_junctors = unset(schema, "$junctors").is_some();
    if fitting {
        unset(schema, "default");
        let default = value(random, schema, 2);
        set(schema, "default", default);
    }

    if has_junctors {
        junctors(random, schema);
    }
}

/// The keys of a list, in any order; some have defaults.
fn keys(random: &mut Random, items: &mut Value) -> Vec<String> {
    let mut keys: Vec<String> = members(items, "properties")
        .map(|(name, _)| name.clone())
        .filter(|_| random.chance(60))
        .collect();
    random.shuffle(&mut keys);

    // A key is valid if it has a default or is required; a part of the schemas violates this.
    for name in &keys {
        if let Some(property) = items.pointer_mut(&format!("/properties/{name}"))
            && random.chance(30)
        {
            let default = value(random, property, 0);
            set(property, "default", default);
        }
    }

    if random.chance(60) {
        set(items, "required", keys.clone());
    }
    keys
}

/// Adds `allOf`, `anyOf`, `oneOf` and `not`.
fn junctors(random: &mut Random, schema: &mut Value) {
    for _ in 0..random.between(1, 2) {
        let name = random.name(&["allOf", "anyOf", "oneOf", "not"]);
        // Those of an int-or-string stay.
        if schema.get(name).is_some() {
            continue;
        }
        let value = match name {
            "not" => nested(random, schema, 3),
            _ => several(random, schema, 3),
        };
        set(schema, name, value);
    }
}

fn several(random: &mut Random, about: &Value, depth: usize) -> Value {
    (0..random.between(1, 2))
        .map(|_| nested(random, about, depth))
        .collect()
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

    // A structural schema specifies outside of its junctors all that they mention.
    let mut mentioned = Map::new();
    for (name, property) in members(about, "properties") {
        if random.chance(40) && (name != "metadata" || random.chance(10)) {
            mentioned.insert(name.clone(), nested(random, property, depth - 1));
        }
    }

    // Few junctors mention a property that exists nowhere else, which is a fault.
    if about.get("properties").is_some() && random.chance(6) {
        let other = nested(random, &Value::Null, depth - 1);
        mentioned.insert(random.name(NAMES).to_owned(), other);
    }
    if !mentioned.is_empty() {
        set(&mut out, "properties", mentioned);
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
        let name = random.name(&["allOf", "anyOf", "oneOf"]);
        set(&mut out, name, several(random, about, depth - 1));
    }
    if random.chance(6) {
        set(&mut out, "not", nested(random, about, depth - 1));
    }

    out
}

/// The places of all schemas in a schema, those inside first.
pub(super) fn places_of(schema: &Value) -> Vec<String> {
    fn collect(schema: &Value, place: String, out: &mut Vec<String>) {
        for name in ["items", "additionalProperties", "not"] {
            if let Some(inner) = schema.get(name).filter(|inner| inner.is_object()) {
                collect(inner, format!("{place}/{name}"), out);
            }
        }

        for (name, inner) in members(schema, "properties").filter(|(_, inner)| inner.is_object()) {
            collect(inner, format!("{place}/properties/{name}"), out);
        }
        for name in ["allOf", "anyOf", "oneOf"] {
            for (at, inner) in crate::json::items(schema, name).iter().enumerate() {
                collect(inner, format!("{place}/{name}/{at}"), out);
            }
        }
        out.push(place);
    }
    let mut out = Vec::new();
    collect(schema, String::new(), &mut out);

    out
}

/// The names of the definitions that a value refers to.
pub(super) fn targets(value: &Value) -> Vec<String> {
    let own = text(value, "$ref")
        .rsplit('/')
        .next()
        .filter(|name| !name.is_empty());
    let inner = crate::json::children(value).flat_map(targets);
    own.map(str::to_owned).into_iter().chain(inner).collect()
}
