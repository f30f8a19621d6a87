//! Removal and extraction of items. Expected results are those of the Go package unless noted otherwise.

use crate::common::{live, set, value};
use fieldmanager_typed::KeyFields;

#[test]
fn items_are_removed() {
    /// Rows of a description, the object, the paths to remove and the result.
    fn check_remove(rows: &[(&str, &str, &str, &str)]) {
        for (name, object, items, expected) in rows {
            let rest = live(object).remove_items(&set(items));
            assert!(
                rest.value().strict_eq(&value(expected)),
                "{name}: {}",
                rest.value()
            );
        }
    }
    check_remove(&[
        ("an empty set", "{num: 1}", "", "{num: 1}"),
        ("an absent field", "{num: 1}", ".text", "{num: 1}"),
        ("a field", "{num: 1, text: a}", ".num", "{text: a}"),
        ("the last field", "{num: 1}", ".num", "null"),
        (
            "an entry",
            "{labels: {a: x, b: z}}",
            ".labels.a",
            "{labels: {b: z}}",
        ),
        (
            "the last entry",
            "{labels: {a: x}}",
            ".labels.a",
            "{labels: null}",
        ),
        (
            "an entire map",
            "{num: 1, labels: {a: x}}",
            ".labels",
            "{num: 1}",
        ),
        (
            "a map and some of its entries",
            "{num: 1, labels: {a: x, b: z}}",
            ".labels .labels.a",
            "{num: 1}",
        ),
        (
            "a path inside an atomic map",
            "{num: 1, selector: {a: x, b: z}}",
            ".selector.a",
            "{num: 1, selector: null}",
        ),
        (
            "an atomic map",
            "{num: 1, selector: {a: x}}",
            ".selector",
            "{num: 1}",
        ),
        (
            "a path inside an atomic list",
            "{num: 1, args: [a, b]}",
            ".args[0]",
            "{args: null, num: 1}",
        ),
        (
            "a path inside an empty map",
            "{num: 1, labels: {}}",
            ".labels.a",
            "{labels: null, num: 1}",
        ),
        (
            "a path inside an empty list",
            "{num: 1, set: []}",
            ".set[=1]",
            "{num: 1, set: null}",
        ),
        (
            "an item of a set",
            "{set: [1, a, 2]}",
            ".set[=1]",
            "{set: [a, 2]}",
        ),
        (
            "an item by an equal number",
            "{set: [1, a]}",
            ".set[=1.0]",
            "{set: [a]}",
        ),
        (
            "the last item of a set",
            "{set: [1], num: 1}",
            ".set[=1]",
            "{num: 1, set: null}",
        ),
        ("an absent item", "{set: [1]}", ".set[=2]", "{set: [1]}"),
        (
            "duplicate items",
            "{set: [1, a, 1]}",
            ".set[=1]",
            "{set: [a]}",
        ),
        (
            "an item with its fields",
            "{items: [{name: a, value: 1}, {name: b}]}",
            r#".items[name="a"]"#,
            "{items: [{name: b}]}",
        ),
        (
            "a field of an item",
            "{items: [{name: a, value: 1}, {name: b}]}",
            r#".items[name="a"].value"#,
            "{items: [{name: a}, {name: b}]}",
        ),
        (
            "the last item",
            "{num: 1, items: [{name: a, value: 1}]}",
            r#".items[name="a"]"#,
            "{items: null, num: 1}",
        ),
        (
            "an item by its default key",
            "{ports: [{port: 80}, {port: 81}]}",
            r#".ports[port=80,protocol="TCP"]"#,
            "{ports: [{port: 81}]}",
        ),
        (
            "a path inside a set in an item",
            "{items: [{name: a, tags: [t, u]}]}",
            r#".items[name="a"].tags[="t"]"#,
            "{items: [{name: a, tags: [u]}]}",
        ),
        ("a path inside a scalar", "{num: 1}", ".num.x", "{num: 1}"),
        (
            "in nested structs",
            "{inner: {inner: {num: 1, text: a}}}",
            ".inner.inner.num",
            "{inner: {inner: {text: a}}}",
        ),
        (
            "of several kinds, in the map",
            "{kinds: {a: 1, b: 2}}",
            ".kinds.a",
            "{kinds: {b: 2}}",
        ),
        (
            "of several kinds, in the set",
            "{kinds: [a, b]}",
            r#".kinds[="a"]"#,
            "{kinds: [b]}",
        ),
        (
            "without a schema",
            "{deduced: {a: [1], b: {c: 1, d: 2}}}",
            ".deduced.a .deduced.b.c",
            "{deduced: {b: {d: 2}}}",
        ),
    ]);
}

