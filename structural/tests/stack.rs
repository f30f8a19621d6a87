//! Schemas, definitions and objects at the depth limit are processed on a small stack.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_structural::crd::CustomResource;
use fieldmanager_structural::internal::{prune_defaults, publish, unfold};
use fieldmanager_structural::{FieldPath, Structural, validate_managed_fields};
use fieldmanager_testing::{NestedSchema, custom_resource_definition, map, on_small_stack};
use fieldmanager_value::{MAX_DEPTH, Map, Value};

#[test]
fn structural_schemas_are_read_and_changed_on_a_small_stack() {
    for form in NestedSchema::ALL {
        on_small_stack("structural", move || {
            let schema = form.deepest(|schema| Structural::from_value(schema).ok());
            assert!(Structural::from_value(&form.schema(10_000)).is_err());
            let written = schema.to_value();
            assert_eq!(Structural::from_value(&written).unwrap(), schema);
            assert!(!format!("{schema:?}").is_empty());
            schema.validate(&FieldPath::default());
            assert_eq!(unfold(&schema).to_value(), written);
            prune_defaults(&schema).ok();
        });
    }
}

#[test]
fn junctors_are_read_and_changed_on_a_small_stack() {
    on_small_stack("junctors", || {
        let schema = |levels: usize| {
            (0..levels).fold(map([("minLength", 1.into())]), |below, level| {
                match level % 3 {
                    0 => map([("not", below)]),
                    1 => map([("properties", map([("a", below)]))]),
                    _ => map([("anyOf", Value::from(vec![below.clone(), below]))]),
                }
            })
        };
        let deepest = (1..MAX_DEPTH)
            .rev()
            .find_map(|levels| Structural::from_value(&linear(levels)).ok())
            .unwrap();
        assert_eq!(
            Structural::from_value(&deepest.to_value()).unwrap(),
            deepest
        );
        assert!(!format!("{deepest:?}").is_empty());
        deepest.validate(&FieldPath::default());
        unfold(&deepest).to_value();
        assert!(Structural::from_value(&schema(12)).is_ok());
    });

    fn linear(levels: usize) -> Value {
        (0..levels).fold(map([("minLength", 1.into())]), |below, level| {
            match level % 3 {
                0 => map([("not", below)]),
                1 => map([("properties", map([("a", below)]))]),
                _ => map([("anyOf", Value::from(vec![below]))]),
            }
        })
    }
}

#[test]
fn objects_are_pruned_defaulted_and_validated_on_a_small_stack() {
    for form in NestedSchema::ALL {
        on_small_stack("objects", move || {
            let schema = form.deepest(|schema| Structural::from_value(schema).ok());
            let path = FieldPath::default();
            for levels in [
                MAX_DEPTH / 4,
                MAX_DEPTH / 2 - 2,
                MAX_DEPTH - 1,
                MAX_DEPTH,
                MAX_DEPTH + 1,
                10_000,
            ] {
                let object = form.object(levels);
                schema.prune(&object, false).ok();
                schema.prune(&object, true).ok();
                schema.default_object(&object).ok();
                schema.drop_nulls(&object).ok();
                schema.validate_lists(&path, &object).ok();
                schema.validate_metadata(&path, &object, true).ok();
                schema.coerce_metadata(&path, &object, true, true).ok();
                schema.coerce_metadata(&path, &object, false, false).ok();
            }
        });
    }
}

#[test]
fn custom_resource_definitions_are_read_and_published_on_a_small_stack() {
    for form in [NestedSchema::Properties, NestedSchema::Resources] {
        on_small_stack("crd", move || {
            let crd = |levels: usize| custom_resource_definition(form.schema(levels));
            for levels in [100, 124, 127, 128, MAX_DEPTH - 1, MAX_DEPTH, 10_000] {
                let Ok(resource) = CustomResource::from_value(&crd(levels)) else {
                    continue;
                };
                resource.violations();
                resource.union_violations();
                assert!(!format!("{resource:?}").is_empty());
                assert_eq!(resource.clone(), resource);
                for subresource in ["", "status"] {
                    resource.reset_fields("v1", subresource).ok();
                }
                resource.structural("v1").ok();
                publish(&resource, "v1").ok();
            }
            let resource = CustomResource::from_value(&crd(100)).unwrap();
            assert!(resource.structural("v1").unwrap().is_some());
        });
    }
}

#[test]
fn entries_are_validated_on_a_small_stack() {
    on_small_stack("entries", || {
        for levels in [MAX_DEPTH, 10_000] {
            let deep = (0..levels).fold(Map::new().into(), |below, _| map([("f:a", below)]));
            for entry in [
                map([("fieldsV1", deep.clone())]),
                map([("manager", deep.clone())]),
                deep,
            ] {
                let list = Value::from(vec![entry]);
                assert!(
                    !validate_managed_fields(Some(&list), &FieldPath::root("metadata")).is_empty()
                );
            }
        }
    });
}

#[cfg(feature = "validation")]
#[test]
fn values_are_validated_on_a_small_stack() {
    use fieldmanager_structural::validation::Validator;
    for form in [
        NestedSchema::Properties,
        NestedSchema::Additional,
        NestedSchema::Items,
    ] {
        on_small_stack("validation", move || {
            let (validator, levels) = (1..=MAX_DEPTH)
                .rev()
                .find_map(|levels| Some((Validator::new(&form.schema(levels)).ok()?, levels)))
                .unwrap();
            assert!(Validator::new(&form.schema(10_000)).is_err());
            assert!(!format!("{validator:?}").is_empty());
            let object = form.object(levels);
            validator.validate(&object);
            let wrong = (0..levels.min(MAX_DEPTH)).fold(Value::from(1), |below, _| match form {
                NestedSchema::Items => Value::from(vec![below]),
                _ => map([("a", below)]),
            });
            assert!(!validator.validate(&wrong).is_empty());
            validator.validate(&form.object(10_000));
            let structural = form.deepest(|schema| Structural::from_value(schema).ok());
            Validator::new(&structural.to_value()).ok();
        });
    }
    on_small_stack("validation of junctors", || {
        let schema = |levels: usize| {
            (0..levels).fold(map([("minLength", 1.into())]), |below, level| {
                match level % 2 {
                    0 => map([("anyOf", Value::from(vec![below]))]),
                    _ => map([("properties", map([("a", below)]))]),
                }
            })
        };
        let validator = (1..MAX_DEPTH)
            .rev()
            .find_map(|levels| Validator::new(&schema(levels)).ok())
            .unwrap();
        let object = (0..60).fold("".into(), |below, _| map([("a", below)]));
        validator.validate(&object);
    });
}

#[test]
fn restrictions_of_any_depth_are_dropped_compared_and_printed() {
    use fieldmanager_structural::internal::NestedValueValidation;
    on_small_stack("restrictions", || {
        for form in 0..5 {
            let make = |length: i64| {
                let mut below = NestedValueValidation::default();
                below.value_validation.min_length = Some(length);
                for _ in 0..10_000 {
                    let mut above = NestedValueValidation::default();
                    match form {
                        0 => above.items = Some(Box::new(below)),
                        1 => above.additional_properties = Some(Box::new(below)),
                        2 => above.value_validation.not = Some(Box::new(below)),
                        3 => above.value_validation.any_of = vec![below],
                        _ => above.properties = [("a".into(), below)].into_iter().collect(),
                    }
                    below = above;
                }
                below
            };
            let (a, b) = (make(1), make(2));
            assert!(a == a.clone() && a != b);
            assert!(format!("{a:?}").contains("minLength"));
        }
    });
}
