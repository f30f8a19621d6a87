//! Schemas, definitions and objects at the depth limit need no more than a small stack.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_openapi::crd::CustomResource;
use fieldmanager_openapi::structural::Structural;
use fieldmanager_openapi::{FieldPath, Importer, ListUnions, sources};
use fieldmanager_testing::on_small_stack;
use fieldmanager_value::{MAX_DEPTH, Map, Str, Value};

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().collect::<Map>())
}

/// The schemas that one contains.
#[derive(Clone, Copy, Debug)]
enum Form {
    Properties,
    Additional,
    Items,
    Resources,
}

impl Form {
    const ALL: [Form; 4] = [Form::Properties, Form::Additional, Form::Items, Form::Resources];

    fn wrap(self, below: Value) -> Value {
        match self {
            Form::Properties => map([
                ("type", "object".into()),
                (
                    "properties",
                    map([("a", below), ("b", map([("default", 1.into()), ("type", "integer".into())]))]),
                ),
            ]),
            Form::Additional => map([("type", "object".into()), ("additionalProperties", below)]),
            Form::Items => map([
                ("type", "array".into()),
                ("x-kubernetes-list-type", "set".into()),
                ("nullable", true.into()),
                ("items", below),
            ]),
            Form::Resources => map([
                ("type", "object".into()),
                ("x-kubernetes-embedded-resource", true.into()),
                ("properties", map([("a", below)])),
            ]),
        }
    }

    fn schema(self, levels: usize) -> Value {
        (0..levels).fold(map([("type", "string".into())]), |below, _| self.wrap(below))
    }

    /// An object of a schema of this form, with that many levels.
    fn object(self, levels: usize) -> Value {
        (0..levels).fold("x".into(), |below, _| match self {
            Form::Items => Value::from(vec![below]),
            Form::Resources => map([
                ("a", below),
                ("apiVersion", "v1".into()),
                ("kind", "X".into()),
                ("metadata", map([("name", "x".into()), ("unknown", 1.into())])),
            ]),
            _ => map([("a", below), ("unknown", 1.into())]),
        })
    }

    /// The deepest schema that is accepted.
    fn deepest<T>(self, read: impl Fn(&Value) -> Option<T>) -> T {
        (1..=MAX_DEPTH).rev().find_map(|levels| read(&self.schema(levels))).unwrap()
    }
}

#[test]
fn definitions_are_imported_on_a_small_stack() {
    for form in Form::ALL {
        on_small_stack("import", move || {
            let import = |schema: &Value| {
                let definitions = [(Str::from("t"), schema.clone())];
                let importer = Importer::new().unions(ListUnions::Respecting);
                importer.definitions(definitions.iter().map(|(name, schema)| (name, schema))).ok()
            };
            form.deepest(import);
            assert!(import(&form.schema(10_000)).is_none());
            let document = map([("definitions", map([("t", form.schema(80))])), ("swagger", "2.0".into())]);
            assert!(Importer::new().document(&document).is_ok());
            assert!(!sources(&[document]).is_empty());
        });
    }
}

#[test]
fn structural_schemas_are_read_and_changed_on_a_small_stack() {
    for form in Form::ALL {
        on_small_stack("structural", move || {
            let schema = form.deepest(|schema| Structural::from_value(schema).ok());
            assert!(Structural::from_value(&form.schema(10_000)).is_err());
            let written = schema.to_value();
            assert_eq!(Structural::from_value(&written).unwrap(), schema);
            assert!(!format!("{schema:?}").is_empty());
            schema.validate(&FieldPath::empty());
            assert_eq!(schema.unfold().to_value(), written);
            schema.unfold_embedded().to_value();
            schema.to_published_value(&Map::new().into());
            schema.prune_defaults().ok();
        });
    }
}

