//! Custom resources: decoding and validation, as an API server does them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use fieldmanager_handlers::custom::{Decoder, Validator};
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::Value;

fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap()
}

fn shop() -> CustomResource {
    CustomResource::from_value(&yaml(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  names: {kind: Shop, plural: shops}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [color]
            properties:
              color: {type: string, enum: [red, green], default: red}
              note: {type: string, nullable: true}
              size: {type: integer, maximum: 50}
              replicas: {type: integer}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              template:
                type: object
                x-kubernetes-embedded-resource: true
                x-kubernetes-preserve-unknown-fields: true
          status: {type: object, properties: {replicas: {type: integer}, phase: {type: string}}}
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {color: {type: string, default: blue}, extra: {type: string, default: e}}}}
",
    ))
    .unwrap()
}

fn object(rest: &str) -> Value {
    yaml(&format!(
        "{{apiVersion: example.com/v1, kind: Shop, {rest}}}"
    ))
}

const NAMED: &str = "metadata: {name: a, namespace: ns, resourceVersion: '1'}";

#[track_caller]
fn check_create(rest: &str, expected: &[&str]) {
    let errors = Validator::new(&shop(), "v1")
        .unwrap()
        .validate_create(&object(rest));
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, expected);
}

#[track_caller]
fn check_update(old: &str, new: &str, expected: &[&str]) {
    let errors = Validator::new(&shop(), "v1")
        .unwrap()
        .validate_update(&object(new), &object(old))
        .errors;
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, expected);
}

#[test]
fn decoding_prunes_drops_nulls_coerces_and_defaults() {
    let decoder = Decoder::new(&shop(), "v1").unwrap();
    let decoded = decoder
        .decode(&object(
            "metadata: {name: a, labels: null, odd: 1}, odd: 1, spec: {note: null, size: null, color: null, odd: {}, \
             template: {apiVersion: v1, kind: Pod, metadata: {name: x, odd: 1}, spec: {any: 1}}}",
        ))
        .unwrap();
    let expected = object(
        "metadata: {name: a}, spec: {note: null, color: red, template: {apiVersion: v1, kind: Pod, metadata: {name: \
         x}, spec: {any: 1}}}",
    );
    assert_eq!(decoded.object, expected);
    assert_eq!(
        decoded.unknown,
        [
            "metadata.odd",
            "odd",
            "spec.odd",
            "spec.template.metadata.odd"
        ]
    );
}

#[test]
fn objects_of_another_kind_keep_their_fields() {
    let decoder = Decoder::new(&shop(), "v1").unwrap();
    for text in [
        "{apiVersion: example.com/v1, kind: Other, odd: 1}",
        "{apiVersion: v1, kind: Shop, odd: 1}",
        "{odd: 1}",
    ] {
        let decoded = decoder.decode(&yaml(text)).unwrap();
        assert!(
            decoded.object.ptr_eq(&decoded.object) && decoded.object == yaml(text),
            "{text}"
        );
        assert!(decoded.unknown.is_empty());
    }
}

#[test]
fn malformed_objects_are_refused_with_the_texts_of_the_api_server() {
    let decoder = Decoder::new(&shop(), "v1").unwrap();
    for (text, expected) in [
        (
            "{kind: 1}",
            ".kind accessor error: 1 is of the type int64, expected string",
        ),
        (
            "{kind: null}",
            ".kind accessor error: <nil> is of the type <nil>, expected string",
        ),
        (
            "{apiVersion: {a: [1, b]}}",
            ".apiVersion accessor error: map[a:[1 b]] is of the type map[string]interface {}, expected string",
        ),
        (
            "{apiVersion: a/b/c}",
            "unexpected GroupVersion string: a/b/c",
        ),
        (
            "{metadata: {name: 5}}",
            "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
        ),
        (
            "{apiVersion: example.com/v1, kind: Shop, spec: {template: {metadata: 5}}}",
            "spec.template.metadata: Invalid value: 5: json: cannot unmarshal number into Go value of type \
             v1.ObjectMeta",
        ),
        ("[]", "expected map, got list"),
    ] {
        assert_eq!(
            decoder.decode(&yaml(text)).unwrap_err().to_string(),
            expected
        );
    }
}

