//! The rules of strategic merge patches, one table for each.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot read its own table must fail"
)]

use crate::common::{
    MERGE_ITEM, check_apply, check_conflicts, check_error, check_three_way, check_two_way, yaml,
};
use fieldmanager_patch::{PatchTypes, strategic};
use fieldmanager_value::Value;
use fieldmanager_value::internal::for_each_difference;

#[test]
fn patch_directives_replace_and_delete() {
    for (original, patch, result) in [
        (
            "simple: {a: 1, b: 2}",
            "simple: {$patch: replace, b: 3}",
            "simple: {b: 3}",
        ),
        (
            "simple: {a: 1, b: 2}",
            "simple: {$patch: delete}",
            "simple: {}",
        ),
        ("simple: {a: 1}", "{$patch: replace, other: 1}", "other: 1"),
        ("simple: {a: 1}", "{$patch: delete}", "{}"),
        // Nulls of a map that replaces another one are kept.
        (
            "simple: {a: 1}",
            "simple: {$patch: replace, b: null}",
            "simple: {b: null}",
        ),
        // In new content, a map with the directive is omitted.
        ("{}", "simple: {$patch: replace, b: 3}", "{}"),
        (
            "{}",
            "item: {simple: {$patch: delete}, value: 1}",
            "item: {value: 1}",
        ),
        (
            "list: [{name: a}, {name: b}]",
            "list: [{name: a, $patch: delete}]",
            "list: [{name: b}]",
        ),
        (
            "list: [{name: a}, {name: b}]",
            "list: [{$patch: replace}, {name: c}]",
            "list: [{name: c}]",
        ),
        ("list: [{name: a}]", "list: [{$patch: replace}]", "list: []"),
        (
            "list: [{name: a}, {name: a, value: 1}]",
            "list: [{name: a, $patch: delete}]",
            "list: []",
        ),
    ] {
        check_apply(original, patch, result);
    }
}

#[test]
fn retain_keys_clears_what_it_does_not_list() {
    for (original, patch, result) in [
        (
            "union: {a: 1, b: 2}",
            "union: {$retainKeys: [b], b: 3}",
            "union: {b: 3}",
        ),
        // Listed fields that are not patched are kept.
        (
            "union: {a: 1, b: 2}",
            "union: {$retainKeys: [a, b], b: 3}",
            "union: {a: 1, b: 3}",
        ),
        // Without the directive the strategy alone clears nothing.
        (
            "union: {a: 1, b: 2}",
            "union: {b: 3}",
            "union: {a: 1, b: 3}",
        ),
        // The directive has an effect on fields without the strategy.
        (
            "simple: {a: 1, b: 2}",
            "simple: {$retainKeys: [b], b: 3}",
            "simple: {b: 3}",
        ),
        // Nulls need not be listed.
        (
            "union: {a: 1, b: 2}",
            "union: {$retainKeys: [b], a: null, b: 3}",
            "union: {b: 3}",
        ),
        (
            "unions: [{name: x, a: 1}]",
            "unions: [{name: x, $retainKeys: [name, b], b: 2}]",
            "unions: [{name: x, b: 2}]",
        ),
        // In new content, the directive is checked and omitted.
        ("{}", "union: {$retainKeys: [b], b: 3}", "union: {b: 3}"),
        (
            "unions: []",
            "unions: [{name: x, $retainKeys: [name]}]",
            "unions: [{name: x}]",
        ),
    ] {
        check_apply(original, patch, result);
    }
    for (original, patch, error) in [
        (
            "union: {a: 1}",
            "union: {$retainKeys: [foo], foo: a, bar: x}",
            ".union: field `bar` is set but not in $retainKeys: expected every field of the patch in it",
        ),
        (
            "{}",
            "union: {$retainKeys: [foo], bar: x}",
            ".union: field `bar` is set but not in $retainKeys: expected every field of the patch in it",
        ),
        (
            "union: {a: 1}",
            "union: {$retainKeys: b, b: 1}",
            ".union.$retainKeys: invalid $retainKeys: expected a list of field names, got string",
        ),
        (
            "union: {a: 1}",
            "union: {$retainKeys: [{}]}",
            ".union.$retainKeys[0]: invalid $retainKeys: expected a list of field names, got map",
        ),
    ] {
        check_error(original, patch, 400, error);
    }
}

