//! The managed fields of an API server in memory: create, apply, conflict.

use std::collections::BTreeMap;

use fieldmanager::managedfields::Error;
use fieldmanager::openapi::builtin;
use fieldmanager::{ApplyRequest, FieldManager, GroupVersionKind, Interner, Time, UpdateRequest, Value};

/// The Deployments of a namespace, by name.
struct Deployments {
    manager: FieldManager,
    objects: BTreeMap<String, Value>,
    /// Shares the managed fields that many Deployments have in common.
    interner: Interner,
}

impl Deployments {
    /// `POST`. `PUT` is the same with the live object instead of null.
    fn create(&mut self, name: &str, new: &Value, by: &str, now: Time) -> Result<(), Error> {
        let created = self.manager.update(UpdateRequest::new(&Value::Null, new).manager(by).at(now))?;
        self.objects.insert(name.to_owned(), self.interner.share(&created.object));
        Ok(())
    }

    /// `PATCH` with `Content-Type: application/apply-patch+yaml`. It creates an object that does not exist.
    fn apply(&mut self, name: &str, config: &Value, by: &str, force: bool, now: Time) -> Result<(), Error> {
        let live = self.objects.get(name).unwrap_or(&Value::Null);
        let applied =
            self.manager.apply(ApplyRequest::new(live, config).manager(by).force_if(force).at(now))?;
        self.objects.insert(name.to_owned(), self.interner.share(&applied.object));
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kind = GroupVersionKind::from_api_version_kind("apps/v1", "Deployment");
    let manager = FieldManager::builder(kind).types(builtin::types()).build()?;
    let mut deployments = Deployments { manager, objects: BTreeMap::new(), interner: Interner::default() };
    let replicas = |number: i64| {
        let text = format!("{{apiVersion: apps/v1, kind: Deployment, spec: {{replicas: {number}}}}}");
        Value::from_yaml(&text)
    };
    let noon: Time = "2026-01-31T12:00:00Z".parse()?;
    deployments.create("web", &replicas(3)?, "shop", noon)?;

    // The status of an error serializes to the JSON that clients get.
    let refused = deployments.apply("web", &replicas(10)?, "autoscaler", false, noon);
    let status = refused.err().ok_or("expected a conflict")?.status();
    assert_eq!((status.code, status.reason), (409, "Conflict"));
    let message = r#"Apply failed with 1 conflict: conflict with "shop" using apps/v1: .spec.replicas"#;
    assert!(serde_json::to_string(&status)?.contains(&serde_json::to_string(message)?));

    deployments.apply("web", &replicas(10)?, "autoscaler", true, noon)?;
    let live = deployments.objects.get("web").ok_or("the object exists")?;
    assert_eq!(live.get("spec"), replicas(10)?.get("spec"));
    Ok(())
}
