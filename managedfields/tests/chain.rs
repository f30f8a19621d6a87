//! The rules of creates, updates and applies.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may panic"
)]

use fieldmanager_fieldpath::{Path, Set};
use fieldmanager_managedfields::{ApplyRequest, Error, FieldManager, Outcome, Time, UpdateRequest};
use fieldmanager_openapi::{GroupVersionKind, Types};
use fieldmanager_value::Value;

use crate::support::{self, cm, entries, manager, time, update};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

#[test]
fn an_update_owns_what_it_changed_and_keeps_other_times() {
    let first = update(&Value::Null, &cm(r#""data":{"a":"1","b":"1"}"#), "ci", 0);
    assert_eq!(entries(&first), ["ci Update v1 00 .data .data.a .data.b"]);
    let second = update(&first.object, &cm(r#""data":{"a":"1","b":"2"}"#), "ops", 1);
    assert_eq!(
        entries(&second),
        ["ci Update v1 00 .data .data.a", "ops Update v1 01 .data.b"]
    );
}

#[test]
fn an_update_that_only_removes_does_not_change_the_time_of_its_manager() {
    let first = update(&Value::Null, &cm(r#""data":{"a":"1","b":"1"}"#), "ci", 0);
    let second = update(&first.object, &cm(r#""data":{"a":"1"}"#), "ci", 1);
    assert_eq!(entries(&second), ["ci Update v1 00 .data .data.a"]);
}

#[test]
fn fields_without_an_owner_leave_no_entry() {
    let applied = manager()
        .apply(
            ApplyRequest::new(&Value::Null, &cm(""))
                .manager("ci")
                .at(time(0)),
        )
        .unwrap();
    assert_eq!(
        applied.object.to_json(),
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}"#
    );
    let labelled = cm(r#""metadata":{"name":"x","uid":"u","labels":{"a":"1"},"generateName":"y"}"#);
    let updated = update(&Value::Null, &labelled, "ci", 0);
    assert_eq!(
        entries(&updated),
        ["ci Update v1 00 .metadata.generateName .metadata.labels .metadata.labels.a"]
    );
}

#[test]
fn managed_fields_of_an_update_reset_or_replace_or_are_ignored() {
    let live = update(&Value::Null, &cm(r#""data":{"a":"1"}"#), "ci", 0).object;
    let sent = |list: &str| {
        let new = cm(&format!(
            r#""data":{{"a":"1"}},"metadata":{{"managedFields":{list}}}"#
        ));
        entries(&update(&live, &new, "ops", 1))
    };
    let kept = ["ci Update v1 00 .data .data.a"];
    // Absent, null or unreadable managed fields are ignored.
    for list in [
        "null",
        "[{},{}]",
        r#"["x"]"#,
        "5",
        r#"[{"manager":"ci","operation":"Apply"}]"#,
    ] {
        assert_eq!(sent(list), kept, "{list}");
    }
    for list in [
        "[]",
        "[{}]",
        r#"[{"unknown":1}]"#,
        r#"[{"manager":"","time":null}]"#,
    ] {
        assert!(sent(list).is_empty(), "{list}");
    }
    let other = r#"[{"manager":"new","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:x":{}}}]"#;
    assert_eq!(sent(other), ["new Apply v1 - .x"]);
}

#[test]
fn a_subresource_cannot_change_the_list() {
    let status = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap"))
        .subresource("status")
        .build()
        .unwrap();
    let live = update(&Value::Null, &cm(r#""data":{"a":"1"}"#), "ci", 0).object;
    let new = cm(r#""data":{"a":"1","b":"1"},"metadata":{"managedFields":[]}"#);
    let updated = status
        .update(UpdateRequest::new(&live, &new).manager("ci").at(time(1)))
        .unwrap();
    assert_eq!(
        entries(&updated),
        [
            "ci Update v1 00 .data .data.a",
            "ci Update v1/status 01 .data.b"
        ]
    );
}

#[test]
fn tracking_begins_with_a_create_or_an_apply() {
    let live = cm(r#""data":{"a":"1"},"metadata":{"uid":"u"}"#);
    let updated = update(
        &live,
        &cm(r#""data":{"a":"2"},"metadata":{"uid":"u"}"#),
        "ci",
        0,
    );
    assert!(entries(&updated).is_empty());
    let applied = manager()
        .apply(
            ApplyRequest::new(&updated.object, &cm(r#""data":{"b":"1"}"#))
                .manager("ops")
                .at(time(1)),
        )
        .unwrap();
    assert_eq!(
        entries(&applied),
        [
            "ops Apply v1 01 .data .data.b",
            "before-first-apply Update v1 01 .data .data.a"
        ]
    );
}

#[test]
fn a_no_op_apply_sets_no_time() {
    let live = update(&Value::Null, &cm(r#""data":{"a":"1"}"#), "ci", 0).object;
    let applied = manager()
        .apply(
            ApplyRequest::new(&live, &cm(r#""data":{"a":"1"}"#))
                .manager("ops")
                .at(time(1)),
        )
        .unwrap();
    assert_eq!(
        entries(&applied),
        [
            "ops Apply v1 - .data .data.a",
            "ci Update v1 00 .data .data.a"
        ]
    );
    let again = manager()
        .apply(
            ApplyRequest::new(&applied.object, &cm(r#""data":{"a":"1"}"#))
                .manager("ops")
                .at(time(2)),
        )
        .unwrap();
    assert!(!again.changed);
}

#[test]
fn null_entries_over_null_are_no_change() {
    let object = |entries: &str| {
        cm(&format!(
            r#""metadata":{{"name":"x","labels":{{"a":"1"}}{entries}}}"#
        ))
    };
    let (null, none) = (object(r#","managedFields":null"#), object(""));
    let time_of = |live: &Value, config: &Value| {
        let outcome = manager()
            .apply(ApplyRequest::new(live, config).manager("ci").at(time(1)))
            .unwrap();
        assert_eq!(outcome.managed.entries().len(), 2);
        outcome.managed.entries()[0].time
    };
    assert_eq!(time_of(&null, &null), None);
    assert_eq!(time_of(&null, &none), None);
    assert_eq!(time_of(&none, &none), None);
    // Merged over no object, the null is part of the merged object.
    assert_eq!(time_of(&none, &null), Some(time(1)));
}

#[test]
fn configurations_are_checked_before_anything_else() {
    let fails = |config: &str| {
        let config = Value::from_json(config).unwrap();
        let error = manager()
            .apply(
                ApplyRequest::new(&Value::Null, &config)
                    .manager("ci")
                    .at(time(0)),
            )
            .unwrap_err();
        (error.status().code, error.to_string())
    };
    let kind = |text: &str| (400, format!("invalid object type: {text}"));
    assert_eq!(
        fails(r#"{"apiVersion":"v1","kind":"Pod"}"#),
        kind("/v1, Kind=Pod")
    );
    assert_eq!(
        fails(r#"{"apiVersion":"apps/v1","kind":"ConfigMap"}"#),
        kind("apps/v1, Kind=ConfigMap")
    );
    assert_eq!(
        fails(r#"{"apiVersion":"a/b/c","kind":"ConfigMap"}"#),
        kind("/, Kind=")
    );
    assert_eq!(
        fails(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"managedFields":[]}}"#),
        (400, "metadata.managedFields must be nil".to_owned())
    );
    let null = cm(r#""metadata":{"managedFields":null}"#);
    assert!(
        manager()
            .apply(
                ApplyRequest::new(&Value::Null, &null)
                    .manager("ci")
                    .at(time(0))
            )
            .is_ok()
    );
}

#[test]
fn errors_name_the_action_and_the_object() {
    let document = "
definitions:
  T:
    type: object
    properties: {apiVersion: {type: string}, kind: {type: string}, a: {type: string}}
    x-kubernetes-group-version-kind: [{group: e, version: v1, kind: T}]
";
    let types = Types::load(&Value::from_yaml(document).unwrap()).unwrap();
    let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("e/v1", "T"))
        .types(types)
        .build()
        .unwrap();
    let odd = Value::from_yaml("{apiVersion: e/v1, kind: T, b: 1}").unwrap();
    let error = manager
        .apply(
            ApplyRequest::new(&Value::Null, &odd)
                .manager("ci")
                .at(time(0)),
        )
        .unwrap_err();
    // Go has the same message but answers 500.
    assert_eq!(error.status().code, 400);
    let text = error.to_string();
    assert!(
        text.starts_with("failed to create typed patch object (/; e/v1, Kind=T): .b: "),
        "{text}"
    );
    let error = manager
        .update(
            UpdateRequest::new(&Value::Null, &odd)
                .manager("ci")
                .at(time(0)),
        )
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("failed to convert new object (/; e/v1, Kind=T) to smd typed: .b: "),
        "{error}"
    );
    let other = Value::from_yaml("{apiVersion: e/v1, kind: Other}").unwrap();
    let error = manager
        .update(
            UpdateRequest::new(&Value::Null, &other)
                .manager("ci")
                .at(time(0)),
        )
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with(
            "failed to convert new object (/; e/v1, Kind=Other) to smd typed: no correspond"
        ),
        "{error}"
    );
}

#[test]
fn conflicts_are_sorted_by_manager() {
    let live = update(
        &Value::Null,
        &cm(r#""data":{"a":"1","b":"1"}"#),
        "say \"hi\"",
        0,
    )
    .object;
    let apply = |live: &Value, name: &str, data: &str, force| {
        manager().apply(
            ApplyRequest::new(live, &cm(&format!(r#""data":{data}"#)))
                .manager(name)
                .force_if(force)
                .at(time(1)),
        )
    };
    let live = apply(&live, "ci", r#"{"c":"1"}"#, false).unwrap().object;
    let error = apply(&live, "ops", r#"{"a":"2","b":"2","c":"2"}"#, false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 3 conflicts: conflicts with \"ci\":\n- .data.c\n\
         conflicts with \"say \\\"hi\\\"\" using v1:\n- .data.a\n- .data.b"
    );
    let status = error.status();
    assert_eq!((status.code, status.reason), (409, "Conflict"));
    let causes = status.details.unwrap().causes;
    assert_eq!((causes.len(), causes[2].field.as_str()), (3, ".data.b"));
    assert_eq!(causes[1].message, r#"conflict with "say \"hi\"" using v1"#);
    let forced = apply(&live, "ops", r#"{"a":"2","b":"2","c":"2"}"#, true).unwrap();
    assert_eq!(
        entries(&forced),
        [
            "ci Apply v1 01 .data",
            "ops Apply v1 01 .data .data.a .data.b .data.c",
            "say \"hi\" Update v1 00 .data",
        ]
    );
}

#[test]
fn nameless_managers_are_unknown() {
    let first = update(&Value::Null, &cm(r#""data":{"a":"1"}"#), "", 0);
    assert_eq!(entries(&first), ["unknown Update v1 00 .data .data.a"]);
}

/// The annotation of client-side apply, and the configuration that `kubectl` applies now.
fn kubectl(last: &str, live: &str, data: &str) -> Result<Outcome, Error> {
    let annotation = Value::from(last).to_json();
    let live = cm(&format!(
        r#""data":{live},"metadata":{{"name":"x","annotations":{{"{LAST_APPLIED}":{annotation}}}}}"#
    ));
    let live = update(&Value::Null, &live, "kubectl-client-side-apply", 0).object;
    manager().apply(
        ApplyRequest::new(&live, &cm(&format!(r#""data":{data}"#)))
            .manager("kubectl")
            .at(time(1)),
    )
}

#[test]
fn kubectl_takes_what_it_applied_before() {
    let last = r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"}}"#;
    let applied = kubectl(last, r#"{"a":"1"}"#, r#"{"a":"<2>\b\f"}"#).unwrap();
    let annotation = applied
        .object
        .get("metadata")
        .unwrap()
        .get("annotations")
        .unwrap()
        .get(LAST_APPLIED)
        .unwrap();
    let expected = r#"{"apiVersion":"v1","data":{"a":"\u003c2\u003e\b\f"},"kind":"ConfigMap","metadata":{"name":"x"}}"#;
    assert_eq!(annotation.as_str(), Some(format!("{expected}\n").as_str()));
    // Fields that were changed since are still conflicts.
    let error = kubectl(last, r#"{"a":"1","b":"1"}"#, r#"{"a":"2","b":"2"}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: .data.b"
    );
    // An annotation of another kind is ignored.
    for last in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"apiVersion":"v2","kind":"ConfigMap","data":{"a":"1"}}"#,
    ] {
        assert!(
            kubectl(last, r#"{"a":"1"}"#, r#"{"a":"2"}"#).is_err(),
            "{last}"
        );
    }
}

#[test]
fn an_annotation_that_becomes_too_large_is_removed() {
    let last = r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"}}"#;
    let data = format!(r#"{{"a":"{}"}}"#, "x".repeat(262_200));
    let applied = kubectl(last, r#"{"a":"1"}"#, &data).unwrap();
    assert_eq!(
        applied
            .object
            .get("metadata")
            .unwrap()
            .get("annotations")
            .unwrap()
            .to_json(),
        "{}"
    );
}

#[test]
fn the_oldest_updaters_are_united() {
    let mut live = Value::Null;
    let mut data = String::from(r#""k":"1""#);
    for number in 0..12 {
        data.push_str(&format!(r#","k{number:02}":"1""#));
        let new = cm(&format!(r#""data":{{{data}}}"#));
        live = update(&live, &new, &format!("m{number:02}"), number).object;
    }
    let entries = support::list(&live);
    assert_eq!(entries.len(), 10);
    assert_eq!(
        entries[0],
        "ancient-changes Update v1 02 .data .data.k .data.k00 .data.k01 .data.k02"
    );
    assert_eq!(entries[1], "m03 Update v1 03 .data.k03");
}

#[test]
fn updaters_of_different_versions_are_not_united() {
    let entry = |number: usize| {
        format!(
            r#"{{"manager":"m","operation":"Update","apiVersion":"v{number}","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{}}}}}}"#
        )
    };
    let list: Vec<String> = (2..14).map(entry).collect();
    let live = cm(&format!(
        r#""data":{{}},"metadata":{{"managedFields":[{}]}}"#,
        list.join(",")
    ));
    let updated = update(&live, &cm(r#""data":{"a":"1"}"#), "ci", 0);
    assert_eq!(entries(&updated).len(), 13);
}

#[test]
fn reset_fields_and_defaults_have_no_owner() {
    let status: Set = [".status".parse::<Path>().unwrap()].into_iter().collect();
    let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap"))
        .reset_fields("v1", status)
        .defaulter(|object| {
            let mut fields = object.as_map().cloned().unwrap_or_default();
            fields.insert("defaulted", true);
            Value::Map(fields)
        })
        .build()
        .unwrap();
    let config = cm(r#""data":{"a":"1"},"status":{"ready":true}"#);
    let applied = manager
        .apply(
            ApplyRequest::new(&Value::Null, &config)
                .manager("ci")
                .at(time(0)),
        )
        .unwrap();
    assert_eq!(entries(&applied), ["ci Apply v1 00 .data .data.a"]);
    assert!(applied.object.get("defaulted").is_some() && applied.object.get("status").is_some());
}

#[test]
fn times_are_whole_seconds_of_utc() {
    let time: Time = "2020-01-01T01:00:00.9+01:00".parse().unwrap();
    let created = manager()
        .update(
            UpdateRequest::new(&Value::Null, &cm(r#""data":{"a":"1"}"#))
                .manager("ci")
                .at(time),
        )
        .unwrap();
    assert_eq!(
        created.managed.entries()[0]
            .to_value()
            .get("time")
            .unwrap()
            .as_str(),
        Some("2020-01-01T00:00:00Z")
    );
}
