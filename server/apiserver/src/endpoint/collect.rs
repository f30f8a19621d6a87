//! The server as the collector uses it.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::Core;
use super::failure::Unwritten;
use crate::collector::{Cluster, CollectorRequest, Reply};
use crate::log::{LogEntry, recorded};
use crate::registry::{Collected, Served};
use crate::store::{Entry, Key, StoreError};

/// The user and the manager of the collector in the log.
const COLLECTOR: &str = "collector";

/// A server, for its collector.
pub(crate) struct Deletions(pub(crate) Arc<Core>);

impl Core {
    /// The entry of a change that the server makes without a request.
    pub(crate) fn collecting(&self, verb: &str, served: &Served, key: &Key) -> LogEntry {
        let parts = key.parts();
        let object = (parts.namespace.unwrap_or_default(), parts.name);
        LogEntry {
            user: COLLECTOR.to_owned(),
            ..self.entry(COLLECTOR, verb, served, object)
        }
    }

    /// The entry of a change of an object, given by namespace and name, that arrives without HTTP.
    pub(crate) fn entry(
        &self,
        manager: &str,
        verb: &str,
        served: &Served,
        (namespace, name): (&str, &str),
    ) -> LogEntry {
        LogEntry {
            time: self.source.now().to_string(),
            manager: manager.to_owned(),
            verb: verb.to_owned(),
            resource: served.group_resource(),
            version: served.facts.version.to_string(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..LogEntry::default()
        }
    }
}

impl Cluster for Deletions {
    fn resources(&self) -> Arc<[Collected]> {
        self.0.registry().collected()
    }

    /// Makes a change, and logs it unless another write was first.
    fn make<'a>(
        &'a self,
        entry: &'a Entry,
        request: CollectorRequest,
    ) -> BoxFuture<'a, Result<Reply, StoreError>> {
        Box::pin(async move {
            let (core, registry) = (&self.0, self.0.registry());
            let parts = entry.key.parts();
            let Some(served) = registry.stored_as(parts.group, parts.plural) else {
                return Ok(Reply::Refused("the kind is not served".to_owned()));
            };
            let (verb, entry) = match request {
                CollectorRequest::Delete(_) => ("delete", core.converted(served, entry).await),
                CollectorRequest::Update(_) => ("update", Ok(entry.clone())),
            };
            let entry = match entry {
                Ok(entry) => entry,
                // A webhook that cannot be reached now may be reached later.
                Err(failure) => return Ok(Reply::Failed(failure.status.message)),
            };
            // A change without a request has an entry as well, since histories show why an object was deleted.
            let log = || core.collecting(verb, served, &entry.key);
            let change = async {
                match request {
                    CollectorRequest::Delete(policy) => core.collect(served, &entry, policy).await,
                    CollectorRequest::Update(object) => {
                        core.replace(served, &entry, object).await.map(|_| ())
                    }
                }
            };

            let changed = recorded(core.log.as_ref(), log, change, |changed| match changed {
                Ok(()) => (200, ""),
                Err(Unwritten::Overtaken(_)) => (409, "Conflict"),
                Err(Unwritten::Failed(failure)) => (failure.status.code, failure.status.reason),
            });
            Ok(reply(changed.await))
        })
    }
}

fn reply(written: Result<(), Unwritten>) -> Reply {
    match written {
        Ok(()) => Reply::Done,
        Err(Unwritten::Overtaken(_)) => Reply::Overtaken,
        // The store failed, unlike with 500, whose cause is the object.
        Err(Unwritten::Failed(failure)) if failure.status.code > 500 => {
            Reply::Failed(failure.status.message)
        }
        Err(Unwritten::Failed(failure)) => Reply::Refused(failure.status.message),
    }
}
