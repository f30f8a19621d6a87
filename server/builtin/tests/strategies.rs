//! Defaults and strategies of the kinds that configure servers, storage and devices.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use fieldmanager_builtin::{Kind, defaulted, prepare_create, prepare_update};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap()
}

fn kind(api_version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::from_api_version_kind(api_version, kind)
}

/// An object with defaults, as the server decodes it.
fn decoded(kind: &GroupVersionKind, text: &str) -> Value {
    let object = Kind::of(kind).unwrap().decode(&yaml(text)).unwrap().object;
    defaulted(kind, &object)
}

#[track_caller]
fn check_defaults(api_version: &str, name: &str, member: &str, sent: &str, expected: &str) {
    let object = decoded(&kind(api_version, name), &format!("{{{member}: {sent}}}"));
    assert_eq!(
        object.get(member).unwrap().to_json(),
        yaml(expected).to_json(),
        "{name}"
    );
}

#[test]
fn webhooks_and_policies_have_defaults() {
    const API: &str = "admissionregistration.k8s.io/v1";
    let sent = "[{name: a, clientConfig: {service: {name: s, namespace: ns}}, rules: [{apiGroups: ['']}], sideEffects: None, admissionReviewVersions: [v1]}]";
    let webhook = "name: a, clientConfig: {service: {name: s, namespace: ns, port: 443}}, rules: [{apiGroups: [''], scope: '*'}],
        sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Fail, matchPolicy: Equivalent, namespaceSelector: {},
        objectSelector: {}, timeoutSeconds: 10";
    let (validating, mutating) = (
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    );
    check_defaults(
        API,
        validating,
        "webhooks",
        sent,
        &format!("[{{{webhook}}}]"),
    );
    let expected = format!("[{{{webhook}, reinvocationPolicy: Never}}]");
    check_defaults(API, mutating, "webhooks", sent, &expected);

    let sent = "{matchConstraints: {excludeResourceRules: [{resources: [pods]}]}}";
    let object = decoded(
        &kind(API, "MutatingAdmissionPolicy"),
        &format!("{{spec: {sent}}}"),
    );
    let spec = object.get("spec").unwrap();
    assert_eq!(
        spec.get("matchConstraints"),
        Some(&yaml(
            "{excludeResourceRules: [{resources: [pods], scope: '*'}], matchPolicy: Equivalent, namespaceSelector: {}, objectSelector: {}}"
        ))
    );
    assert_eq!(spec.get("failurePolicy"), Some(&Value::from("Fail")));
}

#[test]
fn priority_and_fairness_have_defaults() {
    const API: &str = "flowcontrol.apiserver.k8s.io/v1";
    check_defaults(
        API,
        "FlowSchema",
        "spec",
        "{priorityLevelConfiguration: {name: a}}",
        "{priorityLevelConfiguration: {name: a}, matchingPrecedence: 1000}",
    );
    check_defaults(
        API,
        "PriorityLevelConfiguration",
        "spec",
        "{type: Limited, limited: {limitResponse: {type: Queue, queuing: {queues: 3}}}}",
        "{type: Limited, limited: {nominalConcurrencyShares: 30, lendablePercent: 0, limitResponse: {type: Queue,
          queuing: {queues: 3, handSize: 8, queueLengthLimit: 50}}}}",
    );
}

#[test]
fn devices_are_requested_one_at_a_time_by_default() {
    let devices =
        "{devices: {requests: [{name: a, exactly: {deviceClassName: c, tolerations: [{key: k}]}},
        {name: b, firstAvailable: [{name: s, deviceClassName: c, allocationMode: All}]}]}}";
    let expected = "{devices: {requests: [{name: a, exactly: {deviceClassName: c, tolerations: [{key: k, operator: Equal}],
        allocationMode: ExactCount, count: 1}}, {name: b, firstAvailable: [{name: s, deviceClassName: c, allocationMode: All}]}]}}";
    const API: &str = "resource.k8s.io/v1";
    check_defaults(API, "ResourceClaim", "spec", devices, expected);
    let object = decoded(
        &kind(API, "ResourceClaimTemplate"),
        &format!("{{spec: {{spec: {devices}}}}}"),
    );
    let spec = object.get("spec").unwrap().get("spec");
    assert_eq!(spec, Some(&yaml(expected)));
}

