//! The order and the answers of requests: what is easily wrong about one object.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test panics"
)]

use fieldmanager_handlers::{Action, Method, Outcome, Refused, Request, Resource, Subresource};
use fieldmanager_managedfields::RequestOptions;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::{Map, Value};

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

fn config_maps() -> Resource {
    Resource::builtin(&GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).unwrap()
}

fn shops() -> Resource {
    let schema = "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: \
                  string, default: red}}}, status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}";
    let version = "name: v1, served: true, storage: true, subresources: {status: {}}";
    let versions = &format!("[{{{version}, schema: {{openAPIV3Schema: {schema}}}}}]");
    Resource::custom(
        &CustomResource::from_value(&fieldmanager_testing::shop(versions)).unwrap(),
        "v1",
    )
    .unwrap()
}

fn request(name: &str) -> Request<'_> {
    Request::new("2026-01-31T12:00:00Z".parse().unwrap())
        .name(name)
        .uid("7e1b")
        .user_agent("test/1.0")
}

/// The object as a server stores it.
fn stored(outcome: &Outcome, version: &str) -> Value {
    with_metadata(&outcome.object, "resourceVersion", Some(version.into()))
}

fn with_metadata(object: &Value, name: &str, value: Option<Value>) -> Value {
    let fields = object.as_map().unwrap();
    let metadata = fields
        .get("metadata")
        .and_then(Value::as_map)
        .cloned()
        .unwrap_or_default();
    let metadata: Map = metadata.with_edits(vec![(name.into(), value)]);
    Value::Map(fields.with_edits(vec![("metadata".into(), Some(Value::Map(metadata)))]))
}

fn metadata<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object.get("metadata")?.get(name)
}

fn config_map(body: &str) -> Value {
    let created = config_maps()
        .create(&request("").namespace("shop"), None, body.as_bytes())
        .unwrap();
    stored(&created, "1")
}

fn refused(result: Result<Outcome, Refused>) -> (u16, String) {
    let status = result.unwrap_err().status;
    (status.code, status.message)
}

fn shop(spec: &str) -> Value {
    let body = format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Shop","metadata":{{"name":"corner"}},"spec":{spec}}}"#
    );
    stored(
        &shops().create(&request(""), None, body.as_bytes()).unwrap(),
        "1",
    )
}

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
            "Pod in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Pod) to (.ConfigMap): unknown conversion",
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

#[test]
fn an_empty_rule_of_a_network_policy_raises_its_generation() {
    let kind = GroupVersionKind::from_api_version_kind("networking.k8s.io/v1", "NetworkPolicy");
    let policies = Resource::builtin(&kind).unwrap();
    let live = Value::from_yaml(
        "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}, policyTypes: [Ingress]},
          metadata: {name: web, namespace: shop, uid: u, creationTimestamp: '2026-01-31T12:00:00Z', resourceVersion: '1', generation: 1}}",
    )
    .unwrap();
    let generation = |body: &[u8]| {
        let request = request("web").namespace("shop").content_type(MERGE);
        let outcome = policies.patch(&request, Some(&live), body).unwrap();
        metadata(&outcome.object, "generation").cloned()
    };
    assert_eq!(
        generation(br#"{"spec":{"egress":[]}}"#),
        Some(Value::Int(2))
    );
    assert_eq!(
        generation(br#"{"spec":{"egress":null}}"#),
        Some(Value::Int(1))
    );
}

#[test]
fn a_request_to_status_creates_a_service_that_does_not_exist() {
    let services =
        Resource::builtin(&GroupVersionKind::from_api_version_kind("v1", "Service")).unwrap();
    let request = request("web")
        .namespace("shop")
        .content_type(APPLY)
        .subresource(Subresource::Status)
        .options(RequestOptions::default().field_manager("ci"));
    let body =
        b"{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}";
    let outcome = services.patch(&request, None, body).unwrap();
    assert_eq!(outcome.action, Action::Create);
    assert_eq!(
        outcome.object.get("spec").and_then(|spec| spec.get("type")),
        Some(&Value::from("ClusterIP"))
    );
    let config = b"{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}";
    assert_eq!(refused(config_maps().patch(&request, None, config)).0, 404);
}

#[test]
fn a_version_that_is_no_number_is_refused_when_an_apply_creates_an_object() {
    let options = RequestOptions::default().field_manager("ci");
    let request = request("web")
        .namespace("shop")
        .content_type(APPLY)
        .options(options);
    let apply = |version: &str| {
        let body = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: web, resourceVersion: '{version}'}}}}"
        );
        config_maps().patch(&request, None, body.as_bytes())
    };
    let message = "strconv.ParseUint: parsing \"abc\": invalid syntax".to_owned();
    assert_eq!(refused(apply("abc")), (500, message));
    assert_eq!(apply("5").unwrap().action, Action::Create);
}

