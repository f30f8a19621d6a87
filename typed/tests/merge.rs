//! Merging: every row was answered by the Go package first, but for those that say otherwise.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its own table must fail")]

mod common;

use common::{live, root, schema, value};
use fieldmanager_fieldpath::Path;
use fieldmanager_schema::Schema;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{List, Map, Value};

/// What it shows, the live value of the field, the configuration's, and the merged one. A value that is
/// empty text is a field that is not there.
type Row = (&'static str, &'static str, &'static str, &'static str);

fn check(field: &str, rows: &[Row]) {
    for (name, old, config, expected) in rows {
        let object = |text: &str| if text.is_empty() { "{}".into() } else { format!("{field}: {text}") };
        // Configurations of this table may have duplicates, so that merging is what refuses them.
        let merged = match live(&object(old)).merge(&live(&object(config))) {
            Ok(merged) => merged.into_value(),
            Err(error) => Value::from(format!("error: {error}")),
        };
        let expected = match expected.starts_with("error: ") {
            true => Value::from(*expected),
            false => value(&object(expected)),
        };
        assert!(merged.strict_eq(&expected), "{name}\n  merged:   {merged}\n  expected: {expected}");
    }
}

#[test]
fn scalars() {
    check(
        "any",
        &[
            ("a new field", "", "1", "1"),
            ("a field that the configuration leaves out", "1", "", "1"),
            ("another value", "1", "2", "2"),
            ("another kind of scalar", "1", "text", "text"),
            ("null erases the value and leaves the field", "1", "null", "null"),
            ("a value over null", "null", "1", "1"),
            ("null over null", "null", "null", "null"),
            ("an integer over an equal float", "1.0", "1", "1"),
            ("a float over an equal integer", "1", "1.0", "1.0"),
            ("false over true", "true", "false", "false"),
            ("an empty text", "text", "''", "''"),
        ],
    );
}

#[test]
fn maps() {
    check(
        "labels",
        &[
            ("entries of both", "{a: x}", "{b: z}", "{a: x, b: z}"),
            ("the configuration's value", "{a: x, b: z}", "{a: w}", "{a: w, b: z}"),
            ("an empty map empties nothing", "{a: x}", "{}", "{a: x}"),
            ("null empties nothing", "{a: x}", "null", "{a: x}"),
            ("an empty map over none", "", "{}", "{}"),
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
                "maps in maps",
                "{a: {x: 1}, b: {x: 1}}",
                "{a: {z: 2}, c: {x: 3}}",
                "{a: {x: 1, z: 2}, b: {x: 1}, c: {x: 3}}",
            ),
            ("a shadowed_empty_map map inside", "{a: {x: 1}}", "{a: {}}", "{a: {x: 1}}"),
        ],
    );
    check(
        "inner",
        &[
            ("a struct that is new", "", "{num: 1, inner: {num: 2}}", "{inner: {num: 2}, num: 1}"),
            (
                "structs in structs",
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
            ("another list", "[a, b]", "[c]", "[c]"),
            ("the same items twice", "[a, b]", "[b, b]", "[b, b]"),
            ("an empty list does empty it", "[a]", "[]", "[]"),
            ("so does null", "[a]", "null", "null"),
            ("a list over an empty one", "[]", "[a]", "[a]"),
        ],
    );
    check(
        "selector",
        &[
            ("another map", "{a: x}", "{b: z}", "{b: z}"),
            ("an empty map does empty it", "{a: x}", "{}", "{}"),
            ("so does null", "{a: x}", "null", "null"),
        ],
    );
    check(
        "deduced",
        &[
            ("lists without a schema are atomic", "[1, 2]", "[3]", "[3]"),
            ("maps without a schema are granular", "{a: {x: 1}}", "{a: {z: [2]}}", "{a: {x: 1, z: [2]}}"),
            ("another kind", "{a: 1}", "[1]", "[1]"),
            ("a scalar over a map", "{a: 1}", "text", "text"),
            ("a map over a scalar", "text", "{a: 1}", "{a: 1}"),
        ],
    );
}

