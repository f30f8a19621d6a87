//! The result of a request can be read again, or the request fails: objects around the limit of nesting.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_managedfields::{
    ApplyRequest, Error, ErrorKind, FieldManager, MAX_OWNED_DEPTH, Outcome, Time, UpdateRequest,
};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_value::{MAX_DEPTH, Map, Value};

fn manager() -> FieldManager {
    FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap"))
        .build()
        .unwrap()
}

fn time(second: i64) -> Time {
    Time::from_unix_seconds(second).unwrap()
}

/// An object of a number of levels: maps, or lists in the deepest map.
fn object(levels: usize, lists: usize, value: i64) -> Value {
    let innermost = (0..lists).fold(Value::from(value), |below, _| Value::from(vec![below]));
    let below = (1..levels - lists).fold(innermost, |below, _| Map::single("a", below).into());
    let entries = [
        ("apiVersion", Value::from("v1")),
        ("kind", "ConfigMap".into()),
        ("data", below),
    ];
    Value::Map(entries.into_iter().collect())
}

/// The outcome can be written, read, and used in another request.
fn check_read_again(outcome: &Outcome, levels: usize) {
    let read = Value::from_json(&outcome.object.to_json()).unwrap();
    assert_eq!(read, outcome.object, "{levels}");
    assert_eq!(Value::from_yaml(&read.to_yaml()).unwrap(), read, "{levels}");
    let small = object(2, 0, 1);
    assert!(
        manager()
            .update(
                UpdateRequest::new(&read, &small)
                    .manager("edit")
                    .at(time(1))
            )
            .is_ok(),
        "{levels}"
    );
    assert!(
        manager()
            .apply(
                ApplyRequest::new(&read, &small)
                    .manager("ops")
                    .force()
                    .at(time(1))
            )
            .is_ok(),
        "{levels}"
    );
}

/// Every way to write an object of a number of levels.
fn operations(levels: usize, lists: usize) -> Vec<Result<Outcome, Error>> {
    let (null, small) = (Value::Null, object(2, 0, 1));
    let (new, other) = (object(levels, lists, 1), object(levels, lists, 2));
    let stored = manager()
        .apply(ApplyRequest::new(&null, &small).manager("ci").at(time(0)))
        .unwrap()
        .object;
    vec![
        manager().apply(ApplyRequest::new(&null, &new).manager("ci").at(time(0))),
        manager().apply(
            ApplyRequest::new(&stored, &new)
                .manager("ci")
                .force()
                .at(time(0)),
        ),
        manager().apply(
            ApplyRequest::new(&new, &other)
                .manager("ci")
                .force()
                .at(time(0)),
        ),
        manager().apply(
            ApplyRequest::new(&new, &small)
                .manager("ci")
                .force()
                .at(time(0)),
        ),
        manager().update(UpdateRequest::new(&null, &new).manager("edit").at(time(0))),
        manager().update(
            UpdateRequest::new(&stored, &new)
                .manager("edit")
                .at(time(0)),
        ),
        manager().update(UpdateRequest::new(&new, &other).manager("edit").at(time(0))),
    ]
}

#[test]
fn every_outcome_can_be_read_again() {
    for levels in 248..=257 {
        for (at, outcome) in operations(levels, 0).into_iter().enumerate() {
            assert_eq!(
                outcome.is_ok(),
                levels <= MAX_OWNED_DEPTH,
                "operation {at} at {levels} levels"
            );
            if let Ok(outcome) = outcome {
                check_read_again(&outcome, levels);
            }
        }
        // Items of an atomic list have no owners of their own, so the object may nest deeper than the owned fields.
        for (at, outcome) in operations(levels, 10).into_iter().enumerate() {
            assert_eq!(
                outcome.is_ok(),
                levels < MAX_DEPTH,
                "operation {at} at {levels} levels"
            );
            if let Ok(outcome) = outcome {
                check_read_again(&outcome, levels);
            }
        }
    }
}

#[test]
fn the_error_names_the_limit_and_the_path() {
    let path = format!(".data{}", ".a".repeat(MAX_OWNED_DEPTH));
    let error = manager()
        .apply(
            ApplyRequest::new(&Value::Null, &object(252, 0, 1))
                .manager("ci")
                .at(time(0)),
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "failed to track object (/; /v1, Kind=ConfigMap): {path}: nesting is deeper than 251 levels"
        )
    );
    assert_eq!(
        (error.kind(), error.status().code),
        (ErrorKind::Request, 400)
    );
    // The depth of an untracked live object is not the fault of the caller.
    let error = manager()
        .apply(
            ApplyRequest::new(&object(252, 0, 1), &object(2, 0, 1))
                .manager("ci")
                .force()
                .at(time(0)),
        )
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.status().code),
        (ErrorKind::Stored, 500)
    );
}

#[test]
fn defaults_and_untracked_objects_are_limited_too() {
    let kind = GroupVersionKind::from_api_version_kind("v1", "ConfigMap");
    for levels in [MAX_DEPTH, MAX_DEPTH + 1, 10_000] {
        let defaulted = move |_: &Value| object(levels, 0, 1);
        let manager = FieldManager::builder(kind.clone())
            .defaulter(defaulted)
            .build()
            .unwrap();
        let outcome = manager.apply(
            ApplyRequest::new(&Value::Null, &object(2, 0, 1))
                .manager("ci")
                .at(time(0)),
        );
        assert_eq!(outcome.is_ok(), levels <= MAX_DEPTH);
        let mut live = object(2, 0, 1);
        if let Value::Map(fields) = &mut live {
            fields.insert("metadata", Map::single("uid", "1"));
        }
        let outcome = manager.update(
            UpdateRequest::new(&live, &object(levels, 0, 1))
                .manager("edit")
                .at(time(0)),
        );
        assert_eq!(outcome.is_ok(), levels <= MAX_DEPTH);
    }
}
