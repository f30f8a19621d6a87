//! Intended differences from Go, with the results of Go (`GO`, recorded from the oracle). The names are those of
//! `docs/deviations.md`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may panic"
)]

use fieldmanager_fieldpath::Path;
use fieldmanager_managedfields::internal::{to_parent_as_server, update_no_errors};
use fieldmanager_managedfields::{
    ApplyRequest, CsaUpgrade, Error, ErrorKind, ExtractForm, ExtractRequest, FieldManager,
    ManagedFields, ScaleHandler, UpdateRequest, extract,
};
use fieldmanager_openapi::{GroupVersionKind, Types};
use fieldmanager_schema::Schema;
use fieldmanager_value::Value;

use crate::support::{cm, entries, list, manager, time, update};

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

fn entry(name: &str, operation: &str, fields: &str, more: &str) -> String {
    format!(
        r#"{{"manager":"{name}","operation":"{operation}","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{fields}{more}}}"#
    )
}

fn with_entries(data: &str, entries: &[String]) -> Value {
    cm(&format!(
        r#""data":{data},"metadata":{{"uid":"u","managedFields":[{}]}}"#,
        entries.join(",")
    ))
}

const A: &str = r#"{"f:data":{"f:a":{}}}"#;
const B: &str = r#"{"f:data":{"f:b":{}}}"#;