#[test]
fn lists_are_merged_by_key_or_by_value() {
    for (original, patch, result) in [
        (
            "list: [{name: a, value: 1}, {name: b}]",
            "list: [{name: a, value: 2}]",
            "list: [{name: a, value: 2}, {name: b}]",
        ),
        // Without an order, new items are first.
        (
            "list: [{name: a}]",
            "list: [{name: c}]",
            "list: [{name: c}, {name: a}]",
        ),
        ("ints: [1, 2, 3]", "ints: [4, 1]", "ints: [4, 1, 2, 3]"),
        ("ints: [1, 2]", "ints: [3, 2]", "ints: [3, 1, 2]"),
        ("ints: [1, 2]", "ints: []", "ints: [1, 2]"),
        (
            "plain: [{name: a}]",
            "plain: [{name: b}]",
            "plain: [{name: b}]",
        ),
        (
            "plainInts: [1, 2]",
            "plainInts: [null]",
            "plainInts: [null]",
        ),
        // Keys of different types differ.
        (
            "list: [{name: 1}]",
            "list: [{name: '1'}]",
            "list: [{name: '1'}, {name: 1}]",
        ),
        // Nulls of an added item are kept, those of a new list are omitted.
        (
            "list: []",
            "list: [{name: a, value: null}]",
            "list: [{name: a, value: null}]",
        ),
        ("{}", "list: [{name: a, value: null}]", "list: [{name: a}]"),
        // Of several items with the same key, the first is merged.
        (
            "list: [{name: a}, {name: a}]",
            "list: [{name: a, value: 1}]",
            "list: [{name: a, value: 1}, {name: a}]",
        ),
    ] {
        check_apply(original, patch, result);
    }
    for (original, patch, code, error) in [
        (
            "list: [{name: a}]",
            "list: [{value: 1}]",
            400,
            ".list[0]: item does not contain declared merge key: name",
        ),
        (
            "list: [{value: 1}]",
            "list: [{name: a}]",
            400,
            ".list[0]: item does not contain declared merge key: name",
        ),
        (
            "list: [{name: a}]",
            "list: [1]",
            400,
            ".list[0]: list element types are not identical: expected map, got integer",
        ),
        (
            "list: [{name: a}]",
            "list: [null]",
            400,
            ".list[0]: null in a list that is merged: expected maps, or scalars of one type",
        ),
        (
            "ints: [null]",
            "ints: [1]",
            400,
            ".ints[0]: null in a list that is merged: expected maps, or scalars of one type",
        ),
        (
            "list: [{name: {a: 1}}]",
            "list: [{name: {a: 1}}]",
            400,
            ".list[0]: merge key `name` is a map: expected a string, a number or a boolean",
        ),
        (
            "list: []",
            "list: [[]]",
            422,
            ".list[0]: lists of lists are not supported",
        ),
        (
            "noKey: [{name: a}]",
            "noKey: [{name: a}]",
            500,
            ".noKey: cannot merge lists without merge key: expected `x-kubernetes-patch-merge-key` in the schema",
        ),
        (
            "list: [{name: a}]",
            "list: [{name: a, $patch: merge}]",
            400,
            ".list[0].$patch: unknown patch type: \"merge\": expected replace or delete",
        ),
    ] {
        check_error(original, patch, code, error);
    }
}

