//! Objects are decoded as Go decodes them into its types.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

use fieldmanager_builtin::{Decoded, Kind};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

fn kind(api_version: &str, kind: &str) -> Kind {
    Kind::of(&GroupVersionKind::from_api_version_kind(api_version, kind)).unwrap()
}

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

fn decoded(api_version: &str, name: &str, object: &str) -> Decoded {
    kind(api_version, name)
        .decode(&json(object))
        .unwrap_or_else(|error| panic!("{object}: {error}"))
}

/// The object after decoding, without the members of the zero value.
fn object(api_version: &str, name: &str, text: &str) -> String {
    let Value::Map(mut fields) = decoded(api_version, name, text).object else {
        return String::new();
    };
    fields.remove("metadata");
    Value::Map(fields).to_json()
}

fn error(api_version: &str, name: &str, object: &str) -> String {
    kind(api_version, name)
        .decode(&json(object))
        .unwrap_err()
        .to_string()
}

#[test]
fn members_that_go_always_writes_appear() {
    assert_eq!(
        object("apps/v1", "Deployment", "{}"),
        r#"{"spec":{"selector":null,"strategy":{},"template":{"metadata":{},"spec":{"containers":null}}},"status":{}}"#,
    );
    assert_eq!(
        object("v1", "Pod", r#"{"spec": {"containers": [{"name": "a"}]}}"#),
        r#"{"spec":{"containers":[{"name":"a","resources":{}}]},"status":{}}"#,
    );
}

#[test]
fn empty_members_vanish_if_go_omits_them() {
    let pod = r#"{"spec": {"containers": [], "hostNetwork": false, "nodeName": "", "volumes": [], "nodeSelector": {},
        "securityContext": {}, "terminationGracePeriodSeconds": 0, "priority": null}}"#;
    assert_eq!(
        object("v1", "Pod", pod),
        r#"{"spec":{"containers":[],"securityContext":{},"terminationGracePeriodSeconds":0},"status":{}}"#,
    );
}

#[test]
fn null_items_become_zero_values() {
    let pod = r#"{"spec": {"containers": [null], "nodeSelector": {"a": null}, "hostAliases": [{"hostnames": [null]}]}}"#;
    let written = r#"{"spec":{"containers":[{"name":"","resources":{}}],"hostAliases":[{"hostnames":[""],"ip":""}],"nodeSelector":{"a":""}},"status":{}}"#;
    assert_eq!(object("v1", "Pod", pod), written);
}

#[test]
fn unknown_fields_are_dropped_and_listed_by_path() {
    let pod = r#"{"Spec": 1, "spec": {"containers": [{"x": {"y": 1}}], "foo": null, "nodeSelector": {"x": "y"}},
        "metadata": {"labels": {"a": "b"}, "clusterName": "c"}}"#;
    let decoded = decoded("v1", "Pod", pod);
    assert_eq!(
        decoded.unknown,
        [
            "Spec",
            "metadata.clusterName",
            "spec.containers[0].x",
            "spec.foo"
        ]
    );
    assert!(!decoded.object.to_json().contains("clusterName"));
}

