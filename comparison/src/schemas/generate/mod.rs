//! Generates requests from seeds.
//!
//! Alphabets are small, so that features combine: the same few names are properties, list keys and members of objects,
//! and the same few values are defaults and data. Most cases are valid; a share is made invalid.

mod objects;
mod settle;

use serde_json::{Map, Value, json};

use self::objects::TEMPLATES;
use self::settle::{places_of, settle, targets};
use crate::generate::random::Random;
use crate::json::{children_mut, each, set};

/// The request of a seed.
pub(super) fn request(seed: u64) -> Value {
    let random = &mut Random::new(seed);
    let ops = [
        (22, "openapi"),
        (22, "structural"),
        (10, "prune"),
        (10, "default"),
        (6, "nulls"),
        (8, "listtype"),
        (8, "coerce"),
        (4, "objectmeta"),
        (6, "prunedefaults"),
        (12, "crd"),
    ];

    // Ops about schemas get faulty ones more often than ops about objects, where a fault hides the object.
    let op = random.weighted(&ops, "structural");
    match op {
        "openapi" => {
            let definitions = definitions(random);
            json!({"op": op, "definitions": definitions, "preserveUnknownFields": random.chance(8)})
        }
        "crd" => json!({"op": op, "crd": crd(random)}),
        "structural" | "prunedefaults" => {
            let mut schema = root(random);
            spoil(random, &mut schema, 30);
            json!({"op": op, "schema": schema})
        }
        _ => {
            let mut schema = telling(random, op);
            let mut out = json!({"op": op, "object": objects::root(random, &schema)});
            // The object fits the schema before its faults.
            spoil(random, &mut schema, 10);
            set(&mut out, "schema", schema);
            if matches!(op, "prune" | "coerce" | "objectmeta") {
                set(&mut out, "isResourceRoot", random.chance(70));
            }
            if op == "coerce" {
                set(&mut out, "dropInvalid", random.chance(50));
                set(&mut out, "returnUnknown", random.chance(30));
            }

            out
        }
    }
}

/// The schema of a resource.
fn root(random: &mut Random) -> Value {
    let depth = random.between(1, 4);
    let mut schema = TEMPLATES.part(random, "root", depth);
    settle(random, &mut schema);
    schema
}

/// A schema with the features that an op is about.
fn telling(random: &mut Random, op: &str) -> Value {
    let texts: &[&str] = match op {
        "listtype" => &[
            "\"x-kubernetes-list-type\":\"set\"",
            "\"x-kubernetes-list-type\":\"map\"",
        ],
        "default" => &["\"default\":"],
        _ => &[""],
    };
    let mut schema = root(random);

    // Not every seed reaches the features, so the number of tries is bounded.
    for _ in 0..20 {
        let text = schema.to_string();
        if texts.iter().any(|wanted| text.contains(wanted)) {
            break;
        }
        schema = root(random);
    }

    schema
}

/// A custom resource definition.
fn crd(random: &mut Random) -> Value {
    let mut crd = TEMPLATES.part(random, "crd", 4);
    let versions = crd.pointer_mut("/spec/versions");
    for version in versions.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            settle(random, schema);
            spoil(random, schema, 20);
        }
    }
    crd
}

/// OpenAPI definitions like those of built-in types.
fn definitions(random: &mut Random) -> Value {
    let mut definitions = TEMPLATES.part(random, "definitions", 3);
    // `@NAME` stands for a reference, in the notation of one of the versions of OpenAPI, or without a prefix.
    each(&mut definitions, &mut |value| {
        if let Some(name) = value.as_str().and_then(|text| text.strip_prefix('@')) {
            let prefix = TEMPLATES.part(random, "prefix", 0);
            *value = json!(format!("{}{name}", prefix.as_str().unwrap_or_default()));
        }
    });
    for schema in children_mut(&mut definitions) {
        settle(random, schema);
    }

    let names: Vec<String> = definitions
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .cloned()
        .collect();

    if let Some(schema) = random
        .pick(&names)
        .and_then(|name| definitions.get_mut(name))
        && random.chance(12)
    {
        fault(random, schema, "definitionFaults");
    }

    // Most documents define the types that they refer to.
    if !random.chance(8) {
        for name in targets(&definitions) {
            if definitions.get(&name).is_none() {
                let plain = json!({"type": "object", "properties": {"a": {"type": "string"}}});
                set(&mut definitions, &name, plain);
            }
        }
    }

    definitions
}

/// Makes a schema invalid in one or two places, in `percent` of 100 cases.
fn spoil(random: &mut Random, schema: &mut Value, percent: u32) {
    if random.chance(percent) {
        for _ in 0..random.between(1, 2) {
            fault(random, schema, "faults");
        }
    }
}

/// Adds a keyword at any place of a schema, or removes one.
fn fault(random: &mut Random, schema: &mut Value, faults: &str) {
    let places = places_of(schema);
    let place = random
        .pick(&places)
        .and_then(|place| schema.pointer_mut(place));
    let Some(Value::Object(place)) = place else {
        return;
    };

    // A keyword that is missing is as much a fault as one that is wrong.
    let names: Vec<String> = place.keys().cloned().collect();
    match random.pick(&names) {
        Some(name) if random.chance(15) => drop(place.remove(name)),
        _ => {
            let added = TEMPLATES.part(random, faults, 2);
            place.extend(added.as_object().cloned().unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_determines_the_request() {
        for seed in 0..200 {
            assert_eq!(request(seed), request(seed));
        }
    }

    #[test]
    fn every_op_is_generated_without_a_missing_part() {
        let mut ops = std::collections::BTreeSet::new();
        for seed in 0..500 {
            let request = request(seed);
            ops.insert(request["op"].as_str().unwrap_or_default().to_owned());
            let text = request
                .to_string()
                .replace("\"$ref\"", "")
                .replace("\"$schema\"", "");
            assert!(!text.contains("\"$"), "{text}");
        }
        assert_eq!(ops.len(), 10);
    }
}