#[test]
fn orders_and_deletions_apply_to_their_lists() {
    for (original, patch, result) in [
        (
            "ints: [1, 2, 3]",
            "$setElementOrder/ints: [3, 1]",
            "ints: [2, 3, 1]",
        ),
        (
            "ints: [1, 2, 3]",
            "{$setElementOrder/ints: [4, 1], ints: [4]}",
            "ints: [4, 1, 2, 3]",
        ),
        (
            "list: [{name: a}, {name: b}, {name: c}]",
            "{$setElementOrder/list: [{name: c}, {name: a}], list: [{name: a, value: 1}]}",
            "list: [{name: b}, {name: c}, {name: a, value: 1}]",
        ),
        (
            "ints: [1, 2, 1, 3]",
            "$deleteFromPrimitiveList/ints: [1, 9]",
            "ints: [2, 3]",
        ),
        (
            "plainInts: [1, 2]",
            "$deleteFromPrimitiveList/plainInts: [1]",
            "plainInts: [2]",
        ),
        ("{}", "$deleteFromPrimitiveList/ints: [1]", "{}"),
        (
            "{}",
            "{$setElementOrder/ints: [2, 1], ints: [2, 1]}",
            "ints: [2, 1]",
        ),
        ("{}", "$setElementOrder/ints: [2, 1]", "{}"),
        // The deletion of no values orders the items of a list of maps as a merge with no items does.
        ("ints: []", "$deleteFromPrimitiveList/ints: []", "ints: []"),
        (
            "list: [{name: b}, {name: a}]",
            "$deleteFromPrimitiveList/list: []",
            "list: [{name: b}, {name: a}]",
        ),
        (
            "list: [{name: b}, {name: a}, {name: b, value: 1}]",
            "$deleteFromPrimitiveList/list: []",
            "list: [{name: b}, {name: b, value: 1}, {name: a}]",
        ),
        // In new content they have no effect.
        (
            "{}",
            "item: {$deleteFromPrimitiveList/ints: [1], ints: [2]}",
            "item: {ints: [2]}",
        ),
        (
            "{}",
            "item: {$setElementOrder/ints: [2], ints: [2]}",
            "item: {ints: [2]}",
        ),
        (
            "plain: []",
            "plain: [{$retainKeys: [a], a: 1}, {$patch: replace}]",
            "plain: [{a: 1}]",
        ),
    ] {
        check_apply(original, patch, result);
    }
    for (original, patch, error) in [
        (
            "ints: [1]",
            "{$setElementOrder/ints: [1, 2], ints: [2, 1]}",
            "the order of the items does not match `$setElementOrder/ints`: expected the items of the patch in that order",
        ),
        (
            "ints: [1]",
            "$setElementOrder/ints: 1",
            ".$setElementOrder/ints: invalid `$setElementOrder/ints`: expected `$setElementOrder/FIELD` with a list",
        ),
        (
            "ints: [1]",
            "$setElementOrder: [1]",
            ".$setElementOrder: invalid `$setElementOrder`: expected `$setElementOrder/FIELD` with a list",
        ),
        (
            "ints: [1]",
            "$deleteFromPrimitiveListX/ints: [1]",
            ".$deleteFromPrimitiveListX/ints: invalid `$deleteFromPrimitiveListX/ints`: expected `$deleteFromPrimitiveList/FIELD` with a list of scalars",
        ),
        (
            "list: [{name: a}]",
            "$deleteFromPrimitiveList/list: [{name: a}]",
            ".$deleteFromPrimitiveList/list: invalid `$deleteFromPrimitiveList/list`: expected `$deleteFromPrimitiveList/FIELD` with a list of scalars",
        ),
        (
            "list: [{name: a}, {value: 1}]",
            "$deleteFromPrimitiveList/list: []",
            ".list[1]: item does not contain declared merge key: name",
        ),
        (
            "ints: 1",
            "$setElementOrder/ints: [1]",
            ".ints: expected a list, got integer",
        ),
        (
            "ints: []",
            "$setElementOrder/ints: []",
            ".ints: no items in either list: expected at least one in the list or in the patch",
        ),
    ] {
        check_error(original, patch, 400, error);
    }
    for field in ["plain", "noKey"] {
        check_error(
            &format!("{field}: [{{name: a}}]"),
            &format!("$deleteFromPrimitiveList/{field}: []"),
            500,
            &format!(
                ".{field}: cannot merge lists without merge key: expected `x-kubernetes-patch-merge-key` in the schema"
            ),
        );
    }
}

