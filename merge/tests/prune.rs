//! Pruning by the difference of a manager's sets equals pruning by the field sets of whole objects.
//!
//! A filter with patterns makes the updater prune by whole sets. A pattern that matches everything has no other effect.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot read its own schema must fail"
)]

use fieldmanager_fieldpath::{Filter, Matcher, Owners};
use fieldmanager_merge::{ApplyRequest, UpdateRequest, Updater};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{List, Map, Value};
use proptest::prelude::*;

const SCHEMA: &str = "
types:
- name: root
  map:
    fields:
    - {name: a, type: {scalar: untyped}}
    - {name: b, type: {scalar: untyped}}
    - {name: inner, type: {namedType: root}}
    - {name: labels, type: {map: {elementType: {scalar: untyped}}}}
    - {name: nested, type: {map: {elementType: {namedType: root}}}}
    - {name: atomic, type: {namedType: root, elementRelationship: atomic}}
    - name: list
      type: {list: {elementType: {namedType: root}, elementRelationship: associative, keys: [a]}}
    - name: pairs
      type: {list: {elementType: {namedType: root}, elementRelationship: associative, keys: [a, b]}}
    - {name: set, type: {list: {elementType: {scalar: untyped}, elementRelationship: associative}}}
";

fn root() -> Type {
    static SCHEMA_READ: std::sync::LazyLock<Schema> =
        std::sync::LazyLock::new(|| Schema::from_yaml(SCHEMA).unwrap());
    SCHEMA_READ.type_named("root").unwrap()
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![6 => (1..4_i64).prop_map(Value::from), 1 => Just(Value::Null)]
}

fn some<S: Strategy<Value = Value> + 'static>(
    name: &'static str,
    value: S,
) -> BoxedStrategy<Option<(&'static str, Value)>> {
    prop::option::weighted(0.4, value.prop_map(move |value| (name, value))).boxed()
}

/// An object with few names and values, so that managers share fields, and with null and empty parts.
fn object() -> impl Strategy<Value = Value> {
    let leaf = [some("a", scalar()), some("b", scalar())];
    let leaf = leaf.prop_map(|fields| Value::Map(fields.into_iter().flatten().collect::<Map>()));
    leaf.prop_recursive(3, 40, 6, |inner| {
        let shadowed_empty_map = |value: BoxedStrategy<Value>, empty: Value| {
            prop_oneof![10 => value, 1 => Just(empty), 1 => Just(Value::Null)]
        };
        let map = Value::Map(Map::new());
        let list = Value::List(List::new());
        let named = |value: BoxedStrategy<Value>| {
            prop::collection::btree_map(prop_oneof![Just("x"), Just("z")], value, 0..3)
                .prop_map(|entries| Value::Map(entries.into_iter().collect::<Map>()))
                .boxed()
        };
        // Items with their keys, each once.
        let items = |keys: &'static [&'static str]| {
            prop::collection::btree_map(prop::collection::vec(1..3_i64, keys.len()), inner.clone(), 0..3)
                .prop_map(move |items| {
                    let item = |(values, item): (Vec<i64>, Value)| {
                        let mut map = item.as_map().cloned().unwrap_or_default();
                        for (key, value) in keys.iter().zip(values) {
                            map.insert(*key, value);
                        }
                        Value::Map(map)
                    };
                    Value::List(items.into_iter().map(item).collect())
                })
                .boxed()
        };
        let set = prop::collection::btree_set(1..4_i64, 0..3)
            .prop_map(|items| Value::List(items.into_iter().map(Value::from).collect()))
            .boxed();
        let fields = (
            [some("a", scalar()), some("b", scalar())],
            [
                some("inner", shadowed_empty_map(inner.clone().boxed(), map.clone())),
                some("atomic", shadowed_empty_map(inner.clone().boxed(), map.clone())),
                some("labels", shadowed_empty_map(named(scalar().boxed()), map.clone())),
                some("nested", shadowed_empty_map(named(inner.clone().boxed()), map)),
                some("list", shadowed_empty_map(items(&["a"]), list.clone())),
                some("pairs", shadowed_empty_map(items(&["a", "b"]), list.clone())),
                some("set", shadowed_empty_map(set, list)),
            ],
        );
        fields.prop_map(|(scalars, others)| {
            Value::Map(scalars.into_iter().chain(others).flatten().collect::<Map>())
        })
    })
}

#[derive(Clone, Debug)]
struct Step {
    manager: usize,
    object: Value,
    update: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step =
        (0..3_usize, object(), prop::bool::weighted(0.2)).prop_map(|(manager, object, update)| {
            Step {
                manager,
                object,
                update,
            }
        });
    prop::collection::vec(step, 2..8)
}

fn run(updater: &Updater, steps: &[Step]) -> Vec<String> {
    let (mut live, mut owners) = (TypedValue::null(root()), Owners::new());
    let mut seen = Vec::new();
    for step in steps {
        let manager = ["a", "b", "c"][step.manager];
        let object = TypedValue::new(step.object.clone(), root(), Duplicates::Refuse).unwrap();
        if step.update {
            let updated = updater
                .update(
                    UpdateRequest::new(&live, &object)
                        .version("v1")
                        .owners(&owners)
                        .manager(manager),
                )
                .unwrap();
            (live, owners) = (updated.object, updated.owners);
        } else {
            match updater.apply(
                ApplyRequest::new(&live, &object)
                    .version("v1")
                    .owners(&owners)
                    .manager(manager)
                    .force(),
            ) {
                Ok(applied) => {
                    live = applied.object.unwrap_or(live);
                    owners = applied.owners;
                }
                // An item may have lost its key.
                Err(error) => seen.push(error.to_string()),
            }
        }
        seen.push(format!("{} {owners:?}", live.value()));
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn pruning_by_the_difference_equals_pruning_by_whole_sets(steps in steps()) {
        let short = Updater::builder().build();
        let rule = Updater::builder().filter("v1", Filter::Include(Matcher::all())).build();
        prop_assert_eq!(run(&short, &steps), run(&rule, &steps));
    }
}