#[test]
fn a_dry_run_takes_a_version_in_a_new_object() {
    let body = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","resourceVersion":"2"}}"#;
    let create = |options: RequestOptions| {
        config_maps().create(&request("").namespace("shop").options(options), None, body)
    };
    assert_eq!(refused(create(RequestOptions::default())).0, 500);
    assert_eq!(
        create(RequestOptions::default().dry_run("All"))
            .unwrap()
            .action,
        Action::Create
    );
}

#[test]
fn custom_resources_without_a_version_are_refused() {
    let live = shop("{}");
    let update =
        br#"{"apiVersion":null,"kind":"Shop","metadata":{"name":"corner","resourceVersion":"1"}}"#;
    let (code, message) = refused(shops().update(&request("corner"), Some(&live), update));
    assert_eq!(code, 400);
    assert!(
        message
            .ends_with(".apiVersion accessor error: <nil> is of the type <nil>, expected string")
    );
    let request = request("corner").content_type(MERGE);
    let (code, message) = refused(shops().patch(&request, Some(&live), br#"{"apiVersion":null}"#));
    assert_eq!(code, 500);
    assert!(
        message.starts_with("Internal error occurred: Object 'apiVersion' is missing"),
        "{message}"
    );
}

#[test]
fn unknown_metadata_of_custom_resources_is_reported_first() {
    let body =
        br#"{"Name":"x","apiVersion":"example.com/v1","kind":"Shop","metadata":{"name":"corner","odd":1}}"#;
    let created = shops().create(&request(""), None, body).unwrap();
    assert_eq!(
        created.warnings,
        ["unknown field \"metadata.odd\"", "unknown field \"Name\""]
    );
}

#[test]
fn a_conversion_that_reorders_metrics_raises_the_generation() {
    let kind = |version: &str| {
        let kind = GroupVersionKind::from_api_version_kind(version, "HorizontalPodAutoscaler");
        Resource::builtin(&kind).unwrap()
    };
    let body = br#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"web"},
        "spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"metrics":[
        {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}},
        {"type":"Pods","pods":{"metric":{"name":"rps"},"target":{"type":"AverageValue","averageValue":"1"}}}]}}"#;
    let created = kind("autoscaling/v2")
        .create(&request("").namespace("shop"), None, body)
        .unwrap();
    let live = stored(&created, "1");
    let request = request("web").namespace("shop").content_type(MERGE);
    let generation = |version: &str| {
        let outcome = kind(version).patch(&request, Some(&live), b"{}").unwrap();
        metadata(&outcome.object, "generation").cloned()
    };
    assert_eq!(generation("autoscaling/v2"), Some(Value::Int(1)));
    assert_eq!(generation("autoscaling/v1"), Some(Value::Int(2)));
}