#[test]
fn at_most_a_hundred_unknown_fields_are_listed() {
    let fields: Vec<String> = (0..200).map(|n| format!(r#""x{n}":1"#)).collect();
    let decoded = decoded("v1", "Pod", &format!("{{{}}}", fields.join(",")));
    assert_eq!(decoded.unknown.len(), 100);
    assert!(!decoded.object.to_json().contains("x150"));
}

#[test]
fn errors_have_the_words_of_go() {
    for (api_version, kind, object, message) in [
        (
            "apps/v1",
            "Deployment",
            r#"{"spec": {"replicas": "x"}}"#,
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "apps/v1",
            "Deployment",
            r#"{"spec": {"replicas": 1.5}}"#,
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "v1",
            "Pod",
            "[]",
            "json: cannot unmarshal array into Go value of type v1.Pod",
        ),
        (
            "v1",
            "Pod",
            r#"{"spec": {"volumes": [{"hostPath": 1}]}}"#,
            "json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.hostPath of type v1.HostPathVolumeSource",
        ),
        (
            "v1",
            "Pod",
            r#"{"metadata": {"labels": {"a": {}}}}"#,
            "json: cannot unmarshal object into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            "v1",
            "Pod",
            r#"{"metadata": {"creationTimestamp": 1}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            "v1",
            "Pod",
            r#"{"metadata": {"creationTimestamp": "now"}}"#,
            r#"parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006""#,
        ),
        (
            "v1",
            "Service",
            r#"{"spec": {"ports": [{"targetPort": true}]}}"#,
            "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
        (
            "v1",
            "Secret",
            r#"{"data": {"a": "?"}}"#,
            "illegal base64 data at input byte 0",
        ),
        (
            "v1",
            "Secret",
            r#"{"data": {"a": [256]}}"#,
            "json: cannot unmarshal number 256 into Go struct field Secret.data of type uint8",
        ),
    ] {
        assert_eq!(error(api_version, kind, object), message);
    }
}

#[test]
fn fault_that_ends_decoding_wins_over_earlier_wrong_types() {
    let pod = r#"{"metadata": {"name": 1}, "spec": {"overhead": {"cpu": "x"}, "volumes": 1}}"#;
    assert!(error("v1", "Pod", pod).starts_with("quantities must match the regular expression"));
}

#[test]
fn times_quantities_and_base64_become_canonical() {
    let lease = r#"{"spec": {"renewTime": "2020-01-01T01:00:00.000001+01:00"}}"#;
    assert_eq!(
        object("coordination.k8s.io/v1", "Lease", lease),
        r#"{"spec":{"renewTime":"2020-01-01T00:00:00.000001Z"}}"#,
    );
    assert_eq!(
        object(
            "v1",
            "Secret",
            r#"{"data": {"a": "aGl=", "b": [104, 105], "c": null}}"#
        ),
        r#"{"data":{"a":"aGk=","b":"aGk=","c":null}}"#
    );
    let claim = r#"{"spec": {"resources": {"requests": {"storage": "2048Mi"}}}}"#;
    assert_eq!(
        object("v1", "PersistentVolumeClaim", claim),
        r#"{"spec":{"resources":{"requests":{"storage":"2Gi"}}},"status":{}}"#,
    );
}

#[test]
fn schemas_of_definitions_are_decoded_with_their_alternatives() {
    let definition = |schema: &str| {
        let text = format!(
            r#"{{"spec": {{"versions": [{{"schema": {{"openAPIV3Schema": {schema}}}}}]}}}}"#
        );
        let decoded = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
            .decode(&json(&text))
            .unwrap();
        let versions = decoded
            .object
            .get("spec")
            .and_then(|spec| spec.get("versions"))
            .cloned();
        let schema = versions
            .unwrap()
            .as_list()
            .unwrap()
            .get(0)
            .unwrap()
            .get("schema")
            .unwrap()
            .to_json();
        (schema, decoded.unknown)
    };
    let (schema, unknown) = definition(
        r#"{"items": {"x": 1}, "additionalProperties": true, "default": null, "enum": [null], "x": 1}"#,
    );
    assert_eq!(
        schema,
        r#"{"openAPIV3Schema":{"additionalProperties":true,"enum":[null],"items":{}}}"#
    );
    // Go does not look for unknown fields below `items`.
    assert_eq!(unknown, ["spec.versions[0].schema.openAPIV3Schema.x"]);
    let (schema, _) = definition(
        r#"{"items": [], "dependencies": {"a": ["b", null], "b": {}, "c": 1}, "properties": {"a": null}}"#,
    );
    assert_eq!(
        schema,
        r#"{"openAPIV3Schema":{"dependencies":{"a":["b",""],"b":{},"c":null},"items":null,"properties":{"a":{}}}}"#,
    );
    let message = error(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        r#"{"spec": {"versions": [{"schema": {"openAPIV3Schema": {"items": {"type": 1}}}}]}}"#,
    );
    assert_eq!(
        message,
        "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items.type of type string",
    );
}

#[test]
fn decoding_a_decoded_object_changes_nothing() {
    for kind in Kind::all() {
        let decoded = kind.decode(&kind.zero()).unwrap();
        assert_eq!(
            decoded,
            Decoded {
                object: kind.zero(),
                unknown: Vec::new()
            },
            "{}",
            kind.gvk()
        );
        assert!(decoded.object.ptr_eq(&kind.zero()), "{}", kind.gvk());
    }
}

#[test]
fn unchanged_parts_are_shared() {
    let pod = json(
        r#"{"metadata": {}, "spec": {"containers": [{"name": "a", "resources": {}}]}, "status": {}, "x": 1}"#,
    );
    let decoded = kind("v1", "Pod").decode(&pod).unwrap();
    assert!(
        decoded
            .object
            .get("spec")
            .unwrap()
            .ptr_eq(pod.get("spec").unwrap())
    );
    assert_eq!(decoded.unknown, ["x"]);
}

#[test]
fn objects_of_patches_are_converted_with_the_words_of_the_unstructured_converter() {
    let deployment = kind("apps/v1", "Deployment");
    for (object, message) in [
        (r#"{"spec": {"replicas": "x"}}"#, "unrecognized type: int32"),
        (
            r#"{"spec": {"replicas": 1.5}}"#,
            "cannot convert float64 to int32",
        ),
        (
            r#"{"metadata": {"name": 1}}"#,
            "cannot convert int64 to string",
        ),
        (r#"{"spec": []}"#, "cannot restore struct from: slice"),
        (
            r#"{"spec": {"template": {"spec": {"containers": {}}}}}"#,
            "cannot restore slice from map",
        ),
        (
            r#"{"metadata": {"labels": 1}}"#,
            "cannot restore map from int64",
        ),
        // `replicas` is declared before `template`.
        (
            r#"{"spec": {"minReadySeconds": {}, "replicas": "x", "template": 1}}"#,
            "unrecognized type: int32",
        ),
        (
            r#"{"metadata": {"creationTimestamp": 1}}"#,
            "json: cannot unmarshal number into Go value of type string",
        ),
    ] {
        assert_eq!(
            deployment
                .from_unstructured(&json(object))
                .unwrap_err()
                .to_string(),
            message,
            "{object}"
        );
    }
}

#[test]
fn objects_of_patches_have_whole_floats_and_sorted_unknown_fields() {
    let deployment = kind("apps/v1", "Deployment");
    let object =
        r#"{"spec": {"replicas": 4294967298.0, "x": 1, "minReadySeconds": 2.0}, "spec.a": 1}"#;
    let converted = deployment.from_unstructured(&json(object)).unwrap();
    let spec = converted.object.get("spec").unwrap();
    assert_eq!(
        (spec.get("replicas"), spec.get("minReadySeconds")),
        (Some(&Value::Int(2)), Some(&Value::Int(2)))
    );
    assert_eq!(converted.unknown, ["spec.a", "spec.x"]);
}
