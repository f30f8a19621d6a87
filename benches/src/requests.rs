//! Requests to the handlers, and the parts of their work.

use std::rc::Rc;

use fieldmanager_builtin as builtin;
use fieldmanager_handlers::custom::{Decoder, Validator};
use fieldmanager_handlers::{Request, Resource};
use fieldmanager_managedfields::{ApplyRequest, FieldManager, RequestOptions, Time};
use fieldmanager_openapi::Types;
use fieldmanager_rules::Rules;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_structural::{FieldPath, GroupVersionKind, Structural};
use fieldmanager_value::Value;

use crate::measure::{Runner, reused};

/// A part of the work of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// JSON in, an apply by the field manager, JSON out.
    FieldManager,
    /// JSON in, an apply by the handlers, JSON out.
    Handlers,
    /// The decoding and the defaults of the live object and of the new one.
    Defaults,
    /// The validation of the new object.
    Validation,
    /// The evaluation of `x-kubernetes-validations`.
    Rules,
}

/// An object and its parts.
pub struct Case {
    /// The kind.
    pub name: &'static str,
    /// The parts, which are run in turn.
    pub parts: Vec<(Part, Runner)>,
}

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

/// The objects: a Deployment of 1 KB and a custom resource of 3 KB.
pub fn cases() -> Vec<Case> {
    vec![deployment(), shop()]
}

/// The runs of both sides, from the live object to the answer.
fn whole(resource: &Resource, manager: FieldManager, live: &str, config: &str) -> Vec<(Part, Runner)> {
    let texts = Rc::new((live.to_owned(), config.to_owned()));
    let (own, resource) = (texts.clone(), resource.clone());
    let alone = move || {
        let (live, config) = &*texts;
        let (live, config) = (Value::from_json(live).unwrap(), Value::from_json(config).unwrap());
        manager.apply(ApplyRequest::new(&live, &config).manager(MANAGER).at(now(1))).unwrap().object.to_json()
    };
    let handled = move || {
        let (live, config) = &*own;
        let live = Value::from_json(live).unwrap();
        let outcome = resource.patch(&request(1), Some(&live), config.as_bytes()).unwrap();
        outcome.answer().to_json()
    };
    vec![(Part::FieldManager, reused(alone)), (Part::Handlers, reused(handled))]
}

fn deployment() -> Case {
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
    let live = created(&resource, &config(3));
    let manager =
        FieldManager::builder(kind.clone()).types(fieldmanager_openapi::builtin::types()).build().unwrap();
    let mut parts = whole(&resource, manager, &live, &config(4));
    let live = Value::from_json(&live).unwrap();
    let facts = builtin::Kind::of(&kind).unwrap();
    let (own, decoded) = (kind.clone(), live.clone());
    parts.push((
        Part::Defaults,
        reused(move || {
            let read = builtin::defaulted(&own, &facts.decode(&decoded).unwrap().object);
            let applied = builtin::defaulted(&own, &facts.from_unstructured(&decoded).unwrap().object);
            (read, applied)
        }),
    ));
    parts.push((
        Part::Validation,
        reused(move || {
            (builtin::validate_update(&kind, "", &live, &live), builtin::warnings(&kind, &live, Some(&live)))
        }),
    ));
    Case { name: "Deployment", parts }
}

/// The live object that an apply creates.
fn created(resource: &Resource, config: &str) -> String {
    let outcome = resource.patch(&request(0), None, config.as_bytes()).unwrap();
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

fn shop() -> Case {
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
    let live = created(&resource, &config(3));
    let types = Types::from_custom_resource(&full).unwrap();
    let manager = FieldManager::builder(full.kind("v1")).types(types).build().unwrap();
    let mut parts = whole(&resource, manager, &live, &config(4));
    let live = Rc::new(Value::from_json(&live).unwrap());
    let decoder = Decoder::new(&full, "v1").unwrap();
    let object = live.clone();
    parts.push((Part::Defaults, reused(move || (decoder.read_stored(&object), decoder.default(&object)))));
    let validator = Validator::new(&definition(&schema(false)), "v1").unwrap();
    let object = live.clone();
    parts.push((Part::Validation, reused(move || validator.validate_update(&object, &object))));
    let rules = Structural::from_value(&Value::from_yaml(&schema(true)).unwrap()).unwrap();
    let rules = Rules::compile(&rules).rules;
    parts.push((
        Part::Rules,
        reused(move || rules.validate(&FieldPath::empty(), &live, Some(&live), fieldmanager_rules::BUDGET)),
    ));
    Case { name: "custom resource", parts }
}
