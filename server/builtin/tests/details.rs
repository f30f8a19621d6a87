//! Single rules of kinds: names, resources, secrets, warnings.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use fieldmanager_builtin::{Kind, validate_create, validate_update, warnings};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

fn kind(api_version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::from_api_version_kind(api_version, kind)
}

fn decoded(kind: &GroupVersionKind, text: &str) -> Value {
    let object = Value::from_yaml(text).unwrap();
    Kind::of(kind).unwrap().decode(&object).unwrap().object
}

fn errors(api_version: &str, name: &str, object: &str) -> Vec<String> {
    let kind = kind(api_version, name);
    let errors = validate_create(&kind, &decoded(&kind, object));
    errors.iter().map(ToString::to_string).collect()
}

/// The errors of the metadata of an object.
fn name_errors(api_version: &str, name: &str, metadata: &str, spec: &str) -> Vec<String> {
    let object = format!("{{metadata: {metadata}, spec: {spec}}}");
    let mut errors = errors(api_version, name, &object);
    errors.retain(|error| error.starts_with("metadata"));
    errors
}

#[test]
fn the_prefix_of_a_controller_is_a_segment_of_a_path() {
    let spec = "{selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Always, dnsPolicy: ClusterFirst, terminationGracePeriodSeconds: 30, containers: [{name: c, image: i, imagePullPolicy: Always, terminationMessagePolicy: File}]}}}";
    let errors =
        |metadata: &str, spec: &str| name_errors("v1", "ReplicationController", metadata, spec);
    assert_eq!(
        errors("{name: a, namespace: b, generateName: ClusterIP}", spec),
        [""; 0]
    );
    assert_eq!(
        errors("{name: a, namespace: b, generateName: A/b}", spec),
        ["metadata.generateName: Invalid value: \"A/b\": may not contain '/'"]
    );
    assert_eq!(
        errors("{name: a, namespace: b, generateName: A/b}", "{}"),
        [""; 0]
    );
}

#[test]
fn a_trust_bundle_is_named_after_its_signer() {
    const API: &str = "certificates.k8s.io/v1";
    let errors =
        |metadata: &str, spec: &str| name_errors(API, "ClusterTrustBundle", metadata, spec);
    let signed = "{signerName: example.com/signer}";
    assert_eq!(
        errors("{name: 'example.com:signer:abcde'}", signed),
        [""; 0]
    );
    let generated = "{name: 'example.com:signer:a-bcdef', generateName: 'example.com:signer:a-'}";
    assert_eq!(errors(generated, signed), [""; 0]);
    assert_eq!(errors("{name: abcde}", "{}"), [""; 0]);
    assert_eq!(
        errors("{name: abcde}", signed),
        [
            "metadata.name: Invalid value: \"abcde\": ClusterTrustBundle for signerName example.com/signer must be named with \
          prefix example.com:signer:"
        ]
    );
    let detail = "ClusterTrustBundle without signer name must not have \":\" in its name";
    assert_eq!(
        errors("{name: 'a:b', generateName: 'a:'}", "{}"),
        [
            format!("metadata.generateName: Invalid value: \"a:\": {detail}"),
            format!("metadata.name: Invalid value: \"a:b\": {detail}")
        ]
    );
}

#[test]
fn names_that_say_what_an_object_is_are_not_generated() {
    let address = |metadata: &str| name_errors("networking.k8s.io/v1", "IPAddress", metadata, "{}");
    assert_eq!(address("{name: '2001:db8::1'}"), [""; 0]);
    assert_eq!(
        address("{name: '2001:DB8::1'}"),
        [
            "metadata.name: Invalid value: \"2001:DB8::1\": must be in canonical form (\"2001:db8::1\")"
        ]
    );
    let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    assert_eq!(
        address("{name: 10.0.0.1, generateName: '10.0'}"),
        [format!(
            "metadata.generateName: Invalid value: \"10.0\": {detail}"
        )]
    );

    let service = |metadata: &str| {
        let spec = "{group: example.com, version: v1}";
        name_errors("apiregistration.k8s.io/v1", "APIService", metadata, spec)
    };
    assert_eq!(service("{name: v1.example.com}"), [""; 0]);
    let detail = "must be `spec.version+\".\"+spec.group`: \"v1.example.com\"";
    assert_eq!(
        service("{name: v1.example.com, generateName: v1}"),
        [format!(
            "metadata.generateName: Invalid value: \"v1\": {detail}"
        )]
    );
}

