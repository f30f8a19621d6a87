//! Checks of devices: slices of them, policies about their capacity, and what claims get. The words are those of
//! kube-apiserver 1.37.1.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use fieldmanager_builtin::{Kind, validate_create, validate_update};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
                     end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                         must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation \
                         is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                   alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                   '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of \
                          alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for \
                          validation is '[A-Za-z_][A-Za-z0-9_]*')";

fn kind(version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::new("resource.k8s.io", version, kind)
}

fn decoded(kind: &GroupVersionKind, text: &str) -> Value {
    let object = Value::from_yaml(text).unwrap();
    Kind::of(kind).unwrap().decode(&object).unwrap().object
}

/// The errors of a new object, or of an updated one, one a line.
fn errors(version: &str, name: &str, spec: &str, live: Option<&str>) -> String {
    let kind = kind(version, name);
    let namespace = match name {
        "ResourceClaim" | "ResourceClaimTemplate" => ", namespace: x",
        _ => "",
    };
    let meta = format!("metadata: {{name: a{namespace}, resourceVersion: '1'}}");
    let object = |spec: &str| decoded(&kind, &format!("{{{meta}, spec: {spec}}}"));
    let errors = match live {
        None => validate_create(&kind, &object(spec)),
        Some(live) => validate_update(&kind, "", &object(spec), &object(live)),
    };
    let errors = errors.iter().map(ToString::to_string);
    errors.collect::<Vec<_>>().join("\n")
}

fn slice(spec: &str) -> String {
    errors("v1", "ResourceSlice", spec, None)
}

const START: &str = "driver: d.example.com, pool: {name: p, resourceSliceCount: 1}";

fn devices(list: &str) -> String {
    slice(&format!("{{{START}, allNodes: true, devices: {list}}}"))
}

#[test]
fn slices_have_a_driver_a_pool_and_nodes() {
    let one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    assert_eq!(
        slice("{}"),
        format!(
            "spec.driver: Required value\n\
             spec.pool.name: Required value\n\
             spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero\n\
             spec: Required value: {one}"
        )
    );
    assert_eq!(
        slice(
            "{driver: d, pool: {name: A, resourceSliceCount: 1, generation: -1}, nodeName: '', allNodes: false}"
        ),
        format!(
            "spec.pool.name: Invalid value: \"A\": {SUBDOMAIN}\n\
             spec.pool.generation: Invalid value: -1: must be greater than or equal to zero\n\
             spec.nodeName: Invalid value: \"\": must be either unset or set to a non-empty string\n\
             spec.allNodes: Invalid value: false: must be either unset or set to true\n\
             spec: Required value: {one}"
        )
    );
    let selector =
        "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: X}]}, {}]}";
    assert_eq!(
        slice(&format!("{{{START}, nodeName: a, {selector}}}")),
        format!(
            "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: \"X\": not a valid selector \
             operator\n\
             spec.nodeSelector.nodeSelectorTerms: Invalid value: \
             [{{\"MatchExpressions\":[{{\"Key\":\"a\",\"Operator\":\"X\",\"Values\":null}}],\"MatchFields\":null}},\
             {{\"MatchExpressions\":null,\"MatchFields\":null}}]: must have exactly one node selector term\n\
             spec: Invalid value: \"{{`nodeName`, `nodeSelector`}}\": {one}, but multiple fields are set"
        )
    );

    let live = format!("{{{START}, nodeName: a}}");
    let changed = "{driver: e, pool: {name: q, resourceSliceCount: 1}, allNodes: true}";
    assert_eq!(
        errors("v1", "ResourceSlice", changed, Some(&live)),
        "spec.pool.name: Invalid value: \"q\": field is immutable\n\
         spec.driver: Invalid value: \"e\": field is immutable\n\
         spec.nodeName: Invalid value: null: field is immutable"
    );
}

