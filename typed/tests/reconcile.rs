//! Adaptation of field sets to a changed schema. Expected results are those of the Go package.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read its own table must fail"
)]

use crate::common::{paths, set, value};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::internal::reconcile;
use fieldmanager_typed::{Duplicates, TypedValue};

/// The type of an object with a field `f` of the given type.
fn object_type(field: &str) -> Type {
    let schema = format!(
        "
types:
- name: root
  map: {{fields: [{{name: f, type: {field}}}, {{name: other, type: {{scalar: numeric}}}}]}}
- name: __untyped_atomic_
  scalar: untyped
  list: {{elementType: {{namedType: __untyped_atomic_}}, elementRelationship: atomic}}
  map: {{elementType: {{namedType: __untyped_atomic_}}, elementRelationship: atomic}}
- name: __untyped_deduced_
  scalar: untyped
  list: {{elementType: {{namedType: __untyped_atomic_}}, elementRelationship: atomic}}
  map: {{elementType: {{namedType: __untyped_deduced_}}, elementRelationship: separable}}
"
    );
    Schema::from_yaml(&schema)
        .unwrap()
        .type_named("root")
        .unwrap()
}

const SCALAR: &str = "{scalar: untyped}";
const MAP: &str = "{map: {elementType: {scalar: string}}}";
const MAP_ATOMIC: &str = "{map: {elementType: {scalar: string}, elementRelationship: atomic}}";
const MAPS: &str = "{map: {elementType: {map: {elementType: {scalar: string}}}}}";
const MAPS_ATOMIC: &str =
    "{map: {elementType: {map: {elementType: {scalar: string}, elementRelationship: atomic}}}}";
const STRUCT: &str = "{map: {fields: [{name: a, type: {scalar: string}}]}}";
const STRUCT_ATOMIC: &str =
    "{map: {fields: [{name: a, type: {scalar: string}}], elementRelationship: atomic}}";
const SET: &str = "{list: {elementType: {scalar: string}, elementRelationship: associative}}";
const LIST_ATOMIC: &str = "{list: {elementType: {scalar: string}, elementRelationship: atomic}}";
const ITEMS: &str = "{list: {elementRelationship: associative, keys: [name],
    elementType: {map: {fields: [{name: name, type: {scalar: string}}, {name: v, type: {map: {elementType: {scalar: string}}}}]}}}}";
const ITEMS_ATOMIC_INSIDE: &str = "{list: {elementRelationship: associative, keys: [name],
    elementType: {map: {fields: [{name: name, type: {scalar: string}}, {name: v, type: {map: {elementType: {scalar: string}, elementRelationship: atomic}}}]}}}}";
const DEDUCED: &str = "{namedType: __untyped_deduced_}";
const UNTYPED_ATOMIC: &str = "{namedType: __untyped_atomic_}";

/// A description, the type of the value when it was applied, the current type, the value, and the fields before and
/// after.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

fn check(rows: &[Row]) {
    for (name, old, new, object, before, after) in rows {
        let object = value(&format!("{{f: {object}}}"));
        let fields = TypedValue::new(object, object_type(old), Duplicates::Refuse)
            .unwrap()
            .field_set();
        assert_eq!(paths(&fields), *before, "{name}");
        let adapted = reconcile(&fields, &object_type(new));
        assert_eq!(adapted.is_some(), before != after, "{name}");
        assert_eq!(paths(&adapted.unwrap_or(fields)), *after, "{name}");
    }
}

#[test]
fn granular_to_atomic_replaces_the_parts_by_the_whole() {
    check(&[
        ("a map", MAP, MAP_ATOMIC, "{a: x, b: z}", ".f.a .f.b", ".f"),
        ("a struct", STRUCT, STRUCT_ATOMIC, "{a: x}", ".f.a", ".f"),
        (
            "a set",
            SET,
            LIST_ATOMIC,
            "[p, q]",
            r#".f[="p"] .f[="q"]"#,
            ".f",
        ),
        (
            "nested maps",
            MAPS,
            MAPS_ATOMIC,
            "{a: {x: u}, b: {}}",
            ".f.a .f.b .f.a.x",
            ".f.a .f.b",
        ),
        (
            "a map in an item",
            ITEMS,
            ITEMS_ATOMIC_INSIDE,
            "[{name: p, v: {x: u}}]",
            r#".f[name="p"] .f[name="p"].name .f[name="p"].v.x"#,
            r#".f[name="p"] .f[name="p"].name .f[name="p"].v"#,
        ),
    ]);
}

#[test]
fn atomic_to_granular_keeps_the_set() {
    check(&[
        ("a map", MAP_ATOMIC, MAP, "{a: x}", ".f", ".f"),
        ("a list", LIST_ATOMIC, SET, "[p, q]", ".f", ".f"),
        ("a struct", STRUCT_ATOMIC, STRUCT, "{a: x}", ".f", ".f"),
        (
            "nested maps",
            MAPS_ATOMIC,
            MAPS,
            "{a: {x: u}}",
            ".f.a",
            ".f.a",
        ),
    ]);
}

#[test]
fn unchanged_types_keep_the_set() {
    check(&[
        ("a map", MAP, MAP, "{a: x}", ".f.a", ".f.a"),
        ("an empty map", MAP, MAP_ATOMIC, "{}", ".f", ".f"),
        (
            "items",
            ITEMS,
            ITEMS,
            "[{name: p, v: {x: u}}]",
            r#".f[name="p"] .f[name="p"].name .f[name="p"].v.x"#,
            r#".f[name="p"] .f[name="p"].name .f[name="p"].v.x"#,
        ),
        ("a scalar", SCALAR, SCALAR, "1", ".f", ".f"),
    ]);
}

/// A type that accepts any value does not define its structure.
#[test]
fn types_without_structure_keep_the_set() {
    check(&[
        (
            "deduced to declared",
            DEDUCED,
            MAP,
            "{a: x}",
            ".f.a",
            ".f.a",
        ),
        (
            "deduced to atomic",
            DEDUCED,
            MAP_ATOMIC,
            "{a: x}",
            ".f.a",
            ".f",
        ),
        (
            "deduced to untyped atomic",
            DEDUCED,
            UNTYPED_ATOMIC,
            "{a: x}",
            ".f.a",
            ".f",
        ),
        (
            "declared to deduced",
            MAPS,
            DEDUCED,
            "{a: {x: u}}",
            ".f.a .f.a.x",
            ".f.a .f.a.x",
        ),
        (
            "untyped atomic to deduced",
            UNTYPED_ATOMIC,
            DEDUCED,
            "{a: x}",
            ".f",
            ".f",
        ),
        (
            "a map that became a scalar",
            MAP,
            SCALAR,
            "{a: x}",
            ".f.a",
            ".f.a",
        ),
    ]);
}

#[test]
fn paths_that_match_no_field_are_kept() {
    let ty = object_type(MAP);
    for fields in [
        ".gone.a .other",
        ".f[=1]",
        r#".f[name="a"].x"#,
        ".other.x",
        "",
    ] {
        assert_eq!(reconcile(&set(fields), &ty), None, "{fields}");
    }
    let ty = object_type(MAP_ATOMIC);
    assert_eq!(
        paths(&reconcile(&set(".gone.a .f .f.a .other"), &ty).unwrap()),
        ".f .other .gone.a"
    );
}
