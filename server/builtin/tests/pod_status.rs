//! Validation of the status of pods. The words are those of kube-apiserver 1.37.1.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_builtin::{defaulted, validate_update};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

/// The errors of a status that takes the place of another one.
fn errors(spec: &str, new: &str, old: &str) -> Vec<String> {
    let kind = GroupVersionKind::new("", "v1", "Pod");
    let pod = |status: &str| {
        let text = format!(
            "{{metadata: {{name: a, namespace: x, resourceVersion: '1'}}, spec: {{{spec}}}, status: {{{status}}}}}"
        );
        defaulted(&kind, &Value::from_yaml(&text).unwrap())
    };
    let errors = validate_update(&kind, "status", &pod(new), &pod(old));
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn containers_that_have_ended_run_again_only_if_they_may() {
    let statuses = |state: &str| {
        let status = |name: &str| format!("{{name: {name}, state: {{{state}}}}}");
        format!(
            "containerStatuses: [{}, {}], initContainerStatuses: [{}], ephemeralContainerStatuses: [{}]",
            status("a"),
            status("b"),
            status("i"),
            status("e")
        )
    };
    let fault = |list: &str, at: usize| {
        format!(
            "status.{list}Statuses[{at}].state: Forbidden: may not be transitioned to non-terminated state"
        )
    };
    let spec = |policy: &str, rules: &str| {
        format!(
            "restartPolicy: {policy}, containers: [{{name: a, image: x}}, {{name: b, image: x, {rules}}}], \
             initContainers: [{{name: i, image: x, restartPolicy: Always}}]"
        )
    };
    let check = |policy: &str, rules: &str, code: i32| {
        let ended = statuses(&format!("terminated: {{exitCode: {code}}}"));
        errors(&spec(policy, rules), &statuses("running: {}"), &ended)
    };

    let ephemeral = fault("ephemeralContainer", 0);
    let (first, second) = (fault("container", 0), fault("container", 1));
    assert_eq!(check("Always", "", 0), [ephemeral.as_str()]);
    assert_eq!(check("OnFailure", "", 1), [ephemeral.as_str()]);
    assert_eq!(
        check("OnFailure", "", 0),
        [first.as_str(), &second, &ephemeral]
    );
    let rules = |action: &str, operator: &str| {
        format!(
            "restartPolicy: Never, restartPolicyRules: [{{action: {action}, exitCodes: {{operator: {operator}, values: [3]}}}}]"
        )
    };
    assert_eq!(
        check("Never", &rules("Restart", "In"), 3),
        [first.as_str(), &ephemeral]
    );
    assert_eq!(
        check("Never", &rules("Restart", "NotIn"), 3),
        [first.as_str(), &second, &ephemeral]
    );
    assert_eq!(
        check("Never", &rules("RestartAllContainers", "In"), 4),
        [ephemeral.as_str()]
    );
}

#[test]
fn a_pod_that_has_a_node_is_not_nominated() {
    let spec = "nodeName: node, containers: [{name: a, image: x}]";
    assert_eq!(
        errors(spec, "nominatedNodeName: x", ""),
        [
            "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"
        ]
    );
}

#[test]
fn claims_in_a_status_are_those_of_the_pod() {
    let spec = "containers: [{name: a, image: x, resources: {requests: {example.com/a: 1}}}], \
                resourceClaims: [{name: c, resourceClaimName: d}]";
    let mapping = |container: &str, resource: &str| {
        format!("{{containerName: {container}, resourceName: {resource}, requestName: r}}")
    };
    let status = format!(
        "resourceClaimStatuses: [{{name: c}}, {{name: c}}, {{name: d}}], extendedResourceClaimStatus: {{requestMappings: [{}, \
         {}, {}]}}",
        mapping("b", "x"),
        mapping("a", "x"),
        mapping("a", "example.com/a")
    );
    let path = "status.extendedResourceClaimStatus";
    assert_eq!(
        errors(spec, &status, ""),
        [
            "status.resourceClaimStatuses[1].name: Duplicate value: \"c\"".to_owned(),
            "status.resourceClaimStatuses[2].name: Invalid value: \"d\": must match the name of an entry in \
             `spec.resourceClaims`"
                .to_owned(),
            format!(
                "{path}.requestMappings[0].containerName: Invalid value: \"b\": must match the name of an entry in \
                 spec.initContainers.name or spec.containers.name"
            ),
            format!(
                "{path}.requestMappings[1].resourceName: Invalid value: \"x\": must match the extended resource name of an \
                 entry in spec.initContainers.resources.requests or spec.containers.resources.requests"
            ),
            format!("{path}.resourceClaimName: Required value"),
        ]
    );
}

#[test]
fn containers_have_users_and_resources_of_their_pod() {
    let spec = "containers: [{name: a, image: x, resources: {requests: {cpu: 1}, claims: [{name: c, request: r}]}}], \
                resourceClaims: [{name: c, resourceClaimName: d}]";
    let status = "containerStatuses: [{name: a, user: {linux: {uid: 4294967296, gid: 3000000000}}, \
                  allocatedResourcesStatus: [{name: cpu, resources: [{resourceID: x, health: X, message: ''}, \
                  {resourceID: x, health: Healthy}]}, {name: memory}, {name: 'claim:c/r'}, {name: 'claim:c'}]}], \
                  ephemeralContainerStatuses: [{name: z, allocatedResourcesStatus: [{name: cpu}]}]";
    let path = "status.containerStatuses[0]";
    let resource = format!("{path}.allocatedResourcesStatus");
    assert_eq!(
        errors(spec, status, ""),
        [
            format!("{path}.user.linux.uid: Invalid value: 4294967296: must be between 0 and 4294967295, inclusive"),
            format!("{path}.user.linux.gid: Invalid value: 3000000000: must be between 0 and 2147483647, inclusive"),
            format!("{resource}[0].resources[0].health: Unsupported value: \"X\": supported values: \"Healthy\", \"Unhealthy\", \"Unknown\""),
            format!("{resource}[0].resources[0].message: Required value: must be non-empty if specified"),
            format!("{resource}[0].resources[1].resourceID: Duplicate value: \"x\""),
            format!("{resource}[1].name: Invalid value: \"memory\": must match one of the container's resource requests"),
            format!(
                "{resource}[3].name: Invalid value: \"claim:c\": must match one of the container's resource claims as \
                 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' \
                 when it is empty"
            ),
            "status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status"
                .to_owned(),
        ]
    );
}

#[test]
fn reports_are_about_claims_and_volumes_of_the_pod() {
    let spec = "containers: [{name: a, image: x}], volumes: [{name: v, emptyDir: {}}], \
                resourceClaims: [{name: c, resourceClaimName: d}]";
    let reports = "nodeAllocatableResourceClaimStatuses: [{resourceClaimName: e, mapping: [{name: pods, quantity: '-1'}]}, \
                   {resourceClaimName: d, overhead: [{name: cpu}, {name: memory, perPod: '-1'}]}]";
    let path = "status.nodeAllocatableResourceClaimStatuses";
    assert_eq!(
        errors(spec, reports, ""),
        [
            format!(
                "{path}[0].resourceClaimName: Invalid value: \"e\": no mapping found in pod reference"
            ),
            format!(
                "{path}[0].mapping[0].name: Invalid value: \"pods\": must be a node allocatable resource name"
            ),
            format!("{path}[0].mapping[0].quantity: Invalid value: \"-1\": must be non-negative"),
            format!(
                "{path}[1].overhead[0]: Invalid value: \"\": at least one of perPod or perContainer must be set"
            ),
            format!("{path}[1].overhead[1].perPod: Invalid value: \"-1\": must be non-negative"),
        ]
    );
    let health =
        "volumeHealth: [{name: v}, {name: w, healthConditions: [{reason: ''}, {reason: '1'}]}]";
    let faults = errors(spec, health, "");
    assert_eq!(faults[0], "status.volumeHealth[1].name: Not found: \"w\"");
    let start = "status.volumeHealth[1].healthConditions[1].reason: Invalid value: \"1\": a condition reason must start with";
    assert!(faults[1].starts_with(start), "{faults:?}");
}