#[test]
fn counters_are_shared_or_consumed() {
    let shared = "sharedCounters: [{name: a, counters: {A: {value: 1}}}, {name: a}]";
    assert_eq!(
        slice(&format!(
            "{{{START}, allNodes: true, devices: [{{name: a}}], {shared}}}"
        )),
        format!(
            "spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed\n\
             spec.sharedCounters[1]: Duplicate value: {{\"name\":\"a\"}}\n\
             spec.sharedCounters[0].counters: Invalid value: \"A\": {LABEL}\n\
             spec.sharedCounters[1].counters: Required value"
        )
    );
    let consumed = "[{name: a, consumesCounters: [{}, {counters: {a: {value: '1.5'}}}]}, {name: b, consumesCounters: [{}, {}, {}]}]";
    assert_eq!(
        devices(consumed),
        "spec.devices[0].consumesCounters[1]: Duplicate value: {\"counterSet\":\"\",\"counters\":{\"a\":{\"value\":\"1500m\"}}}\n\
         spec.devices[0].consumesCounters[0].counterSet: Required value\n\
         spec.devices[0].consumesCounters[0].counters: Required value\n\
         spec.devices[0].consumesCounters[1].counterSet: Required value\n\
         spec.devices[1].consumesCounters: Too many: 3: must have at most 2 items"
    );
    let many: Vec<String> = (0..33).map(|at| format!("c{at}: {{value: 1}}")).collect();
    let many = many.join(", ");
    assert_eq!(
        devices(&format!(
            "[{{name: a, consumesCounters: [{{counterSet: a, counters: {{{many}}}}}]}}]"
        )),
        "spec.devices[0].consumesCounters[0].counters: Too many: 33: must have at most 32 items"
    );
    let many = |rest: &str| {
        let list: Vec<String> = (0..65).map(|at| format!("{{name: d{at}{rest}}}")).collect();
        devices(&format!("[{}]", list.join(", ")))
    };
    assert_eq!(many(""), "");
    assert_eq!(
        many(", taints: [{key: a, effect: None}]"),
        "spec.devices: Too many: 65: must have at most 64 items"
    );
}

#[test]
fn attributes_of_devices_have_names_and_one_value() {
    let long = "y".repeat(98);
    let attributes = "{'a b': {string: x}, /: {version: '1.2'}, X_y/ok: {int: 1, bool: true}}";
    let all = "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`";
    assert_eq!(
        devices(&format!(
            "[{{name: A, attributes: {attributes}}}, {{name: A}}]"
        )),
        format!(
            "spec.devices[0].name: Invalid value: \"A\": {LABEL}\n\
             spec.devices[0].attributes: Invalid value: \"\": the domain must not be empty\n\
             spec.devices[0].attributes: Invalid value: \"\": the name must not be empty\n\
             spec.devices[0].attributes[/].version: Invalid value: \"1.2\": must be a string compatible with semver.org spec \
             2.0.0\n\
             spec.devices[0].attributes: Invalid value: \"X_y\": {SUBDOMAIN}\n\
             spec.devices[0].attributes: Invalid value: \"a b\": {IDENTIFIER}\n\
             spec.devices[1].name: Invalid value: \"A\": {LABEL}\n\
             spec.devices[1]: Duplicate value: \"A\"\n\
             spec.devices[0].attributes[X_y/ok]: Invalid value: \"{{int, bool}}\": must specify exactly one of: {all}"
        )
    );
    // The path shows the ends of a long name, and then the error of the generated validation has another one.
    let (start, end) = ("y".repeat(47), "y".repeat(46));
    assert_eq!(
        devices(&format!("[{{name: a, attributes: {{{long}: {{}}}}}}]")),
        format!(
            "spec.devices[0].attributes: Too long: may not be more than 32 bytes\n\
             spec.devices[0].attributes[{start}...{end}]: Invalid value: \"\": exactly one value must be specified\n\
             spec.devices[0].attributes[{long}]: Invalid value: \"\": must specify one of: {all}"
        )
    );
    let many: Vec<String> = (0..49).map(|at| format!("a{at}: {{int: 1}}")).collect();
    assert_eq!(
        devices(&format!(
            "[{{name: a, attributes: {{{}}}}}]",
            many.join(", ")
        )),
        "spec.devices[0]: Invalid value: 49: the total number of attributes and capacities must not exceed 32\n\
         spec.devices[0]: Invalid value: 49: the total number of attribute values must not exceed 48"
    );
    let text = format!("{{string: {}}}", "x".repeat(65));
    let old = format!(
        "{{{START}, allNodes: true, devices: [{{name: a, basic: {{attributes: {{a: {text}, b: {{}}}}}}}}]}}"
    );
    assert_eq!(
        errors("v1beta1", "ResourceSlice", &old, None),
        format!(
            "spec.devices[0].attributes[a].string: Too long: may not be more than 64 bytes\n\
             spec.devices[0].basic.attributes[b]: Invalid value: \"\": must specify one of: {all}"
        )
    );
}

