//! An apiserver in memory, as far as managed fields are concerned: create, apply, conflict.

use std::collections::BTreeMap;

use fieldmanager::managedfields::Error;
use fieldmanager::openapi::builtin;
use fieldmanager::{FieldManager, Force, GroupVersionKind, Interner, Time, Value};

/// The Deployments of a namespace, by name.
struct Deployments {
    manager: FieldManager,
    objects: BTreeMap<String, Value>,
    /// What the managed fields of many Deployments have in common is kept once.
    interner: Interner,
}

impl Deployments {
    /// `POST`. `PUT` and all patches but apply are the same, with the live object instead of null.
    fn create(&mut self, name: &str, new: &Value, by: &str, now: Time) -> Result<(), Error> {
        let created = self.manager.update(&Value::Null, new, by, now)?;
        self.objects.insert(name.to_owned(), self.interner.share(&created.object));
        Ok(())
    }

    /// `PATCH` with `Content-Type: application/apply-patch+yaml`. What does not exist is created.
    fn apply(&mut self, name: &str, config: &Value, by: &str, force: Force, now: Time) -> Result<(), Error> {
        let live = self.objects.get(name).unwrap_or(&Value::Null);
        let applied = self.manager.apply(live, config, by, force, now)?;
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

    // An error knows its answer, which serialises to the JSON that clients get.
    let refused = deployments.apply("web", &replicas(10)?, "autoscaler", Force::No, noon);
    let status = refused.err().ok_or("expected a conflict")?.status();
    assert_eq!((status.code, status.reason), (409, "Conflict"));
    let message = r#"Apply failed with 1 conflict: conflict with "shop" using apps/v1: .spec.replicas"#;
    assert!(serde_json::to_string(&status)?.contains(&serde_json::to_string(message)?));

    deployments.apply("web", &replicas(10)?, "autoscaler", Force::Yes, noon)?;
    let live = deployments.objects.get("web").ok_or("it is there")?;
    assert_eq!(live.get("spec"), replicas(10)?.get("spec"));
    Ok(())
}
