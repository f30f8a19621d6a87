//! The state of a server that has just started.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::endpoint::{Call, Core, Verb};
use crate::facts;
use crate::object::{text, with_metadata};
use crate::query::Query;
use crate::store::{StoreError, Write};

impl Core {
    /// Creates the objects that exist from the start, where the store lacks them, and serves the stored definitions.
    pub(crate) async fn bootstrap(&self) -> Result<(), StoreError> {
        let registry = self.registry();
        let now = self.source.now().to_string();
        for object in &facts::bootstrap_objects(&now) {
            let kind = GroupVersionKind::from_api_version_kind(
                text(object, &["apiVersion"]),
                text(object, &["kind"]),
            );
            let Some(served) = registry.of_kind(&kind) else { continue };
            let (namespace, name) =
                (text(object, &["metadata", "namespace"]), text(object, &["metadata", "name"]));
            let Ok(key) = served.key(namespace, name) else { continue };
            let object = with_metadata(object, "uid", Some(self.source.uid().into()));
            match self.store.write(&key, Write::Create(served.to_stored(&object))).await {
                Ok(_) | Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.repair_allocations().await?;
        self.define_stored().await
    }

    /// Creates an object. The error is the message of the answer.
    pub(crate) async fn load(&self, object: &Value) -> Result<(), String> {
        let kind =
            GroupVersionKind::from_api_version_kind(text(object, &["apiVersion"]), text(object, &["kind"]));
        let registry = self.registry();
        let served = registry.of_kind(&kind).ok_or_else(|| format!("the kind {kind} is not served"))?;
        let namespace = match text(object, &["metadata", "namespace"]) {
            _ if !served.facts.namespaced => "",
            "" => "default",
            namespace => namespace,
        };
        let body = object.to_json();
        let call = Call {
            served,
            verb: Verb::Create,
            namespace,
            name: "",
            subresource: "",
            query: &Query::default(),
            content_type: "application/json",
            user_agent: "fieldmanager",
            body: body.as_bytes(),
        };
        self.answer(&call).await.map(|_| ()).map_err(|failure| failure.status.message)
    }
}