#[test]
fn devices_have_taints_nodes_and_conditions() {
    assert_eq!(
        devices("[{name: a, nodeName: x, taints: [{key: a b, effect: x}, {key: a}]}]"),
        format!(
            "spec.devices[0].taints[0].key: Invalid value: \"a b\": {KEY}\n\
             spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if \
             `perDeviceNodeSelection` is set to true in the ResourceSlice spec\n\
             spec.devices[0].taints[0].effect: Unsupported value: \"x\": supported values: \"NoExecute\", \"NoSchedule\", \
             \"None\"\n\
             spec.devices[0].taints[1].effect: Required value"
        )
    );
    assert_eq!(
        devices(
            "[{name: b, bindingConditions: [a, a, b c], bindingFailureConditions: [a]}, {name: c, bindingConditions: [a]}, \
             {name: d, bindingFailureConditions: [a, b, c, d, e]}]"
        ),
        format!(
            "spec.devices[0].bindingConditions[2]: Invalid value: \"b c\": {KEY}\n\
             spec.devices[0].bindingConditions[1]: Duplicate value: \"a\"\n\
             spec.devices[0].bindingFailureConditions[0]: Invalid value: \"a\": bindingFailureConditions must not overlap with \
             bindingConditions\n\
             spec.devices[1].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use \
             bindingConditions\n\
             spec.devices[2].bindingConditions: Invalid value: null: bindingConditions are required to use \
             bindingFailureConditions\n\
             spec.devices[2].bindingFailureConditions: Too many: 5: must have at most 4 items"
        )
    );
    let one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true \
               in the ResourceSlice spec";
    assert_eq!(
        slice(&format!(
            "{{{START}, perDeviceNodeSelection: true, devices: [{{name: a}}, {{name: b, nodeName: '', allNodes: true, \
             nodeSelector: {{}}}}]}}"
        )),
        format!(
            "spec.devices[0]: Required value: {one}\n\
             spec.devices[1].nodeName: Invalid value: \"\": must not be empty\n\
             spec.devices[1].nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term\n\
             spec.devices[1]: Invalid value: \"{{`nodeSelector`, `allNodes`}}\": {one}"
        )
    );
}

