//! Laws for any objects and patches.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot read its own table must fail"
)]

use crate::common::{MERGE_ITEM, yaml};
use fieldmanager_patch::internal::{read_types, write_types};
use fieldmanager_patch::{PatchTypes, json_merge, json_patch, strategic};
use fieldmanager_value::{Map, Value};
use proptest::prelude::*;

fn types() -> PatchTypes {
    PatchTypes::from_openapi(&yaml(MERGE_ITEM)).unwrap()
}

/// Distinct values in any order.
fn set(values: std::ops::Range<i64>) -> impl Strategy<Value = Value> {
    prop::sample::subsequence(values.collect::<Vec<i64>>(), 0..6)
        .prop_shuffle()
        .prop_map(Value::from)
}

/// Objects of the type that has a field for each strategy.
fn item() -> impl Strategy<Value = Value> {
    let leaf = prop::collection::btree_map(
        prop::sample::select(vec!["value", "other", "a", "b"]),
        (0..3_i64).prop_map(Value::from),
        0..4,
    )
    .prop_map(|fields| Value::Map(Map::from_iter(fields)));
    leaf.prop_recursive(3, 40, 6, |inner| {
        let list = prop::collection::btree_map("[a-f]", inner.clone(), 0..4).prop_map(|items| {
            let items: Vec<Value> = items
                .into_iter()
                .map(|(name, mut item)| {
                    if let Value::Map(map) = &mut item {
                        map.insert("name", name);
                    }
                    item
                })
                .collect();
            items
        });
        let list = list
            .prop_flat_map(|items| Just(items).prop_shuffle())
            .prop_map(Value::from);
        let field = prop_oneof![
            (
                prop::sample::select(vec!["simple", "replaced", "union", "item"]),
                inner
            ),
            (prop::sample::select(vec!["list", "unions", "plain"]), list),
            (prop::sample::select(vec!["ints", "plainInts"]), set(0..8)),
            (
                prop::sample::select(vec!["value", "a"]),
                (0..3_i64).prop_map(Value::from)
            ),
        ];
        prop::collection::vec(field, 0..5).prop_map(|fields| Value::Map(Map::from_iter(fields)))
    })
}

/// Whether an object has a sorted set that the other object has in another order. The Go package sorts the original before
/// the comparison, so this is not a change.
fn only_sorts(a: &Value, b: &Value) -> bool {
    fn sets<'v>(value: &'v Value, out: &mut Vec<Vec<&'v Value>>) {
        match value {
            Value::Map(map) => map.iter().for_each(|(name, value)| match value {
                Value::List(set) if name == "ints" => out.push(set.iter().collect()),
                other => sets(other, out),
            }),
            Value::List(items) => items.iter().for_each(|item| sets(item, out)),
            _ => {}
        }
    }
    let (mut old, mut new) = (Vec::new(), Vec::new());
    sets(a, &mut old);
    sets(b, &mut new);
    old.into_iter()
        .filter(|set| !set.is_sorted())
        .any(|mut set| {
            set.sort();
            new.contains(&set)
        })
}

#[test]
fn sorting_a_set_is_not_a_change() {
    let types = types();
    let schema = types.named("item").unwrap();
    let patch = |a: &str, b: &str| {
        strategic::create_two_way(&yaml(a), &yaml(b), schema)
            .unwrap()
            .to_json()
    };
    assert!(only_sorts(&yaml("ints: [7, 2]"), &yaml("ints: [2, 7]")));
    assert_eq!(patch("ints: [7, 2]", "ints: [2, 7]"), "{}");
    assert!(!only_sorts(&yaml("ints: [2, 7]"), &yaml("ints: [7, 2]")));
    assert_eq!(
        patch("ints: [2, 7]", "ints: [7, 2]"),
        r#"{"$setElementOrder/ints":[7,2]}"#
    );
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        "[a-c~/]{0,2}".prop_map(Value::from),
    ];
    let inner = leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c~/]{0,2}", inner, 0..4)
                .prop_map(|map| Value::Map(Map::from_iter(map))),
        ]
    });
    prop::collection::btree_map("[a-c]", inner, 0..4)
        .prop_map(|map| Value::Map(Map::from_iter(map)))
}

