//! The server as the collector uses it.

use std::sync::Arc;

use fieldmanager_value::Value;
use futures::future::BoxFuture;

use super::Core;
use super::failure::Unwritten;
use crate::collector::{Cluster, Collected, Propagation, Reply};
use crate::store::{Entry, StoreError};

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
            let Some(served) = registry.of_key(&entry.key) else { return Ok(not_served()) };
            Ok(reply(self.0.collect(served, entry, propagation).await))
        })
    }

    fn update<'a>(&'a self, entry: &'a Entry, object: Value) -> BoxFuture<'a, Result<Reply, StoreError>> {
        Box::pin(async move {
            let registry = self.0.registry();
            let Some(served) = registry.of_key(&entry.key) else { return Ok(not_served()) };
            Ok(reply(self.0.replace(served, entry, object).await.map(|_| ())))
        })
    }
}

fn not_served() -> Reply {
    Reply::Refused("the kind is not served".to_owned())
}

fn reply(written: Result<(), Unwritten>) -> Reply {
    match written {
        Ok(()) => Reply::Done,
        Err(Unwritten::Overtaken(_)) => Reply::Overtaken,
        Err(Unwritten::Failed(failure)) => Reply::Refused(failure.status.message),
    }
}
