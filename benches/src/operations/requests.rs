//! Requests to the handlers, and the parts of their work.

use fieldmanager_builtin as builtin;
use fieldmanager_cel::Rules;
use fieldmanager_handlers::custom::{Decoder, Validator};
use fieldmanager_handlers::{Request, Resource};
use fieldmanager_managedfields::{ApplyRequest, FieldManager, RequestOptions, Time};
use fieldmanager_openapi::Types;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_structural::{FieldPath, GroupVersionKind, Structural};
use fieldmanager_value::Value;

use crate::measure::{Prepared, Runner, reused};

/// The objects: a Deployment of 1 KB, and a custom resource of 3 KB with a keyed list.
pub const OBJECTS: [&str; 2] = ["deployment", "custom"];

/// The parts of the work of a request: JSON in, an apply, JSON out, by the field manager and by the handlers; decoding and
/// defaults of the live object, the configuration and the new object, with what the kind resets; validation of the new
/// object; its `x-kubernetes-validations`.
pub const PARTS: [&str; 5] = ["manager", "apply", "defaults", "validation", "rules"];

const MANAGER: &str = "deployer";

fn now(hour: i64) -> Time {
    Time::from_unix_seconds(1_772_442_000 + 3600 * hour).unwrap()
}

fn request<'r>(hour: i64) -> Request<'r> {
    Request::new(now(hour))
        .namespace("shop")
        .name("web")
        .uid("7e1b")
        .content_type("application/apply-patch+yaml")
        .options(RequestOptions::default().field_manager(MANAGER))
}

/// The part of a request; `None` if there is no such object or part.
pub(super) fn prepare(object: &str, part: &str) -> Option<Prepared> {
    let run = match object {
        "deployment" => deployment(part),
        "custom" => custom(part),
        _ => None,
    }?;
    Some(Prepared {
        run,
        output: Box::new(|| serde_json::Value::Null),
    })
}

/// The run of one side, from the live object to the answer.
fn whole(
    part: &str,
    resource: Resource,
    manager: FieldManager,
    live: String,
    config: String,
) -> Option<Runner> {
    let alone = move |live: &str, config: &str| {
        let (live, config) = (
            Value::from_json(live).unwrap(),
            Value::from_json(config).unwrap(),
        );
        manager
            .apply(
                ApplyRequest::new(&live, &config)
                    .manager(MANAGER)
                    .at(now(1)),
            )
            .unwrap()
            .object
            .to_json()
    };
    let handled = move |live: &str, config: &str| {
        let live = Value::from_json(live).unwrap();
        let outcome = resource
            .patch(&request(1), Some(&live), config.as_bytes())
            .unwrap();
        outcome.answer().to_json()
    };
    match part {
        "manager" => Some(reused(move || alone(&live, &config))),
        "apply" => Some(reused(move || handled(&live, &config))),
        _ => None,
    }
}

fn deployment(part: &str) -> Option<Runner> {
    let kind = GroupVersionKind::new("apps", "v1", "Deployment");
    let resource = Resource::builtin(&kind).unwrap();
    let config = |replicas: i64| {
        serde_json::json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "labels": {"app": "web", "tier": "front"}},
            "spec": {
                "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [
                        {"name": "web", "image": "nginx:1.27", "ports": [{"name": "http", "containerPort": 8080}],
                         "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                         "resources": {"limits": {"cpu": "500m", "memory": "128Mi"}},
                         "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}}},
                        {"name": "log", "image": "fluent/fluent-bit:3.0", "volumeMounts": [{"name": "logs", "mountPath": "/logs"}]}
                    ], "volumes": [{"name": "logs", "emptyDir": {}}]}
                }
            }
        })
        .to_string()
    };
    let text = created(&resource, &config(3));
    let live = Value::from_json(&text).unwrap();
    let facts = builtin::Kind::of(&kind).unwrap();
    match part {
        "defaults" => {
            let config = Value::from_json(&config(4)).unwrap();
            Some(reused(move || {
                let read = builtin::defaulted(&kind, &facts.decode(&live).unwrap().object);
                let applied =
                    builtin::defaulted(&kind, &facts.from_unstructured(&live).unwrap().object);
                let checked = facts.from_unstructured(&config).unwrap();
                (
                    read,
                    applied,
                    checked,
                    builtin::prepare_update(&kind, "", &live, &live),
                )
            }))
        }
        "validation" => Some(reused(move || {
            (
                builtin::validate_update(&kind, "", &live, &live),
                builtin::warnings(&kind, "", &live, Some(&live)),
            )
        })),
        _ => {
            let types = fieldmanager_openapi::builtin::types();
            let manager = FieldManager::builder(kind).types(types).build().unwrap();
            whole(part, resource, manager, text, config(4))
        }
    }
}

