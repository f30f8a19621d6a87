//! Resources of pods: those of a whole pod, and `resize`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use fieldmanager_builtin::{
    Kind, defaulted, prepare_create, prepare_update, validate_create, validate_update,
};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

fn pods() -> GroupVersionKind {
    GroupVersionKind::new("", "v1", "Pod")
}

/// A pod with a spec, as the server decodes it.
fn pod(spec: &str) -> Value {
    let text = format!(
        "{{metadata: {{name: a, namespace: x, uid: u, resourceVersion: '1'}}, spec: {spec}}}"
    );
    let decoded = Kind::of(&pods())
        .unwrap()
        .decode(&Value::from_yaml(&text).unwrap());
    defaulted(&pods(), &decoded.unwrap().object)
}

fn created(spec: &str) -> Value {
    prepare_create(&pods(), &pod(spec))
}

fn resources(pod: &Value) -> Value {
    pod.get("spec")
        .unwrap()
        .get("resources")
        .cloned()
        .unwrap_or_default()
}

fn texts(errors: &[fieldmanager_structural::FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn resources_of_a_pod_follow_from_those_of_its_containers() {
    let yaml = |text: &str| Value::from_yaml(text).unwrap();
    for (own, containers, expected) in [
        // The requests are the sums, and no limit follows if a container has none.
        (
            "{requests: {cpu: '1'}}",
            "[{name: a, image: x, resources: {requests: {cpu: 200m, memory: 1Gi}}},
              {name: b, image: x, resources: {requests: {memory: 512Mi}}}]",
            "{requests: {cpu: '1', memory: 1536Mi}}",
        ),
        // The requests are those of the limits of the pod, if no container has any.
        (
            "{limits: {cpu: '2'}}",
            "[{name: a, image: x}]",
            "{limits: {cpu: '2'}, requests: {cpu: '2'}}",
        ),
        // All containers have limits, which are at least the requests.
        (
            "{requests: {cpu: '3', memory: 4Mi}}",
            "[{name: a, image: x, resources: {limits: {cpu: '1', memory: 2Mi}}},
              {name: b, image: x, resources: {limits: {cpu: 500m, memory: 2Mi}}}]",
            "{requests: {cpu: '3', memory: 4Mi}, limits: {cpu: '3', memory: 4Mi}}",
        ),
        // Huge pages get both.
        (
            "{requests: {cpu: '1'}}",
            "[{name: a, image: x, resources: {limits: {hugepages-2Mi: 4Mi, cpu: 1m}}}]",
            "{requests: {cpu: '1', hugepages-2Mi: 4Mi}, limits: {cpu: '1', hugepages-2Mi: 4Mi}}",
        ),
    ] {
        let pod = created(&format!("{{resources: {own}, containers: {containers}}}"));
        assert_eq!(resources(&pod).to_json(), yaml(expected).to_json());
        assert_eq!(texts(&validate_create(&pods(), &pod)), [""; 0], "{own}");
    }

    let none = created("{containers: [{name: a, image: x, resources: {limits: {cpu: '1'}}}]}");
    assert_eq!(resources(&none), Value::Null);
    // An init container runs beside the sidecars that were started before it.
    let pod = created(
        "{resources: {limits: {memory: 1Gi}}, containers: [{name: a, image: x, resources: {requests: {cpu: 1m}}}],
          initContainers: [{name: s, image: x, restartPolicy: Always, resources: {requests: {cpu: 10m}}},
            {name: i, image: x, resources: {requests: {cpu: 5m}}}]}",
    );
    let expected = "{limits: {memory: 1Gi}, requests: {cpu: 15m, memory: 1Gi}}";
    assert_eq!(resources(&pod).to_json(), yaml(expected).to_json());
}

#[test]
fn containers_must_get_by_with_the_resources_of_the_pod() {
    for (spec, expected) in [
        (
            "{resources: {requests: {cpu: 100m}}, containers: [{name: a, image: x, resources: {requests: {cpu: 1}}}]}",
            "spec.resources.requests[cpu]: Invalid value: \"100m\": must be greater than or equal to aggregate container \
             requests of 1",
        ),
        (
            "{resources: {limits: {cpu: 1}}, containers: [{name: a, image: x, resources: {limits: {cpu: 2}, requests: {cpu: 1m}}}]}",
            "spec.resources.containers[0][cpu].limits: Invalid value: \"2\": must be less than or equal to pod limits of 1",
        ),
        (
            "{os: {name: windows}, resources: {limits: {cpu: 1}}, containers: [{name: a, image: x}]}",
            "spec.resources: Forbidden: may not be set for a windows pod",
        ),
        (
            "{resources: {claims: [{name: a}]}, containers: [{name: a, image: x}]}",
            "spec.resources.claims[0]: Not found: \"a\": must be one of the names in pod.spec.resourceClaims which is empty",
        ),
    ] {
        let errors = texts(&validate_create(&pods(), &created(spec)));
        assert!(errors.contains(&expected.to_owned()), "{errors:?}");
    }
}

