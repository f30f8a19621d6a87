//! What counts as set, and where unions are looked for.

use super::*;

#[test]
fn null_is_not_set() {
    check(
        &["deducing"],
        &[
            ("null", "{a: null, b: {}}", "{type: B, a: null, b: {}}"),
            ("{type: A, a: 1}", "{type: A, a: null, c: [x]}", "{type: C, a: null, c: [x]}"),
            ("{type: A, a: null}", "{type: A, a: null, c: [x]}", "{type: C, a: null, c: [x]}"),
            // From null to a value is added.
            ("{type: C, a: null, c: [x]}", "{type: C, a: 1, c: [x]}", "{type: A, a: 1}"),
        ],
    );
    check(
        WITH_DISCRIMINATOR,
        &[
            ("{type: A, a: 1}", "{type: B, a: 1, c: null}", "{type: B, c: null}"),
            ("{type: A, a: 1}", "{type: B, a: null, b: {}}", "same"),
        ],
    );
    check(&["plain"], &[("{a: null, b: {}}", "{a: 1, b: {}}", "{a: 1}")]);
}

/// What is there and not null is set, however empty.
#[test]
fn empty_values_are_set() {
    check(
        &["deducing"],
        &[
            ("null", "{a: 0}", "{type: A, a: 0}"),
            ("null", "{b: {}}", "{type: B, b: {}}"),
            ("null", "{c: []}", "{type: C, c: []}"),
            ("{type: A, a: 1}", "{type: A, a: 1, c: []}", "{type: C, c: []}"),
        ],
    );
}

#[test]
fn each_union_of_a_struct_is_for_itself() {
    check(
        &["three"],
        &[
            (
                "{type: A, a: 1, kind: X, x: 1, p: 1}",
                "{type: A, a: 1, b: 2, kind: V, x: 1, p: 1, q: 2}",
                "{type: B, b: 2, kind: V, q: 2}",
            ),
            ("{type: A, a: 1, kind: X, x: 1}", "{type: A, a: 1, kind: X, x: 1, v: 1, q: 1}", "same"),
            ("null", "{b: 1, x: 1, q: 1}", "{type: B, b: 1, x: 1, q: 1}"),
        ],
    );
}

#[test]
fn structs_inside_structs_maps_and_unions() {
    check(
        &["root"],
        &[
            ("null", "{spec: {inner: {a: 1}}}", "{spec: {inner: {type: A, a: 1}}}"),
            (
                "{spec: {inner: {type: A, a: 1}}}",
                "{spec: {inner: {type: A, a: 1, b: 2}}}",
                "{spec: {inner: {type: B, b: 2}}}",
            ),
            ("{spec: null}", "{spec: {inner: {a: 1, b: 2}}}", "same"),
            // Entries of a map by name; one that is new has nothing before it.
            (
                "{byName: {k: {type: A, a: 1}}}",
                "{byName: {k: {type: A, a: 1, b: 2}, l: {b: 1}}}",
                "{byName: {k: {type: B, b: 2}, l: {type: B, b: 1}}}",
            ),
            ("{byName: {k: {type: A, a: 1}}}", "{byName: {l: {type: B, b: 1}}}", "same"),
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
            // By key and not by place.
            (
                "{items: [{name: x, type: A, a: 1}, {name: v, type: B, b: 1}]}",
                "{items: [{name: v, type: B, a: 2, b: 1}, {name: x, type: A, a: 1, b: 2}]}",
                "{items: [{name: v, type: A, a: 2}, {name: x, type: B, b: 2}]}",
            ),
            // A new item has nothing before it: neither of its members is the added one.
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

/// Of several items with one key none can be said to have become another.
#[test]
fn items_that_share_a_key_are_left_alone() {
    check(
        &["root"],
        &[
            ("null", "{items: [{name: x, a: 1}, {name: x, b: 1}]}", "same"),
            (
                "{items: [{name: x, type: A, a: 1}, {name: x, type: B, b: 1}]}",
                "{items: [{name: x, type: A, a: 1, b: 2}]}",
                "same",
            ),
        ],
    );
}

#[test]
fn nothing_is_done_inside_atomic_lists_and_maps() {
    check(
        &["root"],
        &[
            ("{atomicItems: [{type: A, a: 1}]}", "{atomicItems: [{type: B, a: 1}, {b: 1}]}", "same"),
            ("{atomicMap: {k: {type: A, a: 1}}}", "{atomicMap: {k: {type: B, a: 1}, l: {b: 1}}}", "same"),
            ("{atomicStruct: {type: A, a: 1}}", "{atomicStruct: {type: B, a: 1}}", "same"),
            ("null", "{atomicStruct: {a: 1, b: 1}, atomicItems: [{a: 1, type: B}]}", "same"),
            ("{atomicParent: {inner: {type: A, a: 1}}}", "{atomicParent: {inner: {type: B, a: 1}}}", "same"),
        ],
    );
}

#[test]
fn changes_are_listed_in_the_order_of_the_value() {
    let ty = ty("root");
    let old = typed(&ty, "{items: [{name: x, type: A, a: 1}], spec: {inner: {type: B, b: 1}}}");
    let new = typed(&ty, "{items: [{name: x, type: A, a: 1, b: 2}], spec: {inner: {type: A, b: 1}}}");
    let normalized = old.normalize_update(&new).unwrap();
    let changes: Vec<String> = normalized.changes.iter().map(ToString::to_string).collect();
    let wanted =
        [".items[name=\"x\"].a: cleared", ".items[name=\"x\"].type: deduced \"B\"", ".spec.inner.b: cleared"];
    assert_eq!(changes, wanted);
}

#[test]
fn objects_of_different_types_are_an_error() {
    let error = typed(&ty("plain"), "{a: 1}").normalize_update(&typed(&ty("closed"), "{a: 1}")).unwrap_err();
    assert_eq!(error.to_string(), "expected objects of one type, got `plain` and `closed`");
}