#[test]
fn junctors_are_read_and_changed_on_a_small_stack() {
    on_small_stack("junctors", || {
        let schema = |levels: usize| {
            (0..levels).fold(map([("minLength", 1.into())]), |below, level| match level % 3 {
                0 => map([("not", below)]),
                1 => map([("properties", map([("a", below)]))]),
                _ => map([("anyOf", Value::from(vec![below.clone(), below]))]),
            })
        };
        let deepest =
            (1..MAX_DEPTH).rev().find_map(|levels| Structural::from_value(&linear(levels)).ok()).unwrap();
        assert_eq!(Structural::from_value(&deepest.to_value()).unwrap(), deepest);
        assert!(!format!("{deepest:?}").is_empty());
        deepest.validate(&FieldPath::empty());
        deepest.unfold().to_value();
        assert!(Structural::from_value(&schema(12)).is_ok());
    });

    fn linear(levels: usize) -> Value {
        (0..levels).fold(map([("minLength", 1.into())]), |below, level| match level % 3 {
            0 => map([("not", below)]),
            1 => map([("properties", map([("a", below)]))]),
            _ => map([("anyOf", Value::from(vec![below]))]),
        })
    }
}

#[test]
fn objects_are_pruned_defaulted_and_validated_on_a_small_stack() {
    for form in Form::ALL {
        on_small_stack("objects", move || {
            let schema = form.deepest(|schema| Structural::from_value(schema).ok());
            let path = FieldPath::empty();
            for levels in [MAX_DEPTH / 4, MAX_DEPTH / 2 - 2, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 10_000]
            {
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
    for form in [Form::Properties, Form::Resources] {
        on_small_stack("crd", move || {
            let crd = |levels: usize| {
                let names = map([
                    ("plural", "shops".into()),
                    ("singular", "shop".into()),
                    ("kind", "Shop".into()),
                    ("listKind", "ShopList".into()),
                ]);
                let version = map([
                    ("name", "v1".into()),
                    ("served", true.into()),
                    ("storage", true.into()),
                    ("schema", map([("openAPIV3Schema", form.schema(levels))])),
                ]);
                map([
                    ("apiVersion", "apiextensions.k8s.io/v1".into()),
                    ("kind", "CustomResourceDefinition".into()),
                    ("metadata", map([("name", "shops.example.com".into())])),
                    (
                        "spec",
                        map([
                            ("group", "example.com".into()),
                            ("scope", "Namespaced".into()),
                            ("names", names),
                            ("versions", Value::from(vec![version])),
                        ]),
                    ),
                ])
            };
            for levels in [100, 124, 127, 128, MAX_DEPTH - 1, MAX_DEPTH, 10_000] {
                let Ok(resource) = CustomResource::from_value(&crd(levels)) else { continue };
                resource.violations();
                resource.structural("v1").ok();
                resource.definitions("v1").ok();
                resource.types().ok();
            }
            let resource = CustomResource::from_value(&crd(100)).unwrap();
            assert!(resource.structural("v1").unwrap().is_some());
            assert!(resource.types().is_ok());
            assert_eq!(sources(&[crd(100)]).len(), 1);
        });
    }
}

#[cfg(feature = "validation")]
#[test]
fn values_are_validated_on_a_small_stack() {
    use fieldmanager_openapi::validation::Validator;
    for form in [Form::Properties, Form::Additional, Form::Items] {
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
                Form::Items => Value::from(vec![below]),
                _ => map([("a", below)]),
            });
            assert!(!validator.validate(&wrong).is_empty());
            validator.validate(&form.object(10_000));
            let structural = form.deepest(|schema| Structural::from_value(schema).ok());
            Validator::of(&structural).ok();
        });
    }
    on_small_stack("validation of junctors", || {
        let schema = |levels: usize| {
            (0..levels).fold(map([("minLength", 1.into())]), |below, level| match level % 2 {
                0 => map([("anyOf", Value::from(vec![below]))]),
                _ => map([("properties", map([("a", below)]))]),
            })
        };
        let validator = (1..MAX_DEPTH).rev().find_map(|levels| Validator::new(&schema(levels)).ok()).unwrap();
        let object = (0..60).fold("".into(), |below, _| map([("a", below)]));
        validator.validate(&object);
    });
}

#[test]
fn restrictions_of_any_depth_are_dropped_compared_and_printed() {
    use fieldmanager_openapi::structural::NestedValueValidation;
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
