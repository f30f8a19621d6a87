//! Requests with objects and schemas at the depth limit run on a small stack.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_handlers::{Request, Resource};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_testing::{NestedSchema, custom_resource_definition, map, on_small_stack};
use fieldmanager_value::Value;

const TYPES: [&str; 5] = [
    "application/apply-patch+yaml",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
    "application/json",
];

/// Sends a body with every verb. The answers do not matter.
fn send(resource: &Resource, live: &Value, body: &str) {
    for content_type in TYPES {
        let request = Request::new("2026-01-31T12:00:00Z".parse().unwrap());
        let request = request
            .name("a")
            .uid("u")
            .user_agent("test/1.0")
            .content_type(content_type);
        resource.create(&request, None, body.as_bytes()).ok();
        resource.update(&request, Some(live), body.as_bytes()).ok();
        resource.patch(&request, Some(live), body.as_bytes()).ok();
    }
    resource.read(live);
}

fn object(api_version: &str, kind: &str, name: &str, value: Value) -> Value {
    let metadata = map([("name", "a".into()), ("resourceVersion", "1".into())]);
    map([
        ("apiVersion", api_version.into()),
        ("kind", kind.into()),
        ("metadata", metadata),
        (name, value),
    ])
}

fn deep(levels: usize) -> Value {
    (0..levels).fold(Value::from(1), |below, level| match level % 2 {
        0 => map([("a", below)]),
        _ => Value::from(vec![below]),
    })
}

#[test]
fn deep_objects_of_built_in_kinds_are_answered_on_a_small_stack() {
    on_small_stack("built-in kinds", || {
        let kinds = [
            ("v1", "ConfigMap"),
            ("apps/v1", "Deployment"),
            ("apps/v1", "ControllerRevision"),
        ];
        for (api_version, kind) in kinds {
            let gvk = GroupVersionKind::from_api_version_kind(api_version, kind);
            let resource = Resource::builtin(&gvk).unwrap();
            for levels in [250, 10_000] {
                for name in ["data", "spec", "metadata"] {
                    let object = object(api_version, kind, name, deep(levels));
                    send(&resource, &object, &object.to_json());
                }
            }
        }
    });
}

#[test]
fn deep_schemas_of_definitions_are_answered_on_a_small_stack() {
    on_small_stack("definitions", || {
        let (api_version, kind) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        let definitions =
            Resource::builtin(&GroupVersionKind::from_api_version_kind(api_version, kind)).unwrap();
        for form in NestedSchema::ALL {
            for levels in [100, 240, 10_000] {
                let version = map([
                    ("name", "v1".into()),
                    ("storage", true.into()),
                    ("schema", map([("openAPIV3Schema", form.schema(levels))])),
                ]);
                let spec = map([("versions", Value::from(vec![version.clone(), version]))]);
                let object = object(api_version, kind, "spec", spec);
                send(&definitions, &object, &object.to_json());
            }
        }
    });
}

#[test]
fn deep_custom_resources_are_answered_on_a_small_stack() {
    for form in NestedSchema::ALL {
        on_small_stack("custom resources", move || {
            let resource = form.deepest(|schema| {
                let definition = custom_resource_definition(schema.clone());
                let definition = CustomResource::from_value(&definition).ok()?;
                Resource::custom(&definition, "v1").ok()
            });
            let kind = resource.kind().clone();
            for levels in [240, 10_000] {
                for name in ["a", "spec", "metadata", "status"] {
                    let api_version = kind.api_version().to_string();
                    let object = object(&api_version, &kind.kind, name, deep(levels));
                    send(&resource, &object, &object.to_json());
                }
            }
        });
    }
}