/// The errors of a resize, with the containers and the generation that it leaves.
fn resize(old: &str, new: &str) -> (Vec<String>, Value, i64) {
    let live = created(old);
    let updated = prepare_update(&pods(), "resize", &pod(new), &live);
    let errors = texts(&validate_update(&pods(), "resize", &updated, &live));
    let spec = updated.get("spec").unwrap();
    let generation = updated.get("metadata").unwrap().get("generation");
    (
        errors,
        spec.clone(),
        generation.and_then(Value::as_i64).unwrap(),
    )
}

#[test]
fn a_resize_changes_cpu_and_memory_only() {
    let of = |resources: &str| {
        format!("{{containers: [{{name: a, image: x, resources: {resources}}}]}}")
    };
    let burstable = of("{requests: {cpu: 100m}}");
    let larger = of("{requests: {cpu: 200m}}").replace("image: x", "image: other");
    let (errors, spec, generation) = resize(&burstable, &larger);
    let container = &spec
        .get("containers")
        .unwrap()
        .as_list()
        .unwrap()
        .get(0)
        .unwrap();
    assert_eq!(errors, [""; 0]);
    assert_eq!(generation, 2);
    // What is no resource is kept.
    assert_eq!(container.get("image"), Some(&Value::from("x")));
    let expected = r#"{"requests":{"cpu":"200m"}}"#;
    assert_eq!(container.get("resources").unwrap().to_json(), expected);

    for (old, new, expected) in [
        (
            burstable.clone(),
            of("{requests: {memory: 1Mi}}"),
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
        ),
        (
            burstable.clone(),
            of("{requests: {cpu: 100m, ephemeral-storage: 1Mi}}"),
            "spec: Forbidden: only cpu and memory resources are mutable",
        ),
        (
            burstable.clone(),
            of("{limits: {cpu: 1, memory: 1Mi}}"),
            "spec: Invalid value: \"Burstable\": Pod QOS Class may not change as a result of resizing",
        ),
        (
            burstable.clone(),
            "{containers: [{name: b, image: x, resources: {requests: {cpu: 100m}}}]}".to_owned(),
            "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
        ),
        (
            burstable.clone(),
            "{containers: [{name: a, image: x}, {name: b, image: x}]}".to_owned(),
            "spec.containers: Forbidden: containers may not be added or removed on resize",
        ),
        (
            burstable.replace("{containers", "{os: {name: windows}, containers"),
            of("{requests: {cpu: 200m}}"),
            "[]: Forbidden: windows pods cannot be resized",
        ),
    ] {
        let (errors, ..) = resize(&old, &new);
        assert!(errors.contains(&expected.to_owned()), "{errors:?}");
    }
}

#[test]
fn the_class_of_a_pod_without_status_follows_from_its_spec() {
    let live = pod("{containers: [{name: a, image: x, resources: {requests: {cpu: 1}}}]}");
    let updated = prepare_update(&pods(), "resize", &live, &live);
    assert_eq!(
        texts(&validate_update(&pods(), "resize", &updated, &live)),
        [""; 0]
    );
}

#[test]
fn a_resize_of_the_pod_keeps_what_it_has() {
    let of = |resources: &str| {
        format!("{{resources: {resources}, containers: [{{name: a, image: x}}]}}")
    };
    let old = of("{requests: {cpu: 1}}");
    let (errors, spec, _) = resize(&old, &of("{requests: {cpu: 2}}"));
    assert_eq!(errors, [""; 0]);
    let expected = r#"{"requests":{"cpu":"2"}}"#;
    assert_eq!(spec.get("resources").unwrap().to_json(), expected);

    let (errors, ..) = resize(&old, &of("{requests: {memory: 1Mi}}"));
    let expected =
        "spec.resources.requests: Forbidden: pod-level resource requests cannot be removed";
    assert!(errors.contains(&expected.to_owned()), "{errors:?}");
    let (errors, spec, _) = resize(&old, "{containers: [{name: a, image: x}]}");
    assert_eq!(errors, [""; 0]);
    assert_eq!(
        spec.get("resources").unwrap().to_json(),
        r#"{"requests":{"cpu":"1"}}"#
    );
}