#[test]
fn items_are_extracted() {
    /// Rows of a description, the object, the paths to extract, and the results without and with key fields.
    fn check_extract(rows: &[(&str, &str, &str, &str, &str)]) {
        for (name, object, items, plain, keyed) in rows {
            for (key_fields, expected) in [(KeyFields::AsGiven, plain), (KeyFields::Append, keyed)]
            {
                let part = live(object).extract_items(&set(items), key_fields);
                assert!(
                    part.value().strict_eq(&value(expected)),
                    "{name} {key_fields:?}: {}",
                    part.value()
                );
            }
        }
    }
    check_extract(&[
        ("an empty set", "{num: 1}", "", "null", "null"),
        (
            "a field",
            "{num: 1, text: a}",
            ".num",
            "{num: 1}",
            "{num: 1}",
        ),
        ("an absent field", "{num: 1}", ".text", "null", "null"),
        (
            "a field that is null",
            "{num: null, text: a}",
            ".num",
            "{num: null}",
            "{num: null}",
        ),
        (
            "an entry",
            "{labels: {a: x, b: z}}",
            ".labels.a",
            "{labels: {a: x}}",
            "{labels: {a: x}}",
        ),
        (
            "an empty map",
            "{labels: {}, num: 1}",
            ".labels",
            "{labels: {}}",
            "{labels: {}}",
        ),
        (
            "an atomic map",
            "{selector: {a: x, b: z}, num: 1}",
            ".selector",
            "{selector: {a: x, b: z}}",
            "{selector: {a: x, b: z}}",
        ),
        (
            "a path inside an atomic map",
            "{selector: {a: x, b: z}, num: 1}",
            ".selector.a",
            "{selector: {a: x, b: z}}",
            "{selector: {a: x, b: z}}",
        ),
        (
            "an atomic list",
            "{args: [a, b], num: 1}",
            ".args",
            "{args: [a, b]}",
            "{args: [a, b]}",
        ),
        (
            "an item of a set",
            "{set: [1, 2, 1.5]}",
            ".set[=2]",
            "{set: [2]}",
            "{set: [2]}",
        ),
        (
            "an absent item",
            "{set: [1]}",
            ".set[=2]",
            "{set: null}",
            "{set: null}",
        ),
        (
            "an item",
            "{items: [{name: a, value: 1}, {name: b}]}",
            r#".items[name="a"]"#,
            "{items: [{name: a, value: 1}]}",
            "{items: [{name: a}]}",
        ),
        (
            "a field of an item",
            "{items: [{name: a, value: 1}, {name: b}]}",
            r#".items[name="a"].value"#,
            "{items: [{value: 1}]}",
            "{items: [{name: a, value: 1}]}",
        ),
        (
            "an item without its key",
            "{items: [{name: a, value: 1, tags: [t]}]}",
            r#".items[name="a"] .items[name="a"].value"#,
            "{items: [{value: 1}]}",
            "{items: [{name: a, value: 1}]}",
        ),
        (
            "a default key",
            "{ports: [{port: 80, title: a}, {port: 81}]}",
            r#".ports[port=80,protocol="TCP"].title"#,
            "{ports: [{title: a}]}",
            "{ports: [{port: 80, title: a}]}",
        ),
        (
            "a set in an item",
            "{items: [{name: a, tags: [t, u]}]}",
            r#".items[name="a"].tags[="u"]"#,
            "{items: [{tags: [u]}]}",
            "{items: [{name: a, tags: [u]}]}",
        ),
        (
            "duplicate items",
            "{set: [1, 2, 1]}",
            ".set[=1]",
            "{set: [1, 1]}",
            "{set: [1, 1]}",
        ),
        (
            "in nested structs",
            "{inner: {inner: {num: 1, text: a}}}",
            ".inner.inner.num",
            "{inner: {inner: {num: 1}}}",
            "{inner: {inner: {num: 1}}}",
        ),
        (
            "of several kinds",
            "{kinds: [a, b]}",
            r#".kinds[="a"]"#,
            "{kinds: [a]}",
            "{kinds: [a]}",
        ),
        (
            "without a schema",
            "{deduced: {a: [1], b: {c: 1, d: 2}}}",
            ".deduced.a .deduced.b.c",
            "{deduced: {a: [1], b: {c: 1}}}",
            "{deduced: {a: [1], b: {c: 1}}}",
        ),
    ]);
}

/// Unlike this library, the Go package descends below such a map with the set of the map's siblings.
#[test]
fn maps_with_children_in_the_set_are_reduced_to_them() {
    let object = live("{labels: {a: x, b: z}, num: 1}");
    let part = |items| {
        object
            .extract_items(&set(items), KeyFields::AsGiven)
            .into_value()
            .to_json()
    };
    assert_eq!(part(".labels .labels.a"), r#"{"labels":{"a":"x"}}"#);
    assert_eq!(part(".labels"), r#"{"labels":null}"#);
}

/// The configuration can be extracted by the set of its applier.
#[test]
fn extracting_the_applied_fields_returns_the_configuration() {
    let config = "{num: 1, labels: {a: x}, selector: {b: z}, set: [1, a], args: [p, q], flag: null,
                   items: [{name: a, value: 1, tags: [t]}, {name: b}], inner: {text: a}}";
    let owned = live(config).field_set();
    let object = live(
        "{num: 2, text: c, labels: {c: w}, set: [b], items: [{name: c}, {name: b, value: 3}]}",
    );
    let merged = object.merge(&live(config)).unwrap();
    for key_fields in [KeyFields::AsGiven, KeyFields::Append] {
        let extracted = merged.extract_items(&owned.leaves(), key_fields);
        assert_eq!(extracted.value(), &value(config), "{key_fields:?}");
    }
}