/// The live object that an apply creates.
fn created(resource: &Resource, config: &str) -> String {
    let outcome = resource
        .patch(&request(0), None, config.as_bytes())
        .unwrap();
    outcome.at_resource_version("7").object.to_json()
}

/// The schema of the custom resource, with defaults and value validation, and with rules if they are asked for.
fn schema(rules: bool) -> String {
    let rule = |rule: &str| match rules {
        true => format!(", x-kubernetes-validations: [{{rule: '{rule}'}}]"),
        false => String::new(),
    };
    let (of_spec, of_port) = (rule("self.replicas <= 100"), rule("self.port != 22"));
    format!(
        "{{type: object, properties: {{spec: {{type: object{of_spec}, properties: {{
          replicas: {{type: integer, default: 1, minimum: 0}},
          image: {{type: string, maxLength: 200}},
          labels: {{type: object, additionalProperties: {{type: string, maxLength: 63}}}},
          ports: {{type: array, maxItems: 100, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {{
            type: object, required: [name, port]{of_port}, properties: {{
              name: {{type: string, maxLength: 63, pattern: '^[a-z0-9-]+$'}},
              port: {{type: integer, minimum: 1, maximum: 65535}},
              protocol: {{type: string, default: TCP, enum: [TCP, UDP]}}}}}}}}
        }}}}}}}}"
    )
}

fn definition(schema: &str) -> CustomResource {
    let text = format!(
        "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: shops.example.com}}, spec: {{
          group: example.com, names: {{kind: Shop, plural: shops}}, scope: Namespaced,
          versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {schema}}}}}]}}}}"
    );
    CustomResource::from_value(&Value::from_yaml(&text).unwrap()).unwrap()
}

fn custom(part: &str) -> Option<Runner> {
    let config = |replicas: i64| {
        let ports: Vec<_> = (0..30)
            .map(|at| serde_json::json!({"name": format!("port-{at}"), "port": 8000 + at, "protocol": "TCP"}))
            .collect();
        serde_json::json!({
            "apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "web", "labels": {"app": "web"}},
            "spec": {"replicas": replicas, "image": "nginx", "labels": {"a": "b", "c": "d"}, "ports": ports}
        })
        .to_string()
    };
    let full = definition(&schema(true));
    let resource = Resource::custom(&full, "v1").unwrap();
    let text = created(&resource, &config(3));
    let live = Value::from_json(&text).unwrap();
    match part {
        "defaults" => {
            let decoder = Decoder::new(&full, "v1").unwrap();
            Some(reused(move || {
                (decoder.read_stored(&live), decoder.decode(&live))
            }))
        }
        "validation" => {
            let validator = Validator::new(&definition(&schema(false)), "v1").unwrap();
            Some(reused(move || validator.validate_update(&live, &live)))
        }
        "rules" => {
            let schema = Structural::from_value(&Value::from_yaml(&schema(true)).unwrap()).unwrap();
            let rules = Rules::compile(&schema);
            let budget = fieldmanager_cel::BUDGET;
            Some(reused(move || {
                rules.validate(&FieldPath::default(), &live, Some(&live), budget)
            }))
        }
        _ => {
            let types = Types::from_custom_resource(&full).unwrap();
            let manager = FieldManager::builder(full.kind("v1"))
                .types(types)
                .build()
                .unwrap();
            whole(part, resource, manager, text, config(4))
        }
    }
}
