//! Requests to the handlers.

use std::sync::LazyLock;

use fieldmanager_handlers::{Action, Outcome, Refused, Request, Resource, Subresource};
use fieldmanager_managedfields::{RequestOptions, Time};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::Value;

/// The most requests of one input.
const MAX_REQUESTS: usize = 6;

/// The built-in kinds, apart from which there are a custom one and that of its definition.
const KINDS: [(&str, &str); 12] = [
    ("v1", "ConfigMap"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "Secret"),
    ("v1", "PersistentVolumeClaim"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
    ("networking.k8s.io/v1", "Ingress"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
];

/// A custom resource with every kind of list and map, defaults, status, scale and rules.
pub(crate) const DEFINITION: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: shops, singular: shop, kind: Shop, listKind: ShopList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [name]
            x-kubernetes-validations: [{rule: "!has(self.replicas) || self.replicas < 100", message: too many}]
            properties:
              name: {type: string, default: a, maxLength: 8, pattern: '^[a-z]*$'}
              replicas: {type: integer, minimum: 0, default: 1}
              level: {type: string, enum: [low, high], nullable: true}
              port: {x-kubernetes-int-or-string: true}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, size: {type: number, default: 0.5}}}
              labels: {type: object, additionalProperties: {type: string}}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true}
              pod: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, properties: {replicas: {type: integer}, phase: {type: string}}}
"#;

static RESOURCES: LazyLock<Vec<Resource>> = LazyLock::new(|| {
    let kinds = KINDS
        .iter()
        .map(|(version, kind)| GroupVersionKind::from_api_version_kind(version, kind));
    let builtin = kinds.filter_map(|kind| Resource::builtin(&kind).ok());
    let definition = Value::from_yaml(DEFINITION)
        .ok()
        .and_then(|value| CustomResource::from_value(&value).ok());
    let custom = definition.and_then(|definition| Resource::custom(&definition, "v1").ok());
    builtin.chain(custom).collect()
});

/// Sends requests to one resource: the first line is a kind, each other line a request: the verb, the query parameters
/// and the body, separated by spaces. No request may panic; an answer is either a complete `Status`, or an object that
/// an update accepts without a change.
///
/// The verbs are `create`, `update`, `apply`, `merge`, `strategic` and `json`, with a subresource after a slash.
///
/// # Errors
///
/// A message that describes the violated invariant.
pub fn check_handlers(text: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Ok(());
    };
    let mut lines = text.lines();
    let kind = lines.next().unwrap_or_default();
    let named = RESOURCES
        .iter()
        .find(|resource| resource.kind().kind == kind);
    let other =
        || RESOURCES.get(kind.bytes().map(usize::from).sum::<usize>() % RESOURCES.len().max(1));
    let resource = named.or_else(other).ok_or("there are no resources")?;
    let mut live: Option<Value> = None;
    for (version, line) in lines.take(MAX_REQUESTS).enumerate() {
        let outcome = match send(resource, live.as_ref(), line, version)? {
            Ok(outcome) => outcome,
            Err(refused) => {
                check_refused(&refused)?;
                continue;
            }
        };
        if outcome.action == Action::Delete {
            live = None;
            continue;
        }
        let outcome = match outcome.action {
            Action::Nothing => outcome,
            _ => outcome.at_resource_version(&(version + 1).to_string()),
        };
        check_outcome(resource, &outcome)?;
        live = Some(outcome.object);
    }
    Ok(())
}