#[test]
fn stored_objects_are_repaired_and_converted() {
    let decoder = Decoder::new(&shop(), "v2").unwrap();
    let stored = object("metadata: {name: 5, labels: {a: b}}, spec: {odd: 1, extra: x}");
    // The defaults are those of the stored version.
    let expected = yaml(
        "{apiVersion: example.com/v2, kind: Shop, metadata: {labels: {a: b}, generation: 1}, spec: {color: red}}",
    );
    assert_eq!(decoder.read_stored(&stored).unwrap(), expected);
    let v2 = yaml(
        "{apiVersion: example.com/v2, kind: Shop, metadata: {}, spec: {color: red, extra: x}}",
    );
    let stored = decoder.to_stored(&v2).unwrap();
    assert_eq!(stored, object("metadata: {}, spec: {color: red}"));
    // Nothing changes, so nothing is copied.
    assert!(decoder.to_stored(&stored).unwrap().ptr_eq(&stored));
}

#[test]
fn faults_of_a_new_object_are_in_the_order_of_the_api_server() {
    check_create(&format!("{NAMED}, spec: {{color: red}}"), &[]);
    check_create(
        "metadata: {name: a, generation: -1, labels: {a b: c}}, spec: {color: blue, size: 51, replicas: -1, tags: [a, a], \
         template: {}}, status: {selector: 5}",
        &[
            "metadata.namespace: Required value",
            "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
            "metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or \
             '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', \
             regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            r#"spec.color: Unsupported value: "blue": supported values: "red", "green""#,
            "spec.size: Invalid value: 51: spec.size in body should be less than or equal to 50",
            ".spec.replicas: Invalid value: -1: should be a non-negative integer",
            ".status.selector: Invalid value: \"\": .status.selector accessor error: 5 is of the type int64, expected \
             string",
            "spec.template.apiVersion: Required value",
            "spec.template.kind: Required value",
            "spec.tags[1]: Duplicate value: \"a\"",
        ],
    );
}

#[test]
fn wrong_kind_is_reported_instead_of_metadata_and_values() {
    let object = yaml("{apiVersion: example.com/v3, kind: Odd, spec: {color: blue}}");
    let errors = Validator::new(&shop(), "v1")
        .unwrap()
        .validate_create(&object);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            r#"kind: Invalid value: "Odd": must be Shop"#,
            r#"apiVersion: Invalid value: "example.com/v3": must be example.com/v1"#,
        ]
    );
}

#[test]
fn immutable_metadata_is_reported_by_both_checks_of_an_update() {
    let uid = r#"metadata.uid: Invalid value: "u2": field is immutable"#;
    check_update(
        "metadata: {name: a, namespace: ns, resourceVersion: '1', uid: u1}, spec: {color: red}",
        "metadata: {name: a, namespace: ns, resourceVersion: '1', uid: u2}, spec: {color: red}",
        &[uid, uid],
    );
    let finalizers = "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, \
                      found new finalizers []string{\"b/c\", \"d/e\"}";
    let time = "deletionTimestamp: '2020-01-01T00:00:00Z'";
    check_update(
        &format!(
            "metadata: {{name: a, namespace: ns, resourceVersion: '1', {time}, finalizers: [a/b]}}"
        ),
        &format!(
            "metadata: {{name: a, namespace: ns, resourceVersion: '1', {time}, finalizers: [d/e, a/b, b/c]}}"
        ),
        &[finalizers, finalizers],
    );
}

#[test]
fn unchanged_faults_are_accepted_on_update() {
    check_update(
        &format!("{NAMED}, spec: {{color: blue, tags: [a, a]}}"),
        &format!("{NAMED}, spec: {{color: blue, tags: [a, b, b]}}"),
        &[],
    );
    check_update(
        &format!("{NAMED}, spec: {{color: red}}"),
        &format!("{NAMED}, spec: {{color: pink, tags: [b, b]}}"),
        &[
            r#"spec.color: Unsupported value: "pink": supported values: "red", "green""#,
            r#"spec.tags[1]: Duplicate value: "b""#,
        ],
    );
}

#[test]
fn status_update_checks_the_status_only() {
    let validator = Validator::new(&shop(), "v1").unwrap();
    let old = object(&format!("{NAMED}, spec: {{color: blue}}"));
    let new = object(&format!(
        "{NAMED}, spec: {{color: blue}}, status: {{phase: 5, replicas: -1}}"
    ));
    let errors = validator.validate_status_update(&new, &old).errors;
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            r#"status.phase: Invalid value: "integer": phase in body must be of type string: "integer""#,
            ".status.replicas: Invalid value: -1: should be a non-negative integer",
        ]
    );
}