#[test]
fn times_of_taints_and_conditions_are_those_of_the_creation() {
    let metadata = "metadata: {creationTimestamp: '2026-01-01T00:00:00Z'}";
    let rule = kind("resource.k8s.io/v1", "DeviceTaintRule");
    let created = prepare_create(
        &rule,
        &decoded(
            &rule,
            &format!("{{{metadata}, spec: {{taint: {{key: k, effect: NoExecute}}}}}}"),
        ),
    );
    let time = Some(Value::from("2026-01-01T00:00:00Z"));
    let spec = created.get("spec").unwrap();
    assert_eq!(spec.get("taint").unwrap().get("timeAdded").cloned(), time);

    let service = kind("apiregistration.k8s.io/v1", "APIService");
    let status = |spec: &str| {
        let object = decoded(&service, &format!("{{{metadata}, spec: {spec}}}"));
        prepare_create(&service, &object).get("status").cloned()
    };
    assert_eq!(
        status("{group: g, version: v1}"),
        Some(yaml(
            "{conditions: [{type: Available, status: 'True', reason: Local, lastTransitionTime: '2026-01-01T00:00:00Z',
              message: Local APIServices are always available}]}"
        ))
    );
    assert_eq!(
        status("{group: g, version: v1, service: {name: s}}"),
        Some(yaml("{}"))
    );
}

/// The kinds whose status has a resource of its own, with what raises the generation.
const WITH_STATUS: &[(&str, &str, bool)] = &[
    ("apiregistration.k8s.io/v1", "APIService", false),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        true,
    ),
    ("certificates.k8s.io/v1", "PodCertificateRequest", false),
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", true),
    (
        "flowcontrol.apiserver.k8s.io/v1",
        "PriorityLevelConfiguration",
        true,
    ),
    ("networking.k8s.io/v1", "ServiceCIDR", false),
    ("resource.k8s.io/v1", "DeviceTaintRule", true),
    ("resource.k8s.io/v1", "ResourceClaim", false),
    ("storage.k8s.io/v1", "CSINode", false),
    ("storage.k8s.io/v1", "VolumeAttachment", false),
    (
        "storagemigration.k8s.io/v1",
        "StorageVersionMigration",
        false,
    ),
];

#[test]
fn spec_and_status_are_written_by_their_own_resources() {
    let live = yaml("{metadata: {generation: 4, labels: {a: x}}, spec: {a: 1}, status: {s: 1}}");
    let new = yaml("{metadata: {generation: 9, labels: {a: y}}, spec: {a: 2}, status: {s: 2}}");
    for (api_version, name, counts) in WITH_STATUS {
        let kind = kind(api_version, name);
        let created = prepare_create(&kind, &new);
        let generation = if *counts { 1 } else { 9 };
        let metadata = created.get("metadata").unwrap();
        assert_eq!(
            metadata.get("generation"),
            Some(&generation.into()),
            "{name}"
        );
        let status = created.get("status").and_then(|status| status.get("s"));
        assert_eq!(status, None, "{name}");

        let updated = prepare_update(&kind, "", &new, &live);
        let generation = if *counts { 5 } else { 4 };
        let expected = format!(
            "{{metadata: {{generation: {generation}, labels: {{a: y}}}}, spec: {{a: 2}}, status: {{s: 1}}}}"
        );
        assert_eq!(updated, yaml(&expected), "{name}");

        let updated = prepare_update(&kind, "status", &new, &live);
        let expected = "{metadata: {generation: 4, labels: {a: x}}, spec: {a: 1}, status: {s: 2}}";
        assert_eq!(updated, yaml(expected), "{name}");
    }
}

