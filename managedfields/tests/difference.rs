//! Differences between objects.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use fieldmanager_managedfields::internal::{Difference, compare_objects, display_name};
use fieldmanager_managedfields::{
    ApplyRequest, Error, FieldManager, PatchRequest, StripOptions, Time, UpdateRequest,
    strip_for_apply,
};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_patch::PatchType;
use fieldmanager_value::Value;

fn manager() -> FieldManager {
    FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap"))
        .build()
        .unwrap()
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
        .apply(
            ApplyRequest::new(&Value::Null, &config(r#"{"a":"1","b":"1"}"#))
                .manager("ci")
                .at(noon()),
        )
        .unwrap();
    manager()
        .apply(
            ApplyRequest::new(&live.object, &config(r#"{"c":"1"}"#))
                .manager("ops")
                .at(noon()),
        )
        .unwrap()
        .object
}

fn difference(new: &Value) -> Difference {
    compare_objects(&manager(), &live(), new).unwrap()
}

fn changes(found: &Difference) -> Vec<String> {
    found.changes.iter().map(ToString::to_string).collect()
}

fn ownership(found: &Difference) -> Vec<String> {
    let one = |set: &fieldmanager_managedfields::internal::OwnershipChange| {
        let text = |set: &fieldmanager_fieldpath::Set| set.to_string().replace('\n', ",");
        format!(
            "{} +{} -{}",
            display_name(&set.identity),
            text(&set.gained),
            text(&set.lost)
        )
    };
    found.ownership.iter().map(one).collect()
}

/// The object after an apply by force.
fn applied(data: &str, manager_name: &str) -> Value {
    let (live, config) = (live(), config(data));
    let request = ApplyRequest::new(&live, &config)
        .manager(manager_name)
        .force()
        .at(noon());
    manager().apply(request).unwrap().object
}

#[test]
fn an_apply_changes_fields_and_owners() {
    let found = difference(&applied(r#"{"a":"1","d":"1"}"#, "ci"));
    assert_eq!(
        changes(&found),
        [r#".data.b: "1" -> nothing"#, r#".data.d: nothing -> "1""#]
    );
    assert_eq!(ownership(&found), [r#""ci" +.data.d -.data.b"#]);
}

#[test]
fn a_forced_apply_takes_fields_from_their_owners() {
    let found = difference(&applied(r#"{"a":"2","c":"1"}"#, "ops"));
    assert_eq!(changes(&found), [r#".data.a: "1" -> "2""#]);
    assert_eq!(
        ownership(&found),
        [r#""ci" + -.data.a"#, r#""ops" +.data.a -"#]
    );
}

#[test]
fn a_repeated_apply_changes_nothing() {
    let found = difference(&applied(r#"{"c":"1"}"#, "ops"));
    assert!(found.comparison.is_same() && found.changes.is_empty() && found.ownership.is_empty());
}

#[test]
fn an_update_changes_fields_and_owners() {
    let mut new = live().to_json();
    new = new
        .replace(r#""b":"1""#, r#""b":"2""#)
        .replace(r#","c":"1""#, "");
    let (live, new) = (live(), Value::from_json(&new).unwrap());
    let found = difference(
        &manager()
            .update(UpdateRequest::new(&live, &new).manager("edit").at(noon()))
            .unwrap()
            .object,
    );
    assert_eq!(
        changes(&found),
        [r#".data.b: "1" -> "2""#, r#".data.c: "1" -> nothing"#]
    );
    // Its appliers still own the map.
    assert_eq!(
        ownership(&found),
        [
            r#""ci" + -.data.b"#,
            r#""edit" using v1 +.data.b -"#,
            r#""ops" + -.data.c"#
        ]
    );
}

#[test]
fn a_patch_changes_fields_and_owners() {
    let patch = |text: &str| {
        let (live, patch) = (live(), Value::from_json(text).unwrap());
        manager().patch(
            PatchRequest::new(&live, &patch, PatchType::Merge)
                .manager("edit")
                .at(noon()),
        )
    };
    let found = difference(&patch(r#"{"data":{"b":"2","c":null}}"#).unwrap().object);
    assert_eq!(
        changes(&found),
        [r#".data.b: "1" -> "2""#, r#".data.c: "1" -> nothing"#]
    );
    assert_eq!(
        ownership(&found),
        [
            r#""ci" + -.data.b"#,
            r#""edit" using v1 +.data.b -"#,
            r#""ops" + -.data.c"#
        ]
    );
    let found = difference(&patch(r#"{"data":{"b":"1"}}"#).unwrap().object);
    assert!(found.changes.is_empty() && found.ownership.is_empty());
    assert!(matches!(patch("[]"), Err(Error::Patch(_))));
}

#[test]
fn an_object_without_a_kind_is_refused() {
    let (live, config) = (live(), Value::from_json("{}").unwrap());
    let error = manager()
        .apply(ApplyRequest::new(&live, &config).manager("ci").at(noon()))
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
    let annotations = |object: &Value| {
        object
            .get("metadata")
            .and_then(|metadata| metadata.get("annotations"))
            .cloned()
    };
    assert_eq!(annotations(&some), annotations(&read));
    assert!(
        manager()
            .apply(
                ApplyRequest::new(&Value::Null, &all)
                    .manager("ci")
                    .at(noon())
            )
            .is_ok()
    );
    assert_eq!(
        strip_for_apply(&Value::Null, StripOptions::all()),
        Value::Null
    );
}
