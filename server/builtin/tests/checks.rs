//! Checks of kinds, of which an object that is nearly right shows one at a time.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_builtin::{validate_create, validate_update};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

/// The errors of an object of a kind, which replaces another one if there is one.
fn errors(version: &str, kind: &str, new: &str, old: Option<&str>) -> Vec<String> {
    let kind = GroupVersionKind::from_api_version_kind(version, kind);
    let [new, old] = [Some(new), old].map(|text| text.map(|text| Value::from_yaml(text).unwrap()));
    let errors = match (new, old) {
        (Some(new), Some(old)) => validate_update(&kind, "", &new, &old),
        (new, _) => validate_create(&kind, &new.unwrap_or_default()),
    };
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn the_status_of_a_job_ends_as_kubernetes_wants() {
    let kind = GroupVersionKind::from_api_version_kind("batch/v1", "Job");
    let job = |status: &str| {
        let meta = "metadata: {name: a, namespace: x, resourceVersion: '1'}";
        Value::from_yaml(&format!(
            "{{{meta}, spec: {{completions: 3, parallelism: 1}}, status: {{{status}}}}}"
        ))
        .unwrap()
    };
    let errors = |new: &str, old: &str| {
        let errors = validate_update(&kind, "status", &job(new), &job(old));
        errors
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<String>>()
    };
    let complete = "conditions: [{type: Complete, status: 'True'}]";
    assert_eq!(
        errors(complete, ""),
        [
            "status.completionTime: Required value: completionTime is required for Complete jobs",
            "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
            "status.startTime: Required value: startTime is required for finished job",
        ]
    );
    // What was wrong before may stay.
    assert_eq!(errors(complete, complete), [""; 0]);
    let times = "startTime: '2026-01-02T00:00:00Z', completionTime: '2026-01-01T00:00:00Z'";
    let conditions = "conditions: [{type: Complete, status: 'True'}, {type: SuccessCriteriaMet, status: 'True'}]";
    assert_eq!(
        errors(&format!("{times}, {conditions}, active: 1"), ""),
        [
            r#"status.completionTime: Invalid value: "2026-01-01T00:00:00Z": must be equal to or after `startTime`"#,
            "status.active: Invalid value: 1: active>0 is invalid for finished job",
        ]
    );
    assert_eq!(
        errors("", complete),
        ["status.conditions: Invalid value: cannot disable the terminal Complete=True condition"]
    );
    assert_eq!(
        errors(
            "uncountedTerminatedPods: {succeeded: [a], failed: [b, a]}",
            ""
        ),
        [r#"status.uncountedTerminatedPods.failed[1]: Duplicate value: "a""#]
    );
    assert_eq!(
        errors("completedIndexes: '0,3', ready: 1", ""),
        [
            r#"status.completedIndexes: Invalid value: "0,3": error parsing completedIndexes: too large index: "3""#,
            r#"status.completedIndexes: Invalid value: "0,3": cannot set non-empty completedIndexes when non-indexed completion mode"#,
            "status.ready: Invalid value: 1: cannot set more ready pods than active",
        ]
    );
}

#[test]
fn a_schedule_has_a_time_zone_in_its_field() {
    let cron = |spec: &str| {
        let template = "jobTemplate: {spec: {template: {spec: {restartPolicy: Never, dnsPolicy: ClusterFirst, \
                        terminationGracePeriodSeconds: 1, containers: [{name: a, image: b, imagePullPolicy: Always, \
                        terminationMessagePolicy: File}]}}}}";
        let object = format!(
            "{{metadata: {{name: a, namespace: x}}, spec: {{{spec}, concurrencyPolicy: Allow, {template}}}}}"
        );
        errors("batch/v1", "CronJob", &object, None)
    };
    assert_eq!(cron("schedule: '@daily', timeZone: Europe/Berlin"), [""; 0]);
    assert_eq!(
        cron("schedule: 'TZ=UTC 0 0 * * *'"),
        [
            r#"spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead"#
        ]
    );
    assert_eq!(
        cron("schedule: daily, timeZone: europe/berlin"),
        [
            r#"spec.schedule: Invalid value: "daily": expected exactly 5 fields, found 1: [daily]"#,
            r#"spec.timeZone: Invalid value: "europe/berlin": unknown time zone europe/berlin"#,
        ]
    );
}

#[test]
fn a_bundle_has_certificates_and_the_name_of_its_signer() {
    let bundle = |signer: &str, text: &str| {
        format!(
            "{{metadata: {{name: 'example.com:a:b', resourceVersion: '1'}}, spec: {{signerName: {signer}, trustBundle: '{text}'}}}}"
        )
    };
    let check = |new: &str, old: Option<&str>| {
        errors("certificates.k8s.io/v1", "ClusterTrustBundle", new, old)
    };
    let none = "spec.trustBundle: Invalid value: \"<value omitted>\": at least one trust anchor must be provided";
    assert_eq!(check(&bundle("example.com/a", ""), None), [none]);
    let (new, old) = (bundle("example.com/c", ""), bundle("example.com/a", ""));
    assert_eq!(
        check(&new, Some(&old)),
        [
            "metadata.name: Invalid value: \"example.com:a:b\": ClusterTrustBundle for signerName example.com/c must be named \
             with prefix example.com:c:",
            "spec.signerName: Invalid value: \"example.com/c\": field is immutable",
        ]
    );
}

#[test]
fn the_features_of_a_node_ascend() {
    let node = |features: &str| {
        let object =
            format!("{{metadata: {{name: a}}, status: {{declaredFeatures: [{features}]}}}}");
        errors("v1", "Node", &object, None)
    };
    assert_eq!(node("A/b, Bc"), [""; 0]);
    let faults = node("B, A, A, a");
    let ends = |fault: &String| fault.rsplit(": ").next().unwrap_or_default().to_owned();
    let found: Vec<String> = faults.iter().map(ends).take(2).collect();
    assert_eq!(found, ["list must be sorted alphabetically", "\"A\""]);
    assert_eq!(faults.len(), 3, "{faults:?}");
}

#[test]
fn a_lease_has_a_strategy_and_only_then_a_preferred_holder() {
    let lease = |spec: &str| {
        let object = format!("{{metadata: {{name: a, namespace: x}}, spec: {{{spec}}}}}");
        errors("coordination.k8s.io/v1", "Lease", &object, None)
    };
    assert_eq!(lease("strategy: a/b, preferredHolder: c"), [""; 0]);
    assert_eq!(lease("preferredHolder: ''"), [""; 0]);
    let unknown = |shown: &str| {
        format!(
            "spec.strategy.strategy: Unsupported value: \"{shown}\": supported values: \"OldestEmulationVersion\""
        )
    };
    assert_eq!(lease("strategy: c"), [unknown("c")]);
    assert_eq!(
        lease("strategy: '', preferredHolder: c"),
        [
            unknown(""),
            "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"
                .to_owned(),
        ]
    );
    let faults = lease("strategy: a/b/c");
    assert_eq!(faults.len(), 1);
    let start =
        "spec.strategy.strategy: Invalid value: \"a/b/c\": a valid label key must consist of";
    assert!(faults[0].starts_with(start), "{faults:?}");
}

#[test]
fn the_container_of_a_metric_has_a_resource_of_containers() {
    let resource = |name: &str| {
        let object = format!(
            "{{metadata: {{name: a, namespace: x}}, spec: {{scaleTargetRef: {{kind: A, name: a, apiVersion: b/v1}}, \
             minReplicas: 1, maxReplicas: 1, metrics: [{{type: ContainerResource, containerResource: {{name: {name}, \
             container: c, target: {{type: Utilization, averageUtilization: 1}}}}}}]}}}}"
        );
        errors("autoscaling/v2", "HorizontalPodAutoscaler", &object, None)
    };
    let path = "spec.metrics[0].containerResource.name";
    assert_eq!(resource("cpu"), [""; 0]);
    assert_eq!(
        resource("pods"),
        [format!(
            "{path}: Invalid value: \"pods\": must be a standard resource for containers"
        )]
    );
    assert_eq!(
        resource("requests.a/b"),
        [format!(
            "{path}: Invalid value: \"requests.a/b\": doesn't follow extended resource name standard"
        )]
    );
}

#[test]
fn the_status_of_a_budget_has_reasons() {
    let kind = GroupVersionKind::from_api_version_kind("policy/v1", "PodDisruptionBudget");
    let budget = |reason: &str| {
        Value::from_yaml(&format!(
            "{{metadata: {{name: a, namespace: x, resourceVersion: '1'}}, status: {{conditions: [{{type: A, status: 'True', \
             lastTransitionTime: '2026-01-02T00:00:00Z', reason: '{reason}'}}]}}}}"
        ))
        .unwrap()
    };
    let errors = validate_update(&kind, "status", &budget("a,"), &budget("a"));
    let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "status.conditions[0].reason: Invalid value: \"a,\": a condition reason must start with alphabetic character, \
          optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character \
          or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for \
          validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
        ]
    );
}

#[test]
fn a_rule_for_failures_has_a_limited_number_of_exit_codes() {
    let job = |most: usize| {
        let codes: Vec<String> = (1..=most).map(|code| code.to_string()).collect();
        let object = format!(
            "{{metadata: {{name: a, namespace: x}}, spec: {{selector: {{matchLabels: {{a: b}}}}, podFailurePolicy: {{rules: \
             [{{action: Ignore, onExitCodes: {{operator: In, values: [{}]}}}}]}}, template: {{metadata: {{labels: {{a: \
             b}}}}, spec: {{restartPolicy: Never}}}}}}}}",
            codes.join(", ")
        );
        errors("batch/v1", "Job", &object, None)
    };
    let path = "spec.podFailurePolicy.rules[0].onExitCodes.values";
    let found = |most: usize| {
        let faults = job(most).into_iter();
        faults
            .filter(|fault| fault.starts_with(path))
            .collect::<Vec<String>>()
    };
    assert_eq!(found(255), [""; 0]);
    assert_eq!(
        found(256),
        [format!(
            "{path}: Too many: 256: must have at most 255 items"
        )]
    );
    assert_eq!(
        found(0),
        [format!(
            "{path}: Invalid value: []: at least one value is required"
        )]
    );
}
