//! Details of the validation of pods. The words are those of kube-apiserver 1.37.1.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_builtin::{defaulted, prepare_create, validate_create, validate_update};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

const PROFILE: &str = "container.apparmor.security.beta.kubernetes.io";
const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io";

fn kind() -> GroupVersionKind {
    GroupVersionKind::new("", "v1", "Pod")
}

/// A pod with annotations, a spec and a status.
fn pod(annotations: &str, spec: &str, status: &str) -> Value {
    let text = format!(
        "{{metadata: {{name: a, namespace: x, uid: u, resourceVersion: '1', annotations: {{{annotations}}}}}, \
         spec: {{{spec}}}, status: {{{status}}}}}"
    );
    defaulted(&kind(), &Value::from_yaml(&text).unwrap())
}

fn created(annotations: &str, spec: &str) -> Vec<String> {
    let object = prepare_create(&kind(), &pod(annotations, spec, ""));
    let errors = validate_create(&kind(), &object);
    errors.iter().map(ToString::to_string).collect()
}

fn updated(subresource: &str, new: &Value, old: &Value) -> Vec<String> {
    let errors = validate_update(&kind(), subresource, new, old);
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn huge_pages_are_multiples_of_their_size() {
    let found = created(
        "",
        "overhead: {cpu: 1, hugepages-1Gi: 1Mi}, \
         containers: [{name: a, image: b, resources: {limits: {cpu: 1, hugepages-2Mi: 3Mi, hugepages-x: 1Mi}}}]",
    );
    let path = "spec.containers[0].resources";
    let fault = |list: &str, size: &str, amount: &str| {
        format!(
            "{path}.{list}[hugepages-{size}]: Invalid value: \"{amount}\": {amount} is not positive integer multiple of \
             hugepages-{size}"
        )
    };
    let overhead = "spec.overhead.limits[hugepages-1Gi]: Invalid value: \"1Mi\": 1Mi is not positive integer multiple of \
                    hugepages-1Gi";
    assert_eq!(
        found,
        [
            fault("limits", "2Mi", "3Mi"),
            fault("limits", "x", "1Mi"),
            fault("requests", "2Mi", "3Mi"),
            fault("requests", "x", "1Mi"),
            overhead.to_owned(),
        ]
    );
}

#[test]
fn annotations_of_early_versions_have_the_syntax_of_fields() {
    let annotations = format!(
        "scheduler.alpha.kubernetes.io/tolerations: '[{{\"Key\":\"a\",\"operator\":\"X\"}}]', \
         {SECCOMP}/pod: localhost/../x, container.{SECCOMP}/a: other, {PROFILE}/b: foo, {PROFILE}/a: localhost/x"
    );
    assert_eq!(
        created(&annotations, "containers: [{name: a, image: b}]"),
        [
            "metadata.annotations.scheduler.alpha.kubernetes.io/tolerations[0].operator: Unsupported value: \"X\": supported \
             values: \"Equal\", \"Exists\"",
            "metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: \"../x\": must not contain '..'",
            "metadata.annotations.container.seccomp.security.alpha.kubernetes.io/a: Invalid value: \"other\": must be a \
             valid seccomp profile",
            "metadata.annotations[container.apparmor.security.beta.kubernetes.io/b]: Invalid value: \"b\": container not found",
            "metadata.annotations[container.apparmor.security.beta.kubernetes.io/b]: Invalid value: \"foo\": invalid AppArmor \
             profile name: \"foo\"",
        ]
    );
    let tolerations = "scheduler.alpha.kubernetes.io/tolerations: '{}'";
    assert_eq!(
        created(tolerations, "containers: [{name: a, image: b}]"),
        [
            "metadata.annotations: Invalid value: \"scheduler.alpha.kubernetes.io/tolerations\": json: cannot unmarshal \
             object into Go value of type []core.Toleration"
        ]
    );
}

#[test]
fn annotations_and_fields_of_profiles_match() {
    let annotations = format!(
        "{SECCOMP}/pod: docker/default, container.{SECCOMP}/a: localhost/a, {PROFILE}/a: unconfined, {PROFILE}/b: foo, \
         {PROFILE}/c: localhost/x"
    );
    let spec = "securityContext: {seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}}, containers: [\
                {name: a, image: b, securityContext: {seccompProfile: {type: Localhost, localhostProfile: b}, \
                appArmorProfile: {type: RuntimeDefault}}}, {name: b, image: b}, {name: c, image: b}]";
    let found = created(&annotations, spec);
    assert_eq!(
        found.iter().skip(1).collect::<Vec<_>>(),
        [
            "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match",
            "spec.containers[0].securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation \
             and field must match",
            "spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match",
            "spec.containers[1].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match",
        ]
    );

    // The profile of a new pod follows from its annotation.
    let annotations = format!("{PROFILE}/a: unconfined, {PROFILE}/b: localhost/x");
    let spec = "securityContext: {appArmorProfile: {type: Unconfined}}, \
                containers: [{name: a, image: b}, {name: b, image: b}]";
    let object = prepare_create(&kind(), &pod(&annotations, spec, ""));
    let json = object.to_json();
    let profile = r#""appArmorProfile":{"localhostProfile":"x","type":"Localhost"}"#;
    assert!(json.contains(profile), "{json}");
    assert_eq!(json.matches("appArmorProfile").count(), 2, "{json}");
}

#[test]
fn annotations_of_kubelets_and_of_profiles_are_immutable() {
    let spec = "containers: [{name: a, image: b}], nodeName: node";
    let old = pod(&format!("{PROFILE}/a: unconfined, x: y"), spec, "");
    let new = pod(
        &format!("{PROFILE}/b: unconfined, kubernetes.io/config.mirror: m"),
        "ephemeralContainers: [{name: b, image: b}], containers: [{name: a, image: b}], nodeName: node",
        "",
    );
    let expected = [
        "metadata.annotations[container.apparmor.security.beta.kubernetes.io/a]: Forbidden: may not remove or update AppArmor annotations",
        "metadata.annotations[container.apparmor.security.beta.kubernetes.io/b]: Forbidden: may not add AppArmor annotations",
        "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation",
    ];
    for subresource in ["status", "ephemeralcontainers"] {
        assert_eq!(updated(subresource, &new, &old), expected);
    }
    assert_eq!(
        updated("ephemeralcontainers", &old, &new),
        ["[]: Forbidden: static pods do not support ephemeral containers"]
    );
}

#[test]
fn the_terms_for_nodes_of_a_gated_pod_are_narrowed() {
    let gated = |terms: &str| {
        let affinity = format!(
            "nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{terms}]}}}}"
        );
        let spec = format!(
            "schedulingGates: [{{name: g}}], affinity: {{{affinity}}}, containers: [{{name: a, image: b}}]"
        );
        pod("", &spec, "")
    };
    let condition = |key: &str| format!("{{key: {key}, operator: Exists}}");
    let term = |conditions: &[&str]| {
        let conditions: Vec<_> = conditions.iter().map(|key| condition(key)).collect();
        format!("{{matchExpressions: [{}]}}", conditions.join(", "))
    };
    let old = gated(&term(&["a"]));
    assert_eq!(updated("", &gated(&term(&["a", "b"])), &old), [""; 0]);
    let path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let shown = r#"{"MatchExpressions":[{"Key":"b","Operator":"Exists","Values":null}],"MatchFields":null}"#;
    assert_eq!(
        updated("", &gated(&term(&["b"])), &old),
        [format!(
            "{path}[0]: Invalid value: {shown}: only additions are allowed (no mutations or deletions)"
        )]
    );
    let none = pod(
        "",
        "schedulingGates: [{name: g}], containers: [{name: a, image: b}]",
        "",
    );
    assert_eq!(
        updated("", &none, &old),
        [format!(
            "{path}: Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        )]
    );
    assert_eq!(updated("", &old, &none), [""; 0]);
}

#[test]
fn pods_of_a_system_say_nothing_about_the_other_one() {
    let windows = "os: {name: windows}, hostPID: true, shareProcessNamespace: false, securityContext: {fsGroup: 1}, \
                   containers: [{name: a, image: b, securityContext: {privileged: false, readOnlyRootFilesystem: true}}]";
    let linux = "os: {name: linux}, securityContext: {windowsOptions: {runAsUserName: a}}, \
                 containers: [{name: a, image: b, securityContext: {windowsOptions: {}}}]";
    let forbidden = |paths: &[&str], detail: &str| -> Vec<String> {
        let lines = paths
            .iter()
            .map(|path| format!("spec.{path}: Forbidden: {detail}"));
        lines.collect()
    };
    let paths = [
        "securityContext.fsGroup",
        "hostPID",
        "shareProcessNamespace",
        "containers[0].securityContext.readOnlyRootFilesystem",
        "containers[0].securityContext.privileged",
    ];
    let detail = "cannot be set for a windows pod";
    assert_eq!(created("", windows), forbidden(&paths, detail));
    let paths = [
        "securityContext.windowsOptions",
        "containers[0].securityContext.windowsOptions",
    ];
    let detail = "windows options cannot be set for a linux pod";
    assert_eq!(created("", linux), forbidden(&paths, detail));
}

#[test]
fn volumes_with_certificates_are_checked_as_requests_for_them() {
    let spec = "containers: [{name: a, image: b}], volumes: [{name: v, projected: {sources: [{podCertificate: \
                {signerName: a.b/c, keyType: RSA, maxExpirationSeconds: 1, userAnnotations: {a: b, x.y/z: b}}}]}}]";
    let path = "spec.volumes[0].projected.sources[0].podCertificate";
    assert_eq!(
        created("", spec),
        [
            format!(
                "{path}.userAnnotations: Invalid value: \"a\": must be a domain-prefixed key (such as \"acme.io/foo\")"
            ),
            format!(
                "{path}.keyType: Unsupported value: \"RSA\": supported values: \"RSA3072\", \"RSA4096\", \"ECDSAP256\", \
                 \"ECDSAP384\", \"ECDSAP521\", \"ED25519\""
            ),
            format!(
                "{path}.maxExpirationSeconds: Invalid value: 1: if provided, maxExpirationSeconds must be >= 3600"
            ),
            format!(
                "{path}: Required value: specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
            ),
        ]
    );
}
