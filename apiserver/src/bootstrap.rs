//! The state of a server that has just started.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::endpoint::Core;
use crate::facts;
use crate::registry::custom::text;
use crate::registry::with_metadata;
use crate::store::{StoreError, Write};

impl Core {
    /// Creates the objects that exist from the start, where the store lacks them, and serves the stored definitions.
    pub(crate) async fn bootstrap(&self) -> Result<(), StoreError> {
        let registry = self.registry();
        let now = self.source.now().to_string();
        for object in facts::bootstrap_objects() {
            let kind = GroupVersionKind::from_api_version_kind(text(object, &["apiVersion"]), text(object, &["kind"]));
            let Some(served) = registry.of_kind(&kind) else { continue };
            let (namespace, name) = (text(object, &["metadata", "namespace"]), text(object, &["metadata", "name"]));
            let Ok(key) = served.key(namespace, name) else { continue };
            let object = with_metadata(object, "uid", Some(self.source.uid().into()));
            let object = with_metadata(&object, "creationTimestamp", Some(now.as_str().into()));
            match self.store.write(&key, Write::Create(with_times(&object, &now))).await {
                Ok(_) | Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.define_stored().await
    }
}

/// The object with a time in each entry of its managed fields.
fn with_times(object: &Value, now: &str) -> Value {
    let entries = object.get("metadata").and_then(|metadata| metadata.get("managedFields")?.as_list());
    let Some(entries) = entries else { return object.clone() };
    let timed = entries.iter().map(|entry| match entry {
        Value::Map(fields) => {
            let mut fields = fields.clone();
            fields.insert("time", now);
            Value::Map(fields)
        }
        other => other.clone(),
    });
    with_metadata(object, "managedFields", Some(Value::List(timed.collect())))
}
