//! Helpers of the tests.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot read its own table must fail"
)]

use fieldmanager_patch::{PatchSchema, PatchTypes, strategic};
use fieldmanager_value::Value;

/// A type with a field for each strategy.
pub(crate) const MERGE_ITEM: &str = "
definitions:
  item:
    type: object
    properties:
      name: {type: string}
      value: {type: integer}
      other: {type: integer}
      a: {type: integer}
      b: {type: integer}
      simple: {$ref: '#/definitions/item'}
      item: {$ref: '#/definitions/item'}
      replaced: {$ref: '#/definitions/item', x-kubernetes-patch-strategy: replace}
      union: {$ref: '#/definitions/item', x-kubernetes-patch-strategy: retainKeys}
      odd: {$ref: '#/definitions/item', x-kubernetes-patch-strategy: 'merge,replace'}
      list: {type: array, items: {$ref: '#/definitions/item'}, x-kubernetes-patch-strategy: merge, x-kubernetes-patch-merge-key: name}
      unions: {type: array, items: {$ref: '#/definitions/item'}, x-kubernetes-patch-strategy: 'merge,retainKeys', x-kubernetes-patch-merge-key: name}
      plain: {type: array, items: {$ref: '#/definitions/item'}}
      noKey: {type: array, items: {$ref: '#/definitions/item'}, x-kubernetes-patch-strategy: merge}
      ints: {type: array, items: {type: integer}, x-kubernetes-patch-strategy: merge}
      texts: {type: array, items: {type: string}, x-kubernetes-patch-strategy: merge}
      plainInts: {type: array, items: {type: integer}}
";

pub(crate) fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn types() -> PatchTypes {
    PatchTypes::from_openapi(&yaml(MERGE_ITEM)).unwrap()
}

fn item(types: &PatchTypes) -> PatchSchema<'_> {
    types.named("item").unwrap()
}

#[track_caller]
pub(crate) fn check_apply(original: &str, patch: &str, result: &str) {
    let types = types();
    let found = strategic::apply(&yaml(original), &yaml(patch), item(&types));
    let found = found.unwrap_or_else(|error| panic!("{original} + {patch}: {error}"));
    assert!(
        found.strict_eq(&yaml(result)),
        "{original} + {patch} = {found}, expected {result}"
    );
}

#[track_caller]
pub(crate) fn check_error(original: &str, patch: &str, code: u16, text: &str) {
    let types = types();
    match strategic::apply(&yaml(original), &yaml(patch), item(&types)) {
        Ok(found) => panic!("{original} + {patch} = {found}, expected {text}"),
        Err(error) => assert_eq!(
            (error.to_string().as_str(), error.response().code),
            (text, code)
        ),
    }
}

#[track_caller]
pub(crate) fn check_two_way(original: &str, modified: &str, patch: &str) {
    let types = types();
    let found = strategic::create_two_way(&yaml(original), &yaml(modified), item(&types)).unwrap();
    assert!(
        found.strict_eq(&yaml(patch)),
        "{original} -> {modified}: {found}, expected {patch}"
    );
    // A patch cannot set null, and a set has each value once.
    if !modified.contains("null") && !modified.contains("c, c") {
        check_apply(original, &found.to_json(), modified);
    }
}

#[track_caller]
pub(crate) fn check_three_way(original: &str, modified: &str, current: &str, patch: &str) {
    let types = types();
    let (original, modified, current) = (yaml(original), yaml(modified), yaml(current));
    for overwrite in [true, false] {
        let found =
            strategic::create_three_way(&original, &modified, &current, item(&types), overwrite);
        let found = found.unwrap();
        assert!(
            found.strict_eq(&yaml(patch)),
            "{original} -> {modified}, {current}: {found}, expected {patch}"
        );
    }
}

#[track_caller]
pub(crate) fn check_conflicts(left: &str, right: &str, conflict: bool) {
    let types = types();
    for (left, right) in [(left, right), (right, left)] {
        let found = strategic::has_conflicts(&yaml(left), &yaml(right), item(&types)).unwrap();
        assert_eq!(found, conflict, "{left}, {right}");
    }
}
