//! Uniqueness in lists of the types set and map.

#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use fieldmanager_structural::{Error, FieldPath, Structural};
use fieldmanager_value::{MAX_DEPTH, Map, Value};

fn validate(schema: &str, object: &Value) -> Result<Vec<String>, Error> {
    let schema = Structural::from_value(&Value::from_yaml(schema).unwrap()).unwrap();
    let errors = schema.validate_lists(&FieldPath::default(), object)?;
    Ok(errors.iter().map(ToString::to_string).collect())
}

fn check(schema: &str, object: &str, errors: &[&str]) {
    assert_eq!(
        validate(schema, &Value::from_json(object).unwrap()).unwrap(),
        errors,
        "{schema} {object}"
    );
}

/// A schema with a list at `l`, of the given list type and keys.
fn list(of: &str) -> String {
    format!("{{properties: {{l: {{type: array, {of}}}}}}}")
}

#[test]
fn set_items_must_be_unique() {
    let set = list("x-kubernetes-list-type: set");
    for object in [
        r#"{"l": []}"#,
        r#"{"l": ["a", "b"]}"#,
        r#"{"l": null}"#,
        r#"{"l": {"a": 1}}"#,
        r#"{"l": [1, 1.0, "1", true, null, [1], {"a": 1}]}"#,
        r#"{"l": [0, false, "", null, [], {}]}"#,
        r#"{"l": [[0.0], [-0.0]]}"#,
        r#"{"x": [1, 1]}"#,
    ] {
        check(&set, object, &[]);
    }
    check(
        &set,
        r#"{"l": ["a", "b", "a", "a", "b"]}"#,
        &[
            r#"l[2]: Duplicate value: "a""#,
            r#"l[4]: Duplicate value: "b""#,
        ],
    );
    check(
        &set,
        r#"{"l": [1.0, 1, 1.0, 1]}"#,
        &["l[2]: Duplicate value: 1", "l[3]: Duplicate value: 1"],
    );
    check(
        &set,
        r#"{"l": [0.0, -0.0]}"#,
        &["l[1]: Duplicate value: -0"],
    );
    check(
        &set,
        r#"{"l": [null, null]}"#,
        &["l[1]: Duplicate value: null"],
    );
    // Lists and maps are compared as JSON, where 1.0 equals 1.
    check(
        &set,
        r#"{"l": [[1], [1.0]]}"#,
        &["l[1]: Duplicate value: [1]"],
    );
    check(
        &set,
        r#"{"l": [{"b": "<", "a": 1}, {"a": 1, "b": "<"}]}"#,
        &[r#"l[1]: Duplicate value: {"a":1,"b":"\u003c"}"#],
    );
}

#[test]
fn list_map_keys_must_be_unique() {
    let one = list("x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k]");
    check(
        &one,
        r#"{"l": [{"k": 1}, {"k": 1.0}, {"k": "1"}, {"k": null}, {}]}"#,
        &[],
    );
    check(
        &one,
        r#"{"l": [{"k": 1, "v": 1}, {"k": 1, "v": 2}, {"k": 1}]}"#,
        &[r#"l[1]: Duplicate value: {"k":1}"#],
    );
    // Null is an item without a key.
    check(
        &one,
        r#"{"l": [null, {}, null, {"v": 1}]}"#,
        &["l[1]: Duplicate value: {}"],
    );
    check(
        &one,
        r#"{"l": [{"k": null}, {"k": null}]}"#,
        &[r#"l[1]: Duplicate value: {"k":null}"#],
    );

    let two = list("x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, j]");
    check(
        &two,
        r#"{"l": [{"k": 1, "j": 1}, {"k": 1, "j": 2}, {"k": 1}, {"j": 1}, {"k": 1, "j": null}, {}]}"#,
        &[],
    );
    // Multiple keys are compared as JSON.
    check(
        &two,
        r#"{"l": [{"k": 1, "j": 2}, {"k": 1.0, "j": 2}]}"#,
        &[r#"l[1]: Duplicate value: {"j":2,"k":1}"#],
    );
    check(
        &two,
        r#"{"l": [{"k": 1}, {"k": 1}, {}, {}]}"#,
        &[
            r#"l[1]: Duplicate value: {"k":1}"#,
            "l[3]: Duplicate value: {}",
        ],
    );

    let none = list("x-kubernetes-list-type: map");
    check(
        &none,
        r#"{"l": [{"k": 1}, {"k": 2}, {"k": 3}]}"#,
        &["l[1]: Duplicate value: {}"],
    );
}

#[test]
fn list_map_items_must_be_maps() {
    let map = list("x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k]");
    let text = "must be an object for an array of list-type map";
    check(
        &map,
        r#"{"l": ["a"]}"#,
        &[&format!(r#"l[0]: Invalid value: "a": {text}"#)],
    );
    check(
        &map,
        r#"{"l": [{"k": 1}, {"k": 1}, [], 5]}"#,
        &[&format!("l[2]: Invalid value: []: {text}")],
    );
    check(&map, r#"{"l": [null]}"#, &[]);
}

#[test]
fn every_list_of_the_object_is_checked() {
    let set = "type: array, x-kubernetes-list-type: set";
    let schema = format!(
        "{{properties: {{a: {{type: array, x-kubernetes-list-type: atomic, items: {{{set}}}}}, b: {{properties: {{c: \
         {{{set}}}}}}}}}, additionalProperties: {{{set}}}}}"
    );
    check(
        &schema,
        r#"{"a": [[1, 1], [2]], "b": {"c": [3, 3]}, "x": [4, 4]}"#,
        &[
            "[x][1]: Duplicate value: 4",
            "a[0][1]: Duplicate value: 1",
            "b.c[1]: Duplicate value: 3",
        ],
    );
    // A field with two schemas is checked twice.
    let schema = format!("{{properties: {{a: {{{set}}}}}, additionalProperties: {{{set}}}}}");
    check(
        &schema,
        r#"{"a": [1, 1]}"#,
        &["[a][1]: Duplicate value: 1", "a[1]: Duplicate value: 1"],
    );
    // Only a map can be the root.
    check(&format!("{{{set}}}"), "[1, 1]", &[]);
}

#[test]
fn long_lists_are_checked_like_short_ones() {
    for len in [16, 17, 40, 100] {
        let mut items: Vec<Value> = (0..len).map(Value::from).collect();
        items.extend([
            Value::from(3),
            Value::from(1),
            Value::from(3),
            Value::from(0.0),
            Value::Null,
            Value::Null,
        ]);
        let object = Map::single("l", items);
        let errors = validate(&list("x-kubernetes-list-type: set"), &object.into()).unwrap();
        assert_eq!(
            errors,
            [
                format!("l[{len}]: Duplicate value: 3"),
                format!("l[{}]: Duplicate value: 1", len + 1),
                format!("l[{}]: Duplicate value: null", len + 5),
            ]
        );
    }
}

#[test]
fn list_of_100000_items_is_checked() {
    let items: Vec<Value> = (0..100_000).map(|i| Value::from(i % 99_999)).collect();
    let errors = validate(
        &list("x-kubernetes-list-type: set"),
        &Map::single("l", items).into(),
    )
    .unwrap();
    assert_eq!(errors, ["l[99999]: Duplicate value: 0"]);
}

#[test]
fn too_deep_items_are_refused() {
    let deep = |levels: usize| (0..levels).fold(Value::Null, |inner, _| Value::from(vec![inner]));
    let object = |levels: usize| Value::from(Map::single("l", vec![deep(levels), deep(levels)]));
    let set = list("x-kubernetes-list-type: set");
    assert_eq!(validate(&set, &object(MAX_DEPTH - 2)).unwrap().len(), 1);
    assert_eq!(validate(&set, &object(MAX_DEPTH - 1)), Err(Error::TooDeep));
}