/// Sends the request of a line.
fn send(
    resource: &Resource,
    live: Option<&Value>,
    line: &str,
    second: usize,
) -> Result<Result<Outcome, Refused>, String> {
    let mut parts = line.splitn(3, ' ');
    let (verb, query, body) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let (verb, subresource) = verb.split_once('/').unwrap_or((verb, ""));
    let content_type = match verb {
        "apply" => "application/apply-patch+yaml",
        "merge" => "application/merge-patch+json",
        "strategic" => "application/strategic-merge-patch+json",
        "json" => "application/json-patch+json",
        _ => "application/json",
    };
    let request = at(second)?
        .namespace(if resource.is_namespaced() {
            "default"
        } else {
            ""
        })
        .name(if verb == "create" { "" } else { "a" })
        .subresource(Subresource::of(subresource).unwrap_or_default())
        .content_type(content_type)
        .options(options(query));
    Ok(match verb {
        "create" => resource.create(&request, live, body.as_bytes()),
        "update" => resource.update(&request, live, body.as_bytes()),
        _ => resource.patch(&request, live, body.as_bytes()),
    })
}

/// The options of query parameters, which are not percent-encoded.
fn options(query: &str) -> RequestOptions {
    let parameters = query
        .split('&')
        .filter_map(|parameter| parameter.split_once('='));
    parameters.fold(
        RequestOptions::default(),
        |options, (name, value)| match name {
            "fieldManager" => options.field_manager(value),
            "force" => options.force(value == "true"),
            "dryRun" => options.dry_run(value),
            "fieldValidation" => options.field_validation(value),
            _ => options,
        },
    )
}

fn at<'a>(second: usize) -> Result<Request<'a>, String> {
    let now = Time::from_unix_seconds(i64::try_from(second).unwrap_or_default());
    let request = Request::new(now.map_err(|error| error.to_string())?);
    Ok(request.uid("u").name_suffix("bcdfg").user_agent("test/1.0"))
}

fn check_refused(refused: &Refused) -> Result<(), String> {
    let status = &refused.status;
    ensure!(
        (400..=500).contains(&status.code),
        "{status:?} has the code {}",
        status.code
    );
    ensure!(!status.message.is_empty(), "{status:?} has no message");
    let json = serde_json::to_value(status).map_err(|error| error.to_string())?;
    ensure!(json.get("code").is_some(), "{json} has no code");
    Ok(())
}

/// The object round-trips, and an update with it changes nothing.
fn check_outcome(resource: &Resource, outcome: &Outcome) -> Result<(), String> {
    ensure!(
        outcome.warnings.iter().all(|warning| !warning.is_empty()),
        "a warning is empty"
    );
    let json = outcome.object.to_json();
    let read =
        Value::from_json(&json).map_err(|error| format!("{json} cannot be read: {error}"))?;
    ensure!(
        read == outcome.object,
        "the object differs after reparsing: {json}"
    );
    let name = outcome
        .object
        .get("metadata")
        .and_then(|metadata| metadata.get("name"));
    let request = at(1000)?
        .namespace(if resource.is_namespaced() {
            "default"
        } else {
            ""
        })
        .name(name.and_then(Value::as_str).unwrap_or_default())
        .content_type("application/json");
    match resource.update(&request, Some(&outcome.object), json.as_bytes()) {
        Ok(again) => {
            ensure!(
                again.action == Action::Nothing || repeats_an_entry(&outcome.object),
                "an update without changes is an {:?} of {json} to {}",
                again.action,
                again.object
            );
            Ok(())
        }
        Err(refused) => Err(format!(
            "an update with the object is refused: {refused}: {json}"
        )),
    }
}

/// Whether two entries of the managed fields are of the same manager, so that the next write keeps one of them.
///
/// A `Scale` whose own managed fields name a manager of the object leaves two: what the manager has without the
/// replicas, and the replicas. Go writes them as well (`ToParent` of
/// `k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go`).
fn repeats_an_entry(object: &Value) -> bool {
    let entries = object
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields"))
        .and_then(Value::as_list);
    let mut known = Vec::new();
    let mut managers = entries.into_iter().flatten().map(|entry| {
        ["manager", "operation", "apiVersion", "subresource"].map(|name| entry.get(name))
    });
    managers.any(|manager| {
        let repeats = known.contains(&manager);
        known.push(manager);
        repeats
    })
}