#[test]
fn storage_is_limited_and_counted() {
    let named = "metadata: {name: a, namespace: x}";
    let limit = "spec: {limits: [{type: PersistentVolumeClaim, max: {storage: 1Gi}}]}";
    let found = errors("v1", "LimitRange", &format!("{{{named}, {limit}}}"));
    assert_eq!(found, [""; 0]);
    let quota = |name: &str| {
        let spec = format!("{{hard: {{{name}: 1Gi}}}}");
        errors("v1", "ResourceQuota", &format!("{{{named}, spec: {spec}}}"))
    };
    assert_eq!(quota("requests.storage"), [""; 0]);
    let expected =
        "spec.hard[storage]: Invalid value: \"storage\": must be a standard resource for quota";
    assert_eq!(quota("storage"), [expected]);
}

#[test]
fn a_replication_controller_can_be_scaled() {
    let scaler = |kind: &str| {
        let object = format!(
            "{{metadata: {{name: a, namespace: x}}, spec: {{maxReplicas: 2, minReplicas: 1, scaleTargetRef: {{apiVersion: v1, \
             kind: {kind}, name: r}}}}}}"
        );
        errors("autoscaling/v2", "HorizontalPodAutoscaler", &object)
    };
    assert_eq!(scaler("ReplicationController"), [""; 0]);
    assert_eq!(
        scaler("ReplicaSet"),
        [
            "spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify API group"
        ]
    );
}

fn secret(ty: &str, data: &str) -> Value {
    let kind = kind("v1", "Secret");
    let text = format!("{{metadata: {{name: a, namespace: x}}, type: {ty}, data: {data}}}");
    decoded(&kind, &text)
}

