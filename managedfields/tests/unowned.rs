//! Merges that no manager owns, with the errors of kube-apiserver.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use fieldmanager_managedfields::FieldManager;
use fieldmanager_managedfields::internal::merge_unowned_fields;
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_value::Value;

const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 1, \
    template: {spec: {containers: [{name: a, image: a}]}}}}";

fn merge(config: &str) -> Result<String, String> {
    let kind = GroupVersionKind::from_api_version_kind("apps/v1", "Deployment");
    let manager = FieldManager::builder(kind)
        .types(fieldmanager_openapi::builtin::types())
        .build()
        .unwrap();
    let yaml = |text: &str| Value::from_yaml(text).unwrap();
    let merged = merge_unowned_fields(&manager, &yaml(DEPLOYMENT), &yaml(config));
    merged.map(|object| object.to_json())
}

fn error(config: &str) -> String {
    merge(config).unwrap_err()
}

#[test]
fn fields_and_items_are_added_and_the_kind_stays() {
    let merged = merge(
        "{kind: Other, metadata: {labels: {a: b}}, spec: {replicas: 2, template: {spec: {containers: [{name: b}]}}}}",
    );
    assert_eq!(
        merged.unwrap(),
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"a":"b"},"name":"a"},"spec":{"replicas":2,"template":{"spec":{"containers":[{"image":"a","name":"a"},{"name":"b"}]}}}}"#
    );
}

#[test]
fn atomic_parts_are_refused_with_their_paths() {
    let container =
        "spec: {template: {spec: {containers: [{name: a, args: [b]}], nodeSelector: {a: b}}}}";
    assert_eq!(
        error(&format!("{{{container}}}")),
        "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: \
         .spec.template.spec.containers[0].args, .spec.template.spec.nodeSelector"
    );
    assert_eq!(
        error("{spec: {selector: {}}}"),
        "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.selector"
    );
}

#[test]
fn faults_have_the_words_of_go() {
    let of = |config| {
        let text = error(config);
        let rest = text.strip_prefix("failed to convert patch object to typed object: ");
        rest.unwrap().to_owned()
    };
    assert_eq!(
        of("{spek: 1, spec: {}}"),
        ".spek: field not declared in schema"
    );
    assert_eq!(
        of("{spec: {replicas: a}}"),
        ".spec.replicas: expected numeric (int or float), got string"
    );
    assert_eq!(
        of("{metadata: {labels: {a: 1}}}"),
        ".metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}"
    );
    assert_eq!(
        of("{spec: {paused: a}}"),
        ".spec.paused: expected boolean, got &{a}"
    );
    // Go stops at the first undeclared field of a struct.
    assert_eq!(of("{a: 1, b: 1}"), ".a: field not declared in schema");
    assert_eq!(
        of("{metadata: {finalizers: [{a: b}]}}"),
        ".metadata.finalizers: element 0: associative list without keys has an element that's a map type"
    );
    assert_eq!(
        of("{x: 1, spec: {template: {spec: {containers: [{name: b}, {name: b}]}}}}"),
        "errors:\n  .spec.template.spec.containers: duplicate entries for key [name=\"b\"]\n  \
         .x: field not declared in schema"
    );
    assert_eq!(
        of("{metadata: {finalizers: [a, a]}}"),
        ".metadata.finalizers: duplicate entries for key [=\"a\"]"
    );
}
