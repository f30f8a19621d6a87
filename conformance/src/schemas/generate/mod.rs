//! Generates requests from seeds.
//!
//! Alphabets are small, so that features combine: the same few names are properties, list keys and members of objects,
//! and the same few values are defaults and data. Most cases are valid; a share is made invalid.

mod broken;
mod crds;
mod objects;
mod openapi;
mod structural;

use serde_json::{Value, json};

use crate::generate::random::Random;
use crate::json::set;

/// The request of a seed.
pub(super) fn request(seed: u64) -> Value {
    let mut random = Random::new(seed);
    let random = &mut random;
    let op = random.weighted(
        &[
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
        ],
        "structural",
    );
    match op {
        "openapi" => {
            let definitions = openapi::definitions(random);
            json!({"op": op, "definitions": definitions, "preserveUnknownFields": random.chance(8)})
        }
        "crd" => json!({"op": op, "crd": crds::crd(random)}),
        "structural" | "prunedefaults" => {
            let mut schema = structural::root(random);
            broken::schema(random, &mut schema, 30);
            json!({"op": op, "schema": schema})
        }
        _ => {
            let mut schema = telling(random, op);
            let mut out = json!({"op": op, "object": objects::root(random, &schema)});
            broken::schema(random, &mut schema, 10);
            if let Value::Object(request) = &mut out {
                request.insert("schema".to_owned(), schema);
                if matches!(op, "prune" | "coerce" | "objectmeta") {
                    request.insert("isResourceRoot".to_owned(), random.chance(70).into());
                }
                if op == "coerce" {
                    request.insert("dropInvalid".to_owned(), random.chance(50).into());
                    request.insert("returnUnknown".to_owned(), random.chance(30).into());
                }
            }
            out
        }
    }
}

/// A schema with the features that an op is about.
fn telling(random: &mut Random, op: &str) -> Value {
    let texts: &[&str] = match op {
        "listtype" => &["\"x-kubernetes-list-type\":\"set\"", "\"x-kubernetes-list-type\":\"map\""],
        "default" => &["\"default\":"],
        _ => &[""],
    };
    let mut schema = structural::root(random);
    for _ in 0..20 {
        let text = schema.to_string();
        if texts.iter().any(|wanted| text.contains(wanted)) {
            break;
        }
        schema = structural::root(random);
    }
    schema
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
    fn every_op_is_generated() {
        let mut ops: Vec<String> =
            (0..500).map(|seed| request(seed)["op"].as_str().unwrap_or_default().to_owned()).collect();
        ops.sort();
        ops.dedup();
        assert_eq!(ops.len(), 10);
    }
}
