//! Patches of objects at the depth limit need no more than a small stack.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_patch::{Fault, PatchSchema, PatchTypes, json_merge, json_patch, strategic};
use fieldmanager_testing::{NestedSchema, map, on_small_stack};
use fieldmanager_value::{MAX_DEPTH, Map, Value};

const TYPES: &str = "
definitions:
  item:
    properties:
      name: {type: string}
      leaf: {type: integer}
      map: {$ref: '#/definitions/item'}
      list:
        type: array
        items: {$ref: '#/definitions/item'}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: name
";

/// An object with at most `levels` levels and `leaf` in the deepest.
fn object(lists: bool, leaf: i64, levels: usize) -> Value {
    let map = |entries: Vec<(&str, Value)>| Value::Map(entries.into_iter().collect::<Map>());
    let mut value = map(vec![("name", "a".into()), ("leaf", leaf.into())]);
    let mut depth = 1;
    loop {
        let below = if lists {
            ("list", Value::from(vec![value.clone()]))
        } else {
            ("map", value.clone())
        };
        depth += if lists { 2 } else { 1 };
        if depth > levels {
            return value;
        }
        value = map(vec![("name", "a".into()), below]);
    }
}

/// Runs a check on two objects, of maps or of lists in maps, that differ in the deepest level.
fn check(name: &str, f: fn(&Value, &Value, PatchSchema<'_>)) {
    for lists in [false, true] {
        for typed in [false, true] {
            on_small_stack(name, move || {
                let types = PatchTypes::from_openapi(&Value::from_yaml(TYPES).unwrap()).unwrap();
                let schema = if typed {
                    types.named("item").unwrap()
                } else {
                    PatchSchema::free()
                };
                for levels in [MAX_DEPTH, MAX_DEPTH + 3, 10_000] {
                    f(&object(lists, 1, levels), &object(lists, 2, levels), schema);
                }
            });
        }
    }
}

#[test]
fn json_merge_patches_run_on_a_small_stack() {
    check("json_merge", |a, b, _| {
        if let Ok(patch) = json_merge::create(a, b) {
            assert_eq!(json_merge::apply(a, &patch).unwrap(), *b);
            assert_eq!(json_merge::apply_to_object(a, &patch).unwrap(), *b);
        }
        let deep = a.get("map").is_some() && Value::from_json(&a.to_json()).is_err();
        assert_eq!(
            json_merge::apply(a, b).is_err(),
            deep || Value::from_json(&b.to_json()).is_err()
        );
        json_merge::apply(&Value::Null, b).ok();
        json_merge::create_three_way(a, b, a).ok();
        json_merge::create_three_way(a, b, b).ok();
        json_merge::create(&Map::new().into(), b).ok();
        json_merge::create(b, &Map::new().into()).ok();
    });
}

#[test]
fn json_patches_run_on_a_small_stack() {
    check("json_patch", |a, b, _| {
        match json_patch::create(a, b) {
            Ok(patch) => assert_eq!(json_patch::apply(a, &patch).unwrap(), *b),
            Err(error) => assert!(
                error.to_string().contains("deeper than 256 levels"),
                "{error}"
            ),
        }
        let operation = |op: &str, value: &Value| {
            let entries = [
                ("op", op.into()),
                ("path", "/new".into()),
                ("value", value.clone()),
            ];
            Value::from(vec![Value::Map(entries.into_iter().collect::<Map>())])
        };
        json_patch::apply(a, &operation("add", b)).ok();
        json_patch::apply(a, &operation("test", b)).ok();
        json_patch::create(&Map::new().into(), b).ok();
    });
}

#[test]
fn strategic_merge_patches_run_on_a_small_stack() {
    check("strategic", |a, b, schema| {
        if let Ok(patch) = strategic::create_two_way(a, b, schema) {
            match strategic::apply(a, &patch, schema) {
                Ok(applied) => assert_eq!(applied, *b),
                // A replaced value is copied into the patch without a walk, so it can be deeper than the limit.
                Err(error) => {
                    assert_eq!(error.fault(), &Fault::TooDeep);
                    assert!(Value::from_json(&b.to_json()).is_err(), "{error}");
                }
            }
            strategic::create_three_way(a, b, a, schema, true).ok();
            strategic::create_three_way(a, b, b, schema, false).ok();
            strategic::merge_patches([&patch, b, a], schema).ok();
            strategic::has_conflicts(&patch, b, schema).ok();
        }
        strategic::apply(a, b, schema).ok();
        strategic::apply(&Map::new().into(), b, schema).ok();
        strategic::has_conflicts(a, b, schema).ok();
        strategic::merge_patches([a, b], schema).ok();
        strategic::create_two_way(&Map::new().into(), b, schema).ok();
        strategic::create_two_way(b, &Map::new().into(), schema).ok();
    });
}

#[test]
fn types_are_read_on_a_small_stack() {
    for form in NestedSchema::ALL {
        on_small_stack("types", move || {
            for levels in [80, MAX_DEPTH, 10_000] {
                let document = map([("definitions", map([("t", form.schema(levels))]))]);
                let Ok(types) = PatchTypes::from_openapi(&document) else {
                    continue;
                };
                assert!(!format!("{types:?}").is_empty());
                assert!(types.for_object(&form.object(levels)).is_none());
                let schema = types.named("t").unwrap();
                let [small, deep] = [form.object(levels / 2), form.object(levels)];
                let objects = [map([("a", small)]), map([("a", deep)])];
                let Ok(patch) = strategic::create_two_way(&objects[0], &objects[1], schema) else {
                    continue;
                };
                strategic::apply(&objects[0], &patch, schema).ok();
            }
            let document = map([("definitions", map([("t", form.schema(80))]))]);
            assert!(PatchTypes::from_openapi(&document).is_ok());
        });
    }
}
