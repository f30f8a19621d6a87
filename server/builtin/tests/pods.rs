//! Validation of pods and of the kinds that make them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use fieldmanager_builtin::{defaulted, validate_create, validate_update};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

fn kind(api_version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::from_api_version_kind(api_version, kind)
}

fn object(api_version: &str, kind_name: &str, spec: &str) -> Value {
    let text = format!(
        "{{metadata: {{name: a, namespace: x, uid: u, resourceVersion: '1'}}, spec: {spec}}}"
    );
    defaulted(
        &kind(api_version, kind_name),
        &Value::from_yaml(&text).unwrap(),
    )
}

fn texts(errors: &[fieldmanager_structural::FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn pod_errors(spec: &str) -> Vec<String> {
    texts(&validate_create(
        &kind("v1", "Pod"),
        &object("v1", "Pod", spec),
    ))
}

#[test]
fn pods_have_the_errors_of_kubernetes() {
    for (spec, expected) in [
        ("{containers: [{name: a, image: x}]}", vec![]),
        ("{}", vec!["spec.containers: Required value"]),
        (
            "{containers: [{name: a, image: ''}, {name: a, image: x}]}",
            vec![
                "spec.containers[0].image: Required value",
                "spec.containers[1].name: Duplicate value: \"a\"",
            ],
        ),
        (
            "{containers: [{name: a, image: x, ports: [{containerPort: 0}, {containerPort: 70000, protocol: X}]}]}",
            vec![
                "spec.containers[0].ports[0].containerPort: Required value",
                "spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
                "spec.containers[0].ports[1].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
            ],
        ),
        (
            "{volumes: [{name: v, hostPath: {path: ''}}], containers: [{name: a, image: x, volumeMounts: [{name: v, mountPath: /x}]}]}",
            vec![
                "spec.volumes[0].hostPath.path: Required value",
                "spec.containers[0].volumeMounts[0].name: Not found: \"v\"",
            ],
        ),
        (
            "{containers: [{name: a, image: x, resources: {limits: {cpu: '1'}, requests: {cpu: '2', foo: '1'}}}]}",
            vec![
                "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
                "spec.containers[0].resources.requests[foo]: Invalid value: \"foo\": must be a standard resource type or fully qualified",
                "spec.containers[0].resources.requests[foo]: Invalid value: \"foo\": must be a standard resource for containers",
            ],
        ),
        (
            "{containers: [{name: a, image: x, livenessProbe: {tcpSocket: {port: 0}, successThreshold: 2}}]}",
            vec![
                "spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
            ],
        ),
        (
            "{containers: [{name: a, image: x}], tolerations: [{operator: X}], topologySpreadConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]}",
            vec![
                "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
                "spec.tolerations[0].operator: Invalid value: \"X\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
                "spec.tolerations[0].operator: Unsupported value: \"X\": supported values: \"Equal\", \"Exists\"",
            ],
        ),
        (
            "{containers: [{name: a, image: x, securityContext: {seccompProfile: {type: X}}}], initContainers: [{name: a, image: x, lifecycle: {}}]}",
            vec![
                "spec.containers[0].securityContext.seccompProfile.type: Unsupported value: \"X\": supported values: \"Localhost\", \"RuntimeDefault\", \"Unconfined\"",
                "spec.initContainers[0].name: Duplicate value: \"a\"",
                "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always",
            ],
        ),
    ] {
        assert_eq!(pod_errors(spec), expected, "{spec}");
    }
}

#[test]
fn changes_of_pods_are_shown_as_differences_of_internal_values() {
    let pod = |spec: &str| {
        object(
            "v1",
            "Pod",
            &format!("{{containers: [{{name: a, image: x}}], {spec}}}"),
        )
    };
    let errors = |new: &str, old: &str| {
        texts(&validate_update(
            &kind("v1", "Pod"),
            "",
            &pod(new),
            &pod(old),
        ))
    };
    assert!(errors("activeDeadlineSeconds: 5", "activeDeadlineSeconds: 9").is_empty());
    assert!(errors("tolerations: [{operator: Exists}]", "").is_empty());
    let changed = errors("hostname: b", "hostname: a");
    assert_eq!(changed.len(), 1);
    assert!(
        changed[0].starts_with("spec: Forbidden: pod updates may not change fields other than "),
        "{changed:?}"
    );
    assert!(changed[0].ends_with(" \"ImagePullSecrets\": null,\n- \"Hostname\": \"a\",\n+ \"Hostname\": \"b\",\n  \"Subdomain\": \"\",\n  \"Affinity\": null,\n  \"SchedulerName\": \"default-scheduler\",\n"), "{}", changed[0]);
}

#[test]
fn selectors_select_the_pods_of_their_template() {
    let template =
        "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: x}]}}";
    for (api_version, name, spec, expected) in [
        (
            "apps/v1",
            "Deployment",
            "selector: {matchLabels: {app: web}}",
            vec![],
        ),
        (
            "apps/v1",
            "Deployment",
            "selector: {matchLabels: {app: a}}, strategy: {type: X}",
            vec![
                "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
                "spec.strategy: Unsupported value: {\"Type\":\"X\",\"RollingUpdate\":null}: supported values: \"Recreate\", \"RollingUpdate\"",
            ],
        ),
        (
            "apps/v1",
            "ReplicaSet",
            "selector: {}",
            vec!["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
        ),
        (
            "apps/v1",
            "DaemonSet",
            "selector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}",
            vec![
                "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
            ],
        ),
        (
            "apps/v1",
            "StatefulSet",
            "selector: {matchLabels: {app: web}}, podManagementPolicy: X, volumeClaimTemplates: [{metadata: {name: c}, spec: {}}]",
            vec![
                "spec.podManagementPolicy: Invalid value: \"X\": must be 'OrderedReady' or 'Parallel'",
                "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
                "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
            ],
        ),
        (
            "batch/v1",
            "Job",
            "selector: {matchLabels: {app: web}}, manualSelector: true",
            vec![
                "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"",
            ],
        ),
    ] {
        let object = object(api_version, name, &format!("{{{spec}, {template}}}"));
        assert_eq!(
            texts(&validate_create(&kind(api_version, name), &object)),
            expected,
            "{name} {spec}"
        );
    }
}

#[test]
fn numbers_of_a_status_fit_each_other() {
    let deployment = |status: &str| {
        Value::from_yaml(&format!(
            "{{metadata: {{name: a, namespace: x, resourceVersion: '1'}}, status: {status}}}"
        ))
        .unwrap()
    };
    let (new, old) = (
        deployment("{replicas: 1, readyReplicas: 2, updatedReplicas: -1}"),
        deployment("{collisionCount: 1}"),
    );
    assert_eq!(
        texts(&validate_update(
            &kind("apps/v1", "Deployment"),
            "status",
            &new,
            &old
        )),
        [
            "status.updatedReplicas: Invalid value: -1: must be greater than or equal to 0",
            "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
            "status.collisionCount: Invalid value: 0: cannot be decremented",
        ]
    );
}
