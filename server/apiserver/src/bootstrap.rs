//! The state of a server that has just started.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::access::admin;
use crate::endpoint::{Call, Core, Verb, logged};
use crate::facts;
use crate::log::{LogEntry, recorded};
use crate::object::{text, with_metadata};
use crate::query::Query;
use crate::store::{StoreError, Write};

/// Why an object cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The server does not serve a kind.
    #[error("the kind {0} is not served")]
    NotServed(String),
    /// The object exists, with the message of the answer.
    #[error("{0}")]
    Exists(String),
    /// The server refuses the object, with the message of the answer.
    #[error("{0}")]
    Refused(String),
}

impl Core {
    /// Creates the objects that exist from the start, where the store lacks them, and serves the stored definitions.
    pub(crate) async fn bootstrap(&self) -> Result<(), StoreError> {
        let registry = self.registry();
        let now = self.source.now().to_string();
        for object in &facts::bootstrap_objects(&now, self.network) {
            let kind = GroupVersionKind::from_api_version_kind(
                text(object, &["apiVersion"]),
                text(object, &["kind"]),
            );
            let Some(served) = registry.of_kind(&kind) else {
                continue;
            };

            let (namespace, name) = (
                text(object, &["metadata", "namespace"]),
                text(object, &["metadata", "name"]),
            );
            let Ok(key) = served.key(namespace, name) else {
                continue;
            };

            let object = self.with_condition(object, &now);
            let object = with_metadata(&object, "uid", Some(self.source.uid().into()));
            match self
                .store
                .write(&key, Write::Create(served.to_stored(&object)))
                .await
            {
                Ok(_) | Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.repair_allocations().await?;

        self.define_stored().await
    }

    /// Creates an object.
    pub(crate) async fn load(&self, object: &Value) -> Result<(), LoadError> {
        let kind = GroupVersionKind::from_api_version_kind(
            text(object, &["apiVersion"]),
            text(object, &["kind"]),
        );
        let registry = self.registry();
        let served = registry
            .of_kind(&kind)
            .ok_or_else(|| LoadError::NotServed(kind.to_string()))?;
        // A manifest without a namespace is for `default`, as with kubectl.
        let namespace = match text(object, &["metadata", "namespace"]) {
            _ if !served.facts.namespaced => "",
            "" => "default",
            namespace => namespace,
        };

        let body = object.to_json();
        // The object is created as a client would do it, so that it is defaulted, validated and owned like any other.
        let user = admin();
        let call = Call {
            user: &user,
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

        let entry = || LogEntry {
            user: user.name.clone(),
            user_agent: call.user_agent.to_owned(),
            ..self.entry(
                call.user_agent,
                call.verb.name(),
                served,
                (namespace, text(object, &["metadata", "name"])),
            )
        };
        let answer = recorded(self.log.as_ref(), entry, self.answer(&call), |answer| {
            logged(answer, |answer| answer.code)
        });

        let answer = answer.await;
        // A store that outlives the server has the object from an earlier run, which callers distinguish from a
        // refusal.
        answer
            .map(|_| ())
            .map_err(|failure| match failure.status.reason {
                "AlreadyExists" => LoadError::Exists(failure.status.message),
                _ => LoadError::Refused(failure.status.message),
            })
    }
}
