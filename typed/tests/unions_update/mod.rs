//! Normalization of updates: every row of the table, for all forms of unions.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod places;
mod rows;

use std::sync::LazyLock;

use fieldmanager_schema::{Schema, Type};
use fieldmanager_testing::{UNION_ITEM, UNION_PROFILE, union_schema};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

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
- name: deducingProfile
  map:
    fields:
    - {name: type, type: {scalar: string}}
    - {name: localhostProfile, type: {scalar: string}}
    unions:
    - discriminator: type
      deduceInvalidDiscriminator: true
      fields: [{fieldName: localhostProfile, discriminatorValue: LocalhostProfile}]
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

/// Members `a` (a number), `b` (a struct) and `c` of unions of every form, and other types.
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let c = "{list: {elementRelationship: atomic, elementType: {scalar: string}}}";
    Schema::from_yaml(&union_schema(c, "", &[OTHERS, UNION_ITEM, UNION_PROFILE])).unwrap()
});

fn ty(name: &str) -> Type {
    SCHEMA.type_named(name).unwrap()
}

fn typed(ty: &Type, yaml: &str) -> TypedValue {
    let value = Value::from_yaml(yaml).unwrap();
    TypedValue::new(value, ty.clone(), Duplicates::Allow).unwrap()
}

/// The old object (`null` for a create), the requested object and the result: an object, `same` if it is not changed,
/// or `error: MESSAGE`.
type Row<'r> = (&'r str, &'r str, &'r str);

/// Checks rows for several types, which must all agree.
fn check(types: &[&str], rows: &[Row<'_>]) {
    for name in types {
        let ty = ty(name);
        for (old, new, expected) in rows {
            check_one(&ty, old, new, expected);
        }
    }
}

fn check_one(ty: &Type, old: &str, new: &str, expected: &str) {
    let place = format!("{}: {old} -> {new}", ty.name());
    let (old, new) = (typed(ty, old), typed(ty, new));
    let result = old.normalize_update(&new);
    if let Some(text) = expected.strip_prefix("error: ") {
        assert_eq!(result.expect_err(&place).to_string(), text, "{place}");
        return;
    }
    let got = result.expect(&place);
    let expected = if expected == "same" {
        new.value().clone()
    } else {
        typed(ty, expected).into_value()
    };
    assert_eq!(got.value.value().to_json(), expected.to_json(), "{place}");
    assert_eq!(
        got.changes.is_empty(),
        got.value.value() == new.value(),
        "{place}: {:?}",
        got.changes
    );
    let again = old.normalize_update(&got.value).expect(&place);
    assert_eq!(
        again.value.value().to_json(),
        expected.to_json(),
        "{place}: normalized twice"
    );
    assert!(
        again.changes.is_empty(),
        "{place}: normalized twice: {:?}",
        again.changes
    );
}

const WITH_DISCRIMINATOR: &[&str] = &[
    "deducing",
    "respecting",
    "emptiable",
    "closed",
    "closedEmptiable",
];
const RESPECTING: &[&str] = &["respecting", "emptiable", "closed", "closedEmptiable"];
const ALL: &[&str] = &[
    "deducing",
    "respecting",
    "emptiable",
    "closed",
    "closedEmptiable",
    "plain",
];
