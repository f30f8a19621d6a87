//! The definition of a set member, and the values in which unions are normalized.

use super::*;

#[test]
fn null_is_not_set() {
    check(
        &["deducing"],
        &[
            ("null", "{a: null, b: {}}", "{type: B, a: null, b: {}}"),
            (
                "{type: A, a: 1}",
                "{type: A, a: null, c: [x]}",
                "{type: C, a: null, c: [x]}",
            ),
            (
                "{type: A, a: null}",
                "{type: A, a: null, c: [x]}",
                "{type: C, a: null, c: [x]}",
            ),
            // A change from null to a value adds the member.
            (
                "{type: C, a: null, c: [x]}",
                "{type: C, a: 1, c: [x]}",
                "{type: A, a: 1}",
            ),
        ],
    );
    check(
        WITH_DISCRIMINATOR,
        &[
            (
                "{type: A, a: 1}",
                "{type: B, a: 1, c: null}",
                "{type: B, c: null}",
            ),
            ("{type: A, a: 1}", "{type: B, a: null, b: {}}", "same"),
        ],
    );
    check(
        &["plain"],
        &[("{a: null, b: {}}", "{a: 1, b: {}}", "{a: 1}")],
    );
}

/// A member is set if it is present and not null, even if it is empty.
#[test]
fn empty_values_are_set() {
    check(
        &["deducing"],
        &[
            ("null", "{a: 0}", "{type: A, a: 0}"),
            ("null", "{b: {}}", "{type: B, b: {}}"),
            ("null", "{c: []}", "{type: C, c: []}"),
            (
                "{type: A, a: 1}",
                "{type: A, a: 1, c: []}",
                "{type: C, c: []}",
            ),
        ],
    );
}

#[test]
fn unions_of_a_struct_are_independent() {
    check(
        &["three"],
        &[
            (
                "{type: A, a: 1, kind: X, x: 1, p: 1}",
                "{type: A, a: 1, b: 2, kind: V, x: 1, p: 1, q: 2}",
                "{type: B, b: 2, kind: V, q: 2}",
            ),
            (
                "{type: A, a: 1, kind: X, x: 1}",
                "{type: A, a: 1, kind: X, x: 1, v: 1, q: 1}",
                "same",
            ),
            ("null", "{b: 1, x: 1, q: 1}", "{type: B, b: 1, x: 1, q: 1}"),
        ],
    );
}

#[test]
fn nested_structs_are_normalized() {
    check(
        &["root"],
        &[
            (
                "null",
                "{spec: {inner: {a: 1}}}",
                "{spec: {inner: {type: A, a: 1}}}",
            ),
            (
                "{spec: {inner: {type: A, a: 1}}}",
                "{spec: {inner: {type: A, a: 1, b: 2}}}",
                "{spec: {inner: {type: B, b: 2}}}",
            ),
            ("{spec: null}", "{spec: {inner: {a: 1, b: 2}}}", "same"),
            // Map entries are matched by name; a new entry has no predecessor.
            (
                "{byName: {k: {type: A, a: 1}}}",
                "{byName: {k: {type: A, a: 1, b: 2}, l: {b: 1}}}",
                "{byName: {k: {type: B, b: 2}, l: {type: B, b: 1}}}",
            ),
            (
                "{byName: {k: {type: A, a: 1}}}",
                "{byName: {l: {type: B, b: 1}}}",
                "same",
            ),
        ],
    );
    check(
        &["tree"],
        &[
            (
                "null",
                "{all: {l: {leaf: x}, r: {not: {leaf: v}}}}",
                "{kind: All, all: {l: {kind: Leaf, leaf: x}, r: {kind: Not, not: {kind: Leaf, leaf: v}}}}",
            ),
            (
                "{kind: Not, not: {kind: Leaf, leaf: x}}",
                "{kind: Not, not: {kind: Leaf, leaf: x, not: {leaf: v}}}",
                "{kind: Not, not: {kind: Not, not: {kind: Leaf, leaf: v}}}",
            ),
            (
                "{kind: Not, not: {kind: Leaf, leaf: x}}",
                "{kind: All, not: {kind: Leaf, leaf: x}, all: {l: {leaf: z}}}",
                "{kind: All, all: {l: {kind: Leaf, leaf: z}}}",
            ),
        ],
    );
}

