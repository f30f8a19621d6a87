//! Makes schemas invalid, at random places.

use serde_json::{Value, json};

use super::set;
use crate::generate::random::Random;

/// Changes a schema in one or two places, in `percent` of 100 cases.
pub(super) fn schema(random: &mut Random, schema: &mut Value, percent: u32) {
    if !random.chance(percent) {
        return;
    }
    for _ in 0..random.between(1, 2) {
        let mut places = Vec::new();
        places_of(schema, String::new(), &mut places);
        let Some(place) = random.pick(&places).and_then(|place| schema.pointer_mut(place)) else {
            continue;
        };
        if random.chance(15) {
            remove_one(random, place);
        } else {
            let (name, value) = change(random);
            set(place, name, value);
        }
    }
}

/// The places of all schemas in a schema, as JSON pointers.
fn places_of(schema: &Value, place: String, out: &mut Vec<String>) {
    let Value::Object(members) = schema else {
        return;
    };
    for (name, value) in members {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (property, schema) in properties {
                    places_of(schema, format!("{place}/properties/{property}"), out);
                }
            }
            ("items" | "additionalProperties" | "not", Value::Object(_)) => {
                places_of(value, format!("{place}/{name}"), out);
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                for (i, schema) in all.iter().enumerate() {
                    places_of(schema, format!("{place}/{name}/{i}"), out);
                }
            }
            _ => {}
        }
    }
    out.push(place);
}

fn remove_one(random: &mut Random, schema: &mut Value) {
    if let Value::Object(members) = schema {
        let names: Vec<String> = members.keys().cloned().collect();
        if let Some(name) = random.pick(&names) {
            members.remove(name);
        }
    }
}

/// A keyword with a value that is most likely invalid where it is added.
fn change(random: &mut Random) -> (&'static str, Value) {
    let name = random.name(&[
        "type",
        "type",
        "type",
        "items",
        "additionalProperties",
        "additionalProperties",
        "properties",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
        "x-kubernetes-validations",
        "default",
        "nullable",
        "pattern",
        "title",
        "description",
        "required",
        "uniqueItems",
        "enum",
        "not",
        "allOf",
        "anyOf",
        "maximum",
        "rare",
    ]);
    let values: &[Value] = &match name {
        "type" => vec![
            json!("object"),
            json!("array"),
            json!("string"),
            json!("integer"),
            json!(""),
            json!("bogus"),
            json!("null"),
            json!(7),
        ],
        "items" => {
            vec![json!({"type": "string"}), json!({}), json!([]), json!([{"type": "string"}]), json!(null)]
        }
        "additionalProperties" => {
            vec![json!(true), json!(false), json!({}), json!({"type": "string"}), json!(null), json!(7)]
        }
        "properties" => vec![
            json!({}),
            json!({"a": {}}),
            json!({"metadata": {"type": "object"}}),
            json!({"kind": {"type": "integer"}}),
            json!([]),
        ],
        "x-kubernetes-list-type" => {
            vec![json!("set"), json!("map"), json!("atomic"), json!("odd"), json!(""), json!(null), json!(7)]
        }
        "x-kubernetes-list-map-keys" => {
            vec![json!([]), json!(["a"]), json!(["a", "a"]), json!(["zz"]), json!("a"), json!([7])]
        }
        "x-kubernetes-map-type" => vec![json!("atomic"), json!("granular"), json!("odd"), json!("")],
        "x-kubernetes-validations" => vec![json!([{"rule": "true"}]), json!([]), json!("a")],
        "default" => {
            vec![json!(null), json!({}), json!([]), json!("x"), json!(1), json!({"a": null, "zz": 1})]
        }
        "pattern" => vec![json!("("), json!("(?=a)"), json!("^a$"), json!(""), json!("\\8")],
        "title" | "description" => vec![json!("t"), json!(""), json!(7)],
        "required" => vec![json!([]), json!(["a"]), json!("a")],
        "enum" => vec![json!([]), json!(["x"]), json!("x")],
        "not" => vec![json!({}), json!({"type": "string"}), json!({"not": {"default": 1}}), json!(null)],
        "allOf" | "anyOf" => vec![
            json!([]),
            json!([{}]),
            json!([{"type": "integer"}, {"type": "string"}]),
            json!([{"anyOf": [{"type": "integer"}, {"type": "string"}]}]),
            json!([{"properties": {"a": {"items": {}}}}]),
            json!([{"additionalProperties": true}]),
            json!([{"additionalProperties": {"properties": {"metadata": {}}}}]),
            json!([{"nullable": true, "title": "t", "default": {}, "x-kubernetes-list-type": "set"}]),
        ],
        "maximum" => vec![json!(1), json!(1.5), json!("1")],
        "rare" => return rare(random),
        _ => vec![json!(true), json!(true), json!(true), json!(false), json!(null), json!("true")],
    };
    (name, random.pick(values).cloned().unwrap_or_default())
}

/// Keywords that structural schemas do not have.
fn rare(random: &mut Random) -> (&'static str, Value) {
    let schema = json!({"type": "string"});
    let all = [
        ("id", json!("x")),
        ("$schema", json!("x")),
        ("$ref", json!("x")),
        ("$ref", json!("")),
        ("patternProperties", json!({"a": schema})),
        ("patternProperties", json!({})),
        ("dependencies", json!({"a": ["b"]})),
        ("additionalItems", json!(true)),
        ("additionalItems", schema.clone()),
        ("definitions", json!({"a": schema})),
        ("definitions", json!({})),
        ("unknown", json!(1)),
        ("externalDocs", json!({"url": "u", "description": "d"})),
        ("example", json!([1])),
    ];
    random.pick(&all).cloned().unwrap_or(("id", json!("x")))
}
