//! Validation of unions: every fault with its text and path, all at once, and ratcheting.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::sync::LazyLock;

use fieldmanager_schema::Schema;
use fieldmanager_testing::{UNION_PROFILE, union_schema};
use fieldmanager_typed::{Duplicates, Ratcheting, TypedValue};
use fieldmanager_value::Value;

const OTHERS: &str = "
- name: root
  map:
    fields:
    - {name: spec, type: {map: {fields: [{name: inner, type: {namedType: closed}}]}}}
    - name: items
      type: {list: {elementRelationship: associative, keys: [name], elementType: {namedType: item}}}
    - {name: byName, type: {map: {elementType: {namedType: item}}}}
    - {name: atomicItems, type: {list: {elementRelationship: atomic, elementType: {namedType: item}}}}
    - {name: atomicStruct, type: {namedType: item, elementRelationship: atomic}}
    - {name: p, type: {scalar: numeric}}
    - {name: q, type: {scalar: numeric}}
    unions: [{fields: [{fieldName: p}, {fieldName: q}]}]
- name: item
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: type, type: {scalar: string}}
    - {name: a, type: {scalar: numeric}}
    - {name: b, type: {scalar: numeric}}
    - {name: u, type: {scalar: numeric}}
    - {name: v, type: {scalar: numeric}}
    unions:
    - {discriminator: type, fields: [{fieldName: a, discriminatorValue: A}, {fieldName: b, discriminatorValue: B}]}
    - {required: true, fields: [{fieldName: u}, {fieldName: v}]}
";

/// Members `a` (a number), `b` (a struct) and `c` of unions of every form, and other types.
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let c = "{list: {elementRelationship: atomic, elementType: {scalar: string}}}";
    Schema::from_yaml(&union_schema(c, ", optional: true", &[OTHERS, UNION_PROFILE])).unwrap()
});

/// Faults of an update from `old` (`null` for a create) to `new`.
fn faults(name: &str, old: &str, new: &str, ratcheting: Ratcheting) -> Vec<String> {
    let ty = SCHEMA.type_named(name).unwrap();
    let typed =
        |yaml| TypedValue::new(Value::from_yaml(yaml).unwrap(), ty.clone(), Duplicates::Allow).unwrap();
    let new = typed(new);
    let before = new.value().clone();
    let faults = typed(old).validate_unions(&new, ratcheting);
    assert_eq!(new.value(), &before, "validation changes nothing");
    faults.iter().map(ToString::to_string).collect()
}

/// Objects and their faults, whatever they replace.
fn check(types: &[&str], rows: &[(&str, &[&str])]) {
    for name in types {
        for (new, wanted) in rows {
            for old in ["null", "{}", "{type: A, a: 1}", new] {
                let got = faults(name, old, new, Ratcheting::Off);
                assert_eq!(got, *wanted, "{name}: {old} -> {new}");
            }
        }
    }
}

const ALL: &[&str] = &[
    "plain",
    "plainRequired",
    "deducing",
    "deducingRequired",
    "respecting",
    "respectingRequired",
    "emptiable",
    "closed",
    "closedEmptiable",
];

const OPEN: &[&str] = &["deducing", "respecting", "emptiable"];

#[test]
fn valid_objects_have_no_faults() {
    check(
        ALL,
        &[
            ("{type: A, a: 1}", &[]),
            ("{type: B, b: {}}", &[]),
            ("{type: C, c: [], other: o}", &[]),
            ("{type: C, a: null, c: [x]}", &[]),
        ],
    );
    check(&["plain", "deducing", "emptiable", "closedEmptiable"], &[("{}", &[]), ("{type: ''}", &[])]);
    check(
        &["plain", "plainRequired"],
        &[("{a: 1}", &[]), ("{type: B, a: 1}", &[]), ("{type: X, a: 1}", &[])],
    );
    // A discriminator may select an optional member that is not set; a declared empty value selects none.
    check(&["deducing", "respecting", "emptiable", "closed", "closedEmptiable"], &[("{type: A}", &[])]);
    check(&["deducing", "respecting", "emptiable", "closed", "closedEmptiable"], &[("{type: None}", &[])]);
    check(ALL, &[("null", &[])]);
}

