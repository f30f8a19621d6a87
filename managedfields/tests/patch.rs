//! Patches: their changes, the owners of the changes, and the answers to refused patches.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use crate::support::{cm, entries, manager, time};
use fieldmanager_managedfields::{
    ApplyRequest, Error, ErrorKind, FieldManager, PatchRequest, Status,
};
use fieldmanager_openapi::{GroupVersionKind, builtin};
use fieldmanager_patch::{PatchSchema, PatchType};
use fieldmanager_value::Value;

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

/// A ConfigMap that `ci` applied.
fn live() -> Value {
    let config = cm(r#""data":{"a":"1","b":"1"}"#);
    manager()
        .apply(
            ApplyRequest::new(&Value::Null, &config)
                .manager("ci")
                .at(time(0)),
        )
        .unwrap()
        .object
}

fn refuse(
    live: &Value,
    patch: &str,
    how: PatchType,
    schema: Option<PatchSchema<'_>>,
) -> (Error, Status) {
    let error = manager()
        .patch(
            PatchRequest::new(live, &json(patch), how)
                .schema(schema)
                .manager("ops")
                .at(time(1)),
        )
        .unwrap_err();
    let status = error.status();
    (error, status)
}

#[test]
fn the_manager_of_a_patch_owns_what_it_changes() {
    let patches = [
        (
            PatchType::Json,
            r#"[{"op":"replace","path":"/data/b","value":"2"}]"#,
        ),
        (PatchType::Merge, r#"{"data":{"b":"2"}}"#),
        (PatchType::Strategic, r#"{"data":{"b":"2"}}"#),
    ];
    for (how, patch) in patches {
        let free = Some(PatchSchema::free());
        let outcome = manager()
            .patch(
                PatchRequest::new(&live(), &json(patch), how)
                    .schema(free)
                    .manager("ops")
                    .at(time(1)),
            )
            .unwrap();
        assert_eq!(
            entries(&outcome),
            ["ci Apply v1 00 .data .data.a", "ops Update v1 01 .data.b"],
            "{how:?}"
        );
        assert_eq!(
            outcome.object.get("data").unwrap().to_json(),
            r#"{"a":"1","b":"2"}"#
        );
    }
}

#[test]
fn a_no_op_patch_adds_no_entry() {
    let before = live();
    for (how, patch) in [
        (PatchType::Json, "[]"),
        (PatchType::Merge, "{}"),
        (PatchType::Strategic, "{}"),
    ] {
        let free = Some(PatchSchema::free());
        let outcome = manager()
            .patch(
                PatchRequest::new(&before, &json(patch), how)
                    .schema(free)
                    .manager("ops")
                    .at(time(1)),
            )
            .unwrap();
        assert!(!outcome.changed, "{how:?}");
        assert_eq!(outcome.object, before);
    }
}

#[test]
fn a_patch_can_reset_the_managed_fields() {
    let patch = json(r#"[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]"#);
    let outcome = manager()
        .patch(
            PatchRequest::new(&live(), &patch, PatchType::Json)
                .manager("ops")
                .at(time(1)),
        )
        .unwrap();
    assert!(outcome.managed.entries().is_empty());
}

#[test]
fn answers_equal_those_of_an_api_server() {
    let cases = [
        (PatchType::Strategic, "{}", 415, "UnsupportedMediaType"),
        (PatchType::Apply, "{}", 415, "UnsupportedMediaType"),
        (PatchType::Merge, "[1]", 400, "BadRequest"),
        (PatchType::Json, "{}", 400, "BadRequest"),
        (
            PatchType::Json,
            r#"[{"op":"remove","path":"/none"}]"#,
            422,
            "Invalid",
        ),
        (PatchType::Merge, r#"{"metadata":3}"#, 422, "Invalid"),
        (PatchType::Merge, r#"{"kind":"Secret"}"#, 422, "Invalid"),
    ];
    for (how, patch, code, reason) in cases {
        let (error, status) = refuse(&live(), patch, how, None);
        assert_eq!(
            (status.code, status.reason),
            (code, reason),
            "{patch}: {error}"
        );
        assert_eq!(error.kind(), ErrorKind::Request);
    }
    let many = format!(
        "[{}]",
        vec![r#"{"op":"test","path":"","value":{}}"#; 10_001].join(",")
    );
    assert_eq!(refuse(&live(), &many, PatchType::Json, None).1.code, 413);
    let (error, status) = refuse(&Value::Null, "{}", PatchType::Merge, None);
    assert_eq!(
        error.to_string(),
        "there is no object of /v1, Kind=ConfigMap to patch"
    );
    assert_eq!((status.code, status.reason), (404, "NotFound"));
    let (error, status) = refuse(
        &live(),
        r#"{"data":{"$retainKeys":["a"],"b":"2"}}"#,
        PatchType::Strategic,
        Some(PatchSchema::free()),
    );
    assert!(
        error
            .to_string()
            .starts_with(".data: field `b` is set but not in $retainKeys"),
        "{error}"
    );
    assert_eq!(
        (status.code, status.message.as_str()),
        (400, "invalid patch format of retainKeys")
    );
}

#[test]
fn a_patch_for_another_state_of_the_object_conflicts() {
    let live = cm(r#""metadata":{"name":"x","uid":"u","resourceVersion":"7"}"#);
    let (error, status) = refuse(
        &live,
        r#"{"metadata":{"resourceVersion":"6"}}"#,
        PatchType::Merge,
        None,
    );
    assert_eq!((status.code, status.reason), (409, "Conflict"));
    assert_eq!(
        error.to_string(),
        "Operation cannot be fulfilled on /x; /v1, Kind=ConfigMap: the object has been modified; please apply \
         your changes to the latest version and try again (metadata.resourceVersion is `7`, got `6`)"
    );
    assert_eq!(
        refuse(&live, r#"{"metadata":{"uid":"v"}}"#, PatchType::Merge, None)
            .1
            .code,
        409
    );
    let same = json(r#"{"metadata":{"resourceVersion":"7"},"data":{"a":"1"}}"#);
    assert!(
        manager()
            .patch(
                PatchRequest::new(&live, &same, PatchType::Merge)
                    .manager("ops")
                    .at(time(1))
            )
            .is_ok()
    );
}

#[test]
fn a_patched_object_that_does_not_fit_its_type_is_refused() {
    let kind = GroupVersionKind::from_api_version_kind("apps/v1", "Deployment");
    let manager = FieldManager::builder(kind)
        .types(builtin::types())
        .build()
        .unwrap();
    let live = json(
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"w"},"spec":{"replicas":1}}"#,
    );
    let patch = json(r#"{"spec":{"replicas":[2]}}"#);
    let error = manager
        .patch(
            PatchRequest::new(&live, &patch, PatchType::Merge)
                .manager("ops")
                .at(time(1)),
        )
        .unwrap_err();
    assert!(matches!(&error, Error::PatchResult { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains(".spec.replicas: expected numeric"),
        "{error}"
    );
    let status = error.status();
    assert_eq!((status.code, status.reason), (422, "Invalid"));
    assert!(
        status
            .message
            .starts_with(r#" "" is invalid: patch: Invalid value: "{\"apiVersion\""#),
        "{}",
        status.message
    );
    assert_eq!(status.details.unwrap().causes[0].field, "patch");
}

#[test]
fn defaults_are_filled_in() {
    let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap"))
        .defaulter(|object| {
            let mut object = object.clone();
            if let Value::Map(map) = &mut object {
                map.insert("immutable", Value::Bool(false));
            }
            object
        })
        .build()
        .unwrap();
    let patch = json(r#"{"data":{"a":"2"}}"#);
    let outcome = manager
        .patch(
            PatchRequest::new(&live(), &patch, PatchType::Merge)
                .manager("ops")
                .at(time(1)),
        )
        .unwrap();
    assert_eq!(outcome.object.get("immutable"), Some(&Value::Bool(false)));
}
