//! Objects of any depth are processed on a small stack.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_builtin::{
    Kind, defaulted, prepare_create, prepare_update, validate_create, validate_update, warnings,
};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_testing::{map, on_small_stack};
use fieldmanager_value::Value;

fn kind(api_version: &str, kind: &str) -> Kind {
    Kind::of(&GroupVersionKind::from_api_version_kind(api_version, kind)).unwrap()
}

#[test]
fn schemas_of_definitions_are_decoded_on_a_small_stack() {
    on_small_stack("schemas", || {
        let definition = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        for form in 0..6 {
            for levels in [10, 1_000, 10_000] {
                let innermost = map([("x", 1.into()), ("minLength", Value::Null)]);
                let schema = (0..levels).fold(innermost, |below, _| match form {
                    0 => map([("properties", map([("a", below)]))]),
                    1 => map([("items", below)]),
                    2 => map([("items", Value::from(vec![below]))]),
                    3 => map([("additionalProperties", below)]),
                    4 => map([("dependencies", map([("a", below)]))]),
                    _ => map([("anyOf", Value::from(vec![below]))]),
                });
                let version = map([
                    ("name", "v1".into()),
                    ("schema", map([("openAPIV3Schema", schema)])),
                ]);
                let object = map([("spec", map([("versions", Value::from(vec![version]))]))]);
                let decoded = definition.decode(&object).unwrap();
                definition.convert(&decoded.object, &definition).unwrap();
            }
        }
    });
}

#[test]
fn deep_values_in_any_place_are_decoded_and_converted_on_a_small_stack() {
    on_small_stack("values", || {
        let deep = (0..10_000).fold(Value::from(1), |below, level| match level % 2 {
            0 => map([("spec", below)]),
            _ => Value::from(vec![below]),
        });
        for kind in Kind::all() {
            for name in ["metadata", "spec", "status", "data", "x"] {
                let object = map([(name, deep.clone())]);
                kind.decode(&object).ok();
                kind.convert(&object, &kind).ok();
            }
            kind.decode(&deep).ok();
        }
    });
}

#[test]
fn deep_objects_are_defaulted_prepared_and_validated_on_a_small_stack() {
    on_small_stack("registries", || {
        let deep = (0..10_000).fold(Value::from(1), |below, level| match level % 2 {
            0 => map([("spec", below)]),
            _ => Value::from(vec![below]),
        });
        for kind in Kind::all() {
            for name in ["metadata", "spec", "status", "data", "template"] {
                let object = map([(name, deep.clone())]);
                let defaulted = defaulted(kind.gvk(), &object);
                prepare_create(kind.gvk(), &defaulted);
                prepare_update(kind.gvk(), "", &defaulted, &object);
                validate_create(kind.gvk(), &defaulted);
                validate_update(kind.gvk(), "", &defaulted, &object);
                warnings(kind.gvk(), "", &defaulted, Some(&object));
            }
        }
    });
}