#[test]
fn several_members_set() {
    check(
        &["plain"],
        &[
            ("{a: 1, b: {}}", &["must specify at most one of: `a`, `b`, `c`"]),
            ("{a: 1, b: {}, c: []}", &["must specify at most one of: `a`, `b`, `c`"]),
        ],
    );
    check(&["plainRequired"], &[("{a: 1, b: {}}", &["must specify exactly one of: `a`, `b`, `c`"])]);
    // The client must change the discriminator if it changes members.
    check(
        &["deducing", "respecting", "emptiable", "closed", "closedEmptiable"],
        &[
            (
                "{type: B, b: {}, c: []}",
                &[
                    "must specify at most one of: `a`, `b`, `c`: change `type` to say which",
                    ".c: may only be specified when `type` is \"C\"",
                ],
            ),
            (
                "{type: B, a: 1, c: []}",
                &[
                    "must specify at most one of: `a`, `b`, `c`: change `type` to say which",
                    ".a: may only be specified when `type` is \"A\"",
                    ".b: must be specified when `type` is \"B\"",
                    ".c: may only be specified when `type` is \"C\"",
                ],
            ),
        ],
    );
    check(
        &["respectingRequired", "deducingRequired"],
        &[(
            "{type: B, b: {}, c: []}",
            &[
                "must specify exactly one of: `a`, `b`, `c`: change `type` to say which",
                ".c: may only be specified when `type` is \"C\"",
            ],
        )],
    );
    // Of a value that is not known nobody can say what it selects, but not several.
    check(
        OPEN,
        &[(
            "{type: Own, a: 1, c: []}",
            &["must specify at most one of: `a`, `b`, `c`: change `type` to say which"],
        )],
    );
}

#[test]
fn a_member_that_the_discriminator_does_not_select() {
    check(
        &["deducing", "respecting", "emptiable", "closed", "closedEmptiable"],
        &[
            (
                "{type: B, c: []}",
                &[
                    ".b: must be specified when `type` is \"B\"",
                    ".c: may only be specified when `type` is \"C\"",
                ],
            ),
            ("{type: A, c: []}", &[".c: may only be specified when `type` is \"C\""]),
            ("{type: None, a: 1}", &[".a: may only be specified when `type` is \"A\""]),
        ],
    );
    check(
        &["emptiable", "closedEmptiable"],
        &[
            ("{type: '', a: 1}", &[".a: may only be specified when `type` is \"A\""]),
            ("{a: 1}", &[".a: may only be specified when `type` is \"A\""]),
            ("{type: null, a: 1}", &[".a: may only be specified when `type` is \"A\""]),
        ],
    );
}

#[test]
fn a_selected_member_that_is_not_set() {
    check(
        &["deducing", "respecting", "emptiable", "closed", "closedEmptiable"],
        &[
            ("{type: B}", &[".b: must be specified when `type` is \"B\""]),
            ("{type: B, b: null}", &[".b: must be specified when `type` is \"B\""]),
            ("{type: C, other: o}", &[".c: must be specified when `type` is \"C\""]),
        ],
    );
}

#[test]
fn a_value_outside_a_closed_list() {
    check(
        &["closed"],
        &[
            (
                "{type: Own}",
                &[".type: Unsupported value: \"Own\": supported values: \"A\", \"B\", \"C\", \"None\""],
            ),
            (
                "{type: Own, a: 1}",
                &[
                    ".type: Unsupported value: \"Own\": supported values: \"A\", \"B\", \"C\", \"None\"",
                    ".a: may only be specified when `type` is \"A\"",
                ],
            ),
        ],
    );
    check(
        &["closedEmptiable"],
        &[(
            "{type: a}",
            &[".type: Unsupported value: \"a\": supported values: \"A\", \"B\", \"C\", \"\", \"None\""],
        )],
    );
    // In a list that is not closed it may be the API's own.
    check(OPEN, &[("{type: Own}", &[]), ("{type: Own, a: 1}", &[])]);
    for new in ["{type: Localhost, localhostProfile: x}", "{type: RuntimeDefault}"] {
        assert_eq!(faults("profile", "null", new, Ratcheting::Off), [""; 0], "{new}");
    }
}