#[test]
fn a_policy_about_a_capacity_has_values_or_a_range() {
    let check = |capacity: &str, policy: &str, expected: &[&str]| {
        let capacity = format!("{{a: {{value: {capacity}, requestPolicy: {policy}}}}}");
        let path = "spec.devices[0].capacity[a].requestPolicy";
        let found = devices(&format!(
            "[{{name: a, allowMultipleAllocations: true, capacity: {capacity}}}]"
        ));
        let found = found.replace(path, "");
        assert_eq!(found.lines().collect::<Vec<_>>(), expected, "{policy}");
    };
    let both = ": Forbidden: exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time";
    check("10", "{validValues: [1], validRange: {min: 1}}", &[both]);
    check(
        "10",
        "{validValues: [1]}",
        &[".default: Required value: required when validValues is defined"],
    );
    check(
        "10",
        "{validRange: {max: 1}}",
        &[".default: Required value: required when validRange is defined"],
    );
    check(
        "10",
        "{default: 1, validRange: {max: 1}}",
        &[".validRange.min: Required value: required when validRange is defined"],
    );
    check(
        "10",
        "{default: 3, validValues: [2, 1, 11]}",
        &[
            ".validValues[1]: Invalid value: \"1\": values must be sorted in ascending order",
            ".validValues[2]: Invalid value: \"11\": option is larger than capacity value: 10",
            ".validValues: Invalid value: \"3\": default value is not valid according to the requestPolicy",
        ],
    );
    check(
        "10",
        "{default: 2, validValues: ['1.5', 2]}",
        &[".validValues[1]: Duplicate value: \"2\""],
    );
    check(
        "10",
        "{default: 20, validRange: {min: 11, max: 2, step: -1}}",
        &[
            ".validRange.min: Invalid value: \"11\": min is larger than capacity value: 10",
            ".validRange.max: Invalid value: \"11\": min is larger than max: 2",
            ".validRange.default: Invalid value: \"20\": default is more than max: 2",
            ".validRange.step: Invalid value: \"-1\": must be greater than zero",
        ],
    );
    check(
        "1Ki",
        "{default: 1, validRange: {min: 0, step: 2Ki}}",
        &[
            ".validRange.step: Invalid value: \"2Ki\": one step 2Ki is larger than capacity value: 1Ki",
            ".validRange.step: Invalid value: \"1\": value is not a multiple of a given step (2Ki) from (0)",
        ],
    );
    check(
        "10",
        "{default: 1500m, validRange: {min: 1, max: 9, step: 1}}",
        &[],
    );
    check(
        "100E",
        "{default: 10E, validRange: {min: -1, step: 1}}",
        &[
            ".validRange.default: Invalid value: \"10E\": must not be larger than 9223372036854775807",
            ".validRange.min: Invalid value: \"-1\": must be greater than or equal to 0",
        ],
    );
    assert_eq!(
        devices("[{name: a, capacity: {a: {value: 1, requestPolicy: {default: 1}}}}]"),
        "spec.devices[0].capacity[a].requestPolicy: Forbidden: allowMultipleAllocations must be true"
    );
}

/// The errors of the status of a claim, one a line, which had another one, and whether the claim is deleted.
fn status(status: &str, live: &str, is_deleted: bool) -> String {
    let kind = kind("v1", "ResourceClaim");
    let deletion = if is_deleted {
        ", deletionTimestamp: '2026-01-01T00:00:00Z'"
    } else {
        ""
    };
    let meta = format!("metadata: {{name: a, namespace: x, resourceVersion: '1'{deletion}}}");
    let requests = "[{name: r, exactly: {deviceClassName: c}}, {name: f, firstAvailable: [{name: s, deviceClassName: c}]}]";
    let claim = |status: &str| {
        decoded(
            &kind,
            &format!("{{{meta}, spec: {{devices: {{requests: {requests}}}}}, status: {status}}}"),
        )
    };
    let errors = validate_update(&kind, "status", &claim(status), &claim(live));
    let errors = errors.iter().map(ToString::to_string);
    errors.collect::<Vec<_>>().join("\n")
}

