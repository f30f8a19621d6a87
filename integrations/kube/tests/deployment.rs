//! A Deployment as a type of `k8s-openapi` and as a `DynamicObject`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use fieldmanager_kube::{ApplyObject, kind_of, kind_of_object};
use fieldmanager_managedfields::{ApplyRequest, FieldManager, ObjectError, Time, UpdateRequest};
use fieldmanager_openapi::builtin;
use k8s_openapi::api::apps::v1::Deployment;
use kube_core::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::json;

fn manager() -> FieldManager {
    FieldManager::builder(kind_of::<Deployment>())
        .types(builtin::types())
        .build()
        .unwrap()
}

fn noon() -> Time {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

fn deployment<T: DeserializeOwned>(spec: serde_json::Value) -> T {
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    });
    serde_json::from_value(object).unwrap()
}

fn containers(image: &str) -> serde_json::Value {
    json!({"template": {"spec": {"containers": [{"name": "app", "image": image, "ports": [{"containerPort": 80}]}]}}})
}

#[test]
fn dynamic_objects_are_applied_and_extracted() {
    let manager = manager();
    let config: DynamicObject = deployment(containers("web:1"));
    assert_eq!(kind_of_object(&config), Some(kind_of::<Deployment>()));
    let live = manager
        .apply_to(
            ApplyRequest::for_objects(None, &config)
                .manager("ci")
                .at(noon()),
        )
        .unwrap()
        .object;
    let other: DynamicObject = deployment(json!({"replicas": 3}));
    let live = manager
        .apply_to(
            ApplyRequest::for_objects(Some(&live), &other)
                .manager("ops")
                .at(noon()),
        )
        .unwrap()
        .object;
    assert_eq!(live.data["spec"]["replicas"], 3);
    assert_eq!(live.metadata.managed_fields.as_ref().map(Vec::len), Some(2));

    let own: DynamicObject = manager.extract_from(&live, "ci").unwrap().unwrap();
    assert_eq!(own.data, config.data);
    assert_eq!(own.metadata, config.metadata);
    let again = manager
        .apply_to(
            ApplyRequest::for_objects(Some(&live), &own)
                .manager("ci")
                .at(noon()),
        )
        .unwrap();
    assert!(!again.changed);

    let taken: DynamicObject = deployment(containers("web:2"));
    let error = manager
        .apply_to(
            ApplyRequest::for_objects(Some(&live), &taken)
                .manager("ops")
                .at(noon()),
        )
        .unwrap_err();
    let ObjectError::Operation(error) = error else {
        panic!("{error}")
    };
    assert_eq!(
        error.to_string(),
        r#"Apply failed with 1 conflict: conflict with "ci": .spec.template.spec.containers[name="app"].image"#,
    );
    assert_eq!(error.status().code, 409);
}

#[test]
fn generated_types_keep_their_managed_fields() {
    let manager = manager();
    let spec = |replicas: i32| {
        let mut spec = containers("web:1");
        spec["replicas"] = replicas.into();
        spec["selector"] = json!({"matchLabels": {"app": "web"}});
        deployment::<Deployment>(spec)
    };
    let created = manager
        .update_to(
            UpdateRequest::for_objects(None, &spec(1))
                .manager("kubectl")
                .at(noon()),
        )
        .unwrap();
    let entries = created.object.metadata.managed_fields.clone().unwrap();
    assert_eq!(entries[0].operation.as_deref(), Some("Update"));
    assert_eq!(entries[0].api_version.as_deref(), Some("apps/v1"));
    let applied = manager
        .apply_to(
            ApplyRequest::for_objects(Some(&created.object), &spec(2))
                .manager("ci")
                .force()
                .at(noon()),
        )
        .unwrap();
    assert_eq!(applied.object.spec.replicas, Some(2));
    assert_eq!(applied.managed.len(), 2);
}