#[test]
fn a_missing_discriminator() {
    let message = ".type: must be set to one of: \"A\", \"B\", \"C\", \"None\"";
    check(
        &["respecting"],
        &[
            ("{}", &[message]),
            ("{type: ''}", &[message]),
            ("{type: null}", &[message]),
            ("{a: 1}", &[message]),
        ],
    );
    check(
        &["closed"],
        &[("{}", &[message]), ("{a: 1}", &[message, ".a: may only be specified when `type` is \"A\""])],
    );
    check(&["deducing"], &[("{}", &[]), ("{a: 1}", &[])]);
}

#[test]
fn no_member_in_a_union_that_requires_one() {
    check(&["plainRequired"], &[("{}", &["must specify one of: `a`, `b`, `c`"])]);
    check(&["plainRequired"], &[("{a: null}", &["must specify one of: `a`, `b`, `c`"])]);
    check(&["deducingRequired"], &[("{}", &["must specify one of: `a`, `b`, `c`"])]);
    check(
        &["respectingRequired"],
        &[
            (
                "{}",
                &["must specify one of: `a`, `b`, `c`", ".type: must be set to one of: \"A\", \"B\", \"C\""],
            ),
            (
                "{type: B}",
                &["must specify one of: `a`, `b`, `c`", ".b: must be specified when `type` is \"B\""],
            ),
            // Its own word for nothing does not help.
            ("{type: Own}", &["must specify one of: `a`, `b`, `c`"]),
        ],
    );
    // A declared empty value is a member that has no field.
    check(&["deducingRequired"], &[("{type: None}", &[])]);
}

#[test]
fn every_fault_at_once_with_its_place() {
    let new = "
        spec: {inner: {type: Own}}
        p: 1
        q: 2
        items: [{name: x, type: A, b: 1, u: 1, v: 1}, {name: w, type: B, b: 1, u: 1}, {name: z, type: A, a: 1}]
        byName: {k: {a: 1, u: 1}}
        atomicItems: [{type: A, b: 1}]
        atomicStruct: {type: A, b: 1, u: 1, v: 1}";
    let wanted = [
        "must specify at most one of: `p`, `q`",
        ".atomicItems[0].a: must be specified when `type` is \"A\"",
        ".atomicItems[0].b: may only be specified when `type` is \"B\"",
        ".atomicItems[0]: must specify one of: `u`, `v`",
        ".atomicStruct.a: must be specified when `type` is \"A\"",
        ".atomicStruct.b: may only be specified when `type` is \"B\"",
        ".atomicStruct: must specify exactly one of: `u`, `v`",
        ".byName.k.type: must be set to one of: \"A\", \"B\"",
        ".items[name=\"x\"]: must specify exactly one of: `u`, `v`",
        ".items[name=\"x\"].a: must be specified when `type` is \"A\"",
        ".items[name=\"x\"].b: may only be specified when `type` is \"B\"",
        ".items[name=\"z\"]: must specify one of: `u`, `v`",
        ".spec.inner.type: Unsupported value: \"Own\": supported values: \"A\", \"B\", \"C\", \"None\"",
    ];
    let mut got = faults("root", "null", new, Ratcheting::Off);
    got.sort();
    let mut sorted = wanted.map(str::to_owned).to_vec();
    sorted.sort();
    assert_eq!(got, sorted);
    assert_eq!(faults("root", "null", new, Ratcheting::On).len(), wanted.len());
    assert_eq!(faults("root", new, new, Ratcheting::Off).len(), wanted.len());
    assert_eq!(faults("root", new, new, Ratcheting::On), [""; 0]);
}

#[test]
fn ratcheting_compares_atomic_lists_and_maps_as_a_whole() {
    let list = "{atomicItems: [{name: x, type: A, b: 1, u: 1}, {name: w, type: B, b: 1, u: 1}]}";
    assert_eq!(faults("root", list, list, Ratcheting::On), [""; 0]);
    // The item at fault is the same; another one is not.
    let changed = "{atomicItems: [{name: x, type: A, b: 1, u: 1}, {name: z, type: B, b: 1, u: 1}]}";
    let wanted = [
        ".atomicItems[0].a: must be specified when `type` is \"A\"",
        ".atomicItems[0].b: may only be specified when `type` is \"B\"",
    ];
    assert_eq!(faults("root", list, changed, Ratcheting::On), wanted);
    // An atomic struct has a place of its own: only what is in it is compared as a whole.
    let old = "{atomicStruct: {name: x, type: A, b: 1, u: 1}}";
    let new = "{atomicStruct: {name: z, type: A, b: 1, u: 1}}";
    assert_eq!(faults("root", old, new, Ratcheting::On), [""; 0]);
    assert_eq!(faults("root", old, new, Ratcheting::Off).len(), 2);
}

