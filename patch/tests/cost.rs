//! The cost of patches that are expensive on purpose, in allocated bytes, which do not depend on the machine.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use fieldmanager_patch::internal::read_types;
use fieldmanager_patch::{Fault, PatchTypes, json_patch, strategic};
use fieldmanager_value::Value;

fn allocated(run: impl FnOnce()) -> u64 {
    allocation_counter::measure(run).bytes_total
}

fn list(length: i64) -> Value {
    Value::from((0..length).map(Value::from).collect::<Vec<_>>())
}

/// Applies `count` operations to two lists of `2 * count` items in turn.
fn operations_on_two_lists(count: usize, operation: impl Fn(&str) -> String) -> u64 {
    let length = 2 * count as i64;
    let live = Value::Map(
        [("a", list(length)), ("b", list(length))]
            .into_iter()
            .collect(),
    );
    let operations: Vec<String> = (0..count)
        .map(|i| operation(if i % 2 == 0 { "a" } else { "b" }))
        .collect();
    let patch = Value::from_json(&format!("[{}]", operations.join(","))).unwrap();
    allocated(|| {
        json_patch::apply(&live, &patch).unwrap();
    })
}

#[test]
fn json_patch_operations_at_the_start_of_large_lists_cost_no_copy_of_the_list() {
    let insert = |list: &str| format!(r#"{{"op":"add","path":"/{list}/0","value":1}}"#);
    let remove = |list: &str| format!(r#"{{"op":"remove","path":"/{list}/0"}}"#);
    let rotate = |list: &str| format!(r#"{{"op":"move","from":"/{list}/0","path":"/{list}/-"}}"#);
    let operations: [&dyn Fn(&str) -> String; 3] = [&insert, &remove, &rotate];
    for operation in operations {
        let (small, large) = (
            operations_on_two_lists(1000, operation),
            operations_on_two_lists(8000, operation),
        );
        assert!(
            large < 12 * small,
            "8 times the operations and items: {small} bytes, then {large}"
        );
    }
}

/// A patch whose items all have one key, each with a new item for the inner list.
fn same_key(count: usize) -> Value {
    let items: Vec<String> = (0..count)
        .map(|i| format!(r#"{{"name":"x","list":[{{"name":"{i}"}}]}}"#))
        .collect();
    Value::from_json(&format!(r#"{{"list":[{}]}}"#, items.join(","))).unwrap()
}

fn types() -> PatchTypes {
    let types = "types: {item: {list: {strategy: merge, key: name, type: item}}}";
    read_types(&Value::from_yaml(types).unwrap()).unwrap()
}

#[test]
fn strategic_patch_that_merges_one_item_too_often_is_refused() {
    let types = types();
    let schema = types.named("item").unwrap();
    let live = Value::from_json(r#"{"list":[{"name":"x","list":[]}]}"#).unwrap();
    let few = strategic::apply(&live, &same_key(1000), schema).unwrap();
    assert_eq!(few.get("list").unwrap().as_list().unwrap().len(), 1);

    let mut error = None;
    let costs = [4000, 16_000].map(|count| {
        let patch = same_key(count);
        allocated(|| error = strategic::apply(&live, &patch, schema).err())
    });
    let error = error.unwrap();
    assert!(
        matches!(error.fault(), Fault::MergedAgain { .. }),
        "{error}"
    );
    assert_eq!(error.path().to_string(), r#".list[name="x"].list"#);
    assert_eq!(error.response().code, 413);
    // A refused patch stops at the limit. The other costs are proportional to the patch.
    assert!(costs[1] < 4 * costs[0], "{costs:?}");
}

#[test]
fn repeated_items_that_change_nothing_count_too() {
    let types = types();
    let schema = types.named("item").unwrap();
    let inner: Vec<String> = (0..4000).map(|i| format!(r#"{{"name":"{i}"}}"#)).collect();
    let live = format!(
        r#"{{"list":[{{"name":"x","list":[{}]}}]}}"#,
        inner.join(",")
    );
    let item = r#"{"name":"x","list":[{"name":"7"}]}"#;
    let patch = format!(r#"{{"list":[{}]}}"#, vec![item; 1000].join(","));
    let (live, patch) = (
        Value::from_json(&live).unwrap(),
        Value::from_json(&patch).unwrap(),
    );
    let error = strategic::apply(&live, &patch, schema).unwrap_err();
    assert!(
        matches!(error.fault(), Fault::MergedAgain { .. }),
        "{error}"
    );
}
