//! Laws of structural schemas, for random schemas and objects.

#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use fieldmanager_structural::internal::{prune_defaults, unfold};
use fieldmanager_structural::{FieldPath, Structural};
use fieldmanager_value::{Map, Value};
use proptest::prelude::*;

const NAMES: [&str; 6] = ["a", "b", "c", "kind", "metadata", "name"];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&NAMES[..])
}

/// An object with few distinct names, so that it matches schemas often.
fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        Just(Value::from(1.0)),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 5, |inner| {
        prop_oneof![
            3 => prop::collection::vec((name(), inner.clone()), 0..5).prop_map(|map| Map::from_iter(map).into()),
            1 => prop::collection::vec(inner, 0..5).prop_map(Value::from),
        ]
    })
}

fn keyword() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        prop::sample::select(vec!["object", "array", "string"])
            .prop_map(|name| ("type", name.into())),
        object().prop_map(|value| ("default", value)),
        object().prop_map(|value| ("example", value)),
        any::<bool>().prop_map(|flag| ("nullable", flag.into())),
        any::<bool>().prop_map(|flag| ("additionalProperties", flag.into())),
        (0..9_i64).prop_map(|limit| ("maxLength", limit.into())),
        (-9..9_i64).prop_map(|limit| ("minimum", Value::from(limit as f64 / 2.0))),
        prop::collection::vec(name(), 0..3).prop_map(|names| ("required", names.into())),
        prop::collection::vec(object(), 0..3).prop_map(|values| ("enum", values.into())),
        "[a(*\\[]{0,3}".prop_map(|pattern| ("pattern", pattern.into())),
        Just(("x-kubernetes-preserve-unknown-fields", true.into())),
        Just(("x-kubernetes-embedded-resource", true.into())),
        Just(("x-kubernetes-int-or-string", true.into())),
        prop::sample::select(vec!["set", "map"])
            .prop_map(|name| ("x-kubernetes-list-type", name.into())),
        prop::collection::vec(name(), 0..3)
            .prop_map(|names| ("x-kubernetes-list-map-keys", names.into())),
        prop::collection::vec((name(), "[AB]"), 0..3).prop_map(|fields| {
            let union = Map::from_iter([
                ("discriminator", Value::from("a")),
                ("fields", Map::from_iter(fields).into()),
            ]);
            ("x-kubernetes-unions", vec![Value::from(union)].into())
        }),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop::collection::vec(keyword(), 0..4)
        .prop_map(|keywords| Value::from(Map::from_iter(keywords)));
    leaf.prop_recursive(4, 40, 4, |inner| {
        let below = prop_oneof![
            4 => prop::collection::vec((name(), inner.clone()), 0..4)
                .prop_map(|map| ("properties", Value::from(Map::from_iter(map)))),
            2 => inner.clone().prop_map(|schema| ("items", schema)),
            2 => inner.clone().prop_map(|schema| ("additionalProperties", schema)),
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(|list| ("allOf", list.into())),
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(|list| ("anyOf", list.into())),
            1 => inner.prop_map(|schema| ("not", schema)),
        ];
        (
            prop::collection::vec(keyword(), 0..4),
            prop::collection::vec(below, 0..3),
        )
            .prop_map(|(keywords, below)| Map::from_iter(keywords.into_iter().chain(below)).into())
    })
}

proptest! {
    #[test]
    fn written_schema_reads_as_equal(schema in schema()) {
        let read = Structural::from_value(&schema).unwrap();
        let written = read.to_value();
        let again = Structural::from_value(&written).unwrap();
        prop_assert_eq!(&again, &read);
        prop_assert!(again.to_value().strict_eq(&written));
    }

    #[test]
    fn reading_any_value_does_not_panic(value in object(), schema in schema()) {
        let _ = Structural::from_value(&value);
        let mut odd = schema.as_map().cloned().unwrap_or_default();
        odd.insert("properties", value);
        let _ = Structural::from_value(&odd.into());
    }

    #[test]
    fn errors_are_sorted(schema in schema()) {
        let errors = Structural::from_value(&schema).unwrap().validate(&FieldPath::root("x"));
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        prop_assert!(texts.is_sorted());
    }

    #[test]
    fn unfolding_is_idempotent(schema in schema()) {
        let schema = Structural::from_value(&schema).unwrap();
        let unfolded = unfold(&schema);
        prop_assert!(unfold(&unfolded).ptr_eq(&unfolded));
    }

    #[test]
    fn pruning_is_idempotent(schema in schema(), object in object(), is_root: bool) {
        let schema = Structural::from_value(&schema).unwrap();
        let pruned = schema.prune(&object, is_root).unwrap();
        let again = schema.prune(&pruned.object, is_root).unwrap();
        prop_assert!(again.object.ptr_eq(&pruned.object));
        prop_assert!(again.paths.is_empty());
        prop_assert_eq!(pruned.object.ptr_eq(&object), pruned.object.strict_eq(&object));
        if !pruned.paths.is_empty() {
            prop_assert!(!pruned.object.ptr_eq(&object));
        }
    }

    #[test]
    fn defaulting_is_idempotent(schema in schema(), object in object()) {
        let schema = Structural::from_value(&schema).unwrap();
        let filled = schema.default_object(&object).unwrap();
        prop_assert!(schema.default_object(&filled).unwrap().strict_eq(&filled));
        let dropped = schema.drop_nulls(&object).unwrap();
        prop_assert!(schema.drop_nulls(&dropped).unwrap().ptr_eq(&dropped));
    }

    /// If the defaults of a schema are pruned, pruning removes nothing that defaulting added.
    #[test]
    fn pruned_defaults_survive_pruning(schema in schema(), object in object()) {
        let schema = Structural::from_value(&schema).unwrap();
        let Ok(schema) = prune_defaults(&schema) else { return Ok(()) };
        let object = schema.prune(&object, true).unwrap().object;
        let filled = schema.default_object(&object).unwrap();
        let again = schema.prune(&filled, true).unwrap();
        prop_assert!(again.object.ptr_eq(&filled), "{} {:?}", filled, again);
    }

    #[test]
    fn coercing_is_idempotent(schema in schema(), object in object(), is_root: bool) {
        let schema = Structural::from_value(&schema).unwrap();
        let root = FieldPath::default();
        let coerced = schema.coerce_metadata(&root, &object, is_root, true).unwrap();
        let again = schema.coerce_metadata(&root, &coerced.object, is_root, true).unwrap();
        prop_assert!(again.object.strict_eq(&coerced.object));
        prop_assert!(schema.validate_metadata(&root, &object, is_root).is_ok());
    }

    /// The definition: an item is reported if exactly one earlier item equals it.
    #[test]
    fn set_check_equals_the_definition(items in prop::collection::vec(0..30_i64, 0..60)) {
        let schema = Value::from_yaml("{properties: {l: {x-kubernetes-list-type: set}}}").unwrap();
        let schema = Structural::from_value(&schema).unwrap();
        let expected: Vec<String> = (0..items.len())
            .filter(|&at| items[..at].iter().filter(|&&item| item == items[at]).count() == 1)
            .map(|at| format!("l[{at}]: Duplicate value: {}", items[at]))
            .collect();
        let errors = schema.validate_lists(&FieldPath::default(), &Map::single("l", items).into()).unwrap();
        prop_assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }
}
