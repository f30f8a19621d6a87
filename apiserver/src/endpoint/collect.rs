//! The server as the collector uses it.

use std::sync::{Arc, Mutex, PoisonError};

use fieldmanager_value::Value;
use futures::future::BoxFuture;

use super::Core;
use super::failure::Unwritten;
use crate::collector::{Cluster, Collected, Propagation, Reply};
use crate::registry::Registry;
use crate::store::{Entry, StoreError};

/// A server, for its collector.
pub(crate) struct Deletions {
    core: Arc<Core>,
    known: Mutex<Option<Known>>,
}

/// The resources of a registry, as the collector sees them.
struct Known {
    registry: Arc<Registry>,
    resources: Arc<[Collected]>,
}

impl Deletions {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Deletions { core, known: Mutex::default() }
    }
}

impl Cluster for Deletions {
    fn resources(&self) -> Arc<[Collected]> {
        let registry = self.core.registry();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| Arc::ptr_eq(&known.registry, &registry)) {
            return known.resources.clone();
        }
        let collected = registry.stored().map(|served| Collected {
            group: served.facts.group.to_string(),
            kind: served.facts.kind.to_string(),
            storage_group: served.storage_group().to_owned(),
            plural: served.facts.plural.to_string(),
            namespaced: served.facts.namespaced,
        });
        let resources: Arc<[Collected]> = collected.collect();
        *known = Some(Known { registry: registry.clone(), resources: resources.clone() });
        resources
    }

    fn delete<'a>(
        &'a self,
        entry: &'a Entry,
        propagation: Propagation,
    ) -> BoxFuture<'a, Result<Reply, StoreError>> {
        Box::pin(async move {
            let registry = self.core.registry();
            let Some(served) = registry.of_key(&entry.key) else { return Ok(not_served()) };
            Ok(reply(self.core.collect(served, entry, propagation).await))
        })
    }

    fn update<'a>(&'a self, entry: &'a Entry, object: Value) -> BoxFuture<'a, Result<Reply, StoreError>> {
        Box::pin(async move {
            let registry = self.core.registry();
            let Some(served) = registry.of_key(&entry.key) else { return Ok(not_served()) };
            Ok(reply(self.core.replace(served, entry, object).await.map(|_| ())))
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
