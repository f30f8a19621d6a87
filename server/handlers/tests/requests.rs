//! The order and the answers of requests: what is easily wrong about one object.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test panics"
)]

use crate::common::{
    APPLY, MERGE, config_map, config_maps, metadata, refused, request, shop, shops, stored,
    with_metadata,
};
use fieldmanager_handlers::{Action, Request, Subresource};
use fieldmanager_managedfields::RequestOptions;
use fieldmanager_value::Value;

#[test]
fn an_update_that_removes_the_last_finalizer_of_a_terminating_object_ends_it() {
    let live = config_map(
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["example.com/x"]}}"#,
    );
    let live = with_metadata(
        &live,
        "deletionTimestamp",
        Some("2026-01-31T12:00:00Z".into()),
    );
    let patch = br#"{"metadata":{"finalizers":null}}"#;
    let request = request("a").namespace("shop").content_type(MERGE);
    let ended = config_maps().patch(&request, Some(&live), patch).unwrap();
    assert_eq!((ended.code(), ended.action), (200, Action::Delete));
}

#[test]
fn a_name_is_generated_from_58_bytes_of_its_base() {
    let base = "x".repeat(80);
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"generateName":"{base}"}}}}"#
    );
    let request = request("").namespace("shop").name_suffix("bcdfg");
    let created = config_maps()
        .create(&request, None, body.as_bytes())
        .unwrap();
    let name = metadata(&created.object, "name")
        .and_then(Value::as_str)
        .unwrap()
        .to_owned();
    assert_eq!(name, format!("{}bcdfg", "x".repeat(58)));
}

#[test]
fn a_missing_object_is_created_by_apply_and_by_no_other_patch() {
    let body = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#;
    let options = RequestOptions::default().field_manager("ops");
    let apply = request("a")
        .namespace("shop")
        .content_type(APPLY)
        .options(options);
    let created = config_maps().patch(&apply, None, body).unwrap();
    assert_eq!((created.code(), created.action), (201, Action::Create));
    let merge = request("a").namespace("shop").content_type(MERGE);
    let not_found = (404, "configmaps \"a\" not found".to_owned());
    assert_eq!(refused(config_maps().patch(&merge, None, b"{}")), not_found);
    let update = request("a").namespace("shop");
    assert_eq!(
        refused(config_maps().update(&update, None, body)),
        not_found
    );
}

#[test]
fn a_write_without_effect_changes_neither_times_nor_the_object() {
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b"}}"#;
    let live = config_map(body);
    let later = Request::new("2026-02-01T00:00:00Z".parse().unwrap());
    let later = later.name("a").namespace("shop").user_agent("test/1.0");
    let same = config_maps()
        .update(&later, Some(&live), body.as_bytes())
        .unwrap();
    assert_eq!(same.action, Action::Nothing);
    assert_eq!(same.object, live);
}

#[test]
fn a_default_that_the_stored_object_lacks_is_written_by_an_empty_patch() {
    let old = shop(r#"{"size":1}"#);
    let spec = old.get("spec").and_then(Value::as_map).unwrap();
    assert_eq!(spec.get("color"), Some(&Value::from("red")));
    let spec = Value::Map(spec.with_edits(vec![("color".into(), None)]));
    let old = Value::Map(
        old.as_map()
            .unwrap()
            .with_edits(vec![("spec".into(), Some(spec))]),
    );
    let empty = request("corner").content_type(MERGE);
    let written = shops().patch(&empty, Some(&old), b"{}").unwrap();
    assert_eq!(written.action, Action::Update);
    let again = shops().patch(&empty, Some(&written.object), b"{}").unwrap();
    assert_eq!(
        (again.action, again.object),
        (Action::Nothing, written.object)
    );
}

#[test]
fn an_update_without_a_version_is_unconditional_for_built_in_kinds_only() {
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"c"}}"#;
    let live = config_map(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#);
    let update = request("a").namespace("shop");
    let updated = config_maps()
        .update(&update, Some(&live), body.as_bytes())
        .unwrap();
    assert_eq!(
        metadata(&updated.object, "resourceVersion"),
        Some(&Value::from("1"))
    );

    let live = shop("{}");
    let body = br#"{"apiVersion":"example.com/v1","kind":"Shop","metadata":{"name":"corner"}}"#;
    let message = "shops.example.com \"corner\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified \
                   for an update";
    assert_eq!(
        refused(shops().update(&request("corner"), Some(&live), body)),
        (422, message.to_owned())
    );
}

#[test]
fn an_old_version_is_a_conflict_and_so_is_another_uid() {
    let live = config_map(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#);
    let merge = request("a").namespace("shop").content_type(MERGE);
    let (code, message) = refused(config_maps().patch(
        &merge,
        Some(&live),
        br#"{"metadata":{"resourceVersion":"7"}}"#,
    ));
    assert_eq!(code, 409);
    assert!(
        message.ends_with("please apply your changes to the latest version and try again"),
        "{message}"
    );
    let body = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"other"}}"#;
    let (code, message) =
        refused(config_maps().update(&request("a").namespace("shop"), Some(&live), body));
    let reason = "Precondition failed: UID in precondition: other, UID in object meta: 7e1b";
    assert_eq!(
        (code, message),
        (
            409,
            format!("Operation cannot be fulfilled on configmaps \"a\": {reason}")
        )
    );
}

