//! Validation of unions: the messages and paths of all faults, and ratcheting.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

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
    Schema::from_yaml(&union_schema(
        c,
        ", optional: true",
        &[OTHERS, UNION_PROFILE],
    ))
    .unwrap()
});

/// The faults of an update from `old` (`null` for a create) to `new`.
fn faults(name: &str, old: &str, new: &str, ratcheting: Ratcheting) -> Vec<String> {
    let ty = SCHEMA.type_named(name).unwrap();
    let typed = |yaml| {
        TypedValue::new(
            Value::from_yaml(yaml).unwrap(),
            ty.clone(),
            Duplicates::Allow,
        )
        .unwrap()
    };
    let new = typed(new);
    let before = new.value().clone();
    let faults = typed(old).validate_unions(&new, ratcheting);
    assert_eq!(new.value(), &before, "validation changes nothing");
    faults.iter().map(ToString::to_string).collect()
}

/// Checks the faults of objects, which must not depend on the object that they replace.
fn check(types: &[&str], rows: &[(&str, &[&str])]) {
    for name in types {
        for (new, expected) in rows {
            for old in ["null", "{}", "{type: A, a: 1}", new] {
                let got = faults(name, old, new, Ratcheting::Off);
                assert_eq!(got, *expected, "{name}: {old} -> {new}");
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
    check(
        &["plain", "deducing", "emptiable", "closedEmptiable"],
        &[("{}", &[]), ("{type: ''}", &[])],
    );
    check(
        &["plain", "plainRequired"],
        &[
            ("{a: 1}", &[]),
            ("{type: B, a: 1}", &[]),
            ("{type: X, a: 1}", &[]),
        ],
    );
    // A discriminator may select an optional member that is not set; a declared empty value selects no member.
    check(
        &[
            "deducing",
            "respecting",
            "emptiable",
            "closed",
            "closedEmptiable",
        ],
        &[("{type: A}", &[])],
    );
    check(
        &[
            "deducing",
            "respecting",
            "emptiable",
            "closed",
            "closedEmptiable",
        ],
        &[("{type: None}", &[])],
    );
    check(ALL, &[("null", &[])]);
}

#[test]
fn several_set_members_are_reported() {
    check(
        &["plain"],
        &[
            (
                "{a: 1, b: {}}",
                &["must specify at most one of: `a`, `b`, `c`"],
            ),
            (
                "{a: 1, b: {}, c: []}",
                &["must specify at most one of: `a`, `b`, `c`"],
            ),
        ],
    );
    check(
        &["plainRequired"],
        &[(
            "{a: 1, b: {}}",
            &["must specify exactly one of: `a`, `b`, `c`"],
        )],
    );
    // A client that changes members must also change the discriminator.
    check(
        &[
            "deducing",
            "respecting",
            "emptiable",
            "closed",
            "closedEmptiable",
        ],
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
    // An undeclared value may select one member, but not several.
    check(
        OPEN,
        &[(
            "{type: Own, a: 1, c: []}",
            &["must specify at most one of: `a`, `b`, `c`: change `type` to say which"],
        )],
    );
}

#[test]
fn unselected_members_are_reported() {
    check(
        &[
            "deducing",
            "respecting",
            "emptiable",
            "closed",
            "closedEmptiable",
        ],
        &[
            (
                "{type: B, c: []}",
                &[
                    ".b: must be specified when `type` is \"B\"",
                    ".c: may only be specified when `type` is \"C\"",
                ],
            ),
            (
                "{type: A, c: []}",
                &[".c: may only be specified when `type` is \"C\""],
            ),
            (
                "{type: None, a: 1}",
                &[".a: may only be specified when `type` is \"A\""],
            ),
        ],
    );
    check(
        &["emptiable", "closedEmptiable"],
        &[
            (
                "{type: '', a: 1}",
                &[".a: may only be specified when `type` is \"A\""],
            ),
            (
                "{a: 1}",
                &[".a: may only be specified when `type` is \"A\""],
            ),
            (
                "{type: null, a: 1}",
                &[".a: may only be specified when `type` is \"A\""],
            ),
        ],
    );
}

#[test]
fn missing_selected_members_are_reported() {
    check(
        &[
            "deducing",
            "respecting",
            "emptiable",
            "closed",
            "closedEmptiable",
        ],
        &[
            ("{type: B}", &[".b: must be specified when `type` is \"B\""]),
            (
                "{type: B, b: null}",
                &[".b: must be specified when `type` is \"B\""],
            ),
            (
                "{type: C, other: o}",
                &[".c: must be specified when `type` is \"C\""],
            ),
        ],
    );
}

#[test]
fn undeclared_values_of_closed_unions_are_reported() {
    check(
        &["closed"],
        &[
            (
                "{type: Own}",
                &[
                    ".type: Unsupported value: \"Own\": supported values: \"A\", \"B\", \"C\", \"None\"",
                ],
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
            &[
                ".type: Unsupported value: \"a\": supported values: \"A\", \"B\", \"C\", \"\", \"None\"",
            ],
        )],
    );
    // In an open list, the API may define the value.
    check(OPEN, &[("{type: Own}", &[]), ("{type: Own, a: 1}", &[])]);
    for new in [
        "{type: Localhost, localhostProfile: x}",
        "{type: RuntimeDefault}",
    ] {
        assert_eq!(
            faults("profile", "null", new, Ratcheting::Off),
            [""; 0],
            "{new}"
        );
    }
}

#[test]
fn missing_discriminators_are_reported() {
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
        &[
            ("{}", &[message]),
            (
                "{a: 1}",
                &[message, ".a: may only be specified when `type` is \"A\""],
            ),
        ],
    );
    check(&["deducing"], &[("{}", &[]), ("{a: 1}", &[])]);
}

#[test]
fn missing_members_of_required_unions_are_reported() {
    check(
        &["plainRequired"],
        &[("{}", &["must specify one of: `a`, `b`, `c`"])],
    );
    check(
        &["plainRequired"],
        &[("{a: null}", &["must specify one of: `a`, `b`, `c`"])],
    );
    check(
        &["deducingRequired"],
        &[("{}", &["must specify one of: `a`, `b`, `c`"])],
    );
    check(
        &["respectingRequired"],
        &[
            (
                "{}",
                &[
                    "must specify one of: `a`, `b`, `c`",
                    ".type: must be set to one of: \"A\", \"B\", \"C\"",
                ],
            ),
            (
                "{type: B}",
                &[
                    "must specify one of: `a`, `b`, `c`",
                    ".b: must be specified when `type` is \"B\"",
                ],
            ),
            // An undeclared value does not satisfy the requirement.
            ("{type: Own}", &["must specify one of: `a`, `b`, `c`"]),
        ],
    );
    // A declared empty value counts as a member without a field.
    check(&["deducingRequired"], &[("{type: None}", &[])]);
}

#[test]
fn all_faults_are_reported_with_their_path() {
    let new = "
        spec: {inner: {type: Own}}
        p: 1
        q: 2
        items: [{name: x, type: A, b: 1, u: 1, v: 1}, {name: w, type: B, b: 1, u: 1}, {name: z, type: A, a: 1}]
        byName: {k: {a: 1, u: 1}}
        atomicItems: [{type: A, b: 1}]
        atomicStruct: {type: A, b: 1, u: 1, v: 1}";
    let expected = [
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
    let mut sorted = expected.map(str::to_owned).to_vec();
    sorted.sort();
    assert_eq!(got, sorted);
    assert_eq!(
        faults("root", "null", new, Ratcheting::On).len(),
        expected.len()
    );
    assert_eq!(
        faults("root", new, new, Ratcheting::Off).len(),
        expected.len()
    );
    assert_eq!(faults("root", new, new, Ratcheting::On), [""; 0]);
}

#[test]
fn ratcheting_compares_atomic_lists_and_maps_as_a_whole() {
    let list = "{atomicItems: [{name: x, type: A, b: 1, u: 1}, {name: w, type: B, b: 1, u: 1}]}";
    assert_eq!(faults("root", list, list, Ratcheting::On), [""; 0]);
    // The item with the fault is unchanged, but another item differs.
    let changed = "{atomicItems: [{name: x, type: A, b: 1, u: 1}, {name: z, type: B, b: 1, u: 1}]}";
    let expected = [
        ".atomicItems[0].a: must be specified when `type` is \"A\"",
        ".atomicItems[0].b: may only be specified when `type` is \"B\"",
    ];
    assert_eq!(faults("root", list, changed, Ratcheting::On), expected);
    // The unions of an atomic struct itself are compared individually; only its content is compared as a whole.
    let old = "{atomicStruct: {name: x, type: A, b: 1, u: 1}}";
    let new = "{atomicStruct: {name: z, type: A, b: 1, u: 1}}";
    assert_eq!(faults("root", old, new, Ratcheting::On), [""; 0]);
    assert_eq!(faults("root", old, new, Ratcheting::Off).len(), 2);
}

/// Checks the faults that ratcheting reports.
fn check_ratcheting(types: &[&str], rows: &[(&str, &str, &[&str])]) {
    for name in types {
        for (old, new, expected) in rows {
            let got = faults(name, old, new, Ratcheting::On);
            assert_eq!(got, *expected, "{name}: {old} -> {new}");
            assert!(
                !faults(name, old, new, Ratcheting::Off).is_empty(),
                "{name}: {old} -> {new}"
            );
        }
    }
}

#[test]
fn ratcheting_ignores_existing_faults() {
    check_ratcheting(
        &["deducing", "respecting", "closed"],
        &[
            // Unchanged members and discriminator: other changes do not matter.
            ("{type: B, c: []}", "{type: B, c: []}", &[]),
            ("{type: B, c: []}", "{type: B, c: [x], other: o}", &[]),
            (
                "{type: B, b: {}, c: []}",
                "{type: B, b: {x: 1}, c: []}",
                &[],
            ),
            ("{type: B}", "{type: B, other: o}", &[]),
            ("{type: B}", "{type: B, b: null}", &[]),
        ],
    );
    check_ratcheting(
        &["closed"],
        &[("{type: Own}", "{type: Own, other: o}", &[])],
    );
    check_ratcheting(
        &["respecting"],
        &[("{}", "{type: ''}", &[]), ("{a: 1}", "{a: 2}", &[])],
    );
    check_ratcheting(
        &["plainRequired"],
        &[
            ("{}", "{other: o}", &[]),
            ("{a: 1, b: {}}", "{a: 2, b: {}}", &[]),
        ],
    );
}

#[test]
fn ratcheting_reports_new_and_changed_faults() {
    let missing = ".b: must be specified when `type` is \"B\"";
    let misplaced = ".c: may only be specified when `type` is \"C\"";
    check_ratcheting(
        &["deducing", "respecting", "closed"],
        &[
            (
                "{type: B, b: {}}",
                "{type: B, c: []}",
                &[missing, misplaced],
            ),
            ("{type: A, a: 1}", "{type: B}", &[missing]),
            // The discriminator changed.
            (
                "{type: A, c: []}",
                "{type: B, c: []}",
                &[missing, misplaced],
            ),
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
            // There is no old object.
            ("null", "{type: B}", &[missing]),
        ],
    );
    check_ratcheting(
        &["plain"],
        &[
            (
                "{a: 1}",
                "{a: 1, b: {}}",
                &["must specify at most one of: `a`, `b`, `c`"],
            ),
            (
                "{a: 1, c: []}",
                "{a: 1, b: {}}",
                &["must specify at most one of: `a`, `b`, `c`"],
            ),
            (
                "null",
                "{a: 1, b: {}}",
                &["must specify at most one of: `a`, `b`, `c`"],
            ),
        ],
    );
    check_ratcheting(
        &["plainRequired"],
        &[("null", "{}", &["must specify one of: `a`, `b`, `c`"])],
    );
}

#[test]
fn ratcheting_compares_each_union_and_item() {
    // One union of the struct has an existing fault, the other a new one.
    check_ratcheting(
        &["root"],
        &[
            (
                "{items: [{name: x, type: A, u: 1}]}",
                "{items: [{name: x, type: A, u: 1, v: 1}]}",
                &[".items[name=\"x\"]: must specify exactly one of: `u`, `v`"],
            ),
            // Items are matched by key, not by position; a new item has no predecessor.
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
