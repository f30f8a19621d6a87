//! Objects are converted between versions as the Go scheme does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

use fieldmanager_builtin::{ConvertError, Kind};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

fn kind(api_version: &str, kind: &str) -> Kind {
    Kind::of(&GroupVersionKind::from_api_version_kind(api_version, kind)).unwrap()
}

fn decoded(kind: &Kind, text: &str) -> Value {
    kind.decode(&Value::from_json(text).unwrap())
        .unwrap()
        .object
}

fn converted(name: &str, from: &str, to: &str, text: &str) -> Value {
    let (from, to) = (kind(from, name), kind(to, name));
    from.convert(&decoded(&from, text), &to).unwrap()
}

fn part(object: &Value, path: &[&str]) -> String {
    path.iter()
        .try_fold(object, |value, name| value.get(name))
        .map_or_else(String::new, Value::to_json)
}

#[test]
fn versions_with_equal_types_share_everything_but_the_version() {
    let (old, new) = (
        kind("storage.k8s.io/v1beta1", "VolumeAttributesClass"),
        kind("storage.k8s.io/v1", "VolumeAttributesClass"),
    );
    let object = decoded(&old, r#"{"driverName": "d", "parameters": {"a": "b"}}"#);
    let converted = old.convert(&object, &new).unwrap();
    assert_eq!(part(&converted, &["apiVersion"]), r#""storage.k8s.io/v1""#);
    assert!(
        converted
            .get("parameters")
            .unwrap()
            .ptr_eq(object.get("parameters").unwrap())
    );
}

#[test]
fn kinds_that_are_no_versions_of_one_are_refused() {
    let error = kind("v1", "Pod")
        .convert(&Value::Null, &kind("v1", "Service"))
        .unwrap_err();
    assert!(matches!(error, ConvertError::Unrelated { .. }));
    assert_eq!(
        error.to_string(),
        "cannot convert /v1, Kind=Pod to /v1, Kind=Service: expected a version of the same kind",
    );
}

#[test]
fn metrics_of_an_autoscaler_move_to_annotations_and_back() {
    let (v1, v2) = ("autoscaling/v1", "autoscaling/v2");
    let text = r#"{"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "a"}, "metrics": [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
        {"type": "Pods", "pods": {"metric": {"name": "<m>"}, "target": {"type": "AverageValue", "averageValue": "1500m"}}}
    ], "behavior": {"scaleUp": {"selectPolicy": "Max"}}}}"#;
    let old = converted("HorizontalPodAutoscaler", v2, v1, text);
    assert_eq!(
        part(&old, &["spec", "targetCPUUtilizationPercentage"]),
        "50"
    );
    let annotation = |name: &str| {
        let text = old
            .get("metadata")?
            .get("annotations")?
            .get(&format!("autoscaling.alpha.kubernetes.io/{name}"))?;
        text.as_str().map(str::to_owned)
    };
    assert_eq!(
        annotation("metrics").unwrap(),
        r#"[{"type":"Pods","pods":{"metricName":"\u003cm\u003e","targetAverageValue":"1500m"}}]"#,
    );
    assert_eq!(
        annotation("behavior").unwrap(),
        r#"{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":null,"Tolerance":null},"ScaleDown":null}"#,
    );
    let new = kind(v1, "HorizontalPodAutoscaler")
        .convert(&old, &kind(v2, "HorizontalPodAutoscaler"))
        .unwrap();
    assert_eq!(part(&new, &["metadata"]), "{}");
    assert_eq!(
        part(&new, &["spec", "behavior"]),
        r#"{"scaleUp":{"selectPolicy":"Max"}}"#
    );
    assert_eq!(
        new.get("spec")
            .unwrap()
            .get("metrics")
            .unwrap()
            .as_list()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn unreadable_annotations_of_an_autoscaler_are_ignored() {
    let text = r#"{"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": "[1]", "a": "b"}}}"#;
    let new = converted(
        "HorizontalPodAutoscaler",
        "autoscaling/v1",
        "autoscaling/v2",
        text,
    );
    assert_eq!(part(&new, &["metadata"]), r#"{"annotations":{"a":"b"}}"#);
    assert_eq!(
        part(&new, &["spec", "metrics"]),
        r#"[{"resource":{"name":"cpu","target":{"averageUtilization":80,"type":"Utilization"}},"type":"Resource"}]"#,
    );
}

#[test]
fn fields_of_events_have_other_names_in_the_other_group() {
    let core = r#"{"involvedObject": {"name": "a"}, "message": "m", "count": 2, "reportingComponent": "c"}"#;
    let event = converted("Event", "v1", "events.k8s.io/v1", core);
    assert_eq!(part(&event, &["regarding"]), r#"{"name":"a"}"#);
    assert_eq!(part(&event, &["note"]), r#""m""#);
    assert_eq!(part(&event, &["deprecatedCount"]), "2");
    assert_eq!(part(&event, &["reportingController"]), r#""c""#);
    assert_eq!(part(&event, &["message"]), "");
}

#[test]
fn internal_version_leaves_traces() {
    let secret = converted(
        "Secret",
        "v1",
        "v1",
        r#"{"data": {"a": "aGk="}, "stringData": {"a": "x", "b": ""}}"#,
    );
    assert_eq!(part(&secret, &["data"]), r#"{"a":"eA==","b":""}"#);
    assert_eq!(part(&secret, &["stringData"]), "");
    let node = converted(
        "Node",
        "v1",
        "v1",
        r#"{"spec": {"podCIDR": "10.0.0.0/24"}}"#,
    );
    assert_eq!(part(&node, &["spec", "podCIDRs"]), r#"["10.0.0.0/24"]"#);
    let set = converted("DaemonSet", "apps/v1", "apps/v1", "{}");
    assert_eq!(
        part(&set, &["metadata", "annotations"]),
        r#"{"deprecated.daemonset.template.generation":"0"}"#,
    );
    let daemon_set = kind("apps/v1", "DaemonSet");
    let wrong = decoded(
        &daemon_set,
        r#"{"metadata": {"annotations": {"deprecated.daemonset.template.generation": "x"}}}"#,
    );
    let error = daemon_set.convert(&wrong, &daemon_set).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"strconv.ParseInt: parsing "x": invalid syntax"#
    );
}

#[test]
fn requests_for_devices_have_other_fields_in_the_first_version() {
    let old = r#"{"spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "c", "count": 2}]}}}"#;
    let new = converted(
        "ResourceClaim",
        "resource.k8s.io/v1beta1",
        "resource.k8s.io/v1",
        old,
    );
    assert_eq!(
        part(&new, &["spec", "devices", "requests"]),
        r#"[{"exactly":{"count":2,"deviceClassName":"c"},"name":"r"}]"#,
    );
    let (v1, v1beta1) = (
        kind("resource.k8s.io/v1", "ResourceClaim"),
        kind("resource.k8s.io/v1beta1", "ResourceClaim"),
    );
    let back = v1.convert(&new, &v1beta1).unwrap();
    assert_eq!(
        part(&back, &["spec", "devices", "requests"]),
        r#"[{"count":2,"deviceClassName":"c","name":"r"}]"#,
    );
}

#[test]
fn values_of_any_form_are_converted_without_a_panic() {
    let odd = [
        Value::Null,
        Value::from(1),
        Value::from(vec![1_i64]),
        Value::from_json(r#"{"metadata": 1, "spec": [], "status": {"currentMetrics": [1]}}"#).unwrap(),
        Value::from_json(
            r#"{"metadata": {"annotations": []}, "spec": {"metrics": [{"resource": 1}], "devices": [1]}}"#,
        )
        .unwrap(),
    ];
    for kind in Kind::all() {
        for version in kind.versions() {
            for object in &odd {
                kind.convert(object, &version).ok();
            }
        }
    }
}