/// The fields of both maps; those of the second one have other names.
fn beside(left: &Value, right: &Value) -> Value {
    let mut out = left.as_map().cloned().unwrap_or_default();
    for (name, value) in right.as_map().into_iter().flatten() {
        out.insert(format!("{name}2"), value.clone());
    }
    Value::Map(out)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_two_way_patch_applied_to_the_original_gives_the_modified(a in item(), b in item()) {
        prop_assume!(!only_sorts(&a, &b));
        let types = types();
        let schema = types.named("item").unwrap();
        let patch = strategic::create_two_way(&a, &b, schema).unwrap();
        prop_assert_eq!(strategic::apply(&a, &patch, schema).unwrap(), b, "{}", patch);
    }

    #[test]
    fn a_three_way_patch_of_an_unchanged_object_gives_the_modified(a in item(), b in item()) {
        prop_assume!(!only_sorts(&a, &b));
        let types = types();
        let schema = types.named("item").unwrap();
        let patch = strategic::create_three_way(&a, &b, &a, schema, true).unwrap();
        prop_assert_eq!(strategic::apply(&a, &patch, schema).unwrap(), b, "{}", patch);
    }

    #[test]
    fn the_table_has_the_rules_of_the_document(a in item(), b in item()) {
        prop_assume!(!only_sorts(&a, &b));
        let types = types();
        let table = read_types(&write_types(&types)).unwrap();
        let (schema, short) = (types.named("item").unwrap(), table.named("item").unwrap());
        let patch = strategic::create_two_way(&a, &b, schema).unwrap();
        prop_assert_eq!(&strategic::create_two_way(&a, &b, short).unwrap(), &patch);
        prop_assert_eq!(strategic::apply(&a, &patch, short).unwrap(), b);
    }

    #[test]
    fn patches_of_different_fields_commute(a in item(), b in item(), c in item(), d in item()) {
        let free = fieldmanager_patch::PatchSchema::free();
        let live = beside(&a, &b);
        let left = strategic::create_two_way(&a, &c, free).unwrap();
        let right = beside(&Value::Map(Map::new()), &strategic::create_two_way(&b, &d, free).unwrap());
        let one = strategic::apply(&strategic::apply(&live, &left, free).unwrap(), &right, free).unwrap();
        let other = strategic::apply(&strategic::apply(&live, &right, free).unwrap(), &left, free).unwrap();
        prop_assert_eq!(&one, &other);
        let merged = strategic::merge_patches([&left, &right], free).unwrap();
        prop_assert_eq!(strategic::apply(&live, &merged, free).unwrap(), one);
        prop_assert!(!strategic::has_conflicts(&left, &right, free).unwrap());
    }

    #[test]
    fn a_merge_patch_applied_to_the_original_gives_the_modified(a in json(), b in json()) {
        let patch = json_merge::create(&a, &b).unwrap();
        prop_assert_eq!(&json_merge::apply(&a, &patch).unwrap(), &b);
        let three_way = json_merge::create_three_way(&a, &b, &a);
        if let Ok(patch) = three_way {
            prop_assert_eq!(json_merge::apply(&a, &patch).unwrap(), b);
        }
    }

    #[test]
    fn a_json_patch_applied_to_the_original_gives_the_modified(a in json(), b in json()) {
        let patch = json_patch::create(&a, &b).unwrap();
        prop_assert!(json_patch::apply(&a, &patch).unwrap().strict_eq(&b), "{}", patch);
    }

    /// Patches of random characters do not panic, and leave no directive.
    #[test]
    fn no_directive_becomes_data(a in item(), text in "[\\[\\]{}:, ab]{0,40}", b in item(), at in 0..6_usize) {
        let types = types();
        let schema = types.named("item").unwrap();
        let mut patch = b;
        let odd = Value::from_yaml(&text).unwrap_or_default();
        let names = ["$patch", "$retainKeys", "$setElementOrder/list", "$deleteFromPrimitiveList/ints", "list", "$setElementOrder/ints"];
        if let Value::Map(map) = &mut patch {
            map.insert(names[at], odd);
        }
        if let Ok(new) = strategic::apply(&a, &patch, schema) {
            prop_assert!(!new.to_json().contains('$'), "{}", new);
        }
    }
}
