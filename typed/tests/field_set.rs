//! Field sets. Expected results are those of the Go package.

use crate::common::{live, paths, set};

/// Rows of a description, an object and the paths of its fields.
fn check(rows: &[(&str, &str, &str)]) {
    for (name, object, expected) in rows {
        let fields = live(object).field_set();
        assert_eq!(paths(&fields), *expected, "{name}");
        assert_eq!(fields, set(expected), "{name}");
    }
}

#[test]
fn leaves_and_empty_values_are_fields() {
    check(&[
        ("an empty object", "{}", ""),
        ("null", "null", ""),
        (
            "scalars",
            "{num: 1, text: a, flag: false, any: 1.5}",
            ".any .flag .num .text",
        ),
        (
            "null in a field",
            "{num: null, labels: null, set: null, selector: null, args: null}",
            ".args .labels .num .selector .set",
        ),
        (
            "empty maps",
            "{labels: {}, selector: {}, inner: {}}",
            ".inner .labels .selector",
        ),
        ("empty lists", "{set: [], args: [], items: []}", ".args"),
    ]);
}

#[test]
fn entries_of_maps_are_fields() {
    check(&[
        (
            "entries without their map",
            "{labels: {a: x, b: null}}",
            ".labels.a .labels.b",
        ),
        (
            "entries that are maps",
            "{nested: {a: {x: 1}, b: {}}}",
            ".nested.a .nested.b .nested.a.x",
        ),
        (
            "structs are not fields",
            "{inner: {num: 1, inner: {text: a}}}",
            ".inner.num .inner.inner.text",
        ),
        (
            "an atomic map is one field",
            "{selector: {a: x, b: z}}",
            ".selector",
        ),
        (
            "without a schema",
            "{deduced: {a: {b: 1}, c: [1, 2], d: null}}",
            ".deduced.a .deduced.c .deduced.d .deduced.a.b",
        ),
    ]);
}

#[test]
fn items_of_associative_lists_are_fields() {
    check(&[
        (
            "items of sets",
            "{set: [b, a, 1, true]}",
            r#".set[=1] .set[="a"] .set[="b"] .set[=true]"#,
        ),
        (
            "items and their fields",
            "{items: [{name: b, value: 1}, {name: a, tags: [t]}]}",
            r#".items[name="a"] .items[name="b"] .items[name="a"].name .items[name="a"].tags[="t"] .items[name="b"].name .items[name="b"].value"#,
        ),
        (
            "items with a default key",
            "{ports: [{port: 80}, {port: 80, protocol: UDP, title: a}]}",
            r#".ports[port=80,protocol="TCP"] .ports[port=80,protocol="UDP"] .ports[port=80,protocol="TCP"].port .ports[port=80,protocol="UDP"].port .ports[port=80,protocol="UDP"].protocol .ports[port=80,protocol="UDP"].title"#,
        ),
        (
            "items without a key field",
            "{ports: [{title: a}]}",
            r#".ports[protocol="TCP"] .ports[protocol="TCP"].title"#,
        ),
        ("an atomic list is one field", "{args: [a, b]}", ".args"),
        (
            "duplicate items of a set",
            "{set: [a, b, a]}",
            r#".set[="a"] .set[="b"]"#,
        ),
        (
            "duplicate items with keys",
            "{items: [{name: a, value: 1}, {name: a}, {name: b}]}",
            r#".items[name="a"] .items[name="b"] .items[name="b"].name"#,
        ),
    ]);
}

#[test]
fn values_of_several_kinds_have_the_fields_of_their_kind() {
    check(&[
        ("as a scalar", "{kinds: a}", ".kinds"),
        (
            "as a set",
            "{kinds: [a, b]}",
            r#".kinds[="a"] .kinds[="b"]"#,
        ),
        ("as a map", "{kinds: {a: 1}}", ".kinds.a"),
        ("as null", "{kinds: null}", ".kinds"),
        ("as an empty set", "{kinds: []}", ""),
    ]);
}

/// Removing items can remove their keys. Such items are still fields, as an item with an empty key.
#[test]
fn items_without_their_key_have_an_empty_key() {
    let cut = live("items: [{name: a, value: 1}, {name: b}]")
        .remove_items(&set(r#".items[name="a"].name"#));
    assert_eq!(
        paths(&cut.field_set()),
        r#".items[] .items[name="b"] .items[].value .items[name="b"].name"#
    );
}