#[test]
fn duplicate_entries() {
    const GO: [&str; 2] = ["ci Apply v1 - .data.b", "ops Update v1 00 .data.c"];
    let live = with_entries(
        r#"{"a":"1","b":"1"}"#,
        &[entry("ci", "Apply", A, ""), entry("ci", "Apply", B, "")],
    );
    let updated = update(&live, &cm(r#""data":{"a":"1","b":"1","c":"1"}"#), "ops", 0);
    assert_eq!(entries(&updated), ["ci Apply v1 - .data.a .data.b", GO[1]]);

    let as_server =
        FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap"))
            .last_entry_counts(true)
            .build()
            .unwrap();
    let new = cm(r#""data":{"a":"1","b":"1","c":"1"}"#);
    let request = UpdateRequest::new(&live, &new).manager("ops").at(time(0));
    assert_eq!(entries(&as_server.update(request).unwrap()), GO);
}

#[test]
fn unreadable_entries() {
    const GO: [&str; 0] = [];
    let live = with_entries(
        r#"{"a":"1"}"#,
        &[entry("ci", "Apply", A, ""), entry("old", "Patch", B, "")],
    );
    let new = cm(r#""data":{"a":"2"},"metadata":{"uid":"u"}"#);
    let error = manager()
        .update(UpdateRequest::new(&live, &new).manager("ops").at(time(0)))
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.status().code),
        (ErrorKind::Stored, 500)
    );
    let kept = update_no_errors(
        &manager(),
        UpdateRequest::new(&live, &new).manager("ops").at(time(0)),
    )
    .object;
    assert_eq!(
        kept.get("metadata").unwrap().get("managedFields"),
        live.get("metadata").unwrap().get("managedFields")
    );
    let recovering =
        FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap"))
            .recover(true)
            .build()
            .unwrap();
    let updated = recovering
        .update(UpdateRequest::new(&live, &new).manager("ops").at(time(0)))
        .unwrap();
    assert_eq!(
        (entries(&updated).len(), updated.dropped.len()),
        (GO.len() + 1, 1)
    );
}

#[test]
fn cap_bucket() {
    // In Go the second bucket is merged into itself, and `old` has no owner.
    const GO: [&str; 2] = ["m00 Update v1 00 .data.k00", "m01 Update v1 05 .data.k01"];
    let mut all: Vec<String> = (0..9)
        .map(|number| {
            let second = if number == 0 { 0 } else { 5 };
            let fields = format!(r#"{{"f:data":{{"f:k{number:02}":{{}}}}}}"#);
            entry(
                &format!("m{number:02}"),
                "Update",
                &fields,
                &format!(r#","time":"2020-01-01T00:00:0{second}Z""#),
            )
        })
        .collect();
    let bucket = r#"{"f:data":{"f:old":{}}}"#;
    all.push(entry(
        "ancient-changes",
        "Update",
        bucket,
        r#","time":"2020-01-01T00:00:01Z""#,
    ));
    let data: Vec<String> = (0..9)
        .map(|number| format!(r#""k{number:02}":"1""#))
        .collect();
    let data = format!(r#"{},"old":"1""#, data.join(","));
    let live = with_entries(&format!("{{{data}}}"), &all);
    let updated = update(
        &live,
        &cm(&format!(r#""data":{{{data},"n":"1"}}"#)),
        "new",
        9,
    );
    let found = entries(&updated);
    assert_eq!(
        (found.len(), found[0].as_str()),
        (10, "ancient-changes Update v1 01 .data.k00 .data.old")
    );
    assert_eq!(found[1], GO[1]);
}

#[test]
fn metadata_no_map() {
    const GO: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":"x"}"#;
    let error = manager()
        .update(
            UpdateRequest::new(&Value::Null, &json(GO))
                .manager("ops")
                .at(time(0)),
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "new object: expected metadata that is a map, got string"
    );
    assert_eq!(error.status().code, 400);
    let null = cm(r#""metadata":null,"data":{"a":"1"}"#);
    assert_eq!(entries(&update(&Value::Null, &null, "ops", 0)).len(), 1);
}

#[test]
fn odd_fields_in_configuration() {
    const GO: [&str; 1] = ["ci Apply v1 00 .data .data.a"];
    let config = |list: &str| {
        cm(&format!(
            r#""data":{{"a":"1"}},"metadata":{{"managedFields":{list}}}"#
        ))
    };
    let error = manager()
        .apply(
            ApplyRequest::new(&Value::Null, &config(r#"["x"]"#))
                .manager("ci")
                .at(time(0)),
        )
        .unwrap_err();
    assert_eq!(error, Error::ManagedFieldsInConfig);
    let applied = manager()
        .apply(
            ApplyRequest::new(&Value::Null, &config("null"))
                .manager("ci")
                .at(time(0)),
        )
        .unwrap();
    assert_eq!(entries(&applied), GO);
}

/// A kind with a set, at two versions, whose entries have a type.
fn things() -> FieldManager {
    let document = "
definitions:
  T:
    type: object
    x-kubernetes-group-version-kind: [{group: e, version: v1, kind: T}, {group: e, version: v2, kind: T}]
    properties:
      apiVersion: {type: string}
      kind: {type: string}
      a: {type: number}
      tags: {type: array, items: {type: string}, x-kubernetes-list-type: set}
      metadata:
        type: object
        properties:
          managedFields:
            type: array
            x-kubernetes-list-type: atomic
            items:
              type: object
              properties:
                manager: {type: string}
                operation: {type: string}
                apiVersion: {type: string}
                fieldsType: {type: string}
                fieldsV1: {type: object, x-kubernetes-preserve-unknown-fields: true}
";
    let types = Types::load(&Value::from_yaml(document).unwrap()).unwrap();
    FieldManager::builder(GroupVersionKind::from_api_version_kind("e/v1", "T"))
        .types(types)
        .build()
        .unwrap()
}

fn thing(members: &str) -> Value {
    json(&format!(r#"{{"apiVersion":"e/v1","kind":"T",{members}}}"#))
}

#[test]
fn unnamed_kind() {
    const GO: &str = "failed to convert new object (/; e/v1, Kind=) to smd typed: no corresponding type for e/v1, Kind=";
    let unnamed = json(r#"{"apiVersion":"e/v1","a":1}"#);
    assert_eq!(
        entries(
            &things()
                .update(
                    UpdateRequest::new(&Value::Null, &unnamed)
                        .manager("ops")
                        .at(time(0))
                )
                .unwrap()
        ),
        ["ops Update e/v1 00 .a"]
    );
    // As in Go, an object of another kind is refused.
    let other = json(r#"{"apiVersion":"e/v1","kind":"U","a":1}"#);
    let error = things()
        .update(
            UpdateRequest::new(&Value::Null, &other)
                .manager("ops")
                .at(time(0)),
        )
        .unwrap_err()
        .to_string();
    assert_eq!(error, GO.replace("Kind=", "Kind=U"));
}

#[test]
fn entries_typed() {
    const GO: &str = "failed to create typed live object (/; e/v1, Kind=T): \
                      .metadata.managedFields[0].note: field not declared in schema";
    let live = thing(
        r#""a":1,"metadata":{"managedFields":[{"manager":"ci","operation":"Apply","apiVersion":"e/v1",
           "fieldsType":"FieldsV1","fieldsV1":{"f:a":{}},"note":"x"}]}"#,
    );
    let applied = things().apply(
        ApplyRequest::new(&live, &thing(r#""a":1"#))
            .manager("ops")
            .at(time(0)),
    );
    assert_eq!(
        entries(&applied.unwrap()),
        ["ci Apply e/v1 - .a", "ops Apply e/v1 - .a"],
        "{GO}"
    );
}

#[test]
fn converted_duplicates() {
    const GO: &str = r#"failed to update ManagedFields (/; e/v1, Kind=T): .tags: duplicate entries for key [="x"]"#;
    let live = thing(
        r#""a":1,"tags":["x","x"],"metadata":{"managedFields":[{"manager":"ci","operation":"Apply",
           "apiVersion":"e/v2","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}]}"#,
    );
    let updated = things().update(
        UpdateRequest::new(&live, &thing(r#""a":2,"tags":["x","x"]"#))
            .manager("ops")
            .at(time(0)),
    );
    assert_eq!(
        entries(&updated.unwrap()),
        ["ops Update e/v1 00 .a"],
        "{GO}"
    );
}

#[test]
fn unknown_version() {
    // Go creates a field manager for any version and fails when it looks up the type.
    let document = "
definitions:
  T: {type: object, x-kubernetes-group-version-kind: [{group: e, version: v1, kind: T}]}
";
    let types = Types::load(&Value::from_yaml(document).unwrap()).unwrap();
    let built = FieldManager::builder(GroupVersionKind::from_api_version_kind("e/v9", "T"))
        .types(types)
        .build();
    assert!(built.is_err());
}

#[test]
fn odd_annotations() {
    const GO: &str = r#"{"b":"","kubectl.kubernetes.io/last-applied-configuration":"#;
    let annotations = r#"{"b":null,"kubectl.kubernetes.io/last-applied-configuration":"{}"}"#;
    let live = cm(&format!(
        r#""data":{{"a":"1"}},"metadata":{{"name":"x","annotations":{annotations}}}"#
    ));
    let applied = manager()
        .apply(
            ApplyRequest::new(&live, &cm(r#""data":{"a":"1"}"#))
                .manager("kubectl")
                .at(time(0)),
        )
        .unwrap();
    let annotations = applied
        .object
        .get("metadata")
        .unwrap()
        .get("annotations")
        .unwrap()
        .to_json();
    assert!(
        annotations.starts_with(&GO.replace(r#""""#, "null")),
        "{annotations}"
    );
}

#[test]
fn large_numbers_in_paths() {
    const GO: &str = r#"Apply failed with 1 conflict: conflict with "ci": .data[id=1e+07].v"#;
    let document = "
definitions:
  L:
    type: object
    x-kubernetes-group-version-kind: [{group: '', version: v1, kind: L}]
    properties:
      apiVersion: {type: string}
      kind: {type: string}
      metadata: {type: object}
      data:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [id]
        items: {type: object, properties: {id: {type: integer}, v: {type: string}}}
";
    let types = Types::load(&Value::from_yaml(document).unwrap()).unwrap();
    let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "L"))
        .types(types)
        .build()
        .unwrap();
    let config = |v: &str| {
        json(&format!(
            r#"{{"apiVersion":"v1","kind":"L","data":[{{"id":10000000,"v":"{v}"}}]}}"#
        ))
    };
    let live = manager
        .apply(
            ApplyRequest::new(&Value::Null, &config("a"))
                .manager("ci")
                .at(time(0)),
        )
        .unwrap()
        .object;
    let error = manager
        .apply(
            ApplyRequest::new(&live, &config("b"))
                .manager("ops")
                .at(time(1)),
        )
        .unwrap_err();
    assert_eq!(error.to_string(), GO.replace("1e+07", "10000000"));
}

#[test]
fn entries_as_written() {
    const GO: &str = "2020-01-01T00:00:00Z";
    let written = GO.replace("00:00:00Z", "01:00:00+01:00");
    let entry = entry("ci", "Apply", A, &format!(r#","time":"{written}""#));
    let live = with_entries(r#"{"a":"1"}"#, &[entry]);
    // There is nothing to upgrade.
    assert_eq!(CsaUpgrade::new(["old"], "ci").patch(&live), Ok(None));
    let upgraded = CsaUpgrade::new(["old"], "ci").upgrade(&live).unwrap();
    assert!(upgraded.to_json().contains(&written));
}

#[test]
fn scale_keeps() {
    // Go returns two entries of one identity, of which the next request reads only the last.
    const GO: [&str; 2] = [
        "ci Update apps/v1 - .spec.replicas",
        "ci Update apps/v1 00 .spec.selector",
    ];
    let decode = |text: &str| ManagedFields::decode(Some(&json(text))).unwrap();
    let parent = decode(
        r#"[{"manager":"ci","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1",
             "fieldsV1":{"f:spec":{"f:replicas":{},"f:selector":{}}},"time":"2020-01-01T00:00:00Z"}]"#,
    );
    let scale =
        ScaleHandler::new("apps/v1").replicas("apps/v1", ".spec.replicas".parse::<Path>().unwrap());
    let back = scale.to_parent(&parent, &scale.to_subresource(&parent));
    assert_eq!(
        list(&back.set_in(&cm(""))),
        ["ci Update apps/v1 00 .spec.replicas .spec.selector"],
        "{GO:?}"
    );
    let back = to_parent_as_server(&scale, &parent, &scale.to_subresource(&parent));
    // Reading both entries at once would leave the last one.
    let written = back.encode().unwrap();
    let alone = |entry: &Value| {
        list(&json(&format!(
            r#"{{"metadata":{{"managedFields":[{}]}}}}"#,
            entry.to_json()
        )))
    };
    let entries: Vec<String> = written.as_list().unwrap().iter().flat_map(alone).collect();
    assert_eq!(entries, GO);
}

#[test]
fn extract_nothing() {
    const GO: &str =
        "unable to convert managed fields for ci to unstructured, expected map, got <nil>";
    let live = with_entries(r#"{"b":"1"}"#, &[entry("ci", "Apply", "{}", "")]);
    let own = extract(ExtractRequest::new(&live, &Schema::deduced(), "ci").form(ExtractForm::AsGo))
        .unwrap();
    assert_eq!(
        own.unwrap().to_json(),
        r#"{"apiVersion":"v1","kind":"ConfigMap"}"#,
        "{GO}"
    );
}

#[test]
fn upgrade_without_fields() {
    const GO: &str = "failed to convert fields to set: ReadMapCB: expect { or n, but found \0";
    let live = json(
        r#"{"metadata":{"managedFields":[
            {"manager":"kubectl","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1"}]}}"#,
    );
    let upgraded = CsaUpgrade::new(["kubectl"], "ci").upgrade(&live).unwrap();
    assert_eq!(list(&upgraded), ["ci Apply v1 - "], "{GO}");
}
