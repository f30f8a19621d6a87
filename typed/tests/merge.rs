//! Merging. Expected results are those of the Go package unless noted otherwise.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read its own table must fail"
)]

use crate::common::{self, live, root, schema, value};
use fieldmanager_fieldpath::Path;
use fieldmanager_schema::Schema;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{List, Map, Value};

/// A description, the live value of the field, the configured value and the merged value. An empty string stands for an
/// absent field.
type Row = (&'static str, &'static str, &'static str, &'static str);

fn check(field: &str, rows: &[Row]) {
    for (name, old, config, expected) in rows {
        let object = |text: &str| {
            if text.is_empty() {
                "{}".into()
            } else {
                format!("{field}: {text}")
            }
        };
        // Duplicates are allowed in these configurations, so that merging rejects them.
        let merged = match live(&object(old)).merge(&live(&object(config))) {
            Ok(merged) => merged.into_value(),
            Err(error) => Value::from(format!("error: {error}")),
        };
        let expected = if expected.starts_with("error: ") {
            Value::from(*expected)
        } else {
            value(&object(expected))
        };
        assert!(
            merged.strict_eq(&expected),
            "{name}\n  merged:   {merged}\n  expected: {expected}"
        );
    }
}

#[test]
fn scalars_are_replaced() {
    check(
        "any",
        &[
            ("a new field", "", "1", "1"),
            ("a field omitted by the configuration", "1", "", "1"),
            ("a different value", "1", "2", "2"),
            ("a different kind of scalar", "1", "text", "text"),
            (
                "null replaces the value and keeps the field",
                "1",
                "null",
                "null",
            ),
            ("a value over null", "null", "1", "1"),
            ("null over null", "null", "null", "null"),
            ("an integer over an equal float", "1.0", "1", "1"),
            ("a float over an equal integer", "1", "1.0", "1.0"),
            ("false over true", "true", "false", "false"),
            ("an empty string", "text", "''", "''"),
        ],
    );
}

#[test]
fn maps_are_merged_by_entry() {
    check(
        "labels",
        &[
            ("entries of both", "{a: x}", "{b: z}", "{a: x, b: z}"),
            (
                "the configuration's value",
                "{a: x, b: z}",
                "{a: w}",
                "{a: w, b: z}",
            ),
            ("an empty map does not clear", "{a: x}", "{}", "{a: x}"),
            ("null does not clear", "{a: x}", "null", "{a: x}"),
            ("an empty map over an absent one", "", "{}", "{}"),
            ("an empty map over null", "null", "{}", "{}"),
            ("null over an empty map", "{}", "null", "null"),
            ("entries over an empty map", "{}", "{a: x}", "{a: x}"),
            ("entries over null", "null", "{a: x}", "{a: x}"),
            ("an entry that is null", "{a: x}", "{a: null}", "{a: null}"),
        ],
    );
    check(
        "nested",
        &[
            (
                "nested maps",
                "{a: {x: 1}, b: {x: 1}}",
                "{a: {z: 2}, c: {x: 3}}",
                "{a: {x: 1, z: 2}, b: {x: 1}, c: {x: 3}}",
            ),
            (
                "a nested empty map",
                "{a: {x: 1}}",
                "{a: {}}",
                "{a: {x: 1}}",
            ),
        ],
    );
    check(
        "inner",
        &[
            (
                "a new struct",
                "",
                "{num: 1, inner: {num: 2}}",
                "{inner: {num: 2}, num: 1}",
            ),
            (
                "nested structs",
                "{num: 1, inner: {text: a}}",
                "{flag: true, inner: {num: 2}}",
                "{flag: true, inner: {num: 2, text: a}, num: 1}",
            ),
        ],
    );
}

#[test]
fn atomic_values_are_replaced() {
    check(
        "args",
        &[
            ("a different list", "[a, b]", "[c]", "[c]"),
            ("duplicate items", "[a, b]", "[b, b]", "[b, b]"),
            ("an empty list clears", "[a]", "[]", "[]"),
            ("null replaces", "[a]", "null", "null"),
            ("a list over an empty one", "[]", "[a]", "[a]"),
        ],
    );
    check(
        "selector",
        &[
            ("a different map", "{a: x}", "{b: z}", "{b: z}"),
            ("an empty map clears", "{a: x}", "{}", "{}"),
            ("null replaces", "{a: x}", "null", "null"),
        ],
    );
    check(
        "deduced",
        &[
            ("lists without a schema are atomic", "[1, 2]", "[3]", "[3]"),
            (
                "maps without a schema are granular",
                "{a: {x: 1}}",
                "{a: {z: [2]}}",
                "{a: {x: 1, z: [2]}}",
            ),
            ("a different kind", "{a: 1}", "[1]", "[1]"),
            ("a scalar over a map", "{a: 1}", "text", "text"),
            ("a map over a scalar", "text", "{a: 1}", "{a: 1}"),
        ],
    );
}

