//! Walks without changes do not allocate.

#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use allocation_counter::measure;
use fieldmanager_structural::internal::unfold;
use fieldmanager_structural::{FieldPath, Structural};
use fieldmanager_value::Value;

fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap()
}

#[test]
fn walks_over_a_valid_object_do_not_allocate() {
    let schema = Structural::from_value(&yaml(
        "
type: object
properties:
  spec:
    type: object
    properties:
      replicas: {type: integer, default: 1}
      selector: {type: object, additionalProperties: {type: string}}
      tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [port, protocol]
        items:
          type: object
          properties: {port: {type: integer}, protocol: {type: string, default: TCP}}
      template:
        type: object
        x-kubernetes-embedded-resource: true
        x-kubernetes-preserve-unknown-fields: true
",
    ))
    .unwrap();
    let object = yaml(
        "
apiVersion: example.com/v1
kind: Shop
metadata: {name: shop, labels: {a: b}, finalizers: [x], creationTimestamp: '2020-01-01T00:00:00Z'}
spec:
  replicas: 3
  selector: {a: b, c: d}
  tags: [a, b, c]
  ports: [{port: 80, protocol: TCP}, {port: 443, protocol: TCP}, {port: 80, protocol: UDP}]
  template: {apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: app}]}}
",
    );
    let root = FieldPath::default();

    let counted = measure(|| {
        let pruned = schema.prune(&object, true).unwrap();
        assert!(pruned.object.ptr_eq(&object) && pruned.paths.is_empty());
        assert!(schema.default_object(&object).unwrap().ptr_eq(&object));
        assert!(schema.drop_nulls(&object).unwrap().ptr_eq(&object));
        assert!(schema.validate_lists(&root, &object).unwrap().is_empty());
    });
    assert_eq!(counted.count_total, 0);

    let counted = measure(|| {
        assert!(unfold(&schema).ptr_eq(&schema));
        drop(schema.clone());
    });
    assert_eq!(counted.count_total, 0);

    // Coercing metadata formats its times to compare them.
    let without_time =
        yaml("{apiVersion: v1, kind: A, metadata: {name: a, labels: {a: b}}, spec: {replicas: 1}}");
    let counted = measure(|| {
        let coerced = schema
            .coerce_metadata(&root, &without_time, true, true)
            .unwrap();
        assert!(coerced.object.ptr_eq(&without_time));
    });
    assert_eq!(counted.count_total, 0);

    // Checks that the counter works.
    let counted = measure(|| drop(schema.prune(&yaml("{a: 1}"), true)));
    assert!(counted.count_total > 0);
}

#[test]
fn change_shares_unchanged_parts() {
    let schema = Structural::from_value(&yaml("
{type: object, properties: {a: {type: object, properties: {x: {type: string}}}, b: {type: object, properties: {}}}}
"))
    .unwrap();
    let object = yaml("{a: {x: z}, b: {unknown: 1}}");
    let pruned = schema.prune(&object, false).unwrap();
    assert!(
        pruned
            .object
            .get("a")
            .unwrap()
            .ptr_eq(object.get("a").unwrap())
    );
}
