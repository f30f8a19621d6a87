//! Field sets: every row was answered by the Go package first.

mod common;

use common::{live, paths, set};

/// What it shows, an object, and the paths of its fields.
fn check(rows: &[(&str, &str, &str)]) {
    for (name, object, expected) in rows {
        let fields = live(object).field_set();
        assert_eq!(paths(&fields), *expected, "{name}");
        assert_eq!(fields, set(expected), "{name}");
    }
}

#[test]
fn leaves_and_empty_values() {
    check(&[
        ("nothing", "{}", ""),
        ("null", "null", ""),
        ("scalars", "{num: 1, text: a, flag: false, any: 1.5}", ".any .flag .num .text"),
        (
            "null in a field",
            "{num: null, labels: null, set: null, selector: null, args: null}",
            ".args .labels .num .selector .set",
        ),
        ("empty maps", "{labels: {}, selector: {}, inner: {}}", ".inner .labels .selector"),
        ("empty lists", "{set: [], args: [], items: []}", ".args"),
    ]);
}

#[test]
fn maps_and_structs() {
    check(&[
        ("entries and not their map", "{labels: {a: x, b: null}}", ".labels.a .labels.b"),
        (
            "entries that are maps are fields",
            "{nested: {a: {x: 1}, b: {}}}",
            ".nested.a .nested.b .nested.a.x",
        ),
        ("structs are not", "{inner: {num: 1, inner: {text: a}}}", ".inner.num .inner.inner.text"),
        ("atomic maps are one field", "{selector: {a: x, b: z}}", ".selector"),
        (
            "without a schema",
            "{deduced: {a: {b: 1}, c: [1, 2], d: null}}",
            ".deduced.a .deduced.c .deduced.d .deduced.a.b",
        ),
    ]);
}

#[test]
fn lists() {
    check(&[
        ("items of sets", "{set: [b, a, 1, true]}", r#".set[=1] .set[="a"] .set[="b"] .set[=true]"#),
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
            "items that lack a key",
            "{ports: [{title: a}]}",
            r#".ports[protocol="TCP"] .ports[protocol="TCP"].title"#,
        ),
        ("atomic lists are one field", "{args: [a, b]}", ".args"),
        ("items of a set twice", "{set: [a, b, a]}", r#".set[="a"] .set[="b"]"#),
        (
            "items with one key twice",
            "{items: [{name: a, value: 1}, {name: a}, {name: b}]}",
            r#".items[name="a"] .items[name="b"] .items[name="b"].name"#,
        ),
    ]);
}

#[test]
fn types_of_several_kinds() {
    check(&[
        ("as a scalar", "{kinds: a}", ".kinds"),
        ("as a set", "{kinds: [a, b]}", r#".kinds[="a"] .kinds[="b"]"#),
        ("as a map", "{kinds: {a: 1}}", ".kinds.a"),
        ("as null", "{kinds: null}", ".kinds"),
        ("as an empty set", "{kinds: []}", ""),
    ]);
}

/// Cutting an object into items may take their keys; they still are fields, of one item without a name.
#[test]
fn items_without_their_key() {
    let cut = live("items: [{name: a, value: 1}, {name: b}]").remove_items(&set(r#".items[name="a"].name"#));
    assert_eq!(paths(&cut.field_set()), r#".items[] .items[name="b"] .items[].value .items[name="b"].name"#);
}
