//! Applies and updates of objects at the depth limit need no more than a small stack.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_fieldpath::{MAX_PATH_LENGTH, Managers, Set};
use fieldmanager_merge::{Error, Force, Updater};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_testing::on_small_stack;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{Map, Value};

const SCHEMA: &str = "
types:
- name: root
  map:
    fields:
    - {name: id, type: {scalar: numeric}}
    - {name: a, type: {scalar: numeric}}
    - {name: b, type: {scalar: numeric}}
    - {name: list, type: {namedType: list}}
    - {name: map, type: {namedType: root}}
- name: list
  list: {elementType: {namedType: root}, elementRelationship: associative, keys: [id]}
";

/// An object of as many levels as are accepted, with a field in the deepest.
fn object(lists: bool, leaf: &str, value: i64) -> Value {
    let map = |entries: Vec<(&str, Value)>| Value::Map(entries.into_iter().collect::<Map>());
    let mut object = map(vec![("id", 1.into()), (leaf, value.into())]);
    let mut depth = 1;
    loop {
        let below = if lists { ("list", Value::from(vec![object.clone()])) } else { ("map", object.clone()) };
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
    let updater = Updater::builder().build();
    let v1 = "v1".into();
    let null = TypedValue::null(ty.clone());
    let applied = updater.apply(&null, &typed("a", 1), &v1, &Managers::new(), "alice", Force::No).unwrap();
    let live = applied.object.unwrap();
    let set = applied.managers.get("alice").unwrap().set().clone();
    assert_eq!(set.depth(), MAX_PATH_LENGTH - usize::from(lists && ty.name() == "__untyped_deduced_"));
    assert_eq!(Set::from_json(set.to_json().as_bytes()).unwrap(), set);
    let conflicts = updater.apply(&live, &typed("a", 2), &v1, &applied.managers, "bob", Force::No);
    let Err(Error::Conflicts(conflicts)) = conflicts else { unreachable!("the apply has a conflict") };
    assert!(conflicts.to_string().contains(".map.map") || lists);
    let forced = updater.apply(&live, &typed("a", 2), &v1, &applied.managers, "bob", Force::Yes).unwrap();
    let live = forced.object.unwrap();
    let updated = updater.update(&live, &typed("b", 1), &v1, &forced.managers, "carol").unwrap();
    let pruned =
        updater.apply(&updated.object, &typed("b", 2), &v1, &updated.managers, "bob", Force::Yes).unwrap();
    let live = pruned.object.unwrap();
    assert_eq!(Value::from_json(&live.value().to_json()).unwrap(), *live.value());
    updater.apply(&live, &null, &v1, &pruned.managers, "bob", Force::No).unwrap();
}

#[test]
fn applies_and_updates_run_on_a_small_stack() {
    for lists in [false, true] {
        on_small_stack("typed", move || {
            check(Schema::from_yaml(SCHEMA).unwrap().type_named("root").unwrap(), lists);
        });
    }
    on_small_stack("deduced", || check(Schema::deduced(), false));
}