#[test]
fn fields_without_a_rule() {
    for (original, patch, result) in [
        ("value: 1", "value: null", "{}"),
        ("value: 1", "value: {a: null, b: 1}", "value: {b: 1}"),
        (
            "replaced: {a: 1}",
            "replaced: {b: null}",
            "replaced: {b: null}",
        ),
        (
            "replaced: {a: 1}",
            "replaced: {$patch: replace, b: 1}",
            "replaced: {b: 1}",
        ),
        // Scalars, additions and deletions of unknown fields need no schema.
        (
            "unknown: 1",
            "{unknown: 2, new: {a: 1}}",
            "{unknown: 2, new: {a: 1}}",
        ),
        ("value: 1", "value: 1.0", "value: 1.0"),
    ] {
        check_apply(original, patch, result);
    }
    check_error(
        "unknown: {a: 1}",
        "unknown: {b: 1}",
        400,
        ".unknown: unable to find api field \"unknown\"",
    );
    check_error(
        "value: 1",
        "[1]",
        400,
        "the patch is not an object: expected a map, got list",
    );
    check_error(
        "simple: {a: 1}",
        "simple: {$patch: 1}",
        400,
        ".simple.$patch: unknown patch type: 1: expected replace or delete",
    );
    check_error(
        "{}",
        "simple: {$patch: odd}",
        400,
        ".simple.$patch: unknown patch type: \"odd\": expected replace, delete or merge",
    );
    check_error(
        "odd: {a: 1}",
        "odd: {b: 1}",
        500,
        ".odd: unexpected patch strategy `merge,replace`: expected one strategy, or one and retainKeys",
    );
}

#[test]
fn two_way_patches() {
    for (original, modified, patch) in [
        (
            "{value: 1, other: 1}",
            "{value: 2, new: null}",
            "{value: 2, new: null, other: null}",
        ),
        ("simple: {a: 1}", "simple: {a: 1}", "{}"),
        // A map with the strategy replace is always in the patch.
        ("replaced: {a: 1}", "replaced: {a: 1}", "replaced: {a: 1}"),
        (
            "union: {a: 1, b: 1}",
            "union: {b: 1}",
            "union: {$retainKeys: [b], a: null}",
        ),
        ("union: {b: 1}", "union: {b: 1}", "{}"),
        ("{}", "union: {b: 1}", "union: {b: 1}"),
        (
            "plain: [{name: a}]",
            "plain: [{name: b}]",
            "plain: [{name: b}]",
        ),
        ("list: []", "list: [{name: b}]", "list: [{name: b}]"),
        (
            "list: [{name: a}, {name: b}, {name: c, value: 1}]",
            "list: [{name: d}, {name: c, value: 2}, {name: a}]",
            "{$setElementOrder/list: [{name: d}, {name: c}, {name: a}], list: [{name: d}, {name: c, value: 2}, {name: b, $patch: delete}]}",
        ),
        (
            "list: [{name: a}, {name: b}]",
            "list: [{name: b}, {name: a}]",
            "$setElementOrder/list: [{name: b}, {name: a}]",
        ),
        (
            "list: [{name: a}]",
            "list: []",
            "list: [{name: a, $patch: delete}]",
        ),
        (
            "ints: [1, 2]",
            "ints: [2, 3]",
            "{$deleteFromPrimitiveList/ints: [1], $setElementOrder/ints: [2, 3], ints: [3]}",
        ),
        (
            "texts: [a, a, b]",
            "texts: [b, c, c]",
            "{$deleteFromPrimitiveList/texts: [a], $setElementOrder/texts: [b, c, c], texts: [c, c]}",
        ),
        // An unsorted list counts as changed.
        (
            "texts: [b, a]",
            "texts: [b, a]",
            "$setElementOrder/texts: [b, a]",
        ),
    ] {
        check_two_way(original, modified, patch);
    }
}

