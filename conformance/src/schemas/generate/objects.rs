//! Objects that are mostly valid.

use serde_json::{Map, Value, json};

use crate::generate::random::Random;

/// A resource.
pub(super) fn root(random: &mut Random, schema: &Value) -> Value {
    let mut object = match fitting(random, schema, 6) {
        object @ Value::Object(_) => object,
        _ => json!({}),
    };
    resource(random, &mut object);
    object
}

/// A value for a schema. One in twelve is invalid.
pub(super) fn value(random: &mut Random, schema: &Value, depth: usize) -> Value {
    match random.below(24) {
        0 => any(random, 2),
        1 => Value::Null,
        _ => fitting(random, schema, depth + 2),
    }
}

fn fitting(random: &mut Random, schema: &Value, depth: usize) -> Value {
    let flag = |name: &str| schema.get(name).and_then(Value::as_bool).unwrap_or_default();
    if flag("x-kubernetes-int-or-string") {
        return if random.chance(50) { json!(random.below(3)) } else { text(random) };
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") if depth > 0 => object(random, schema, depth),
        Some("object") => json!({}),
        Some("array") if depth > 0 => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            (0..random.below(5)).map(|_| value(random, items, depth.saturating_sub(3))).collect()
        }
        Some("array") => json!([]),
        Some("string") => text(random),
        Some("integer") => json!(random.below(3)),
        Some("number") => {
            random.pick(&[json!(1), json!(1.0), json!(1.5), json!(0)]).cloned().unwrap_or_default()
        }
        Some("boolean") => json!(random.chance(50)),
        _ => any(random, 2),
    }
}

fn object(random: &mut Random, schema: &Value, depth: usize) -> Value {
    let mut out = Map::new();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if random.chance(65) {
            let below = if random.chance(10) {
                Value::Null
            } else {
                value(random, property, depth.saturating_sub(3))
            };
            out.insert(name.clone(), below);
        }
    }
    if let Some(additional) = schema.get("additionalProperties") {
        for _ in 0..random.below(3) {
            out.insert(
                random.name(&["a", "b", "x"]).to_owned(),
                value(random, additional, depth.saturating_sub(3)),
            );
        }
    }
    if random.chance(15) {
        out.insert(random.name(&["a", "b", "c", "zz"]).to_owned(), any(random, 2));
    }
    let mut out = Value::Object(out);
    if schema.get("x-kubernetes-embedded-resource").and_then(Value::as_bool).unwrap_or_default() {
        resource(random, &mut out);
    }
    out
}

/// Adds most of the fields of a resource to an object.
fn resource(random: &mut Random, object: &mut Value) {
    let odd = [json!(7), json!(null), json!(""), json!({}), json!([])];
    for (name, fitting) in [("apiVersion", json!("v1")), ("kind", json!("Shop"))] {
        match random.below(20) {
            0..=13 => super::set(object, name, fitting),
            14 => super::set(object, name, random.pick(&odd).cloned().unwrap_or_default()),
            15 if name == "kind" => super::set(object, name, random.name(&["shop", "Sh op", "S", "0a"])),
            _ => {}
        }
    }
    match random.below(20) {
        0..=15 => super::set(object, "metadata", metadata(random)),
        16 => super::set(object, "metadata", random.pick(&odd).cloned().unwrap_or_default()),
        _ => {}
    }
}

/// Metadata, with any of its fields, some of them wrong.
fn metadata(random: &mut Random) -> Value {
    let fields: &[(&str, &[Value])] = &[
        ("name", &[json!("n"), json!("N_"), json!(""), json!(7), json!(null)]),
        ("namespace", &[json!("ns"), json!("ns"), json!("A b")]),
        ("generateName", &[json!("n-"), json!([])]),
        (
            "labels",
            &[json!({"a": "b"}), json!({"a": 1}), json!({"a b": "c"}), json!({}), json!(null), json!("x")],
        ),
        ("annotations", &[json!({"a": "b"}), json!({"a": null}), json!({"A/b/c": "d"}), json!([])]),
        ("finalizers", &[json!(["example.com/f"]), json!(["f"]), json!([]), json!([1]), json!("f")]),
        (
            "creationTimestamp",
            &[
                json!(null),
                json!("2020-01-01T00:00:00Z"),
                json!("2020-01-01T02:00:00+02:00"),
                json!("today"),
                json!(0),
            ],
        ),
        ("deletionTimestamp", &[json!("2020-01-01T00:00:00Z"), json!(null)]),
        ("deletionGracePeriodSeconds", &[json!(3), json!("3"), json!(1.5), json!(-1)]),
        ("generation", &[json!(1), json!(0), json!(1.0), json!(-1), json!("1")]),
        ("resourceVersion", &[json!("1"), json!(1)]),
        ("uid", &[json!("u"), json!({})]),
        ("selfLink", &[json!("s")]),
        (
            "ownerReferences",
            &[
                json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]),
                json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true, "zz": 1}]),
                json!([{"apiVersion": "v1"}]),
                json!([{}]),
                json!([1]),
                json!({}),
            ],
        ),
        (
            "managedFields",
            &[
                json!([{"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:a": {}}}]),
                json!([{"manager": "m", "operation": "Odd", "time": "2020-01-01T00:00:00Z"}]),
                json!([]),
                json!([7]),
            ],
        ),
        ("zz", &[json!(1)]),
    ];
    let mut out = Map::new();
    for (name, values) in fields {
        if random.chance(14) {
            // The first value is valid.
            let at = if random.chance(60) { 0 } else { random.below(values.len()) };
            out.insert((*name).to_owned(), values.get(at).cloned().unwrap_or_default());
        }
    }
    Value::Object(out)
}

fn text(random: &mut Random) -> Value {
    json!(random.name(&["x", "a", "", "1"]))
}

/// A value of any kind, for places without a schema.
fn any(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => json!(random.chance(50)),
        2 => json!(random.below(3)),
        3 => json!(1.5),
        4 | 5 => text(random),
        6 => (0..random.below(3)).map(|_| any(random, depth - 1)).collect(),
        _ => {
            let names = (0..random.below(3)).map(|_| random.name(&["a", "b", "zz"]));
            let names: Vec<&str> = names.collect();
            Value::Object(names.into_iter().map(|name| (name.to_owned(), any(random, depth - 1))).collect())
        }
    }
}
