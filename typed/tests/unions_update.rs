//! Normalization of an update: every row of the table, for unions of every form.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::sync::LazyLock;

use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

/// Members `a` (a number), `b` (a struct) and `c` (an atomic list) of unions that differ in one thing each.
const UNIONS: &[(&str, &str)] = &[
    ("deducing", "discriminator: type, deduceInvalidDiscriminator: true, emptyMembers: [None]"),
    ("respecting", "discriminator: type, emptyMembers: [None]"),
    ("emptiable", "discriminator: type, emptyMembers: ['', None]"),
    ("closed", "discriminator: type, emptyMembers: [None], closed: true"),
    ("closedEmptiable", "discriminator: type, emptyMembers: ['', None], closed: true"),
    ("plain", ""),
];

const OTHERS: &str = "
- name: three
  map:
    fields:
    - {name: type, type: {scalar: string}}
    - {name: a, type: {scalar: numeric}}
    - {name: b, type: {scalar: numeric}}
    - {name: kind, type: {scalar: string}}
    - {name: x, type: {scalar: numeric}}
    - {name: v, type: {scalar: numeric}}
    - {name: p, type: {scalar: numeric}}
    - {name: q, type: {scalar: numeric}}
    unions:
    - discriminator: type
      deduceInvalidDiscriminator: true
      fields: [{fieldName: a, discriminatorValue: A}, {fieldName: b, discriminatorValue: B}]
    - discriminator: kind
      fields: [{fieldName: x, discriminatorValue: X}, {fieldName: v, discriminatorValue: V}]
    - fields: [{fieldName: p}, {fieldName: q}]
- name: profile
  map:
    fields:
    - {name: type, type: {scalar: string}}
    - {name: localhostProfile, type: {scalar: string}}
    unions:
    - discriminator: type
      fields: [{fieldName: localhostProfile, discriminatorValue: LocalhostProfile}]
- name: deducingProfile
  map:
    fields:
    - {name: type, type: {scalar: string}}
    - {name: localhostProfile, type: {scalar: string}}
    unions:
    - discriminator: type
      deduceInvalidDiscriminator: true
      fields: [{fieldName: localhostProfile, discriminatorValue: LocalhostProfile}]
- name: item
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: type, type: {scalar: string}}
    - {name: a, type: {scalar: numeric}}
    - {name: b, type: {scalar: numeric}}
    unions:
    - discriminator: type
      deduceInvalidDiscriminator: true
      fields: [{fieldName: a, discriminatorValue: A}, {fieldName: b, discriminatorValue: B}]
- name: root
  map:
    fields:
    - {name: spec, type: {map: {fields: [{name: inner, type: {namedType: item}}]}}}
    - name: items
      type: {list: {elementRelationship: associative, keys: [name], elementType: {namedType: item}}}
    - {name: byName, type: {map: {elementType: {namedType: item}}}}
    - {name: atomicItems, type: {list: {elementRelationship: atomic, elementType: {namedType: item}}}}
    - {name: atomicMap, type: {map: {elementRelationship: atomic, elementType: {namedType: item}}}}
    - {name: atomicStruct, type: {namedType: item, elementRelationship: atomic}}
    - name: atomicParent
      type: {map: {elementRelationship: atomic, fields: [{name: inner, type: {namedType: item}}]}}
- name: tree
  map:
    fields:
    - {name: kind, type: {scalar: string}}
    - {name: not, type: {namedType: tree}}
    - {name: all, type: {map: {elementType: {namedType: tree}}}}
    - {name: leaf, type: {scalar: string}}
    unions:
    - discriminator: kind
      deduceInvalidDiscriminator: true
      fields:
      - {fieldName: not, discriminatorValue: Not}
      - {fieldName: all, discriminatorValue: All}
      - {fieldName: leaf, discriminatorValue: Leaf}