#[test]
fn a_status_request_changes_the_status_only_and_the_generation_counts_the_spec() {
    let live = shop(r#"{"size":1}"#);
    assert_eq!(metadata(&live, "generation"), Some(&Value::from(1)));
    let status = request("corner")
        .subresource(Subresource::Status)
        .content_type(MERGE);
    let patch = br#"{"spec":{"size":2},"metadata":{"labels":{"a":"b"}},"status":{"open":true}}"#;
    let after = shops().patch(&status, Some(&live), patch).unwrap().object;
    assert_eq!(after.get("spec"), live.get("spec"));
    assert_eq!(metadata(&after, "labels"), None);
    assert_eq!(metadata(&after, "generation"), Some(&Value::from(1)));
    assert_eq!(
        after.get("status").map(Value::to_json).as_deref(),
        Some(r#"{"open":true}"#)
    );

    let main = request("corner").content_type(MERGE);
    let patch = br#"{"spec":{"size":2},"status":{"open":false}}"#;
    let changed = shops().patch(&main, Some(&after), patch).unwrap().object;
    assert_eq!(changed.get("status"), after.get("status"));
    assert_eq!(metadata(&changed, "generation"), Some(&Value::from(2)));
}

#[test]
fn stored_custom_resources_are_read_with_todays_defaults() {
    let stored = Value::from_yaml(
        "
apiVersion: example.com/v1
kind: Shop
metadata: {name: corner, resourceVersion: '4'}
spec: {gone: 1}
",
    )
    .unwrap();
    let read = shops().read(&stored);
    assert_eq!(
        read.get("spec").map(Value::to_json).as_deref(),
        Some(r#"{"color":"red"}"#)
    );
    assert_eq!(metadata(&read, "resourceVersion"), Some(&Value::from("4")));
}

#[test]
fn media_types_and_options_of_patches_are_checked() {
    let live = shop("{}");
    let strategic = request("corner").content_type("application/strategic-merge-patch+json");
    let (code, message) = refused(shops().patch(&strategic, Some(&live), b"{}"));
    assert_eq!(code, 415);
    assert!(
        message.ends_with("application/apply-patch+yaml"),
        "{message}"
    );
    let forced = request("corner")
        .content_type(MERGE)
        .options(RequestOptions::default().force(true));
    let (code, message) = refused(shops().patch(&forced, Some(&live), b"{}"));
    assert_eq!(code, 422);
    assert!(
        message.contains("force: Forbidden: may not be specified for non-apply patch"),
        "{message}"
    );
    let (code, message) =
        refused(shops().patch(&request("corner").content_type(APPLY), Some(&live), b"{}"));
    assert_eq!(code, 422);
    assert!(
        message.contains("fieldManager: Required value: is required for apply patch"),
        "{message}"
    );
}

#[test]
fn protobuf_bodies_of_built_in_kinds_are_created_and_updated() {
    let body = |data: &[u8]| [b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x0c", data].concat();
    let protobuf = |name| {
        request(name)
            .namespace("shop")
            .content_type("application/vnd.kubernetes.protobuf")
    };
    let created = config_maps()
        .create(
            &protobuf(""),
            None,
            &body(b"\x0a\x03\x0a\x01a\x12\x05\x0a\x01k\x12\0"),
        )
        .unwrap();
    let json = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":""}}"#;
    let same = config_maps()
        .create(&request("").namespace("shop"), None, json)
        .unwrap();
    assert_eq!(
        (created.action, &created.object),
        (Action::Create, &same.object)
    );
    let live = stored(&created, "1");
    let updated = config_maps()
        .update(
            &protobuf("a"),
            Some(&live),
            &body(b"\x0a\x03\x0a\x01a\x12\x05\x12\0\x0a\x01w"),
        )
        .unwrap();
    assert_eq!(updated.object.get("data").unwrap().to_json(), r#"{"w":""}"#);
}

#[test]
fn malformed_protobuf_bodies_are_refused() {
    let create = |body: &[u8]| {
        let request = request("")
            .namespace("shop")
            .content_type("application/vnd.kubernetes.protobuf");
        refused(config_maps().create(&request, None, body)).1
    };
    assert_eq!(
        create(b"{}"),
        "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a \
         protobuf message, expected prefix [107 56 115 0] ({})"
    );
    for (body, message) in [
        (
            &b""[..],
            "the object provided is unrecognized (must be of type ConfigMap): empty data (<empty>)",
        ),
        (
            b"k8s\0",
            "the object provided is unrecognized (must be of type ConfigMap): empty body (6b387300)",
        ),
        (
            b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\0",
            "Pod in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): unknown conversion",
        ),
        (
            b"k8s\0\x0a\x07\x0a\x02v1\x12\x01X\x12\0",
            "X in version \"v1\" cannot be handled as a ConfigMap: no kind \"X\" is registered for version \"v1\" in \
             scheme \"pkg/runtime/scheme.go:111\"",
        ),
        (
            b"k8s\0\x12\x04\x0a\x02\x08\0",
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: .metadata.name: found a varint, expected a string",
        ),
    ] {
        assert_eq!(create(body), message);
    }
    let shop = request("").content_type("application/vnd.kubernetes.protobuf");
    let (code, message) = refused(shops().create(&shop, None, b"k8s\0"));
    assert_eq!(
        (
            code,
            message.contains("types include: application/json, application/yaml")
        ),
        (415, true),
        "{message}"
    );
}

#[test]
fn field_validation_warns_refuses_or_ignores() {
    let body = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":"a"},"color":"red"}"#;
    let create = |validation: &str| {
        let options = RequestOptions::default().field_validation(validation);
        config_maps().create(&request("").namespace("shop").options(options), None, body)
    };
    let faults = [
        "duplicate field \"metadata.name\"",
        "unknown field \"color\"",
    ];
    assert_eq!(create("").unwrap().warnings, faults);
    assert_eq!(create("Ignore").unwrap().warnings, [""; 0]);
    let message = format!(
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: {}",
        faults.join(", ")
    );
    assert_eq!(refused(create("Strict")), (400, message));
}

#[test]
fn owner_references_that_occur_again_are_dropped_with_a_warning() {
    let owner = r#"{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u1"}"#;
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a","ownerReferences":[{owner},{owner}]}}}}"#
    );
    let created = config_maps()
        .create(&request("").namespace("shop"), None, body.as_bytes())
        .unwrap();
    let owners = metadata(&created.object, "ownerReferences")
        .and_then(Value::as_list)
        .unwrap();
    assert_eq!(owners.len(), 1);
    assert!(
        created.warnings[0].ends_with("duplicate UID(s) observed: u1"),
        "{:?}",
        created.warnings
    );
}

#[test]
fn the_path_and_the_body_agree_on_name_and_namespace() {
    let live = config_map(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#);
    let update = request("a").namespace("shop");
    let other = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}"#;
    let message = "the name of the object (b) does not match the name on the URL (a)";
    assert_eq!(
        refused(config_maps().update(&update, Some(&live), other)),
        (400, message.to_owned())
    );
    let other =
        br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"other"}}"#;
    let message =
        "the namespace of the provided object does not match the namespace sent on the request";
    assert_eq!(
        refused(config_maps().update(&update, Some(&live), other)),
        (400, message.to_owned())
    );
}

#[test]
fn hostile_bodies_are_refused() {
    let deep = "[".repeat(100_000);
    let cut = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":"#;
    for body in [
        "",
        "{",
        "[]",
        "null",
        "1",
        "\"x\"",
        "{\"kind\":1}",
        "{\"metadata\":[]}",
        &deep,
        cut,
    ] {
        let created = config_maps().create(&request("").namespace("shop"), None, body.as_bytes());
        let code = created.unwrap_err().status.code;
        assert!(
            (400..500).contains(&code),
            "{code} for {}",
            &body[..body.len().min(40)]
        );
        let created = shops().create(&request(""), None, body.as_bytes());
        assert!((400..500).contains(&created.unwrap_err().status.code));
        for content_type in [MERGE, APPLY, "application/json-patch+json"] {
            let live = shop("{}");
            let options = RequestOptions::default().field_manager("ops");
            let request = request("corner")
                .content_type(content_type)
                .options(options);
            // The answer does not matter: nothing panics.
            let _ = shops().patch(&request, Some(&live), body.as_bytes());
        }
    }
}

const CONFIG_MAP: &str =
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"a":"1"}}"#;

#[test]
fn an_empty_list_of_managed_fields_ends_their_tracking() {
    let live = config_map(CONFIG_MAP);
    let body = br#"{"metadata":{"managedFields":[]},"data":{"a":"2"}}"#;
    let request = request("web").namespace("shop").content_type(MERGE);
    let outcome = config_maps().patch(&request, Some(&live), body).unwrap();
    assert_eq!(metadata(&outcome.object, "managedFields"), None);
}

#[test]
fn a_merge_patch_that_is_a_list_is_refused_by_the_decoder() {
    let live = config_map(CONFIG_MAP);
    let options = RequestOptions::default().field_validation("Ignore");
    let request = request("web")
        .namespace("shop")
        .content_type(MERGE)
        .options(options);
    let (code, message) = refused(config_maps().patch(&request, Some(&live), b"[1]"));
    assert_eq!(code, 422);
    assert!(message.contains("cannot unmarshal array"), "{message}");
}
