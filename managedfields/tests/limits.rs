//! Requests that are expensive on purpose or that an API server refuses.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use std::fmt::Write;

use fieldmanager_managedfields::MAX_CAUSES;
use fieldmanager_managedfields::internal::{Finding, LintOptions, Severity, lint};
use fieldmanager_managedfields::{
    ApplyRequest, Entry, Error, FieldManager, Status, Time, UpdateRequest,
};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

fn manager() -> FieldManager {
    FieldManager::builder(GroupVersionKind::new("", "v1", "ConfigMap"))
        .build()
        .unwrap()
}

fn noon() -> Time {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

fn entry(manager: &str, version: &str, fields: &str) -> String {
    format!(
        r#"{{"manager":"{manager}","operation":"Apply","apiVersion":"{version}","fieldsType":"FieldsV1",
            "fieldsV1":{fields}}}"#
    )
}

fn object(data: &str, entries: &[String]) -> Value {
    let entries = entries.join(",");
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"managedFields":[{entries}]}},"data":{{{data}}}}}"#
    );
    Value::from_json(&json).unwrap()
}

#[test]
fn a_request_with_an_entry_at_a_malformed_version_is_a_bad_request() {
    let new = object("", &[entry("ci", "a/b/c", r#"{"f:data":{}}"#)]);
    let error = manager()
        .update(
            UpdateRequest::new(&Value::Null, &new)
                .manager("ci")
                .at(noon()),
        )
        .unwrap_err();
    assert_eq!(error.status().code, 400);
    assert_eq!(
        error.to_string(),
        "failed to convert the object: cannot convert to version `a/b/c`: unexpected GroupVersion string: a/b/c",
    );
    // The version of a stored entry is not the fault of the caller.
    let config =
        Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"}}"#).unwrap();
    let error = manager()
        .apply(ApplyRequest::new(&new, &config).manager("ci").at(noon()))
        .unwrap_err();
    assert_eq!(error.status().code, 500);
}

/// An object whose managers own one field each, at different versions.
fn versions(count: usize) -> Value {
    let mut data = String::new();
    let mut entries = Vec::new();
    for i in 0..count {
        let comma = if i > 0 { "," } else { "" };
        let _ = write!(data, r#"{comma}"f{i}":"1""#);
        entries.push(entry(
            &format!("m{i}"),
            &format!("v{i}"),
            &format!(r#"{{"f:data":{{"f:f{i}":{{}}}}}}"#),
        ));
    }
    object(&data, &entries)
}

#[test]
fn managers_at_too_many_versions_are_refused() {
    let updated = |count: usize| {
        manager().update(
            UpdateRequest::new(&Value::Null, &versions(count))
                .manager("ci")
                .at(noon()),
        )
    };
    assert!(updated(100).is_ok());
    let error = updated(1600).unwrap_err();
    assert!(matches!(error, Error::RequestEntries(_)), "{error}");
    assert_eq!(error.status().code, 400);
    assert_eq!(
        error.to_string(),
        "failed to convert the object: managers own fields at more than 100 versions of the object",
    );
}

#[test]
fn causes_of_a_conflict_are_capped_and_the_rest_is_counted() {
    let (fields, managers) = (40, 50);
    let names = (0..fields).map(|i| format!("f{i:02}"));
    let data = |value: &str| {
        names
            .clone()
            .map(|name| format!(r#""{name}":"{value}""#))
            .collect::<Vec<_>>()
            .join(",")
    };
    let owned = names
        .clone()
        .map(|name| format!(r#""f:{name}":{{}}"#))
        .collect::<Vec<_>>()
        .join(",");
    let owned = format!(r#"{{"f:data":{{{owned}}}}}"#);
    let entries: Vec<String> = (0..managers)
        .map(|i| entry(&format!("m{i:02}"), "v1", &owned))
        .collect();
    let live = object(&data("1"), &entries);
    let config = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","data":{{{}}}}}"#,
        data("2")
    );
    let config = Value::from_json(&config).unwrap();
    let error = manager()
        .apply(ApplyRequest::new(&live, &config).manager("ops").at(noon()))
        .unwrap_err();
    let status = error.status();
    assert_eq!(status.details.unwrap().causes.len(), MAX_CAUSES);
    assert!(
        status.message.starts_with(
            "Apply failed with 2000 conflicts: conflicts with \"m00\":\n- .data.f00\n"
        )
    );
    assert!(
        status
            .message
            .ends_with("\n- .data.f39\nand 1000 more conflicts"),
        "{}",
        status.message
    );
    assert_eq!(error.conflicts().unwrap().len(), 2000);
}

#[test]
fn a_long_name_above_many_conflicts_is_not_repeated_without_limit() {
    let (name, fields) = ("n".repeat(100_000), 0..500);
    let map = |value: &str| {
        let fields: Vec<String> = fields
            .clone()
            .map(|i| format!(r#""f{i}":{value}"#))
            .collect();
        format!(r#""{name}":{{{}}}"#, fields.join(","))
    };
    let owned: Vec<String> = fields
        .clone()
        .map(|i| format!(r#""f:f{i}":{{}}"#))
        .collect();
    let owned = format!(r#"{{"f:data":{{"f:{name}":{{{}}}}}}}"#, owned.join(","));
    let live = object(&map("1"), &[entry("ci", "v1", &owned)]);
    let config = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","data":{{{}}}}}"#,
        map("2")
    );
    let error = manager()
        .apply(
            ApplyRequest::new(&live, &Value::from_json(&config).unwrap())
                .manager("ops")
                .at(noon()),
        )
        .unwrap_err();
    let status = error.status();
    assert_eq!(status.details.unwrap().causes.len(), 10);
    assert!(status.message.len() < 1 << 21 && status.message.ends_with("\nand 490 more conflicts"));
    assert_eq!(error.conflicts().unwrap().len(), 500);
}

#[test]
fn lint_reports_entries_that_an_api_server_refuses() {
    let fields = r#"{"f:data":{}}"#;
    let unreadable = r#"{"manager":"old","operation":"Patch"}"#.to_owned();
    let entries = [
        entry(&"a".repeat(200), "v1", fields),
        unreadable,
        entry("b\\u0007", "v1", fields),
    ];
    let report = lint(&object("", &entries), &LintOptions::default());
    let refused: Vec<&Finding> = report
        .findings
        .iter()
        .filter(|finding| matches!(finding, Finding::Refused(_)))
        .collect();
    let texts: Vec<String> = refused.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts[0].starts_with("metadata.managedFields[0].manager: Too long: "),
        "{}",
        texts[0]
    );
    assert!(
        texts[1].ends_with(
            "invalid character U+0007 (at position 1): an API server refuses requests with this entry"
        ),
        "{}",
        texts[1]
    );
    assert_eq!(refused[0].severity(), Severity::Warning);
    assert!(matches!(report.findings[0], Finding::Unreadable(_)));
}

#[test]
fn times_of_entries_are_read_as_go_reads_them() {
    for time in [
        "9999-12-31T23:59:59Z",
        "0000-01-01T00:00:00Z",
        "2020-01-01T1:02:03Z",
        "2020-01-01T01:02:03,1234567890123Z",
        "2020-01-01T01:02:03+24:60",
    ] {
        assert!(time.parse::<Time>().is_ok(), "{time}");
    }
    for time in [
        "2020-01-01T00:00:60Z",
        "2020-01-01t00:00:00Z",
        "2020-01-01T00:00:00z",
        "2020-01-01 00:00:00Z",
        "2020-01-01T00:00:00+25:00",
        "2020-01-01T00:00Z",
        "2020-01-01T00:00:00Z[UTC]",
        "2020-01-01T00:00:00+0100",
        "-2020-01-01T00:00:00Z",
        // Go accepts these two and writes years that it cannot read.
        "9999-12-31T23:59:59-00:01",
        "0000-01-01T00:00:00+00:01",
    ] {
        assert!(time.parse::<Time>().is_err(), "{time}");
    }
}

#[test]
fn the_zero_time_is_written_as_null() {
    let entry = r#"{"fieldsType":"FieldsV1","fieldsV1":{},"manager":"ci","operation":"Apply","apiVersion":"v1","time":"0001-01-01T00:00:00Z"}"#;
    let entry = Entry::from_value(0, &Value::from_json(entry).unwrap()).unwrap();
    assert_eq!(entry.to_value().get("time"), Some(&Value::Null));
    assert_eq!(Entry::from_value(0, &entry.to_value()).unwrap().time, None);
}

#[test]
fn errors_of_an_invalid_object_take_a_bounded_size_and_the_rest_is_counted() {
    let error = |i: usize, length: usize| {
        FieldError::invalid(
            FieldPath::root("spec").index(i),
            "x".repeat(length),
            "must be shorter",
        )
    };
    let status = |errors: &[FieldError]| {
        Status::invalid(&GroupVersionKind::new("", "v1", "Pod"), "a", errors)
    };
    // One error is listed whatever its size, and 100 ordinary ones are.
    let one = status(&[error(0, 3 << 20)]);
    assert!(one.message.len() > 3 << 20 && one.details.unwrap().causes.len() == 1);
    let ordinary: Vec<FieldError> = (0..100).map(|i| error(i, 5000)).collect();
    assert_eq!(status(&ordinary).details.unwrap().causes.len(), 100);

    let large: Vec<FieldError> = (0..100).map(|i| error(i, 300_000)).collect();
    let status = status(&large);
    assert_eq!(status.details.unwrap().causes.len(), 3);
    assert!(status.message.len() < 1 << 20);
    assert!(
        status
            .message
            .ends_with("must be shorter, at least 97 more errors are not listed]")
    );
}