";

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let mut text = "types:".to_owned();
    for (name, union) in UNIONS {
        let comma = if union.is_empty() { "" } else { ", " };
        text += &format!(
            "
- name: {name}
  map:
    fields:
    - {{name: type, type: {{scalar: string}}}}
    - {{name: other, type: {{scalar: string}}}}
    - {{name: a, type: {{scalar: numeric}}}}
    - {{name: b, type: {{map: {{fields: [{{name: x, type: {{scalar: numeric}}}}]}}}}}}
    - {{name: c, type: {{list: {{elementRelationship: atomic, elementType: {{scalar: string}}}}}}}}
    unions:
    - {{{union}{comma}fields: [{{fieldName: a, discriminatorValue: A}},
        {{fieldName: b, discriminatorValue: B}}, {{fieldName: c, discriminatorValue: C}}]}}"
        );
    }
    Schema::from_yaml(&(text + OTHERS)).unwrap()
});

fn ty(name: &str) -> Type {
    SCHEMA.type_named(name).unwrap()
}

fn typed(ty: &Type, yaml: &str) -> TypedValue {
    let value = Value::from_yaml(yaml).unwrap();
    TypedValue::new(value, ty.clone(), Duplicates::Allow).unwrap()
}

/// The object before (`null` for a create), the one requested, and what becomes of it: an object, `same` as
/// requested, or `error: TEXT`.
type Row<'r> = (&'r str, &'r str, &'r str);