#[test]
fn three_way_patches() {
    for (original, modified, current, patch) in [
        (
            "{value: 1, other: 1}",
            "{value: 2}",
            "{value: 1, other: 1, live: 1}",
            "{value: 2, other: null}",
        ),
        // A field that is already deleted is deleted again.
        (
            "list: [{name: a}, {name: b}]",
            "list: [{name: a}]",
            "list: [{name: a}]",
            "{$setElementOrder/list: [{name: a}], list: [{name: b, $patch: delete}]}",
        ),
        ("{}", "{new: null}", "{}", "{new: null}"),
        (
            "union: {a: 1}",
            "union: {b: 1}",
            "union: {a: 1, c: 1}",
            "union: {$retainKeys: [b], a: null, b: 1}",
        ),
        // The order of a list of the patch survives the check for conflicts.
        (
            "plainInts: [1]",
            "plainInts: [3, 1, 2]",
            "plainInts: [1, 2, 3]",
            "plainInts: [3, 1, 2]",
        ),
        // Both sides can delete the same values.
        (
            "ints: [1, 2, 3]",
            "ints: [3]",
            "ints: [2, 3]",
            "{$deleteFromPrimitiveList/ints: [1, 2], $setElementOrder/ints: [3]}",
        ),
    ] {
        check_three_way(original, modified, current, patch);
    }
}

#[test]
fn conflicts() {
    for (left, right, conflict) in [
        ("value: 1", "value: 2", true),
        ("value: 1", "other: 2", false),
        ("value: 1", "value: 1.0", true),
        ("ints: [1]", "ints: [2]", false),
        ("plainInts: [1, 2]", "plainInts: [2, 1]", false),
        ("plainInts: [1]", "plainInts: [1, 2]", true),
        (
            "list: [{name: a, value: 1}]",
            "list: [{name: b, value: 2}]",
            false,
        ),
        (
            "list: [{name: a, value: 1}]",
            "list: [{name: a, value: 2}]",
            true,
        ),
        (
            "list: [{name: a, $patch: delete}]",
            "list: [{name: a, value: 2}]",
            true,
        ),
        (
            "simple: {$patch: replace}",
            "simple: {$patch: replace, a: 1}",
            false,
        ),
        ("replaced: {a: 1}", "replaced: {a: 2}", false),
        (
            "$deleteFromPrimitiveList/ints: [1]",
            "$deleteFromPrimitiveList/ints: [2]",
            false,
        ),
        (
            "$deleteFromPrimitiveList/ints: null",
            "$deleteFromPrimitiveList/ints: [2]",
            true,
        ),
        (
            "$deleteFromPrimitiveList/ints: null",
            "$deleteFromPrimitiveList/ints: null",
            false,
        ),
    ] {
        check_conflicts(left, right, conflict);
    }
}

#[test]
fn unpatched_parts_are_shared() {
    let types = PatchTypes::from_openapi(&yaml(MERGE_ITEM)).unwrap();
    let schema = types.named("item").unwrap();
    let items: Vec<Value> = (0..1000)
        .map(|i| yaml(&format!("{{name: n{i}, simple: {{a: {i}}}}}")))
        .collect();
    let mut live = yaml("simple: {a: 1}");
    if let Value::Map(map) = &mut live {
        map.insert("list", items);
    }
    let new = strategic::apply(&live, &yaml("list: [{name: n500, value: 1}]"), schema).unwrap();
    assert!(
        new.get("simple")
            .unwrap()
            .ptr_eq(live.get("simple").unwrap())
    );
    let (old, new) = (
        live.get("list").unwrap().as_list().unwrap(),
        new.get("list").unwrap().as_list().unwrap(),
    );
    let mut changed = Vec::new();
    for_each_difference(old, new, |at, _, _| changed.push(at));
    assert_eq!(changed, [500]);
    let same =
        strategic::apply(&live, &yaml("{simple: {a: 1}, list: [{name: n3}]}"), schema).unwrap();
    assert!(same.ptr_eq(&live));
}

#[test]
fn nesting_is_bounded() {
    let deep = |levels: usize| {
        let mut value = Value::from(1);
        for _ in 0..levels {
            value = Value::Map(fieldmanager_value::Map::single("simple", value));
        }
        value
    };
    let free = fieldmanager_patch::PatchSchema::free();
    let error = strategic::apply(&deep(300), &deep(300), free).unwrap_err();
    assert_eq!(error.fault(), &fieldmanager_patch::Fault::TooDeep);
    assert!(strategic::apply(&Value::Null, &deep(300), free).is_err());
    assert!(strategic::create_two_way(&deep(299), &deep(300), free).is_err());
    assert!(strategic::apply(&deep(256), &deep(256), free).is_ok());
}
