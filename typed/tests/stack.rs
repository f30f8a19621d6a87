//! Stack usage of operations on values at the depth limit.
#![allow(clippy::unwrap_used, reason = "tests")]

use fieldmanager_fieldpath::{MAX_PATH_LENGTH, Set};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_testing::{DEEP_SCHEMA, on_small_stack};
use fieldmanager_typed::internal::{
    abandoned_items, field_set_sharing, normalize_applied, normalize_config, reconcile,
};
use fieldmanager_typed::{Duplicates, KeyFields, Ratcheting, TypedValue};
use fieldmanager_value::Value;

#[derive(Clone, Copy)]
enum Form {
    Maps,
    ShortLists,
    LongLists,
    AnyKind,
    Deduced,
}

impl Form {
    const ALL: [Form; 5] = [
        Form::Maps,
        Form::ShortLists,
        Form::LongLists,
        Form::AnyKind,
        Form::Deduced,
    ];

    fn ty(self) -> Type {
        let schema = Schema::from_yaml(DEEP_SCHEMA).unwrap();
        match self {
            Form::Maps | Form::ShortLists | Form::LongLists => schema.type_named("root").unwrap(),
            Form::AnyKind => schema.type_named("both").unwrap(),
            Form::Deduced => Schema::deduced(),
        }
    }

    /// A value of the maximum depth that contains `leaf` at the deepest level.
    fn value(self, leaf: i64) -> Value {
        let map = |entries: Vec<(&str, Value)>| Value::Map(entries.into_iter().collect());
        let mut value = map(vec![("id", 1.into()), ("other", leaf.into())]);
        let mut depth = 1;
        loop {
            let (wrapped, levels) = match self {
                Form::Maps | Form::AnyKind | Form::Deduced => {
                    (map(vec![("id", 1.into()), ("map", value.clone())]), 1)
                }
                Form::ShortLists | Form::LongLists => {
                    let others = if matches!(self, Form::LongLists) {
                        40
                    } else {
                        2
                    };
                    let others = (2..others).map(|id| map(vec![("id", id.into())]));
                    let list = Value::List(others.chain([value.clone()]).collect());
                    (map(vec![("id", 1.into()), ("list", list)]), 2)
                }
            };
            if depth + levels > MAX_PATH_LENGTH {
                return value;
            }
            (value, depth) = (wrapped, depth + levels);
        }
    }
}

/// Runs a check for every form of value.
fn check(name: &str, f: fn(&TypedValue, &TypedValue)) {
    for form in Form::ALL {
        let ty = form.ty();
        let [a, b] = [1, 2].map(|leaf| {
            let (value, ty) = (form.value(leaf), ty.clone());
            on_small_stack("validate", move || {
                TypedValue::new(value, ty, Duplicates::Allow).unwrap()
            })
        });
        on_small_stack(name, move || f(&a, &b));
    }
}

#[test]
fn invalid_values_are_rejected_on_a_small_stack() {
    for form in Form::ALL {
        let mut value = form.value(1);
        for _ in 0..3 {
            value = Value::Map([("map", value)].into_iter().collect());
        }
        let ty = form.ty();
        let error = on_small_stack("validate", move || {
            TypedValue::new(value, ty, Duplicates::Refuse)
                .unwrap_err()
                .to_string()
        });
        assert!(error.contains("nesting is deeper than"), "{error}");
    }
}

#[test]
fn merge_runs_on_a_small_stack() {
    check("merge", |a, b| {
        a.merge(b).unwrap();
        TypedValue::null(a.ty().clone()).merge(b).unwrap();
    });
}

#[test]
fn compare_runs_on_a_small_stack() {
    check("compare", |a, b| {
        assert!(!a.compare(b).unwrap().is_same());
        assert!(
            !a.compare(&TypedValue::null(a.ty().clone()))
                .unwrap()
                .is_same()
        );
        assert!(
            !TypedValue::null(a.ty().clone())
                .compare(b)
                .unwrap()
                .is_same()
        );
    });
}

#[test]
fn field_sets_are_computed_on_a_small_stack() {
    check("field_set", |a, b| {
        let set = a.field_set();
        assert_eq!(field_set_sharing(b, &set).is_empty(), set.is_empty());
    });
}

#[test]
fn items_are_removed_and_extracted_on_a_small_stack() {
    check("items", |a, _| {
        let set = a.field_set();
        for items in [set.clone(), set.leaves(), Set::new()] {
            let _ = a.remove_items(&items);
            let _ = a.extract_items(&items, KeyFields::Append);
            let _ = a.extract_items(&items, KeyFields::AsGiven);
            abandoned_items(a, &set, &[&items]);
            reconcile(&items, a.ty());
        }
        for path in set.paths().take(1) {
            a.get(&path);
        }
    });
}

#[test]
fn unions_are_normalized_on_a_small_stack() {
    check("unions", |a, b| {
        normalize_config(a, a).ok();
        normalize_applied(b, b, b).ok();
        b.normalize_update(a).ok();
        a.validate_unions(b, Ratcheting::On);
    });
}