/// Items that both have stand in the configuration's order, the object's others where they were; new items
/// come right before the next item that both have, or at the end.
#[test]
fn order_of_lists() {
    check(
        "set",
        &[
            ("the same items", "[a, b, c]", "[a, b, c]", "[a, b, c]"),
            ("the object's order where the configuration agrees", "[a, b, c, d]", "[a, c]", "[a, b, c, d]"),
            ("the configuration's order where it does not", "[a, b, c]", "[c, a]", "[b, c, a]"),
            ("all turned round", "[a, b, c]", "[c, b, a]", "[c, b, a]"),
            ("two neighbours swapped", "[a, b, c, d]", "[c, b]", "[a, c, d, b]"),
            ("the last first", "[a, b, c, d]", "[d, a]", "[b, c, d, a]"),
            ("the first last", "[a, b, c, d]", "[b, c, d, a]", "[b, c, d, a]"),
            ("new at the end", "[a, b]", "[b, x]", "[a, b, x]"),
            ("new before a shared one", "[a, b, c]", "[x, c]", "[a, b, x, c]"),
            ("new at the front", "[a, b]", "[x, a, b]", "[x, a, b]"),
            ("new between shared ones", "[a, b]", "[a, x, b]", "[a, x, b]"),
            ("new ones only", "[a, b]", "[x, z]", "[a, b, x, z]"),
            ("several in a row", "[a, b, c]", "[x, z, b, u, v]", "[a, x, z, b, c, u, v]"),
            ("new ones among turned ones", "[a, b, c, d]", "[x, d, z, b, u]", "[a, c, x, d, z, b, u]"),
            ("a shared one between the object's own", "[a, b, c, d, e]", "[e, c, x]", "[a, b, d, e, c, x]"),
            ("nothing in common", "[a]", "[b]", "[a, b]"),
            ("one in common", "[a, b, c]", "[b]", "[a, b, c]"),
        ],
    );
}

#[test]
fn empty_sets() {
    check(
        "set",
        &[
            ("an empty list empties nothing", "[a]", "[]", "[a]"),
            ("null empties nothing", "[a]", "null", "[a]"),
            ("a new list", "", "[a, b]", "[a, b]"),
            ("over an empty one", "[]", "[a]", "[a]"),
            ("over null", "null", "[a]", "[a]"),
            ("an empty list over none", "", "[]", "[]"),
            ("an empty list over null", "null", "[]", "[]"),
            ("null over an empty list", "[]", "null", "null"),
        ],
    );
}