#[test]
fn configurations_of_docker_are_json() {
    let check = |data: &str| -> Vec<String> {
        let object = secret("kubernetes.io/dockerconfigjson", data);
        let errors = validate_create(&kind("v1", "Secret"), &object);
        errors.iter().map(ToString::to_string).collect()
    };
    assert_eq!(check("{.dockerconfigjson: e30=}"), [""; 0]);
    let path = "data[.dockerconfigjson]";
    assert_eq!(check("{}"), [format!("{path}: Required value")]);
    let redacted = format!("{path}: Invalid value: \"<secret contents redacted>\": ");
    for (data, fault) in [
        ("''", "unexpected end of JSON input"),
        (
            "aGk=",
            "invalid character 'h' looking for beginning of value",
        ),
        (
            "W10=",
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
    ] {
        let found = check(&format!("{{.dockerconfigjson: {data}}}"));
        assert_eq!(found, [format!("{redacted}{fault}")], "{data}");
    }
}

#[test]
fn key_pairs_without_pem_and_quotas_with_large_requests_have_warnings() {
    let tls = |data: &str| {
        warnings(
            &kind("v1", "Secret"),
            "",
            &secret("kubernetes.io/tls", data),
            None,
        )
    };
    let pem = |ty: &str| {
        let text = format!("-----BEGIN {ty}-----\naGk=\n-----END {ty}-----\n");
        let engine = base64::engine::general_purpose::STANDARD;
        base64::Engine::encode(&engine, text)
    };
    let (certificate, key) = (pem("CERTIFICATE"), pem("EC PRIVATE KEY"));
    let pair =
        |certificate: &str, key: &str| tls(&format!("{{tls.crt: {certificate}, tls.key: {key}}}"));
    assert_eq!(pair(&certificate, &key), [""; 0]);
    for (certificate, key, fault) in [
        (
            "aGk=",
            "aGk=",
            "failed to find any PEM data in certificate input",
        ),
        (
            &certificate,
            "aGk=",
            "failed to find any PEM data in key input",
        ),
        (
            &certificate,
            &certificate,
            "found a certificate rather than a key in the PEM for the private key",
        ),
        (
            &pem("X"),
            &key,
            "failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following \
             types: [X]",
        ),
    ] {
        assert_eq!(pair(certificate, key), [format!("tls: {fault}")]);
    }

    let quotas = kind("v1", "ResourceQuota");
    let hard =
        "{requests.cpu: 2, limits.cpu: 1, memory: 2Gi, limits.memory: 1Gi, requests.storage: 1}";
    let quota = decoded(&quotas, &format!("{{spec: {{hard: {hard}}}}}"));
    assert_eq!(
        warnings(&quotas, "", &quota, None),
        [
            "ResourceQuota requests.cpu (2) should be less than limits.cpu (1)",
            "ResourceQuota memory (2Gi) should be less than limits.memory (1Gi)"
        ]
    );
    assert_eq!(warnings(&quotas, "", &quota, Some(&quota)), [""; 0]);
}

#[test]
fn single_checks_are_those_of_kubernetes() {
    let controller = format!("a/{}", "b".repeat(249));
    let class = format!("{{metadata: {{name: a}}, spec: {{controller: {controller}}}}}");
    assert_eq!(
        errors("networking.k8s.io/v1", "IngressClass", &class),
        ["spec.controller: Too long: may not be more than 250 bytes"]
    );

    let role = "{metadata: {name: a}, rules: [], aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: '-'}}]}}";
    let found = errors("rbac.authorization.k8s.io/v1", "ClusterRole", role);
    let path = "aggregationRule.clusterRoleSelectors[0]";
    let last = format!("{path}: Invalid value: null: invalid label selector.");
    assert_eq!((found.len(), found.last()), (2, Some(&last)));

    let volume = "{metadata: {name: a}, spec: {capacity: {storage: -1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a},
        persistentVolumeReclaimPolicy: Retain}}";
    let path = "spec.capacity[storage]";
    assert_eq!(
        errors("v1", "PersistentVolume", volume),
        [
            format!("{path}: Invalid value: -1073741824: must be a valid resource quantity"),
            format!("{path}: Invalid value: \"-1Gi\": must be greater than zero")
        ]
    );
    let half = errors("v1", "PersistentVolume", &volume.replace("-1Gi", "-500m"));
    assert_eq!(
        half.first().unwrap(),
        &format!("{path}: Invalid value: -1: must be a valid resource quantity")
    );
}

#[test]
fn search_paths_of_pods_are_subdomains_with_underscores() {
    let pod = |search: &str| {
        let spec = format!(
            "{{containers: [{{name: a, image: x, imagePullPolicy: Always, terminationMessagePolicy: File}}], restartPolicy: Always,
               dnsPolicy: Default, terminationGracePeriodSeconds: 1, dnsConfig: {{searches: ['{search}']}}}}"
        );
        let metadata = "{name: a, namespace: x}";
        let mut errors = errors(
            "v1",
            "Pod",
            &format!("{{metadata: {metadata}, spec: {spec}}}"),
        );
        errors.retain(|error| error.contains("searches"));
        errors.len()
    };
    for (search, expected) in [
        (".", 0),
        ("a.b.", 0),
        ("_a.b_c", 0),
        ("..", 1),
        ("a..b", 1),
        ("a-", 1),
        ("a_", 1),
        ("", 1),
    ] {
        assert_eq!(pod(search), expected, "{search}");
    }
}

#[test]
fn an_empty_class_of_a_claim_may_be_removed() {
    let kind = kind("v1", "PersistentVolumeClaim");
    let claim = |annotations: &str| {
        decoded(
            &kind,
            &format!(
                "{{metadata: {{name: a, namespace: x, resourceVersion: '1', annotations: {annotations}}},
                   spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}}}"
            ),
        )
    };
    const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
    let live = claim(&format!("{{{CLASS}: ''}}"));
    assert_eq!(validate_update(&kind, "", &claim("{}"), &live).len(), 0);
    let live = claim(&format!("{{{CLASS}: a}}"));
    assert_eq!(validate_update(&kind, "", &claim("{}"), &live).len(), 1);
}