#[test]
fn states_are_those_of_allocated_devices() {
    let (name, address) = ("x".repeat(257), "y".repeat(129));
    let network = format!(
        "{{ips: [x, 10.0.0.01/8, '::ffff:1.2.3.4/120', 1.2.3.4/8, 1.2.3.4/8, '::ffff:1.2.3.4/40'], interfaceName: {name}, hardwareAddress: {address}}}"
    );
    assert_eq!(
        status(
            &format!(
                "{{devices: [{{driver: d, pool: p, device: a, shareID: X, data: x, networkData: {network}}}]}}"
            ),
            "{}",
            false
        ),
        "status.devices[0]: Invalid value: {\"Driver\":\"d\",\"Pool\":\"p\",\"Device\":\"a\",\"ShareID\":\"X\"}: must be an \
         allocated device in the claim\n\
         status.devices[0].data: Invalid value: \"<value omitted>\": must be a valid JSON object\n\
         status.devices[0].networkData.ips[0]: Invalid value: \"x\": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or \
         2001:db8::1/64)\n\
         status.devices[0].networkData.ips[1]: Invalid value: \"10.0.0.01/8\": must be in canonical form (\"10.0.0.1/8\")\n\
         status.devices[0].networkData.ips[2]: Invalid value: \"::ffff:1.2.3.4/120\": must be in canonical form \
         (\"1.2.3.4/24\")\n\
         status.devices[0].networkData.ips[5]: Invalid value: \"::ffff:1.2.3.4/40\": must be in canonical form \
         (\"1.2.3.4/-56\")\n\
         status.devices[0].shareID: Invalid value: \"X\": must be a lowercase UUID in 8-4-4-4-12 format\n\
         status.devices[0].networkData.interfaceName: Too long: may not be more than 256 bytes\n\
         status.devices[0].networkData.ips[4]: Duplicate value: \"1.2.3.4/8\"\n\
         status.devices[0].networkData.hardwareAddress: Too long: may not be more than 128 bytes"
    );
    let device = "{driver: d, pool: p, device: a}";
    let allocation =
        "allocation: {devices: {results: [{request: r, driver: d, pool: p, device: a}]}}";
    assert_eq!(
        status(
            &format!("{{{allocation}, devices: [{device}, {device}]}}"),
            "{}",
            false
        ),
        "status.devices[1]: Duplicate value: {\"driver\":\"d\",\"pool\":\"p\",\"device\":\"a\",\"conditions\":null}"
    );
}

#[test]
fn an_allocation_is_of_requests_and_stays() {
    let results = "[{request: f/x, driver: A_, pool: a//A_, device: a, shareID: '', bindingConditions: [a], \
                   tolerations: [{key: a b, operator: Exists, value: x}]}, {request: r, device: a}]";
    let config = "[{}, {source: X, requests: [r, r], opaque: {driver: d, parameters: {}}}]";
    let path = "status.allocation.devices";
    assert_eq!(
        status(
            &format!(
                "{{allocation: {{devices: {{results: {results}, config: {config}}}, nodeSelector: {{}}}}}}"
            ),
            "{}",
            false
        ),
        format!(
            "{path}.results[0].request: Invalid value: \"f/x\": must be the name of a request in the claim or the name of a \
             request and a subrequest separated by '/'\n\
             {path}.results[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use \
             bindingConditions\n\
             {path}.results[0].tolerations[0].value: Invalid value: \"x\": must be empty for operator `Exists`\n\
             {path}.config[0].opaque: Required value\n\
             status.allocation.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term\n\
             {path}.results[0].driver: Invalid value: \"A_\": an RFC 1123 subdomain must consist of alphanumeric characters, \
             '-' or '.', and must start and end with an alphanumeric character (e.g. 'Example.com', regex used for validation \
             is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\n\
             {path}.results[0].pool: Invalid value: \"a//A_\": segment 1: must not be empty\n\
             {path}.results[0].pool: Invalid value: \"A_\": segment 2: {SUBDOMAIN}\n\
             {path}.results[0].tolerations[0].key: Invalid value: \"a b\": {KEY}\n\
             {path}.results[0].shareID: Invalid value: \"\": must be a lowercase UUID in 8-4-4-4-12 format\n\
             {path}.results[1].driver: Required value\n\
             {path}.results[1].pool: Required value\n\
             {path}.config[0].source: Required value\n\
             {path}.config[1].source: Unsupported value: \"X\": supported values: \"FromClaim\", \"FromClass\"\n\
             {path}.config[1].requests[1]: Duplicate value: \"r\""
        )
    );

    let allocated = |device: &str, consumers: &str| {
        let result = format!("{{request: r, driver: d, pool: p, device: {device}}}");
        format!("{{allocation: {{devices: {{results: [{result}]}}}}, reservedFor: {consumers}}}")
    };
    assert_eq!(
        status(&allocated("b", "[]"), &allocated("a", "[]"), false),
        "status.allocation: Invalid value: null: field cannot be modified once set"
    );
    let pod = "[{resource: pods, name: a, uid: u}]";
    assert_eq!(
        status(&allocated("a", pod), &allocated("a", "[]"), false),
        ""
    );
    assert_eq!(
        status(&allocated("a", pod), &allocated("a", "[]"), true),
        "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are \
         set"
    );
}