/// Common items have the order of the configuration, and the other items of the object keep their positions. New items
/// are inserted before the next common item, or at the end.
#[test]
fn items_are_ordered_like_the_go_package() {
    check(
        "set",
        &[
            ("the same items", "[a, b, c]", "[a, b, c]", "[a, b, c]"),
            (
                "the object's order where the configuration agrees",
                "[a, b, c, d]",
                "[a, c]",
                "[a, b, c, d]",
            ),
            (
                "the configuration's order where it does not",
                "[a, b, c]",
                "[c, a]",
                "[b, c, a]",
            ),
            ("all reversed", "[a, b, c]", "[c, b, a]", "[c, b, a]"),
            (
                "two neighbours swapped",
                "[a, b, c, d]",
                "[c, b]",
                "[a, c, d, b]",
            ),
            ("the last first", "[a, b, c, d]", "[d, a]", "[b, c, d, a]"),
            (
                "the first last",
                "[a, b, c, d]",
                "[b, c, d, a]",
                "[b, c, d, a]",
            ),
            ("new at the end", "[a, b]", "[b, x]", "[a, b, x]"),
            (
                "new before a common one",
                "[a, b, c]",
                "[x, c]",
                "[a, b, x, c]",
            ),
            ("new at the front", "[a, b]", "[x, a, b]", "[x, a, b]"),
            (
                "new between common ones",
                "[a, b]",
                "[a, x, b]",
                "[a, x, b]",
            ),
            ("new ones only", "[a, b]", "[x, z]", "[a, b, x, z]"),
            (
                "several in a row",
                "[a, b, c]",
                "[x, z, b, u, v]",
                "[a, x, z, b, c, u, v]",
            ),
            (
                "new ones among reversed ones",
                "[a, b, c, d]",
                "[x, d, z, b, u]",
                "[a, c, x, d, z, b, u]",
            ),
            (
                "a common one between the object's own",
                "[a, b, c, d, e]",
                "[e, c, x]",
                "[a, b, d, e, c, x]",
            ),
            ("nothing in common", "[a]", "[b]", "[a, b]"),
            ("one in common", "[a, b, c]", "[b]", "[a, b, c]"),
        ],
    );
}

#[test]
fn empty_sets_do_not_clear() {
    check(
        "set",
        &[
            ("an empty list does not clear", "[a]", "[]", "[a]"),
            ("null does not clear", "[a]", "null", "[a]"),
            ("a new list", "", "[a, b]", "[a, b]"),
            ("over an empty one", "[]", "[a]", "[a]"),
            ("over null", "null", "[a]", "[a]"),
            ("an empty list over an absent one", "", "[]", "[]"),
            ("an empty list over null", "null", "[]", "[]"),
            ("null over an empty list", "[]", "null", "null"),
        ],
    );
}