/// Old, new, and the faults that ratcheting leaves.
fn check_ratcheting(types: &[&str], rows: &[(&str, &str, &[&str])]) {
    for name in types {
        for (old, new, wanted) in rows {
            let got = faults(name, old, new, Ratcheting::On);
            assert_eq!(got, *wanted, "{name}: {old} -> {new}");
            assert!(!faults(name, old, new, Ratcheting::Off).is_empty(), "{name}: {old} -> {new}");
        }
    }
}

#[test]
fn ratcheting_lets_through_what_was_wrong_before() {
    check_ratcheting(
        &["deducing", "respecting", "closed"],
        &[
            // Same members, same discriminator: other changes are fine.
            ("{type: B, c: []}", "{type: B, c: []}", &[]),
            ("{type: B, c: []}", "{type: B, c: [x], other: o}", &[]),
            ("{type: B, b: {}, c: []}", "{type: B, b: {x: 1}, c: []}", &[]),
            ("{type: B}", "{type: B, other: o}", &[]),
            ("{type: B}", "{type: B, b: null}", &[]),
        ],
    );
    check_ratcheting(&["closed"], &[("{type: Own}", "{type: Own, other: o}", &[])]);
    check_ratcheting(&["respecting"], &[("{}", "{type: ''}", &[]), ("{a: 1}", "{a: 2}", &[])]);
    check_ratcheting(
        &["plainRequired"],
        &[("{}", "{other: o}", &[]), ("{a: 1, b: {}}", "{a: 2, b: {}}", &[])],
    );
}

#[test]
fn ratcheting_reports_what_became_wrong_or_differently_wrong() {
    let missing = ".b: must be specified when `type` is \"B\"";
    let misplaced = ".c: may only be specified when `type` is \"C\"";
    check_ratcheting(
        &["deducing", "respecting", "closed"],
        &[
            ("{type: B, b: {}}", "{type: B, c: []}", &[missing, misplaced]),
            ("{type: A, a: 1}", "{type: B}", &[missing]),
            // The discriminator changed.
            ("{type: A, c: []}", "{type: B, c: []}", &[missing, misplaced]),
            ("{type: None, c: []}", "{type: A, c: []}", &[misplaced]),
            // The members changed.
            (
                "{type: B, c: []}",
                "{type: B, a: 1, c: []}",
                &[
                    "must specify at most one of: `a`, `b`, `c`: change `type` to say which",
                    ".a: may only be specified when `type` is \"A\"",
                    missing,
                    misplaced,
                ],
            ),
            // There was nothing to be as wrong.
            ("null", "{type: B}", &[missing]),
        ],
    );
    check_ratcheting(
        &["plain"],
        &[
            ("{a: 1}", "{a: 1, b: {}}", &["must specify at most one of: `a`, `b`, `c`"]),
            ("{a: 1, c: []}", "{a: 1, b: {}}", &["must specify at most one of: `a`, `b`, `c`"]),
            ("null", "{a: 1, b: {}}", &["must specify at most one of: `a`, `b`, `c`"]),
        ],
    );
    check_ratcheting(&["plainRequired"], &[("null", "{}", &["must specify one of: `a`, `b`, `c`"])]);
}

#[test]
fn ratcheting_goes_by_union_and_by_item() {
    // One union of the struct is as wrong as before, the other newly so.
    check_ratcheting(
        &["root"],
        &[
            (
                "{items: [{name: x, type: A, u: 1}]}",
                "{items: [{name: x, type: A, u: 1, v: 1}]}",
                &[".items[name=\"x\"]: must specify exactly one of: `u`, `v`"],
            ),
            // By key and not by place; an item that is new has nothing before it.
            (
                "{items: [{name: x, type: A, u: 1}]}",
                "{items: [{name: w, type: A, u: 1}, {name: x, type: A, u: 1}]}",
                &[".items[name=\"w\"].a: must be specified when `type` is \"A\""],
            ),
            (
                "{byName: {k: {type: A, u: 1}}}",
                "{byName: {l: {type: A, u: 1}, k: {type: A, u: 1}}}",
                &[".byName.l.a: must be specified when `type` is \"A\""],
            ),
        ],
    );
}