#[test]
fn names_of_attributes_and_of_extended_resources_have_a_domain() {
    let (domain, id) = ("d".repeat(64), "e".repeat(33));
    let constraints = format!(
        "[{{matchAttribute: X/a}}, {{matchAttribute: /}}, {{distinctAttribute: {domain}/{id}}}]"
    );
    let claim = format!(
        "{{devices: {{requests: [{{name: r, exactly: {{deviceClassName: c, allocationMode: All}}}}], constraints: {constraints}}}}}"
    );
    assert_eq!(
        errors("v1", "ResourceClaim", &claim, None),
        format!(
            "spec.devices.constraints[0].matchAttribute: Invalid value: \"X\": prefix: {SUBDOMAIN}\n\
             spec.devices.constraints[1].matchAttribute: Invalid value: \"\": prefix must not be empty\n\
             spec.devices.constraints[1].matchAttribute: Invalid value: \"\": name must not be empty\n\
             spec.devices.constraints[2].distinctAttribute: Too long: may not be more than 63 bytes\n\
             spec.devices.constraints[2].distinctAttribute: Too long: may not be more than 32 bytes"
        )
    );
    let detail = "a name must be a domain-prefixed path, such as 'example.com/my-prop'";
    for (name, faults) in [
        ("''", vec![detail, KEY]),
        ("x", vec![detail]),
        ("requests.a/b", vec!["must not have \"requests.\" prefix"]),
        (
            "akubernetes.io/x",
            vec!["must not have \"kubernetes.io/\" domain"],
        ),
    ] {
        let class = format!("{{extendedResourceName: {name}}}");
        let shown = name.trim_matches('\'');
        let faults = faults
            .iter()
            .map(|fault| format!("spec.extendedResourceName: Invalid value: \"{shown}\": {fault}"));
        let expected = faults.collect::<Vec<_>>().join("\n");
        assert_eq!(errors("v1", "DeviceClass", &class, None), expected);
    }
}

#[test]
fn an_immutable_template_has_other_errors_too() {
    let template = |name: &str| {
        let request =
            format!("{{name: {name}, exactly: {{deviceClassName: c, allocationMode: All}}}}");
        let constraint = "{matchAttribute: d/a, requests: [r, r]}";
        format!("{{spec: {{devices: {{requests: [{request}], constraints: [{constraint}]}}}}}}")
    };
    let found = errors(
        "v1",
        "ResourceClaimTemplate",
        &template("r"),
        Some(&template("s")),
    );
    let found: Vec<&str> = found.lines().collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("spec: Invalid value: {\"Spec\":{\"Devices\":"),
        "{found:?}"
    );
    assert_eq!(
        found[1],
        "spec.spec.devices.constraints[0].requests[1]: Duplicate value: \"r\""
    );
}

#[test]
fn a_template_has_labels_and_annotations_alone() {
    let metadata = "{uid: x, finalizers: [a], generation: 0, annotations: {a b: c}}";
    let template = format!("{{metadata: {metadata}, spec: {{devices: {{}}}}}}");
    assert_eq!(
        errors("v1", "ResourceClaimTemplate", &template, None),
        format!(
            "spec.metadata.annotations: Invalid value: \"a b\": {KEY}\n\
             spec.metadata.uID: Forbidden: cannot be set\n\
             spec.metadata.finalizers: Forbidden: cannot be set"
        )
    );
}

#[test]
fn the_prefix_of_a_class_is_checked_last() {
    let kind = kind("v1", "DeviceClass");
    let errors = |rest: &str| -> Vec<String> {
        let class = format!("{{metadata: {{name: x, generateName: A/b}}, spec: {{{rest}}}}}");
        let errors = validate_create(&kind, &decoded(&kind, &class));
        errors.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        errors(""),
        ["metadata.generateName: Invalid value: \"A/b\": may not contain '/'"]
    );
    assert_eq!(
        errors("selectors: [{}]"),
        ["spec.selectors[0].cel: Required value"]
    );
}