/// Runs rows for types, which must all agree.
fn check(types: &[&str], rows: &[Row<'_>]) {
    for name in types {
        let ty = ty(name);
        for (old, new, want) in rows {
            check_one(&ty, old, new, want);
        }
    }
}

fn check_one(ty: &Type, old: &str, new: &str, want: &str) {
    let place = format!("{}: {old} -> {new}", ty.name());
    let (old, new) = (typed(ty, old), typed(ty, new));
    let result = old.normalize_update(&new);
    if let Some(text) = want.strip_prefix("error: ") {
        assert_eq!(result.expect_err(&place).to_string(), text, "{place}");
        return;
    }
    let got = result.expect(&place);
    let wanted = if want == "same" { new.value().clone() } else { typed(ty, want).into_value() };
    assert_eq!(got.value.value().to_json(), wanted.to_json(), "{place}");
    assert_eq!(got.changes.is_empty(), got.value.value() == new.value(), "{place}: {:?}", got.changes);
    let again = old.normalize_update(&got.value).expect(&place);
    assert_eq!(again.value.value().to_json(), wanted.to_json(), "{place}: normalized twice");
    assert!(again.changes.is_empty(), "{place}: normalized twice: {:?}", again.changes);
}

const WITH_DISCRIMINATOR: &[&str] = &["deducing", "respecting", "emptiable", "closed", "closedEmptiable"];
const RESPECTING: &[&str] = &["respecting", "emptiable", "closed", "closedEmptiable"];
const ALL: &[&str] = &["deducing", "respecting", "emptiable", "closed", "closedEmptiable", "plain"];

/// Row 1.
#[test]
fn a_changed_discriminator_beside_an_added_member_of_another_is_a_contradiction() {
    let error = "error: `type` is \"B\", which does not select `c`: set only one of them";
    check(
        WITH_DISCRIMINATOR,
        &[
            ("{type: A, a: 1}", "{type: B, a: 1, c: [x]}", error),
            ("{type: A, a: 1}", "{type: B, c: [x]}", error),
            // Even if the one that it selects is there, added or not.
            ("{type: A, a: 1}", "{type: B, b: {x: 1}, c: [x]}", error),
            ("{type: A, a: 1, b: {x: 1}}", "{type: B, b: {x: 1}, c: [x]}", error),
            ("{a: 1}", "{type: B, a: 1, c: [x]}", error),
            ("{type: None}", "{type: B, c: [x]}", error),
            ("{type: Unknown, a: 1}", "{type: B, c: [x]}", error),
            // Nothing is before an object that is created.
            ("null", "{type: B, c: [x]}", error),
            ("null", "{type: B, b: {}, c: [x]}", error),
            // A declared empty member selects none.
            (
                "{type: A, a: 1}",
                "{type: None, c: [x]}",
                "error: `type` is \"None\", which does not select `c`: set only one of them",
            ),
        ],
    );
}

#[test]
fn a_contradiction_names_its_place_and_all_are_reported() {
    check(
        &["root"],
        &[
            (
                "{spec: {inner: {type: A, a: 1}}}",
                "{spec: {inner: {type: A, a: 1}}, items: [{name: x, type: A, b: 1}]}",
                "error: .items[name=\"x\"]: `type` is \"A\", which does not select `b`: set only one of them",
            ),
            (
                "null",
                "{spec: {inner: {type: B, a: 1}}, byName: {k: {type: A, b: 1}}, items: [{name: x, type: B, a: 1}]}",
                "error: .byName.k: `type` is \"A\", which does not select `b`: set only one of them\n\
                 .items[name=\"x\"]: `type` is \"B\", which does not select `a`: set only one of them\n\
                 .spec.inner: `type` is \"B\", which does not select `a`: set only one of them",
            ),
        ],
    );
    // Two unions of one struct.
    check(
        &["three"],
        &[(
            "null",
            "{type: A, b: 1, kind: X, v: 1}",
            "error: `type` is \"A\", which does not select `b`: set only one of them\n\
             `kind` is \"X\", which does not select `v`: set only one of them",
        )],
    );
}

/// Row 2.
#[test]
fn a_discriminator_that_changed_to_a_known_value_clears_the_others() {
    check(
        WITH_DISCRIMINATOR,
        &[
            ("{type: A, a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: A, a: 1}", "{type: B, a: 1, b: {x: 1}}", "{type: B, b: {x: 1}}"),
            ("{type: A, a: 1}", "{type: B, a: 1, b: {}}", "{type: B, b: {}}"),
            ("{type: A, a: 1}", "{type: B, b: {x: 1}}", "same"),
            ("{type: A, a: 1}", "{type: B, a: 2}", "{type: B}"),
            ("{a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: '', a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: null, a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: Unknown, a: 1}", "{type: B, a: 1}", "{type: B}"),
            ("{type: Unknown, a: 1}", "{type: A, a: 1}", "same"),
            // What was stored with several set is put right by saying which.
            ("{type: A, a: 1, b: {x: 1}, c: [x]}", "{type: C, a: 1, b: {x: 1}, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1, b: {x: 1}}", "{type: C, a: 1, b: {x: 1}}", "{type: C}"),
            // Other fields are not its business.
            ("{type: A, a: 1, other: o}", "{type: B, a: 1, other: p}", "{type: B, other: p}"),
            // A create says it all.
            ("null", "{type: A, a: 1}", "same"),
            ("null", "{type: A}", "same"),
        ],
    );
}

/// Row 2, a declared empty member.
#[test]
fn a_discriminator_that_changed_to_a_declared_empty_value_clears_every_member() {
    check(
        WITH_DISCRIMINATOR,
        &[
            ("{type: A, a: 1}", "{type: None, a: 1}", "{type: None}"),
            ("{type: A, a: 1, c: [x]}", "{type: None, a: 1, c: [x]}", "{type: None}"),
            ("{a: 1}", "{type: None, a: 2}", "{type: None}"),
            ("null", "{type: None}", "same"),
        ],
    );
}

/// Row 3: it may be the API's own word for nothing, or one that the schema has wrong.
#[test]
fn a_discriminator_that_changed_to_an_unknown_value_clears_what_was_set_before() {
    check(
        &["deducing", "respecting", "emptiable"],
        &[
            ("{type: A, a: 1}", "{type: Own, a: 1}", "{type: Own}"),
            ("{type: A, a: 1}", "{type: Own, a: 1, c: [x]}", "{type: Own, c: [x]}"),
            ("{type: A, a: 1}", "{type: Own, b: {x: 1}, c: [x]}", "same"),
            ("{type: A, a: 1, b: {x: 1}}", "{type: Own, a: 1, b: {x: 1}, c: [x]}", "{type: Own, c: [x]}"),
            ("{type: Own, a: 1}", "{type: Other, a: 1}", "{type: Other}"),
            ("{type: None}", "{type: Own, a: 1}", "same"),
            ("{a: 1}", "{type: Own, a: 1}", "{type: Own}"),
            ("null", "{type: Own, a: 1}", "same"),
            ("null", "{type: Own, a: 1, b: {}}", "same"),
            // Values are compared exactly.
            ("{type: A, a: 1}", "{type: a, a: 1}", "{type: a}"),
        ],
    );
    check(
        &["closed", "closedEmptiable"],
        &[
            ("{type: A, a: 1}", "{type: Own, a: 1}", "same"),
            ("{type: A, a: 1}", "{type: Own, a: 1, c: [x]}", "same"),
            ("null", "{type: Own, a: 1}", "same"),
        ],
    );
}

/// The entry of `SeccompProfile` in Kubernetes' own schema, where users write `Localhost`.
#[test]
fn a_value_that_the_schema_has_wrong_does_no_harm() {
    check(
        &["profile", "deducingProfile"],
        &[
            ("null", "{type: Localhost, localhostProfile: x.json}", "same"),
            (
                "{type: Localhost, localhostProfile: x.json}",
                "{type: Localhost, localhostProfile: y.json}",
                "same",
            ),
            ("{type: RuntimeDefault}", "{type: Localhost, localhostProfile: x.json}", "same"),
            ("{type: Localhost, localhostProfile: x.json}", "{type: RuntimeDefault}", "same"),
            (
                "{type: Localhost, localhostProfile: x.json}",
                "{type: RuntimeDefault, localhostProfile: x.json}",
                "{type: RuntimeDefault}",
            ),
            ("{type: RuntimeDefault}", "{type: Unconfined}", "same"),
        ],
    );
}

/// Row 4, deducing: it counts as unchanged, and the rows below hold.
#[test]
fn an_emptied_discriminator_of_a_deducing_union_counts_as_unchanged() {
    check(
        &["deducing"],
        &[
            ("{type: A, a: 1}", "{type: '', a: 1}", "{type: A, a: 1}"),
            ("{type: A, a: 1}", "{a: 1}", "{type: A, a: 1}"),
            ("{type: A, a: 1}", "{type: null, a: 1}", "{type: A, a: 1}"),
            ("{type: A, a: 1}", "{c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1}", "{type: '', a: 1, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1}", "{a: 1, b: {}, c: [x]}", "same"),
            ("{type: A, a: 1, c: [x]}", "{a: 1, c: [x]}", "same"),
            ("{type: A, a: 1}", "{type: ''}", "same"),
            ("{type: A, a: 1}", "{}", "same"),
        ],
    );
}

/// Row 4, respecting.
#[test]
fn an_emptied_discriminator_of_a_respecting_union_clears_if_the_empty_string_is_declared() {
    check(
        &["emptiable", "closedEmptiable"],
        &[
            ("{type: A, a: 1}", "{type: '', a: 1}", "{type: ''}"),
            ("{type: A, a: 1}", "{a: 1}", "{}"),
            ("{type: A, a: 1}", "{type: null, a: 1}", "{type: null}"),
            ("{type: A, a: 1, c: [x]}", "{type: '', a: 1, c: [x]}", "{type: ''}"),
            // Every member, added ones too.
            ("{type: A, a: 1}", "{type: '', c: [x]}", "{type: ''}"),
            ("{type: A, a: 1}", "{type: ''}", "same"),
            ("{type: None}", "{type: ''}", "same"),
            ("{type: Unknown, a: 1}", "{a: 1}", "{}"),
            // It was empty before: unchanged.
            ("{a: 1}", "{a: 1, c: [x]}", "same"),
            ("{type: ''}", "{a: 1}", "same"),
            ("null", "{a: 1}", "same"),
        ],
    );
    check(
        &["respecting", "closed"],
        &[
            ("{type: A, a: 1}", "{type: '', a: 1}", "same"),
            ("{type: A, a: 1}", "{a: 1}", "same"),
            ("{type: A, a: 1}", "{type: null, c: [x]}", "same"),
        ],
    );
}

/// Row 5, deducing.
#[test]
fn one_member_set_deduces_the_discriminator() {
    check(
        &["deducing"],
        &[
            ("null", "{a: 1}", "{type: A, a: 1}"),
            ("null", "{type: '', a: 1}", "{type: A, a: 1}"),
            ("null", "{type: null, a: 1}", "{type: A, a: 1}"),
            ("{other: o}", "{other: o, b: {}}", "{type: B, b: {}, other: o}"),
            // A dumb client that knows no discriminator leaves it as it is.
            ("{type: A, a: 1}", "{type: A, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1}", "{type: A, a: 2}", "same"),
            // An object of the time before the discriminator.
            ("{a: 1}", "{a: 1, other: o}", "{type: A, a: 1, other: o}"),
            // What was stored wrong.
            ("{type: A, c: [x]}", "{type: A, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1, c: [x]}", "{type: A, c: [x]}", "{type: C, c: [x]}"),
            ("{type: None}", "{type: None, a: 1}", "{type: A, a: 1}"),
            ("{type: None, a: 1}", "{type: None, a: 1}", "{type: A, a: 1}"),
            // One that is not known is overwritten only if the member was added.
            ("{type: Own, a: 1}", "{type: Own, a: 1}", "same"),
            ("{type: Own, a: 1}", "{type: Own, a: 2}", "same"),
            ("{type: Own, a: 1, c: [x]}", "{type: Own, a: 1}", "same"),
            ("{type: Own}", "{type: Own, a: 1}", "{type: A, a: 1}"),
            ("{type: Own, a: 1}", "{type: Own, c: [x]}", "{type: C, c: [x]}"),
        ],
    );
}

/// Row 6, deducing.
#[test]
fn one_member_added_to_others_takes_over() {
    check(
        &["deducing"],
        &[
            ("{type: A, a: 1}", "{type: A, a: 1, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1}", "{type: A, a: 2, c: [x]}", "{type: C, c: [x]}"),
            ("{a: 1}", "{a: 1, c: [x]}", "{type: C, c: [x]}"),
            ("{type: A, a: 1, b: {}}", "{type: A, a: 1, b: {}, c: [x]}", "{type: C, c: [x]}"),
            // The one that the discriminator names already.
            ("{type: C, a: 1}", "{type: C, a: 1, c: [x]}", "{type: C, c: [x]}"),
            ("{type: Own, a: 1}", "{type: Own, a: 1, c: [x]}", "{type: C, c: [x]}"),
        ],
    );
    check(
        &["plain"],
        &[
            ("{a: 1}", "{a: 1, c: [x]}", "{c: [x]}"),
            ("{a: 1, b: {}}", "{a: 1, b: {}, c: [x]}", "{c: [x]}"),
            ("{a: 1, other: o}", "{a: 1, b: {x: 1}, other: o}", "{b: {x: 1}, other: o}"),
            // `type` is a field like any other here.
            ("{type: A, a: 1}", "{type: B, a: 1, c: [x]}", "{type: B, c: [x]}"),
        ],
    );
}

/// Row 7.
#[test]
fn several_members_of_which_none_or_several_were_added_are_left_to_validation() {
    check(
        ALL,
        &[
            ("{type: A, a: 1}", "{type: A, a: 1, b: {}, c: [x]}", "same"),
            ("{type: A, a: 1, c: [x]}", "{type: A, a: 1, c: [x]}", "same"),
            ("{type: A, a: 1, c: [x]}", "{type: A, a: 2, c: [v]}", "same"),
            ("{type: A, a: 1}", "{type: A, b: {}, c: [x]}", "same"),
            ("{}", "{a: 1, b: {}}", "same"),
            ("null", "{a: 1, b: {}}", "same"),
        ],
    );
}

/// Row 8.
#[test]
fn no_member_set_is_left_as_it_is() {
    check(
        ALL,
        &[
            ("{type: A, a: 1}", "{type: A}", "same"),
            ("{type: A, a: 1}", "{type: A, a: null}", "same"),
            ("{}", "{}", "same"),
            ("null", "{}", "same"),
            ("null", "{other: o}", "same"),
            ("{type: A}", "{type: A}", "same"),
        ],
    );
    check(&["plain"], &[("{a: 1}", "{}", "same"), ("{a: 1}", "{c: [x]}", "same")]);
}

/// Rows 5 and 6, respecting.
#[test]
fn a_respecting_union_does_nothing_while_its_discriminator_is_unchanged() {
    check(
        RESPECTING,
        &[
            ("{type: A, a: 1}", "{type: A, c: [x]}", "same"),
            ("{type: A, a: 1}", "{type: A, a: 1, c: [x]}", "same"),
            ("{type: None}", "{type: None, a: 1}", "same"),
            ("{type: Own, a: 1}", "{type: Own, a: 1, c: [x]}", "same"),
            ("null", "{a: 1}", "same"),
            ("{a: 1}", "{a: 1, c: [x]}", "same"),
        ],
    );
}

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
