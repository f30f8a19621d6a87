//! Requests with objects at the depth limit need no more than a small stack.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_fieldpath::{Path, PathElement};
use fieldmanager_managedfields::internal::{
    LintOptions, compare_objects, decode_lossy, find_owners, lint, update_no_errors,
};
use fieldmanager_managedfields::{
    ApplyRequest, CsaUpgrade, ExtractForm, ExtractRequest, FieldManager, Identity, Interner,
    MAX_OWNED_DEPTH, ManagedFields, Operation, PatchRequest, ScaleHandler, Selector, StripOptions,
    Time, UpdateRequest, extract, ignore_timestamp_only_changes, strip_for_apply,
};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_patch::{PatchSchema, PatchType, json_merge, json_patch};
use fieldmanager_schema::Schema;
use fieldmanager_testing::on_small_stack;
use fieldmanager_value::{MAX_DEPTH, Map, Value};

fn noon() -> Time {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

fn manager() -> FieldManager {
    FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap"))
        .build()
        .unwrap()
}

/// An object with a number of levels and a field in the deepest.
fn object(levels: usize, leaf: &str, value: &str) -> Value {
    let innermost = Map::single(leaf, value).into();
    let below: Value = (2..levels).fold(innermost, |below, _| Map::single("a", below).into());
    let entries = [
        ("apiVersion", Value::from("v1")),
        ("kind", "ConfigMap".into()),
        ("data", below),
    ];
    Value::Map(entries.into_iter().collect())
}

#[test]
fn objects_are_applied_and_updated_on_a_small_stack() {
    on_small_stack("requests", || {
        let manager = manager();
        let first = object(MAX_OWNED_DEPTH, "x", "1");
        let second = object(MAX_OWNED_DEPTH, "x", "2");
        let live = manager
            .apply(
                ApplyRequest::new(&Value::Null, &first)
                    .manager("ci")
                    .at(noon()),
            )
            .unwrap()
            .object;
        assert!(
            manager
                .apply(ApplyRequest::new(&live, &second).manager("ops").at(noon()))
                .unwrap_err()
                .conflicts()
                .is_some()
        );
        let forced = manager
            .apply(
                ApplyRequest::new(&live, &second)
                    .manager("ops")
                    .force()
                    .at(noon()),
            )
            .unwrap()
            .object;
        assert_eq!(
            compare_objects(&manager, &live, &forced)
                .unwrap()
                .changes
                .len(),
            1
        );
        let live = forced;
        let live = manager
            .update(UpdateRequest::new(&live, &first).manager("edit").at(noon()))
            .unwrap()
            .object;
        manager
            .update(
                UpdateRequest::new(&live, &second)
                    .manager("edit")
                    .at(noon()),
            )
            .unwrap();
        manager
            .update(
                UpdateRequest::new(&first, &second)
                    .manager("edit")
                    .at(noon()),
            )
            .unwrap();
        manager
            .apply(
                ApplyRequest::new(&first, &second)
                    .manager("kubectl")
                    .force()
                    .at(noon()),
            )
            .unwrap();
        for form in [ExtractForm::Reapply, ExtractForm::AsGo] {
            manager.extract(&live, "ci", form).unwrap();
        }
        let schema = Some(PatchSchema::free());
        let patch = json_merge::create(&live, &second).unwrap();
        for how in [PatchType::Strategic, PatchType::Merge] {
            manager
                .patch(
                    PatchRequest::new(&live, &second, how)
                        .schema(schema)
                        .manager("edit")
                        .at(noon()),
                )
                .unwrap();
            manager
                .patch(
                    PatchRequest::new(&live, &patch, how)
                        .schema(schema)
                        .manager("edit")
                        .at(noon()),
                )
                .unwrap();
        }
        let patch = json_patch::create(&live, &second).unwrap();
        manager
            .patch(
                PatchRequest::new(&live, &patch, PatchType::Json)
                    .schema(schema)
                    .manager("edit")
                    .at(noon()),
            )
            .unwrap();
        let mut interner = Interner::default();
        assert_eq!(interner.share(&live), live);
        let managed = ManagedFields::of_object_with(&live, &mut interner).unwrap();
        assert_eq!(managed, ManagedFields::of_object(&live).unwrap());
        assert!(!format!("{managed:?}").is_empty());
        assert_eq!(managed.set_in(&first), managed.set_in(&first));
        let list = managed.encode();
        assert_eq!(ManagedFields::decode(list.as_ref()).unwrap(), managed);
        assert_eq!(decode_lossy(list.as_ref()).managed, managed);
        let edit = Selector::manager("edit");
        assert!(!managed.without(&edit).is_empty());
        managed.rename(&edit, "other").unwrap();
        managed
            .transfer(&edit, &Identity::new("ci", Operation::Apply, "", ""))
            .ok();
        let mut added = ManagedFields::new();
        managed
            .entries()
            .into_iter()
            .for_each(|entry| added.add(entry));
        assert_eq!(added, managed);
        let scale =
            ScaleHandler::new("v1").replicas("v1", Path::from_iter([PathElement::field("a")]));
        scale.to_parent(&managed, &scale.to_subresource(&managed));
        for form in [ExtractForm::Reapply, ExtractForm::AsGo] {
            extract(ExtractRequest::new(&live, &Schema::deduced(), "ci").form(form)).unwrap();
        }
        let upgrade = CsaUpgrade::new(["edit"], "ci");
        upgrade.upgrade(&live).unwrap();
        upgrade.patch(&live).unwrap();
        for entry in managed.entries() {
            find_owners(&live, entry.operation, &entry.fields);
        }
        let _ = lint(&live, &LintOptions::default());
        let _ = strip_for_apply(&live, StripOptions::all());
        let _ = ignore_timestamp_only_changes(&live, &live.clone());
        let patch = json_merge::create(&live, &second).unwrap();
        manager
            .patch(
                PatchRequest::new(&live, &patch, PatchType::Merge)
                    .schema(schema)
                    .manager("edit")
                    .at(noon()),
            )
            .unwrap();
        let json: serde_json::Value = fieldmanager_value::from_value(live.clone()).unwrap();
        assert!(
            manager
                .extract_object::<serde_json::Value>(&json, "ci", ExtractForm::Reapply)
                .is_ok()
        );
        manager
            .update_object(
                UpdateRequest::for_objects(Some(&json), &json)
                    .manager("edit")
                    .at(noon()),
            )
            .unwrap();
        let config: serde_json::Value = fieldmanager_value::from_value(second.clone()).unwrap();
        manager
            .apply_object(
                ApplyRequest::for_objects(Some(&json), &config)
                    .manager("ci")
                    .force()
                    .at(noon()),
            )
            .unwrap();
    });
}

#[test]
fn objects_beyond_the_limit_are_refused_on_a_small_stack() {
    on_small_stack("refused", || {
        let manager = manager();
        for levels in [
            MAX_OWNED_DEPTH + 1,
            MAX_DEPTH,
            MAX_DEPTH + 1,
            10_000,
            100_000,
        ] {
            let deep = object(levels, "x", "1");
            let small = object(2, "x", "1");
            let null = Value::Null;
            assert!(
                manager
                    .apply(ApplyRequest::new(&null, &deep).manager("ci").at(noon()))
                    .is_err()
            );
            assert!(
                manager
                    .apply(ApplyRequest::new(&deep, &small).manager("ci").at(noon()))
                    .is_err()
            );
            assert!(
                manager
                    .update(UpdateRequest::new(&null, &deep).manager("ci").at(noon()))
                    .is_err()
            );
            assert!(
                manager
                    .update(UpdateRequest::new(&small, &deep).manager("ci").at(noon()))
                    .is_err()
            );
            assert!(
                manager
                    .apply(
                        ApplyRequest::new(&null, &deep)
                            .manager("ci")
                            .force()
                            .at(noon())
                    )
                    .is_err()
            );
            compare_objects(&manager, &null, &deep).ok();
            manager.extract(&deep, "ci", ExtractForm::Reapply).ok();
            extract(ExtractRequest::new(&deep, &Schema::deduced(), "ci").form(ExtractForm::AsGo))
                .ok();
            let upgrade = CsaUpgrade::new(["edit"], "ci");
            upgrade.upgrade(&deep).ok();
            upgrade.patch(&deep).ok();
            let list = Value::from(vec![deep.clone()]);
            assert!(ManagedFields::decode(Some(&list)).is_err());
            assert!(!decode_lossy(Some(&list)).faults.is_empty());
            let _ = ManagedFields::new().set_in(&deep);
            let _ = lint(&deep, &LintOptions::default());
            let _ = strip_for_apply(&deep, StripOptions::all());
            let _ = ignore_timestamp_only_changes(&deep, &deep.clone());
            let _ = Interner::default().share(&deep);
            let free = Some(PatchSchema::free());
            assert!(
                manager
                    .patch(
                        PatchRequest::new(&small, &deep, PatchType::Merge)
                            .schema(free)
                            .manager("ci")
                            .at(noon())
                    )
                    .is_err()
            );
            manager
                .patch(
                    PatchRequest::new(&small, &deep, PatchType::Strategic)
                        .schema(free)
                        .manager("ci")
                        .at(noon()),
                )
                .ok();
            update_no_errors(
                &manager,
                UpdateRequest::new(&small, &deep).manager("ci").at(noon()),
            )
            .error
            .unwrap();
        }
    });
}