#[test]
fn kinds_without_status_count_generations() {
    const ADMISSION: &str = "admissionregistration.k8s.io/v1";
    for (api_version, name, member) in [
        (ADMISSION, "MutatingAdmissionPolicy", "spec"),
        (ADMISSION, "MutatingAdmissionPolicyBinding", "spec"),
        (ADMISSION, "ValidatingAdmissionPolicyBinding", "spec"),
        (ADMISSION, "MutatingWebhookConfiguration", "webhooks"),
        (ADMISSION, "ValidatingWebhookConfiguration", "webhooks"),
        ("resource.k8s.io/v1", "DeviceClass", "spec"),
        ("resource.k8s.io/v1", "ResourceSlice", "spec"),
    ] {
        let kind = kind(api_version, name);
        let object = |value: &str| {
            yaml(&format!(
                "{{metadata: {{generation: 7}}, {member}: {value}}}"
            ))
        };
        let generation =
            |object: &Value| object.get("metadata").unwrap().get("generation").cloned();
        let (live, same, new) = (object("{a: 1}"), object("{a: 1}"), object("{a: 2}"));
        assert_eq!(
            generation(&prepare_create(&kind, &new)),
            Some(1.into()),
            "{name}"
        );
        let updated = |new: &Value| generation(&prepare_update(&kind, "", new, &live));
        assert_eq!(updated(&same), Some(7.into()), "{name}");
        assert_eq!(updated(&new), Some(8.into()), "{name}");
    }
}

#[test]
fn certificate_requests_are_of_the_user_and_keep_their_decisions() {
    let kind = kind("certificates.k8s.io/v1", "CertificateSigningRequest");
    let sent = "{metadata: {}, spec: {username: eve, extra: {a: [b]}, signerName: a/b}, status: {certificate: eA==}}";
    let created = prepare_create(&kind, &decoded(&kind, sent));
    assert_eq!(
        created.get("spec").unwrap(),
        &yaml(
            "{request: null, signerName: a/b, username: admin, uid: admin, groups: ['system:masters', 'system:authenticated']}"
        )
    );
    assert_eq!(created.get("status"), Some(&yaml("{}")));

    let live =
        yaml("{metadata: {}, spec: {a: 1}, status: {conditions: [{type: Approved, reason: a}]}}");
    let conditions = |sent: &str, subresource| {
        let new = yaml(&format!(
            "{{metadata: {{}}, spec: {{a: 2}}, status: {{conditions: {sent}}}}}"
        ));
        let updated = prepare_update(&kind, subresource, &new, &live);
        assert_eq!(updated.get("spec"), live.get("spec"));
        updated.get("status").unwrap().get("conditions").cloned()
    };
    let sent = "[{type: Failed}, {type: Approved, reason: b}]";
    let kept = "[{type: Failed}, {type: Approved, reason: a}]";
    assert_eq!(conditions(sent, "status"), Some(yaml(kept)));
    assert_eq!(
        conditions(sent, ""),
        Some(yaml("[{type: Approved, reason: a}]"))
    );
    let removed = "[{type: Failed}]";
    assert_eq!(conditions(removed, "status"), Some(yaml(removed)));
}

#[test]
fn the_status_of_a_claim_loses_devices_that_it_has_no_more() {
    let kind = kind("resource.k8s.io/v1", "ResourceClaim");
    let claim = |results: &str, devices: &str| {
        yaml(&format!(
            "{{metadata: {{}}, spec: {{}}, status: {{allocation: {{devices: {{results: {results}}}}}, devices: {devices}}}}}"
        ))
    };
    let (a, b) = (
        "{driver: d, pool: p, device: a}",
        "{driver: d, pool: p, device: b}",
    );
    let live = claim(&format!("[{a}, {b}]"), "[]");
    let new = claim(&format!("[{a}]"), &format!("[{a}, {b}]"));
    let updated = prepare_update(&kind, "status", &new, &live);
    assert_eq!(updated, claim(&format!("[{a}]"), &format!("[{a}]")));
    let new = claim("[]", &format!("[{a}]"));
    let updated = prepare_update(&kind, "status", &new, &live);
    assert_eq!(updated.get("status").unwrap().get("devices"), None);
}

#[test]
fn slices_lose_fields_behind_closed_gates() {
    let kind = kind("resource.k8s.io/v1", "ResourceSlice");
    let slice = |device: &str| {
        yaml(&format!(
            "{{metadata: {{}}, spec: {{devices: [{device}]}}}}"
        ))
    };
    let gated = "{name: a, attributes: {x: {bools: [true]}}, taints: [{key: k, timeAdded: t}]}";
    let kept = "{name: a, attributes: {x: {}}, taints: [{key: k, timeAdded: t}]}";
    let spec = prepare_create(&kind, &slice(gated)).get("spec").cloned();
    assert_eq!(spec.as_ref(), slice(kept).get("spec"));
    let updated = prepare_update(&kind, "", &slice(gated), &slice(gated));
    assert_eq!(updated.get("spec"), slice(gated).get("spec"));
}