#[test]
fn a_resize_changes_the_resources_of_a_pod_only() {
    let pods = Resource::builtin(&GroupVersionKind::from_api_version_kind("v1", "Pod")).unwrap();
    let body = br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},
        "spec":{"containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"1"}}}]}}"#;
    let created = pods
        .create(&request("").namespace("shop"), None, body)
        .unwrap();
    let live = stored(&created, "1");
    let resize = request("a")
        .namespace("shop")
        .subresource(Subresource::Resize);

    let patch = br#"{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"y",
        "resources":{"requests":{"cpu":"2"}}}]}}"#;
    let strategic = "application/strategic-merge-patch+json";
    let strategic = resize.clone().content_type(strategic);
    let resized = pods.patch(&strategic, Some(&live), patch).unwrap().object;
    let text = resized.to_json();
    assert!(text.contains(r#""requests":{"cpu":"2"}"#), "{text}");
    assert!(text.contains(r#""image":"x""#), "{text}");
    assert_eq!(metadata(&resized, "labels"), None);
    assert_eq!(metadata(&resized, "generation"), Some(&Value::Int(2)));

    let removed = br#"{"spec":{"containers":[{"name":"c","resources":{"requests":null}}]}}"#;
    let (code, message) = refused(pods.patch(&strategic, Some(&live), removed));
    let expected = "resource requests cannot be removed";
    assert_eq!((code, message.contains(expected)), (422, true), "{message}");

    // The entry of an apply names the subresource.
    let config = br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c",
        "resources":{"requests":{"cpu":"2"}}}]}}"#;
    let mut options = RequestOptions::default();
    options.field_manager = "scaler".to_owned();
    options.force = Some(true);
    let apply = resize.content_type(APPLY).options(options);
    let applied = pods.patch(&apply, Some(&live), config).unwrap();
    let entries = metadata(&applied.object, "managedFields")
        .unwrap()
        .to_json();
    assert!(entries.contains(r#""subresource":"resize""#), "{entries}");
}

#[test]
fn a_patch_that_removes_the_version_is_read_as_the_internal_one() {
    let live = config_map(r#"{"metadata":{"name":"a"}}"#);
    let merge = request("a").namespace("shop").content_type(MERGE);
    let other = br#"{"apiVersion":null,"kind":"Other"}"#;
    let (code, message) = refused(config_maps().patch(&merge, Some(&live), other));
    let words = r#"no kind "Other" is registered for the internal version of group "" in scheme"#;
    assert_eq!((code, message.contains(words)), (422, true), "{message}");
}

#[test]
fn bytes_that_are_null_are_stored_as_empty_ones() {
    let body = r#"{"metadata":{"name":"a"},"binaryData":{"bin":null}}"#;
    let live = config_map(body);
    assert_eq!(
        live.get("binaryData").unwrap().get("bin"),
        Some(&Value::from(""))
    );
}

#[test]
fn unknown_metadata_of_a_custom_resource_without_a_version_is_a_warning() {
    let live = shop(r#"{"size":1}"#);
    let request = request("corner")
        .subresource(Subresource::Status)
        .content_type(MERGE);
    let patch =
        br#"{"apiVersion":null,"metadata":{"unknown":1},"spec":{"unknown":1},"status":{"open":true}}"#;
    let refused = shops().patch(&request, Some(&live), patch).unwrap_err();
    assert_eq!(refused.warnings, [r#"unknown field "metadata.unknown""#]);
}

#[test]
fn a_custom_resource_without_a_version_is_not_compared_with_a_schema() {
    let live = shop(r#"{"size":1}"#);
    let merge = request("corner").content_type(MERGE);
    let patch = br#"{"apiVersion":null,"spec":{"size":{"a":1}}}"#;
    let (code, message) = refused(shops().patch(&merge, Some(&live), patch));
    let missing = "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'";
    assert_eq!((code, message.as_str()), (500, missing));
}

#[test]
fn an_event_without_a_version_is_of_the_core_group() {
    let kind = GroupVersionKind::new("events.k8s.io", "v1", "Event");
    let events = Resource::builtin(&kind).unwrap();
    let live = Value::from_yaml(
        "{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: a, namespace: shop}}",
    );
    let merge = request("a").namespace("shop").content_type(MERGE);
    let patch = br#"{"apiVersion":null,"kind":"Other"}"#;
    let (code, message) = refused(events.patch(&merge, Some(&live.unwrap()), patch));
    assert_eq!(code, 422);
    assert!(
        message.contains(r#"for the internal version of group "" in scheme"#),
        "{message}"
    );
}

#[test]
fn the_last_of_several_entries_of_one_identity_counts() {
    let fields = |name: &str| {
        format!(
            r#"{{"manager":"ci","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1",
                "fieldsV1":{{"f:data":{{"f:{name}":{{}}}}}},"time":"2026-01-01T00:00:00Z"}}"#
        )
    };
    let live = config_map(
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"1","b":"1"}}"#,
    );
    let entries = Value::from_json(&format!("[{},{}]", fields("a"), fields("b"))).unwrap();
    let live = with_metadata(&live, "managedFields", Some(entries));
    let request = request("a").namespace("shop").content_type(MERGE);
    let patched = config_maps()
        .patch(&request, Some(&live), br#"{"data":{"c":"1"}}"#)
        .unwrap();

    let entries = metadata(&patched.object, "managedFields").and_then(Value::as_list);
    let entries: Vec<Value> = entries.unwrap().iter().cloned().collect();
    let of_ci = entries
        .iter()
        .filter(|entry| entry.get("manager").and_then(Value::as_str) == Some("ci"));
    let of_ci: Vec<String> = of_ci
        .map(|entry| entry.get("fieldsV1").unwrap().to_json())
        .collect();
    assert_eq!(of_ci, [r#"{"f:data":{"f:b":{}}}"#]);
}

#[test]
fn a_new_owner_of_the_replicas_of_a_scale_has_no_time() {
    let deployments = Resource::builtin(&GroupVersionKind::from_api_version_kind(
        "apps/v1",
        "Deployment",
    ))
    .unwrap();
    let body = br#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":2,
        "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
        "spec":{"containers":[{"name":"c","image":"i"}]}}}}"#;
    let created = deployments
        .create(&request("").namespace("shop"), None, body)
        .unwrap();
    let live = stored(&created, "1");
    let scale = Request::new("2026-02-01T12:00:00Z".parse().unwrap())
        .name("a")
        .namespace("shop")
        .user_agent("hpa/1.0")
        .subresource(Subresource::Scale)
        .content_type(MERGE);
    let scaled = deployments
        .patch(
            &scale,
            Some(&live),
            br#"{"metadata":{"labels":{"a":"b"}},"spec":{"replicas":3}}"#,
        )
        .unwrap();

    let entries = metadata(&scaled.object, "managedFields").and_then(Value::as_list);
    let of_hpa = entries
        .unwrap()
        .iter()
        .find(|entry| entry.get("manager").and_then(Value::as_str) == Some("hpa"))
        .unwrap();
    assert_eq!(
        of_hpa.get("time"),
        None,
        "a new owner of the replicas has no time"
    );
    assert_eq!(of_hpa.get("subresource"), Some(&"scale".into()));
}

#[test]
fn the_live_scale_that_is_validated_has_no_owners_and_no_mark() {
    let shop = fieldmanager_testing::shop_with_scale();
    let shops = Resource::custom(&CustomResource::from_value(&shop).unwrap(), "v1").unwrap();
    let body =
        br#"{"apiVersion":"example.com/v1","kind":"Shop","metadata":{"name":"a"},"spec":{}}"#;
    let created = shops
        .create(&request("").namespace("shop"), None, body)
        .unwrap();
    let live = stored(&created, "1");
    let scale = request("a")
        .namespace("shop")
        .subresource(Subresource::Scale);
    let body = br#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":3}}"#;
    let pending = shops
        .begin(&scale, Method::Update, Some(&live), body)
        .unwrap();

    // Whoever changes the scale sees the mark.
    let replicas = |scale: &Value| scale.get("spec")?.get("replicas")?.as_i64();
    assert_eq!(replicas(pending.old().unwrap()), Some(i32::MIN.into()));
    let validated = pending.validated_old().unwrap();
    assert_eq!(replicas(&validated), None);
    assert_eq!(metadata(&validated, "managedFields"), None);
}