#[test]
fn limits_have_a_ratio_that_their_bounds_allow() {
    let limits = "spec: {limits: [{type: Container, min: {cpu: '3'}, max: {cpu: '10'}, \
                  maxLimitRequestRatio: {cpu: 3500m}, default: {hugepages-2Mi: 4Mi, memory: 2Gi}, \
                  defaultRequest: {hugepages-2Mi: 2Mi, memory: 1Gi}}]}";
    let object = format!("{{metadata: {{name: a, namespace: x}}, {limits}}}");
    assert_eq!(
        errors("v1", "LimitRange", &object),
        [
            r#"spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3500m": ratio 3500m is greater than max/min = 3.333333"#,
            r#"spec.limits[0].defaultRequest[hugepages-2Mi]: Invalid value: "2Mi": default value 4Mi must equal to defaultRequest value 2Mi in hugepages-2Mi"#,
        ]
    );
}

#[test]
fn a_class_of_storage_has_parameters_with_names() {
    let class = "{metadata: {name: a}, provisioner: a/b, parameters: {'': x}}";
    assert_eq!(
        errors("storage.k8s.io/v1", "StorageClass", class),
        [r#"parameters: Invalid value: "": field can not be empty."#]
    );
}

#[test]
fn both_sources_of_a_claim_are_the_same() {
    let claim = "{metadata: {name: a, namespace: x}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, \
                 dataSource: {kind: PersistentVolumeClaim, name: a}, dataSourceRef: {kind: PersistentVolumeClaim, name: b}}}";
    assert_eq!(
        errors("v1", "PersistentVolumeClaim", claim),
        ["spec: Invalid value: {}: must match dataSourceRef"]
    );
}

#[test]
fn the_priority_levels_and_flow_schemas_of_a_server_are_fixed() {
    let check = |kind: &str, name: &str, spec: &str| {
        let object = format!("{{metadata: {{name: {name}}}, spec: {{{spec}}}}}");
        errors("flowcontrol.apiserver.k8s.io/v1", kind, &object)
    };
    let level = |name: &str, spec: &str| check("PriorityLevelConfiguration", name, spec);
    let limited = |shares: i32| {
        format!(
            "type: Limited, limited: {{nominalConcurrencyShares: {shares}, lendablePercent: 0, limitResponse: {{type: Reject}}}}"
        )
    };
    assert_eq!(
        level(
            "exempt",
            "type: Exempt, exempt: {nominalConcurrencyShares: 9}"
        ),
        [""; 0]
    );
    assert_eq!(level("catch-all", &limited(5)), [""; 0]);
    assert_eq!(
        level("catch-all", &limited(7)),
        [
            r#"spec: Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":7,"LimitResponse":{"Type":"Reject","Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":null}: spec of 'catch-all' must equal the fixed value"#
        ]
    );

    let schema = |precedence: i32| {
        format!(
            "priorityLevelConfiguration: {{name: exempt}}, matchingPrecedence: {precedence}, rules: [{{subjects: [{{kind: Group, \
             group: {{name: 'system:masters'}}}}], resourceRules: [{{verbs: ['*'], apiGroups: ['*'], resources: ['*'], \
             clusterScope: true, namespaces: ['*']}}], nonResourceRules: [{{verbs: ['*'], nonResourceURLs: ['*']}}]}}]"
        )
    };
    assert_eq!(check("FlowSchema", "exempt", &schema(1)), [""; 0]);
    assert_eq!(
        check(
            "FlowSchema",
            "exempt",
            "priorityLevelConfiguration: {name: exempt}, matchingPrecedence: 3"
        ),
        [
            r#"spec: Invalid value: {"PriorityLevelConfiguration":{"Name":"exempt"},"MatchingPrecedence":3,"DistinguisherMethod":null,"Rules":null}: spec of 'exempt' must equal the fixed value"#
        ]
    );
}

#[test]
fn warnings_of_a_policy_have_json_paths() {
    let kind = kind(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
    );
    let policy = |path: &str| {
        let text = format!(
            "{{metadata: {{name: a, resourceVersion: '1'}}, status: {{typeChecking: {{expressionWarnings: [{{warning: w, \
             fieldRef: '{path}'}}]}}}}}}"
        );
        Value::from_yaml(&text).unwrap()
    };
    let errors = |path: &str| -> Vec<String> {
        let errors = validate_update(&kind, "status", &policy(path), &policy(""));
        errors.iter().map(ToString::to_string).collect()
    };
    let path = "status.typeChecking.expressionWarnings[0].fieldRef";
    assert_eq!(errors("spec.validations[0].expression"), [""; 0]);
    assert_eq!(errors(" "), [format!("{path}: Required value")]);
    assert_eq!(
        errors(" a[x]"),
        [format!(
            "{path}: Invalid value: \"a[x]\": invalid JSONPath: invalid array index x"
        )]
    );
}

#[test]
fn the_answer_to_a_request_of_a_pod_is_final() {
    let kind = kind("certificates.k8s.io/v1", "PodCertificateRequest");
    let request = |status: &str| {
        let text = format!(
            "{{metadata: {{name: a, namespace: x, resourceVersion: '1'}}, spec: {{}}, status: {{{status}}}}}"
        );
        Value::from_yaml(&text).unwrap()
    };
    let check = |new: &str, old: &str| {
        let errors = validate_update(&kind, "status", &request(new), &request(old));
        errors
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let condition = |ty: &str, status: &str| {
        format!(
            "{{type: {ty}, status: '{status}', reason: r, message: m, lastTransitionTime: '2026-01-01T00:00:00Z'}}"
        )
    };
    let one = |ty: &str| format!("conditions: [{}]", condition(ty, "True"));
    let pem = |ty: &str| {
        format!("certificateChain: \"-----BEGIN {ty}-----\\nYQ==\\n-----END {ty}-----\\n\"")
    };
    for (new, old, expected) in [
        (one("Denied"), String::new(), ""),
        (
            format!(
                "conditions: [{}, {}, {}]",
                condition("Issued", "False"),
                condition("Denied", "True"),
                condition("X", "True")
            ),
            String::new(),
            "status.conditions.[0].status: Unsupported value: \"False\": supported values: \"True\"\n\
             status.conditions.[1].type: Invalid value: \"Denied\": There may be at most one condition with type \"Issued\", \"Denied\", or \"Failed\"\n\
             status.conditions.[2].type: Unsupported value: \"X\": supported values: \"Issued\", \"Denied\", \"Failed\"",
        ),
        (
            "notBefore: '2026-01-01T00:00:00Z'".to_owned(),
            String::new(),
            "status: Invalid value: status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\"",
        ),
        (
            format!("{}, notBefore: '2026-01-01T00:00:00Z'", one("Denied")),
            String::new(),
            "status: Invalid value: non-condition status fields must be empty when denying or failing the PodCertificateRequest",
        ),
        (
            one("Failed"),
            one("Denied"),
            "status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed",
        ),
        (
            one("Issued"),
            String::new(),
            "status.certificateChain: Invalid value: \"\": issued certificate chain must contain at least one certificate",
        ),
        (
            format!("{}, {}", one("Issued"), pem("CERTIFICATE")),
            String::new(),
            "status.notBefore: Required value: must be present and consistent with the issued certificate\n\
             status.notAfter: Required value: must be present and consistent with the issued certificate\n\
             status.beginRefreshAt: Required value: must be present and in the range [notbefore+10min, notafter-10min]",
        ),
    ] {
        assert_eq!(check(&new, &old), expected, "{new}");
    }
    let key = check(&format!("{}, {}", one("Issued"), pem("KEY")), "");
    assert!(
        key.ends_with("issued certificate chain must consist entirely of CERTIFICATE PEM blocks"),
        "{key}"
    );
}

#[test]
fn the_size_of_a_config_map_is_that_of_all_keys() {
    let data = "x".repeat(1 << 19);
    let map = format!(
        "{{metadata: {{name: a, namespace: x}}, data: {{a: {data}, b: {data}}}, binaryData: {{c: eA==}}}}"
    );
    assert_eq!(
        errors("v1", "ConfigMap", &map),
        ["[]: Too long: may not be more than 1048576 bytes"]
    );
}
