//! The server as the collector uses it.

use std::sync::Arc;

use fieldmanager_value::Value;
use futures::future::BoxFuture;

use super::Core;
use super::actions::ends;
use super::delete::Deletion;
use crate::collector::{Cluster, Collected, Propagation, Reply};
use crate::store::{Entry, StoreError, Write};

/// A server, for its collector.
#[derive(Clone)]
pub(crate) struct Deletions(pub(crate) Arc<Core>);

impl Cluster for Deletions {
    fn resources(&self) -> Arc<[Collected]> {
        let registry = self.0.registry();
        let collected = registry.stored().map(|served| Collected {
            group: served.facts.group.to_string(),
            kind: served.facts.kind.to_string(),
            storage_group: served.storage_group().to_owned(),
            plural: served.facts.plural.to_string(),
            namespaced: served.facts.namespaced,
        });
        collected.collect()
    }

    fn delete<'a>(
        &'a self,
        entry: &'a Entry,
        propagation: Propagation,
    ) -> BoxFuture<'a, Result<Reply, StoreError>> {
        Box::pin(async move {
            let registry = self.0.registry();
            let parts = entry.key.parts();
            let served = registry
                .stored()
                .find(|served| served.storage_group() == parts.group && served.facts.plural == parts.plural);
            let Some(served) = served else { return Ok(Reply::Refused("the kind is not served".to_owned())) };
            Ok(match self.0.collect(served, entry, propagation).await {
                Ok(()) => Reply::Done,
                Err(Deletion::Overtaken(_)) => Reply::Overtaken,
                Err(Deletion::Failed(failure)) => Reply::Refused(failure.status.message),
            })
        })
    }

    fn update<'a>(&'a self, entry: &'a Entry, object: Value) -> BoxFuture<'a, Result<Reply, StoreError>> {
        Box::pin(async move {
            let expected = entry.revision;
            let write =
                if ends(&object) { Write::Delete { expected } } else { Write::Update { expected, object } };
            match self.0.store.write(&entry.key, write).await {
                Ok(_) => Ok(Reply::Done),
                Err(StoreError::Conflict { .. }) => Ok(Reply::Overtaken),
                Err(error) => Err(error),
            }
        })
    }
}