#[test]
fn items_are_matched_by_key() {
    check(
        &["root"],
        &[
            // Items are matched by key, not by position.
            (
                "{items: [{name: x, type: A, a: 1}, {name: v, type: B, b: 1}]}",
                "{items: [{name: v, type: B, a: 2, b: 1}, {name: x, type: A, a: 1, b: 2}]}",
                "{items: [{name: v, type: A, a: 2}, {name: x, type: B, b: 2}]}",
            ),
            // A new item has no predecessor, so both of its members are added.
            (
                "{items: [{name: x, type: A, a: 1}]}",
                "{items: [{name: v, a: 1, b: 2}, {name: z, b: 2}]}",
                "{items: [{name: v, a: 1, b: 2}, {name: z, type: B, b: 2}]}",
            ),
            (
                "{items: [{name: x, type: A, a: 1}]}",
                "{items: [{name: v, type: B, a: 1}]}",
                "error: .items[name=\"v\"]: `type` is \"B\", which does not select `a`: set only one of them",
            ),
            (
                "{items: [{name: x, type: A, a: 1}, {name: v, type: A, a: 1}]}",
                "{items: [{name: v, type: B, a: 1}]}",
                "{items: [{name: v, type: B}]}",
            ),
        ],
    );
}

/// Duplicate items cannot be matched.
#[test]
fn duplicate_items_are_not_normalized() {
    check(
        &["root"],
        &[
            (
                "null",
                "{items: [{name: x, a: 1}, {name: x, b: 1}]}",
                "same",
            ),
            (
                "{items: [{name: x, type: A, a: 1}, {name: x, type: B, b: 1}]}",
                "{items: [{name: x, type: A, a: 1, b: 2}]}",
                "same",
            ),
        ],
    );
}

#[test]
fn atomic_lists_and_maps_are_not_normalized() {
    check(
        &["root"],
        &[
            (
                "{atomicItems: [{type: A, a: 1}]}",
                "{atomicItems: [{type: B, a: 1}, {b: 1}]}",
                "same",
            ),
            (
                "{atomicMap: {k: {type: A, a: 1}}}",
                "{atomicMap: {k: {type: B, a: 1}, l: {b: 1}}}",
                "same",
            ),
            (
                "{atomicStruct: {type: A, a: 1}}",
                "{atomicStruct: {type: B, a: 1}}",
                "same",
            ),
            (
                "null",
                "{atomicStruct: {a: 1, b: 1}, atomicItems: [{a: 1, type: B}]}",
                "same",
            ),
            (
                "{atomicParent: {inner: {type: A, a: 1}}}",
                "{atomicParent: {inner: {type: B, a: 1}}}",
                "same",
            ),
        ],
    );
}

#[test]
fn changes_are_listed_in_the_order_of_the_value() {
    let ty = ty("root");
    let old = typed(
        &ty,
        "{items: [{name: x, type: A, a: 1}], spec: {inner: {type: B, b: 1}}}",
    );
    let new = typed(
        &ty,
        "{items: [{name: x, type: A, a: 1, b: 2}], spec: {inner: {type: A, b: 1}}}",
    );
    let normalized = old.normalize_update(&new).unwrap();
    let changes: Vec<String> = normalized.changes.iter().map(ToString::to_string).collect();
    let expected = [
        ".items[name=\"x\"].a: cleared",
        ".items[name=\"x\"].type: deduced \"B\"",
        ".spec.inner.b: cleared",
    ];
    assert_eq!(changes, expected);
}

#[test]
fn objects_of_different_types_are_rejected() {
    let error = typed(&ty("plain"), "{a: 1}")
        .normalize_update(&typed(&ty("closed"), "{a: 1}"))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected objects of one type, got `plain` and `closed`"
    );
}