#[test]
fn items_of_sets_are_matched_by_value() {
    check(
        "set",
        &[
            ("equal numbers", "[1, 2]", "[1.0]", "[1.0, 2]"),
            ("a number and a string", "[1]", "['1']", r#"[1, "1"]"#),
            ("booleans", "[true]", "[false, true]", "[false, true]"),
        ],
    );
}

#[test]
fn items_with_keys_are_merged() {
    check(
        "items",
        &[
            (
                "field by field",
                "[{name: a, value: 1}]",
                "[{name: a, tags: [t]}]",
                "[{name: a, tags: [t], value: 1}]",
            ),
            (
                "nested sets",
                "[{name: a, tags: [t, u]}]",
                "[{name: a, tags: [u, t, v]}]",
                "[{name: a, tags: [u, t, v]}]",
            ),
            (
                "a new item",
                "[{name: a, value: 1}]",
                "[{name: b}]",
                "[{name: a, value: 1}, {name: b}]",
            ),
            (
                "in the configuration's order",
                "[{name: a, value: 1}, {name: b, value: 2}, {name: c}]",
                "[{name: c, value: 3}, {name: a}]",
                "[{name: b, value: 2}, {name: c, value: 3}, {name: a, value: 1}]",
            ),
            (
                "an item over an empty list",
                "[]",
                "[{name: a}]",
                "[{name: a}]",
            ),
            (
                "a null field",
                "[{name: a, value: 1}]",
                "[{name: a, value: null}]",
                "[{name: a, value: null}]",
            ),
            (
                "a key that is null",
                "[{name: a}]",
                "[{name: null, value: 1}]",
                "[{name: a}, {name: null, value: 1}]",
            ),
        ],
    );
    check(
        "ports",
        &[
            (
                "a default key",
                "[{port: 80, title: a}]",
                "[{port: 80, protocol: TCP, title: b}]",
                "[{port: 80, protocol: TCP, title: b}]",
            ),
            (
                "an omitted default",
                "[{port: 80, protocol: TCP}]",
                "[{port: 80, title: b}]",
                "[{port: 80, protocol: TCP, title: b}]",
            ),
            (
                "a different value of one key",
                "[{port: 80}]",
                "[{port: 80, protocol: UDP}]",
                "[{port: 80}, {port: 80, protocol: UDP}]",
            ),
            (
                "an omitted key without a default",
                "[{port: 80}]",
                "[{title: b}]",
                "[{port: 80}, {title: b}]",
            ),
            (
                "a key that is an equal float",
                "[{port: 80, title: a}]",
                "[{port: 80.0, title: a}]",
                "[{port: 80.0, title: a}]",
            ),
        ],
    );
}

#[test]
fn duplicates_in_the_object_are_kept_until_applied() {
    check(
        "set",
        &[
            ("not applied", "[a, a, b]", "[b]", "[a, a, b]"),
            (
                "not applied, with a new item",
                "[a, b, a]",
                "[x, b]",
                "[a, x, b, a]",
            ),
            ("applied", "[a, a, b]", "[a]", "[a, b]"),
            ("applied, not adjacent", "[a, b, a]", "[a]", "[a, b]"),
            (
                "applied, not adjacent, before another",
                "[a, b, a, c]",
                "[a, c]",
                "[a, b, c]",
            ),
            (
                "applied, in a different order",
                "[b, a, c, a]",
                "[a, b]",
                "[a, c, b]",
            ),
            ("two pairs", "[a, b, a, b]", "[b, a]", "[b, a]"),
            (
                "in the configuration",
                "[a]",
                "[b, b]",
                r#"error: .set[="b"]: duplicate entries for one key"#,
            ),
            (
                "in the configuration and the object",
                "[b, b]",
                "[b, b]",
                r#"error: .set[="b"]: duplicate entries for one key"#,
            ),
            (
                "in the configuration, over an absent list",
                "",
                "[b, b]",
                r#"error: .set[="b"]: duplicate entries for one key"#,
            ),
        ],
    );
    check(
        "items",
        &[
            (
                "duplicate items with keys are replaced, not merged",
                "[{name: a, value: 1}, {name: a, value: 2}]",
                "[{name: a, tags: [t]}]",
                "[{name: a, tags: [t]}]",
            ),
            (
                "others are merged",
                "[{name: a, value: 1}, {name: a, value: 2}, {name: b, value: 3}]",
                "[{name: b, tags: [t]}]",
                "[{name: a, value: 1}, {name: a, value: 2}, {name: b, tags: [t], value: 3}]",
            ),
        ],
    );
}

#[test]
fn values_of_several_kinds_are_merged_per_kind() {
    check(
        "kinds",
        &[
            ("scalar over scalar", "a", "b", "b"),
            ("set over set", "[a, b]", "[b, c]", "[a, b, c]"),
            ("map over map", "{a: 1}", "{b: 2}", "{a: 1, b: 2}"),
            ("scalar over set", "[a]", "b", "b"),
            ("scalar over map", "{a: 1}", "b", "b"),
            ("set over scalar", "a", "[b]", "[b]"),
            ("map over scalar", "a", "{b: 2}", "{b: 2}"),
            ("map over set", "[a]", "{b: 2}", "{b: 2}"),
            ("set over map", "{a: 1}", "[b]", "[b]"),
            ("null over scalar", "a", "null", "null"),
            ("null over set", "[a]", "null", "null"),
            ("null over map", "{a: 1}", "null", "{a: 1}"),
            ("empty set over map", "{a: 1}", "[]", "[]"),
            ("empty map over set", "[a]", "{}", "{}"),
            ("set over null", "null", "[b]", "[b]"),
        ],
    );
}

fn get<'v>(object: &'v TypedValue, path: &str) -> &'v Value {
    let path: Path = path.parse().unwrap();
    object.get(&path).unwrap()
}

#[test]
fn unchanged_parts_are_shared() {
    let old = live(
        "{num: 1, labels: {a: x}, nested: {a: {x: 1}, b: {x: 2}}, set: [a, b], args: [a], selector: {a: x},
          items: [{name: a, value: 1, tags: [t]}, {name: b, value: 2}]}",
    );
    let unchanged = [
        "{}",
        "{num: 1}",
        "{labels: {a: x}}",
        "{labels: {}}",
        "{labels: null, set: [], items: []}",
        "{set: [a, b]}",
        "{set: [b]}",
        "{args: [a], selector: {a: x}}",
        "{items: [{name: b, value: 2}]}",
        "{items: [{name: a, tags: [t]}]}",
    ];
    for config in unchanged {
        let merged = old.merge(&live(config)).unwrap();
        assert!(merged.value().ptr_eq(old.value()), "{config}");
    }
    let merged = old
        .merge(&live("{nested: {a: {x: 3}}, items: [{name: a, value: 2}]}"))
        .unwrap();
    for path in [
        ".labels",
        ".nested.b",
        ".set",
        r#".items[name="b"]"#,
        r#".items[name="a"].tags"#,
    ] {
        assert!(get(&merged, path).ptr_eq(get(&old, path)), "{path}");
    }
    // New parts are shared with the configuration, not copied.
    let config = live("{inner: {labels: {a: x}}}");
    let merged = old.merge(&config).unwrap();
    assert!(get(&merged, ".inner").ptr_eq(get(&config, ".inner")));
}

