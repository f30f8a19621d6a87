//! The server as the collector uses it.

use std::sync::{Arc, Mutex, PoisonError};

use fieldmanager_value::Value;
use futures::future::BoxFuture;

use super::Core;
use super::failure::Unwritten;
use crate::collector::{Cluster, Collected, Propagation, Reply};
use crate::log::{LogEntry, recorded};
use crate::registry::{Registry, Served};
use crate::store::{Entry, Key, StoreError};

/// The user and the manager of the collector in the log.
const COLLECTOR: &str = "collector";

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

    /// Makes a change, and logs it unless another write was first.
    async fn logged(
        &self,
        verb: &str,
        served: &Served,
        entry: &Entry,
        change: impl Future<Output = Result<(), Unwritten>>,
    ) -> Reply {
        let entry = || self.core.collecting(verb, served, &entry.key);
        let changed = recorded(self.core.log.as_ref(), entry, change, |changed| match changed {
            Ok(()) => (200, ""),
            Err(Unwritten::Overtaken(_)) => (409, "Conflict"),
            Err(Unwritten::Failed(failure)) => (failure.status.code, failure.status.reason),
        });
        reply(changed.await)
    }
}

impl Core {
    /// The entry of a change that the server makes without a request.
    pub(crate) fn collecting(&self, verb: &str, served: &Served, key: &Key) -> LogEntry {
        let parts = key.parts();
        LogEntry {
            time: self.source.now().to_string(),
            user: COLLECTOR.to_owned(),
            manager: COLLECTOR.to_owned(),
            verb: verb.to_owned(),
            resource: served.group_resource(),
            version: served.facts.version.to_string(),
            namespace: parts.namespace.unwrap_or_default().to_owned(),
            name: parts.name.to_owned(),
            ..LogEntry::default()
        }
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
            Ok(self.logged("delete", served, entry, self.core.collect(served, entry, propagation)).await)
        })
    }

    fn update<'a>(&'a self, entry: &'a Entry, object: Value) -> BoxFuture<'a, Result<Reply, StoreError>> {
        Box::pin(async move {
            let registry = self.core.registry();
            let Some(served) = registry.of_key(&entry.key) else { return Ok(not_served()) };
            let replaced = async { self.core.replace(served, entry, object).await.map(|_| ()) };
            Ok(self.logged("update", served, entry, replaced).await)
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
        // The store failed, unlike with 500, whose cause is the object.
        Err(Unwritten::Failed(failure)) if failure.status.code > 500 => Reply::Failed(failure.status.message),
        Err(Unwritten::Failed(failure)) => Reply::Refused(failure.status.message),
    }
}
