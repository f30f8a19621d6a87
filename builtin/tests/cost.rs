//! The cost of decoding in allocations, which do not depend on the machine.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use allocation_counter::measure;
use fieldmanager_builtin::Kind;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

fn pod() -> Kind {
    Kind::of(&GroupVersionKind::new("", "v1", "Pod")).unwrap()
}

#[test]
fn decoding_without_changes_does_not_allocate() {
    let object = Value::from_json(
        r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"a": "b"}, "creationTimestamp":
        "2020-01-01T00:00:00Z"}, "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "500m", "memory":
        "1Gi"}}, "ports": [{"containerPort": 80}]}], "volumes": [{"name": "v", "emptyDir": {}}]}, "status": {}}"#,
    )
    .unwrap();
    let kind = pod();
    assert!(kind.decode(&object).unwrap().object.ptr_eq(&object));
    let counted = measure(|| {
        let decoded = kind.decode(&object).unwrap();
        assert!(decoded.object.ptr_eq(&object) && decoded.unknown.is_empty());
        assert!(kind.convert(&object, &kind).unwrap().ptr_eq(&object));
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn decoding_costs_in_proportion_to_the_object() {
    let cost = |containers: usize| {
        let container = r#"{"name": "a", "x": null, "resources": {"limits": {"cpu": 0.5}}}"#;
        let text = format!(r#"{{"spec": {{"containers": [{}]}}}}"#, vec![container; containers].join(","));
        let object = Value::from_json(&text).unwrap();
        measure(|| drop(pod().decode(&object).unwrap())).bytes_total
    };
    cost(1);
    assert!(cost(2_000) < 11 * cost(200), "{} bytes for 200, {} for 2000", cost(200), cost(2_000));
}

#[test]
fn validation_of_a_quota_costs_in_proportion_to_the_object() {
    let cost = |number: usize| {
        let scopes: Vec<String> = (0..number).map(|at| format!(r#""scope-{}""#, at / 2)).collect();
        let hard: Vec<String> = (0..number).map(|at| format!(r#""example.com/r{at}": "1""#)).collect();
        let spec = format!(r#"{{"scopes": [{}], "hard": {{{}}}}}"#, scopes.join(","), hard.join(","));
        let object =
            Value::from_json(&format!(r#"{{"metadata": {{"name": "a"}}, "spec": {spec}}}"#)).unwrap();
        let kind = GroupVersionKind::new("", "v1", "ResourceQuota");
        measure(|| drop(fieldmanager_builtin::validate_create(&kind, &object))).bytes_total
    };
    cost(1);
    assert!(cost(2_000) < 15 * cost(200), "{} bytes for 200, {} for 2000", cost(200), cost(2_000));
}
