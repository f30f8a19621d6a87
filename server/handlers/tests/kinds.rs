//! What is peculiar to the objects of some kinds.
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
use fieldmanager_handlers::{Action, Method, Request, Resource, Subresource};
use fieldmanager_managedfields::RequestOptions;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::Value;

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

#[test]
fn an_annotation_without_the_number_of_the_internal_version_is_refused() {
    let kind = GroupVersionKind::from_api_version_kind("apps/v1", "DaemonSet");
    let sets = Resource::builtin(&kind).unwrap();
    for (value, text) in [(r#""two""#, "two"), ("null", "")] {
        let annotations = format!(r#"{{"deprecated.daemonset.template.generation":{value}}}"#);
        let body = format!(
            r#"{{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{{"name":"a","annotations":{annotations}}}}}"#
        );
        let (code, message) = refused(sets.create(&request(""), None, body.as_bytes()));
        let fault = format!(
            "DaemonSet in version \"v1\" cannot be handled as a DaemonSet: strconv.ParseInt: parsing {text:?}: invalid syntax"
        );
        assert_eq!((code, message), (400, fault));
    }
}
