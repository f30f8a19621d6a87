//! Dry runs.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "test helpers may panic")]

use fieldmanager_managedfields::internal::DryRun;
use fieldmanager_managedfields::{
    ApplyRequest, Error, FieldManager, PatchRequest, StripOptions, Time, UpdateRequest, strip_for_apply,
};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_patch::PatchType;
use fieldmanager_value::Value;

fn manager() -> FieldManager {
    FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build().unwrap()
}

fn noon() -> Time {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

fn config(data: &str) -> Value {
    Value::from_json(&format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"x"}},"data":{data}}}"#
    ))
    .unwrap()
}

fn live() -> Value {
    let live = manager()
        .apply(ApplyRequest::new(&Value::Null, &config(r#"{"a":"1","b":"1"}"#)).manager("ci").at(noon()))
        .unwrap();
    manager()
        .apply(ApplyRequest::new(&live.object, &config(r#"{"c":"1"}"#)).manager("ops").at(noon()))
        .unwrap()
        .object
}

fn changes(dry: &DryRun) -> Vec<String> {
    dry.changes.iter().map(ToString::to_string).collect()
}

fn ownership(dry: &DryRun) -> Vec<String> {
    let one = |set: &fieldmanager_managedfields::internal::OwnershipChange| {
        let text = |set: &fieldmanager_fieldpath::Set| set.to_string().replace('\n', ",");
        format!("{} +{} -{}", set.identity.display_name(), text(&set.gained), text(&set.lost))
    };
    dry.ownership.iter().map(one).collect()
}

#[test]
fn an_apply_lists_changes_and_owners() {
    let dry = manager()
        .dry_run_apply(ApplyRequest::new(&live(), &config(r#"{"a":"1","d":"1"}"#)).manager("ci").at(noon()))
        .unwrap();
    assert_eq!(dry.conflicts, None);
    assert_eq!(changes(&dry), [r#".data.b: "1" -> nothing"#, r#".data.d: nothing -> "1""#]);
    assert_eq!(ownership(&dry), [r#""ci" +.data.d -.data.b"#]);
    let real = manager()
        .apply(ApplyRequest::new(&live(), &config(r#"{"a":"1","d":"1"}"#)).manager("ci").at(noon()))
        .unwrap();
    assert_eq!(dry.outcome.object, real.object);
}

#[test]
fn a_conflicting_apply_shows_the_forced_result() {
    let dry = manager()
        .dry_run_apply(ApplyRequest::new(&live(), &config(r#"{"a":"2","c":"1"}"#)).manager("ops").at(noon()))
        .unwrap();
    let conflicts = dry.conflicts.as_ref().unwrap();
    assert_eq!(conflicts.iter().map(|conflict| conflict.path.to_string()).collect::<Vec<_>>(), [".data.a"]);
    assert_eq!(changes(&dry), [r#".data.a: "1" -> "2""#]);
    assert_eq!(ownership(&dry), [r#""ci" + -.data.a"#, r#""ops" +.data.a -"#]);
    let forced = manager()
        .apply(ApplyRequest::new(&live(), &config(r#"{"a":"2","c":"1"}"#)).manager("ops").force().at(noon()))
        .unwrap();
    assert_eq!(dry.outcome.object, forced.object);
}

#[test]
fn a_repeated_apply_changes_nothing() {
    let dry = manager()
        .dry_run_apply(ApplyRequest::new(&live(), &config(r#"{"c":"1"}"#)).manager("ops").at(noon()))
        .unwrap();
    assert!(
        dry.conflicts.is_none()
            && dry.comparison.is_same()
            && dry.changes.is_empty()
            && dry.ownership.is_empty()
    );
    assert!(!dry.outcome.changed);
}

#[test]
fn an_update_lists_changes_and_owners() {
    let mut new = live().to_json();
    new = new.replace(r#""b":"1""#, r#""b":"2""#).replace(r#","c":"1""#, "");
    let dry = manager()
        .dry_run_update(
            UpdateRequest::new(&live(), &Value::from_json(&new).unwrap()).manager("edit").at(noon()),
        )
        .unwrap();
    assert_eq!(changes(&dry), [r#".data.b: "1" -> "2""#, r#".data.c: "1" -> nothing"#]);
    // Its appliers still own the map.
    assert_eq!(
        ownership(&dry),
        [r#""ci" + -.data.b"#, r#""edit" using v1 +.data.b -"#, r#""ops" + -.data.c"#]
    );
}

#[test]
fn a_patch_lists_changes_and_owners() {
    let patch = |text: &str| {
        let patch = Value::from_json(text).unwrap();
        manager()
            .dry_run_patch(PatchRequest::new(&live(), &patch, PatchType::Merge).manager("edit").at(noon()))
    };
    let dry = patch(r#"{"data":{"b":"2","c":null}}"#).unwrap();
    assert_eq!(changes(&dry), [r#".data.b: "1" -> "2""#, r#".data.c: "1" -> nothing"#]);
    assert_eq!(
        ownership(&dry),
        [r#""ci" + -.data.b"#, r#""edit" using v1 +.data.b -"#, r#""ops" + -.data.c"#]
    );
    let dry = patch(r#"{"data":{"b":"1"}}"#).unwrap();
    assert!(dry.changes.is_empty() && dry.ownership.is_empty());
    assert!(matches!(patch("[]"), Err(Error::Patch(_))));
}

#[test]
fn other_errors_fail_the_dry_run() {
    let error = manager()
        .dry_run_apply(ApplyRequest::new(&live(), &Value::from_json("{}").unwrap()).manager("ci").at(noon()))
        .unwrap_err();
    assert!(matches!(error, Error::ObjectType { .. }));
}

#[test]
fn a_stripped_object_can_be_applied() {
    let json = r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"},"status":{"x":1},"metadata":{
        "name":"x","namespace":"y","uid":"1","resourceVersion":"2","generation":3,"selfLink":"/","clusterName":"c",
        "creationTimestamp":"2026-01-31T12:00:00Z","deletionTimestamp":"2026-01-31T12:00:00Z",
        "deletionGracePeriodSeconds":0,"managedFields":[{"manager":"broken"}],"labels":{"l":"m"},
        "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","keep":"1"}}}"#;
    let read = Value::from_json(json).unwrap();
    let all = strip_for_apply(&read, StripOptions::all());
    assert_eq!(
        all.to_json(),
        r#"{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":{"annotations":{"keep":"1"},"labels":{"l":"m"},"name":"x","namespace":"y"}}"#,
    );
    let some = strip_for_apply(&read, StripOptions::default());
    assert_eq!(some.get("status"), read.get("status"));
    let annotations =
        |object: &Value| object.get("metadata").and_then(|metadata| metadata.get("annotations")).cloned();
    assert_eq!(annotations(&some), annotations(&read));
    assert!(manager().apply(ApplyRequest::new(&Value::Null, &all).manager("ci").at(noon())).is_ok());
    assert_eq!(strip_for_apply(&Value::Null, StripOptions::all()), Value::Null);
}
