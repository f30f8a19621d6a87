//! Applies and updates of objects at the depth limit need no more than a small stack.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_fieldpath::internal::set_depth;
use fieldmanager_fieldpath::{MAX_PATH_LENGTH, Set};
use fieldmanager_merge::{ApplyRequest, Error, UpdateRequest, Updater};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_testing::{DEEP_SCHEMA, on_small_stack};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{Map, Value};

/// An object with the maximum number of levels and a field in the deepest.
fn object(lists: bool, leaf: &str, value: i64) -> Value {
    let map = |entries: Vec<(&str, Value)>| Value::Map(entries.into_iter().collect::<Map>());
    let mut object = map(vec![("id", 1.into()), (leaf, value.into())]);
    let mut depth = 1;
    loop {
        let below = if lists {
            ("list", Value::from(vec![object.clone()]))
        } else {
            ("map", object.clone())
        };
        depth += if lists { 2 } else { 1 };
        if depth > MAX_PATH_LENGTH {
            return object;
        }
        object = map(vec![("id", 1.into()), below]);
    }
}

fn check(ty: Type, lists: bool) {
    let typed = |leaf: &str, value: i64| {
        TypedValue::new(object(lists, leaf, value), ty.clone(), Duplicates::Refuse).unwrap()
    };
    let updater = Updater::builder()
        .unions(true)
        .return_input_on_noop(true)
        .build();
    let null = TypedValue::null(ty.clone());
    let applied = updater
        .apply(
            ApplyRequest::new(&null, &typed("a", 1))
                .version("v1")
                .manager("alice"),
        )
        .unwrap();
    let live = applied.object.unwrap();
    let set = applied.owners.get("alice").unwrap().set().clone();
    assert_eq!(
        set_depth(&set),
        MAX_PATH_LENGTH - usize::from(lists && ty.name() == "__untyped_deduced_")
    );
    assert_eq!(Set::from_json(set.to_json().as_bytes()).unwrap(), set);
    let conflicts = updater.apply(
        ApplyRequest::new(&live, &typed("a", 2))
            .version("v1")
            .owners(&applied.owners)
            .manager("bob"),
    );
    let Err(Error::Conflicts(conflicts)) = conflicts else {
        unreachable!("the apply has a conflict")
    };
    assert!(conflicts.to_string().contains(".map.map") || lists);
    let forced = updater
        .apply(
            ApplyRequest::new(&live, &typed("a", 2))
                .version("v1")
                .owners(&applied.owners)
                .manager("bob")
                .force(),
        )
        .unwrap();
    let live = forced.object.unwrap();
    let updated = updater
        .update(
            UpdateRequest::new(&live, &typed("b", 1))
                .version("v1")
                .owners(&forced.owners)
                .manager("carol"),
        )
        .unwrap();
    let pruned = updater
        .apply(
            ApplyRequest::new(&updated.object, &typed("b", 2))
                .version("v1")
                .owners(&updated.owners)
                .manager("bob")
                .force(),
        )
        .unwrap();
    let live = pruned.object.unwrap();
    assert_eq!(
        Value::from_json(&live.value().to_json()).unwrap(),
        *live.value()
    );
    updater
        .apply(
            ApplyRequest::new(&live, &null)
                .version("v1")
                .owners(&pruned.owners)
                .manager("bob"),
        )
        .unwrap();
}

#[test]
fn applies_and_updates_run_on_a_small_stack() {
    for lists in [false, true] {
        on_small_stack("typed", move || {
            check(
                Schema::from_yaml(DEEP_SCHEMA)
                    .unwrap()
                    .type_named("root")
                    .unwrap(),
                lists,
            );
        });
    }
    on_small_stack("deduced", || check(Schema::deduced(), false));
}
