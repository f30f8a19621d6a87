//! Coerces and validates the metadata of resources.

#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use fieldmanager_structural::{FieldPath, Structural};
use fieldmanager_value::Value;

fn read(text: &str) -> Structural {
    Structural::from_value(&Value::from_yaml(text).unwrap()).unwrap()
}

/// Checks the coerced form of valid metadata, with and without dropping invalid fields.
fn check_coerce(metadata: &str, coerced: &str, unknown: &[&str]) {
    let object = Value::from_json(&format!(r#"{{"metadata":{metadata}}}"#)).unwrap();
    for drops_invalid in [false, true] {
        let found = Structural::default()
            .coerce_metadata(&FieldPath::default(), &object, true, drops_invalid)
            .unwrap();
        assert_eq!(
            found.object.to_json(),
            format!(r#"{{"metadata":{coerced}}}"#),
            "{metadata}"
        );
        assert_eq!(found.unknown, unknown);
        assert_eq!(
            found.object.strict_eq(&object),
            found.object.ptr_eq(&object),
            "{metadata}"
        );
    }
}

/// Checks the fault of metadata, and what remains if faults are dropped.
fn check_fault(metadata: &str, fault: &str, left: &str) {
    let object = Value::from_json(&format!(r#"{{"metadata":{metadata}}}"#)).unwrap();
    let (schema, root) = (Structural::default(), FieldPath::default());
    let error = schema
        .coerce_metadata(&root, &object, true, false)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        format!("metadata: Invalid value: {metadata}: {fault}")
    );
    let found = schema.coerce_metadata(&root, &object, true, true).unwrap();
    assert_eq!(found.object.to_json(), format!(r#"{{"metadata":{left}}}"#));
}

#[test]
fn metadata_is_coerced_as_in_go() {
    let full = r#"{"annotations":{"a":""},"creationTimestamp":"2020-01-01T00:00:00Z","deletionGracePeriodSeconds":0,"finalizers":["a"],"generation":1,"labels":{"a":"b"},"managedFields":[{"fieldsV1":{"f:a":{}},"manager":"m","operation":"Apply","time":"2020-01-01T00:00:00Z"}],"name":"n","ownerReferences":[{"apiVersion":"v1","controller":false,"kind":"K","name":"n","uid":"u"}],"uid":"u"}"#;
    check_coerce(full, full, &[]);
    check_coerce("{}", "{}", &[]);
    check_coerce("null", "{}", &[]);
    check_coerce(
        r#"{"name":"","namespace":null,"generation":0,"labels":{},"finalizers":[],"creationTimestamp":null}"#,
        "{}",
        &[],
    );
    check_coerce(
        r#"{"labels":{"a":null},"finalizers":[null]}"#,
        r#"{"finalizers":[""],"labels":{"a":""}}"#,
        &[],
    );
    check_coerce(r#"{"generation":2.0}"#, r#"{"generation":2}"#, &[]);
    check_coerce(
        r#"{"ownerReferences":[null],"managedFields":[null]}"#,
        r#"{"managedFields":[{}],"ownerReferences":[{"apiVersion":"","kind":"","name":"","uid":""}]}"#,
        &[],
    );
    check_coerce(
        r#"{"creationTimestamp":"2020-01-01T00:00:00.5+01:00","deletionTimestamp":"0001-01-01T00:00:00Z"}"#,
        r#"{"creationTimestamp":"2019-12-31T23:00:00Z","deletionTimestamp":null}"#,
        &[],
    );
    check_coerce(
        r#"{"Name":"x","managedFields":[{"q":1}],"ownerReferences":[{"apiVersion":"","kind":"","name":"","q":1,"uid":""}],"x":{}}"#,
        r#"{"managedFields":[{}],"ownerReferences":[{"apiVersion":"","kind":"","name":"","uid":""}]}"#,
        &[
            "metadata.Name",
            "metadata.managedFields[0].q",
            "metadata.ownerReferences[0].q",
            "metadata.x",
        ],
    );
}

#[test]
fn values_of_wrong_types_are_faults() {
    let cannot = |found: &str, field: &str, type_name: &str| {
        format!("json: cannot unmarshal {found} into Go struct field {field} of type {type_name}")
    };
    for (metadata, fault) in [
        (
            r#"{"name":5}"#,
            cannot("number", "ObjectMeta.name", "string"),
        ),
        (
            r#"{"uid":true}"#,
            cannot("bool", "ObjectMeta.uid", "types.UID"),
        ),
        (
            r#"{"generation":"x"}"#,
            cannot("string", "ObjectMeta.generation", "int64"),
        ),
        (
            r#"{"generation":1.5}"#,
            cannot("number 1.5", "ObjectMeta.generation", "int64"),
        ),
        (
            r#"{"labels":[]}"#,
            cannot("array", "ObjectMeta.labels", "map[string]string"),
        ),
        (
            r#"{"labels":{"a":{}}}"#,
            cannot("object", "ObjectMeta.labels", "string"),
        ),
        (
            r#"{"finalizers":"x"}"#,
            cannot("string", "ObjectMeta.finalizers", "[]string"),
        ),
        (
            r#"{"finalizers":[1]}"#,
            cannot("number", "ObjectMeta.finalizers", "string"),
        ),
        (
            r#"{"ownerReferences":{}}"#,
            cannot(
                "object",
                "ObjectMeta.ownerReferences",
                "[]v1.OwnerReference",
            ),
        ),
        (
            r#"{"ownerReferences":[5]}"#,
            cannot("number", "ObjectMeta.ownerReferences", "v1.OwnerReference"),
        ),
        (
            r#"{"ownerReferences":[{"name":1}]}"#,
            cannot("number", "OwnerReference.ownerReferences.name", "string"),
        ),
        (
            r#"{"ownerReferences":[{"controller":""}]}"#,
            cannot(
                "string",
                "OwnerReference.ownerReferences.controller",
                "bool",
            ),
        ),
        (
            r#"{"creationTimestamp":5}"#,
            cannot("number", "ObjectMeta.creationTimestamp", "string"),
        ),
        (
            r#"{"deletionTimestamp":"x"}"#,
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#
                .to_owned(),
        ),
    ] {
        check_fault(metadata, &fault, "{}");
    }
    // A time is reported before earlier fields.
    let fault = r#"parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006""#;
    check_fault(
        r#"{"annotations":5,"creationTimestamp":"","name":"n"}"#,
        fault,
        r#"{"name":"n"}"#,
    );
    // A value that is not a map stays.
    let fault =
        |found: &str| format!("json: cannot unmarshal {found} into Go value of type v1.ObjectMeta");
    check_fault(r#""x""#, &fault("string"), r#""x""#);
    check_fault("[]", &fault("array"), "[]");
}

#[test]
fn embedded_resources_are_found_by_the_schema() {
    let schema = read(
        "
properties:
  l: {items: {x-kubernetes-embedded-resource: true}}
  m: {additionalProperties: {x-kubernetes-embedded-resource: true}}
",
    );
    let object = Value::from_yaml(
        "{metadata: 5, l: [{metadata: {x: 1}}], m: {a: {kind: 5}, b: {metadata: {w: 1}}}}",
    );
    let object = object.unwrap();
    let root = FieldPath::root("spec");
    let error = schema
        .coerce_metadata(&root, &object, false, false)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "spec.m[a].kind: Invalid value: 5: must be a string"
    );
    let found = schema.coerce_metadata(&root, &object, false, true).unwrap();
    assert_eq!(
        found.object.to_json(),
        r#"{"l":[{"metadata":{}}],"m":{"a":{},"b":{"metadata":{}}},"metadata":5}"#
    );
    assert_eq!(
        found.unknown,
        ["spec.l[0].metadata.x", "spec.m[b].metadata.w"]
    );

    let errors = schema.validate_metadata(&root, &object, false).unwrap();
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "spec.l[0].apiVersion: Required value",
            "spec.l[0].kind: Required value",
            "spec.m[a].apiVersion: Required value",
            "spec.m[a].kind: Invalid value: 5: must be a string",
            "spec.m[b].apiVersion: Required value",
            "spec.m[b].kind: Required value",
        ]
    );
}

/// Checks the beginnings of the errors of a resource with valid `apiVersion` and `kind`.
fn check_metadata(metadata: &str, errors: &[&str]) {
    let object = format!("{{apiVersion: v1, kind: A, metadata: {metadata}}}");
    let object = Value::from_yaml(&object).unwrap();
    let found = Structural::default()
        .validate_metadata(&FieldPath::default(), &object, true)
        .unwrap();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), errors.len(), "{found:?}");
    for (found, error) in found.iter().zip(errors) {
        assert!(
            found.starts_with(&format!("metadata{error}")),
            "{found}\n{error}"
        );
    }
}

#[test]
fn resource_requires_api_version_and_kind() {
    for (object, errors) in [
        (
            "{}",
            vec!["apiVersion: Required value", "kind: Required value"],
        ),
        (
            "{apiVersion: '', kind: ''}",
            vec![
                r#"apiVersion: Invalid value: "": must not be empty"#,
                r#"kind: Invalid value: "": must not be empty"#,
            ],
        ),
        (
            "{apiVersion: a/b/c, kind: A_b}",
            vec![
                r#"apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c"#,
                r#"kind: Invalid value: "A_b": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"#,
            ],
        ),
        ("{apiVersion: a/v1, kind: FooBar1}", vec![]),
    ] {
        let object = Value::from_yaml(object).unwrap();
        let found = Structural::default()
            .validate_metadata(&FieldPath::default(), &object, true)
            .unwrap();
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            errors
        );
    }
}

#[test]
fn invalid_metadata_is_reported() {
    check_metadata("{}", &[]);
    check_metadata("null", &[]);
    check_metadata(
        "{name: a, namespace: b, generateName: .., labels: {a.b/c: D_e}}",
        &[],
    );
    check_metadata(
        "{name: ..}",
        &[r#".name: Invalid value: "..": may not be '..'"#],
    );
    check_metadata(
        "{name: '%/'}",
        &[
            r#".name: Invalid value: "%/": may not contain '/'"#,
            r#".name: Invalid value: "%/": may not contain '%'"#,
        ],
    );
    check_metadata(
        "{namespace: a.b}",
        &[r#".namespace: Invalid value: "a.b": must not contain dots"#],
    );
    check_metadata(
        "{namespace: A}",
        &[r#".namespace: Invalid value: "A": a lowercase RFC 1123 label must"#],
    );
    check_metadata(
        "{generation: -1}",
        &[".generation: Invalid value: -1: must be greater than or equal to 0"],
    );
    check_metadata(
        "{labels: {'a b': '-', a/b/c: ''}}",
        &[
            r#".labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.'"#,
            r#".labels: Invalid value: "-": a valid label must be an empty string or consist of"#,
            r#".labels: Invalid value: "a/b/c": a valid label key must consist of"#,
        ],
    );
    check_metadata(
        "{annotations: {A/B: ' ', /x: z}}",
        &[r#".annotations: Invalid value: "/x": prefix part must be non-empty"#],
    );
    check_metadata(
        &format!("{{annotations: {{a: {}}}}}", "x".repeat(262_144)),
        &[".annotations: Too long: may not be more than 262144 bytes"],
    );
    check_metadata(
        "{ownerReferences: [{}]}",
        &[
            ".ownerReferences[0].apiVersion: Required value: must not be empty",
            ".ownerReferences[0].kind: Required value: must not be empty",
            ".ownerReferences[0].name: Required value: must not be empty",
            ".ownerReferences[0].uid: Required value: must not be empty",
        ],
    );
    check_metadata(
        "{ownerReferences: [{apiVersion: a/b/c, kind: K, name: m, uid: u}]}",
        &[
            r#".ownerReferences[0].apiVersion: Invalid value: "a/b/c": must be <group>/<version> or <version>"#,
        ],
    );
    check_metadata(
        "{ownerReferences: [{apiVersion: v1, kind: Event, name: m, uid: u}]}",
        &[
            r#".ownerReferences[0]: Invalid value: {"apiVersion":"v1","kind":"Event","name":"m","uid":"u"}: /v1, Kind=Event is disallowed"#,
        ],
    );
    let owner = "apiVersion: v1, name: m, uid: u, controller: true";
    check_metadata(
        &format!("{{ownerReferences: [{{{owner}, kind: K}}, {{{owner}, kind: L}}]}}"),
        &[".ownerReferences: Invalid value: ["],
    );
    check_metadata(
        "{finalizers: [orphan, foregroundDeletion]}",
        &[
            r#".finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot"#,
        ],
    );
    check_metadata(
        r#"{managedFields: [{fieldsType: X, manager: "a\u0001"}, {operation: X}]}"#,
        &[
            ".managedFields[0].operation: Required value: must not be empty",
            ".managedFields[0].fieldsType: Invalid value: \"X\": must be `FieldsV1`",
            r#".managedFields[0].manager: Invalid value: "a\x01": invalid character U+0001 (at position 1)"#,
            r#".managedFields[1].operation: Unsupported value: "X": supported values: "Apply", "Update""#,
        ],
    );
    check_metadata(
        "{name: 5}",
        &[": Invalid value: {\"name\":5}: json: cannot unmarshal number into Go struct field"],
    );
}
