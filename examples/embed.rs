//! An API server in memory: create, update, patch and apply, with defaults, validation and managed fields.

use std::collections::BTreeMap;

use fieldmanager::handlers::{Action, Refused, Request, Resource};
use fieldmanager::managedfields::RequestOptions;
use fieldmanager::{GroupVersionKind, Value};

/// The objects of one resource in one namespace, by name.
struct Storage {
    resource: Resource,
    objects: BTreeMap<String, Value>,
    revision: u64,
}

impl Storage {
    /// Answers a request, whose verb is `POST`, `PUT` or `PATCH`, and stores its effect.
    fn answer(&mut self, verb: &str, request: &Request<'_>, body: &[u8]) -> Result<Value, Refused> {
        let live = self.objects.get(request.name);
        let outcome = match verb {
            "POST" => self.resource.create(request, live, body),
            "PUT" => self.resource.update(request, live, body),
            _ => self.resource.patch(request, live, body),
        }?;
        let metadata = outcome.object.get("metadata");
        let name = metadata.and_then(|metadata| metadata.get("name")?.as_str());
        let name = name.unwrap_or_default().to_owned();
        if outcome.action == Action::Create && self.objects.contains_key(&name) {
            // The name was in the body, not in the path: the same request with the live object is refused.
            return self.answer(verb, &request.clone().name(&name), body);
        }
        if outcome.action == Action::Nothing || !request.options.dry_run.is_empty() {
            return Ok(outcome.answer().clone());
        }
        self.revision += 1;
        let outcome = outcome.at_resource_version(&self.revision.to_string());
        match outcome.action {
            Action::Delete => self.objects.remove(&name),
            _ => self.objects.insert(name, outcome.object.clone()),
        };
        Ok(outcome.answer().clone())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kind = GroupVersionKind::from_api_version_kind("apps/v1", "Deployment");
    let mut deployments = Storage {
        resource: Resource::builtin(&kind)?,
        objects: BTreeMap::new(),
        revision: 0,
    };
    let request = Request::new("2026-01-31T12:00:00Z".parse()?)
        .namespace("default")
        .uid("7e1b");
    let created = br#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
        "replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}}}"#;
    let live = deployments.answer("POST", &request.clone().user_agent("shop/1.0"), created)?;
    let spec = live.get("spec").ok_or("it has a spec")?;
    assert_eq!(spec.get("progressDeadlineSeconds"), Some(&Value::from(600)));

    // Another manager wants another number of replicas. The status of the answer is what clients get as JSON.
    let config = br#"{"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 10}}"#;
    let request = request
        .name("web")
        .content_type("application/apply-patch+yaml");
    let options = RequestOptions::default().field_manager("autoscaler");
    let scale = request.clone().options(options.clone());
    let refused = deployments.answer("PATCH", &scale, config);
    let status = refused.err().ok_or("expected a conflict")?.status;
    assert_eq!(status.code, 409);
    let owner = r#"conflict with "shop" using apps/v1: .spec.replicas"#;
    assert!(status.message.ends_with(owner));

    let live = deployments.answer("PATCH", &request.options(options.force(true)), config)?;
    let spec = live.get("spec").ok_or("it has a spec")?;
    assert_eq!(spec.get("replicas"), Some(&Value::from(10)));
    Ok(())
}
