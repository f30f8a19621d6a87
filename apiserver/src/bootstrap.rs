//! The state of a server that has just started.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::endpoint::{Call, Core, Verb};
use crate::facts;
use crate::log::{LogEntry, recorded};
use crate::object::{text, with_metadata};
use crate::query::Query;
use crate::server::LoadError;
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

    /// Creates an object.
    pub(crate) async fn load(&self, object: &Value) -> Result<(), LoadError> {
        let kind =
            GroupVersionKind::from_api_version_kind(text(object, &["apiVersion"]), text(object, &["kind"]));
        let registry = self.registry();
        let served = registry.of_kind(&kind).ok_or_else(|| LoadError::NotServed(kind.to_string()))?;
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
            stale: None,
        };
        let entry = || self.loading(&call, object);
        let answer = recorded(self.log.as_ref(), entry, self.answer(&call), |answer| match answer {
            Ok(answer) => (answer.code, ""),
            Err(failure) => (failure.status.code, failure.status.reason),
        });
        let answer = answer.await;
        answer.map(|_| ()).map_err(|failure| match failure.status.reason {
            "AlreadyExists" => LoadError::Exists(failure.status.message),
            _ => LoadError::Refused(failure.status.message),
        })
    }

    /// The entry of an object that a program creates.
    fn loading(&self, call: &Call<'_>, object: &Value) -> LogEntry {
        LogEntry {
            time: self.source.now().to_string(),
            user: "admin".to_owned(),
            user_agent: call.user_agent.to_owned(),
            manager: call.user_agent.to_owned(),
            verb: call.verb.name().to_owned(),
            resource: call.served.group_resource(),
            version: call.served.facts.version.to_string(),
            namespace: call.namespace.to_owned(),
            name: text(object, &["metadata", "name"]).to_owned(),
            ..LogEntry::default()
        }
    }
}