/// Long lists are trees with an index. The results must not differ.
#[test]
fn long_lists_are_merged_like_short_ones() {
    let item = |i: usize, value: i64| -> Value {
        Value::Map(Map::from_iter([
            ("name", Value::from(format!("i{i}"))),
            ("value", value.into()),
        ]))
    };
    let object = |items: Vec<Value>| {
        let items: List = items.into_iter().collect();
        TypedValue::new(
            Value::Map(Map::single("items", items)),
            root(),
            Duplicates::Refuse,
        )
        .unwrap()
    };
    let old = object((0..100).map(|i| item(i, 1)).collect());
    let names = |object: &TypedValue| -> Vec<usize> {
        let items = object
            .value()
            .get("items")
            .and_then(Value::as_list)
            .unwrap();
        let names = items
            .iter()
            .map(|item| item.get("name").and_then(Value::as_str).unwrap());
        names.map(|name| name[1..].parse().unwrap()).collect()
    };

    // One item changes, and none moves.
    let merged = old.merge(&object(vec![item(50, 2)])).unwrap();
    assert_eq!(names(&merged), Vec::from_iter(0..100));
    assert_eq!(get(&merged, r#".items[name="i50"].value"#), &Value::from(2));
    for i in [0, 49, 51, 99] {
        let path = format!(".items[name=\"i{i}\"]");
        assert!(get(&merged, &path).ptr_eq(get(&old, &path)));
    }
    // Nothing changes.
    assert!(
        old.merge(&object((20..60).map(|i| item(i, 1)).collect()))
            .unwrap()
            .value()
            .ptr_eq(old.value())
    );
    // New items, at the end and before another item.
    let merged = old.merge(&object(vec![item(100, 1)])).unwrap();
    assert_eq!(names(&merged), Vec::from_iter(0..101));
    let merged = merged
        .merge(&object(vec![item(101, 1), item(3, 1)]))
        .unwrap();
    assert_eq!(names(&merged)[..5], [0, 1, 2, 101, 3]);
    assert_eq!(
        get(&merged, r#".items[name="i101"].value"#),
        &Value::from(1)
    );
    // All items in reverse order.
    let merged = old
        .merge(&object((0..100).rev().map(|i| item(i, 1)).collect()))
        .unwrap();
    assert_eq!(names(&merged), Vec::from_iter((0..100).rev()));
    // A short list becomes long.
    let short = object((0..3).map(|i| item(i, 1)).collect());
    let merged = short
        .merge(&object((3..100).map(|i| item(i, 1)).collect()))
        .unwrap();
    assert_eq!(merged.value(), old.value());
}

#[test]
fn items_without_their_key_are_an_error() {
    let cut =
        live("items: [{name: a, value: 1}]").remove_items(&common::set(r#".items[name="a"].name"#));
    for config in ["{}", "{num: 1}", "{items: [{name: b}]}", "{items: []}"] {
        let error = cut.merge(&live(config)).unwrap_err();
        assert_eq!(
            error.to_string(),
            ".items[0]: an item of an associative list must have one of its keys `name`",
            "{config}"
        );
    }
}

#[test]
fn objects_of_different_types_are_rejected() {
    let item = |yaml: &str, schema: &Schema| {
        let ty = schema.type_named("item").unwrap();
        TypedValue::new(value(yaml), ty, Duplicates::Refuse).unwrap()
    };
    let error = live("{}").merge(&item("{}", &schema())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected objects of one type, got `root` and `item`"
    );

    let other =
        Schema::from_yaml("types: [{name: item, map: {elementType: {scalar: string}}}]").unwrap();
    let error = item("{}", &schema())
        .merge(&item("{}", &other))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected objects of one type, got `item` and `item` of different schemas"
    );
    // A schema that is parsed again equals the first one.
    let again = Schema::from_yaml(include_str!("common/schema.yaml")).unwrap();
    let merged = item("{name: a}", &schema())
        .merge(&item("{value: 1}", &again))
        .unwrap();
    assert_eq!(merged.value(), &value("{name: a, value: 1}"));
}
