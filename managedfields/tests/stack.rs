//! Requests about objects at the depth limit need no more than a small stack.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_managedfields::{
    CsaUpgrade, ExtractForm, FieldManager, Force, Interner, LintOptions, MAX_OWNED_DEPTH, ManagedFields,
    StripOptions, Time, ignore_timestamp_only_changes, lint, strip_for_apply,
};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_patch::{PatchSchema, PatchType, json_merge, json_patch};
use fieldmanager_testing::on_small_stack;
use fieldmanager_value::{MAX_DEPTH, Map, Value};

fn noon() -> Time {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

fn manager() -> FieldManager {
    FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build().unwrap()
}

/// An object of a number of levels, with a field in the deepest.
fn object(levels: usize, leaf: &str, value: &str) -> Value {
    let innermost = Map::single(leaf, value).into();
    let below: Value = (2..levels).fold(innermost, |below, _| Map::single("a", below).into());
    let entries = [("apiVersion", Value::from("v1")), ("kind", "ConfigMap".into()), ("data", below)];
    Value::Map(entries.into_iter().collect())
}

#[test]
fn objects_are_applied_and_updated_on_a_small_stack() {
    on_small_stack("requests", || {
        let manager = manager();
        let first = object(MAX_OWNED_DEPTH, "x", "1");
        let second = object(MAX_OWNED_DEPTH, "x", "2");
        let live = manager.apply(&Value::Null, &first, "ci", Force::No, noon()).unwrap().object;
        assert!(manager.apply(&live, &second, "ops", Force::No, noon()).unwrap_err().conflicts().is_some());
        assert_eq!(manager.dry_run_apply(&live, &second, "ops", noon()).unwrap().changes.len(), 1);
        let live = manager.apply(&live, &second, "ops", Force::Yes, noon()).unwrap().object;
        let live = manager.update(&live, &first, "edit", noon()).unwrap().object;
        manager.dry_run_update(&live, &second, "edit", noon()).unwrap();
        manager.update(&first, &second, "edit", noon()).unwrap();
        manager.apply(&first, &second, "kubectl", Force::Yes, noon()).unwrap();
        for form in [ExtractForm::Reapply, ExtractForm::AsGo] {
            manager.extract(&live, "ci", form).unwrap();
        }
        let schema = Some(PatchSchema::free());
        let patch = json_merge::create(&live, &second).unwrap();
        for how in [PatchType::Strategic, PatchType::Merge] {
            manager.patch(&live, &second, how, schema, "edit", noon()).unwrap();
            manager.patch(&live, &patch, how, schema, "edit", noon()).unwrap();
        }
        let patch = json_patch::create(&live, &second).unwrap();
        manager.patch(&live, &patch, PatchType::Json, schema, "edit", noon()).unwrap();
        let mut interner = Interner::default();
        assert_eq!(interner.share(&live), live);
        let managed = ManagedFields::of_object_with(&live, &mut interner).unwrap();
        assert_eq!(managed, ManagedFields::of_object(&live).unwrap());
        assert!(!format!("{managed:?}").is_empty());
        assert_eq!(managed.set_in(&first), managed.set_in(&first));
        CsaUpgrade::new(["edit"], "ci").upgrade(&live).unwrap();
        let _ = lint(&live, &LintOptions::default());
        let _ = strip_for_apply(&live, StripOptions::all());
        let _ = ignore_timestamp_only_changes(&live, &live.clone());
        let json: serde_json::Value = fieldmanager_value::from_value(live.clone()).unwrap();
        let config: serde_json::Value = fieldmanager_value::from_value(second.clone()).unwrap();
        manager.apply_object(Some(&json), &config, "ci", Force::Yes, noon()).unwrap();
    });
}

#[test]
fn objects_beyond_the_limit_are_refused_on_a_small_stack() {
    on_small_stack("refused", || {
        let manager = manager();
        for levels in [MAX_OWNED_DEPTH + 1, MAX_DEPTH, MAX_DEPTH + 1, 10_000, 100_000] {
            let deep = object(levels, "x", "1");
            let small = object(2, "x", "1");
            let null = Value::Null;
            assert!(manager.apply(&null, &deep, "ci", Force::No, noon()).is_err());
            assert!(manager.apply(&deep, &small, "ci", Force::No, noon()).is_err());
            assert!(manager.update(&null, &deep, "ci", noon()).is_err());
            assert!(manager.update(&small, &deep, "ci", noon()).is_err());
            assert!(manager.dry_run_apply(&null, &deep, "ci", noon()).is_err());
            assert!(manager.dry_run_update(&null, &deep, "ci", noon()).is_err());
            manager.extract(&deep, "ci", ExtractForm::Reapply).ok();
            let _ = lint(&deep, &LintOptions::default());
            let _ = strip_for_apply(&deep, StripOptions::all());
            let _ = ignore_timestamp_only_changes(&deep, &deep.clone());
            let _ = Interner::default().share(&deep);
            let free = Some(PatchSchema::free());
            assert!(manager.patch(&small, &deep, PatchType::Merge, free, "ci", noon()).is_err());
            manager.patch(&small, &deep, PatchType::Strategic, free, "ci", noon()).ok();
            manager.update_no_errors(&small, &deep, "ci", noon()).1.unwrap();
        }
    });
}