#[test]
fn items_of_sets_are_found_by_value() {
    check(
        "set",
        &[
            ("numbers are numbers", "[1, 2]", "[1.0]", "[1.0, 2]"),
            ("a number is no text", "[1]", "['1']", r#"[1, "1"]"#),
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
                "sets inside",
                "[{name: a, tags: [t, u]}]",
                "[{name: a, tags: [u, t, v]}]",
                "[{name: a, tags: [u, t, v]}]",
            ),
            ("a new item", "[{name: a, value: 1}]", "[{name: b}]", "[{name: a, value: 1}, {name: b}]"),
            (
                "in the configuration's order",
                "[{name: a, value: 1}, {name: b, value: 2}, {name: c}]",
                "[{name: c, value: 3}, {name: a}]",
                "[{name: b, value: 2}, {name: c, value: 3}, {name: a, value: 1}]",
            ),
            ("an item over an empty list", "[]", "[{name: a}]", "[{name: a}]"),
            ("null inside", "[{name: a, value: 1}]", "[{name: a, value: null}]", "[{name: a, value: null}]"),
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
                "the default left out",
                "[{port: 80, protocol: TCP}]",
                "[{port: 80, title: b}]",
                "[{port: 80, protocol: TCP, title: b}]",
            ),
            (
                "another value of one key",
                "[{port: 80}]",
                "[{port: 80, protocol: UDP}]",
                "[{port: 80}, {port: 80, protocol: UDP}]",
            ),
            (
                "a key left out that has no default",
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
fn duplicates_in_the_object_stay_until_they_are_applied() {
    check(
        "set",
        &[
            ("not mentioned", "[a, a, b]", "[b]", "[a, a, b]"),
            ("not mentioned, with something new", "[a, b, a]", "[x, b]", "[a, x, b, a]"),
            ("mentioned", "[a, a, b]", "[a]", "[a, b]"),
            ("mentioned, apart", "[a, b, a]", "[a]", "[a, b]"),
            ("mentioned, apart, before another", "[a, b, a, c]", "[a, c]", "[a, b, c]"),
            ("mentioned, in another order", "[b, a, c, a]", "[a, b]", "[a, c, b]"),
            ("two of two", "[a, b, a, b]", "[b, a]", "[b, a]"),
            ("in the configuration", "[a]", "[b, b]", r#"error: .set[="b"]: duplicate entries for one key"#),
            (
                "in the configuration and the object",
                "[b, b]",
                "[b, b]",
                r#"error: .set[="b"]: duplicate entries for one key"#,
            ),
            (
                "in the configuration only, over none",
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
                "several items of one key are replaced, not merged",
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
fn types_of_several_kinds() {
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
fn unchanged_values_are_shared() {
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
    let merged = old.merge(&live("{nested: {a: {x: 3}}, items: [{name: a, value: 2}]}")).unwrap();
    for path in [".labels", ".nested.b", ".set", r#".items[name="b"]"#, r#".items[name="a"].tags"#] {
        assert!(get(&merged, path).ptr_eq(get(&old, path)), "{path}");
    }
    // What is new is the configuration's, not a copy.
    let config = live("{inner: {labels: {a: x}}}");
    let merged = old.merge(&config).unwrap();
    assert!(get(&merged, ".inner").ptr_eq(get(&config, ".inner")));
}

/// Above a certain size lists are trees with an index; nothing else may be different.
#[test]
fn long_lists() {
    let item = |i: usize, value: i64| -> Value {
        Value::Map(Map::from_iter([("name", Value::from(format!("i{i}"))), ("value", value.into())]))
    };
    let object = |items: Vec<Value>| {
        let items: List = items.into_iter().collect();
        TypedValue::new(Value::Map(Map::single("items", items)), root(), Duplicates::Refuse).unwrap()
    };
    let old = object((0..100).map(|i| item(i, 1)).collect());
    let names = |object: &TypedValue| -> Vec<usize> {
        let items = object.value().get("items").and_then(Value::as_list).unwrap();
        let names = items.iter().map(|item| item.get("name").and_then(Value::as_str).unwrap());
        names.map(|name| name[1..].parse().unwrap()).collect()
    };

    // One item changes, and nothing moves.
    let merged = old.merge(&object(vec![item(50, 2)])).unwrap();
    assert_eq!(names(&merged), Vec::from_iter(0..100));
    assert_eq!(get(&merged, r#".items[name="i50"].value"#), &Value::from(2));
    for i in [0, 49, 51, 99] {
        let path = format!(".items[name=\"i{i}\"]");
        assert!(get(&merged, &path).ptr_eq(get(&old, &path)));
    }
    // Nothing changes.
    assert!(old.merge(&object((20..60).map(|i| item(i, 1)).collect())).unwrap().value().ptr_eq(old.value()));
    // One is new, at the end and before another.
    let merged = old.merge(&object(vec![item(100, 1)])).unwrap();
    assert_eq!(names(&merged), Vec::from_iter(0..101));
    let merged = merged.merge(&object(vec![item(101, 1), item(3, 1)])).unwrap();
    assert_eq!(names(&merged)[..5], [0, 1, 2, 101, 3]);
    assert_eq!(get(&merged, r#".items[name="i101"].value"#), &Value::from(1));
    // All of them turned round.
    let merged = old.merge(&object((0..100).rev().map(|i| item(i, 1)).collect())).unwrap();
    assert_eq!(names(&merged), Vec::from_iter((0..100).rev()));
    // Short becomes long, and long stays long.
    let short = object((0..3).map(|i| item(i, 1)).collect());
    let merged = short.merge(&object((3..100).map(|i| item(i, 1)).collect())).unwrap();
    assert_eq!(merged.value(), old.value());
}

#[test]
fn an_item_that_lost_its_key_is_an_error() {
    let cut = live("items: [{name: a, value: 1}]").remove_items(&common::set(r#".items[name="a"].name"#));
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
fn objects_of_different_types_do_not_merge() {
    let item = |yaml: &str, schema: &Schema| {
        let ty = schema.type_named("item").unwrap();
        TypedValue::new(value(yaml), ty, Duplicates::Refuse).unwrap()
    };
    let error = live("{}").merge(&item("{}", &schema())).unwrap_err();
    assert_eq!(error.to_string(), "expected objects of one type, got `root` and `item`");

    let other = Schema::from_yaml("types: [{name: item, map: {elementType: {scalar: string}}}]").unwrap();
    let error = item("{}", &schema()).merge(&item("{}", &other)).unwrap_err();
    assert_eq!(error.to_string(), "expected objects of one type, got `item` and `item` of different schemas");
    // A schema that was read twice is the same schema.
    let again = Schema::from_yaml(include_str!("common/schema.yaml")).unwrap();
    let merged = item("{name: a}", &schema()).merge(&item("{value: 1}", &again)).unwrap();
    assert_eq!(merged.value(), &value("{name: a, value: 1}"));
}
