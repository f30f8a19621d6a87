//! A store whose writes are noted in the log.

use futures::future::BoxFuture;

use super::recorder::{is_recording, wrote};
use super::{Change, Event, Written, fields};
use crate::object::in_group;
use crate::store::{
    BoxWatch, Key, List, Page, Prefix, Read, Result, Revision, SharedStore, Snapshot, Store, Write,
};

/// A store whose writes are noted in the entry of the request that makes them.
pub(crate) struct Recorded(pub(crate) SharedStore);

impl Store for Recorded {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.0.revision()
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Result<Read>> {
        self.0.get(key, at)
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<Page>> {
        self.0.list(list)
    }

    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>> {
        if !is_recording() {
            return self.0.write(key, write);
        }
        Box::pin(async move {
            let (change, expected, after) = match &write {
                Write::Create(object) => (Change::Created, None, Some(object.clone())),
                Write::Update { expected, object } => {
                    (Change::Updated, Some(*expected), Some(object.clone()))
                }
                Write::Delete { expected } => (Change::Deleted, Some(*expected), None),
            };
            let before = match expected {
                Some(_) => self.0.get(key, None).await?.entry,
                None => None,
            };
            let revision = self.0.write(key, write).await?;
            // The write took place, so the object was at this revision until then.
            let before = before.filter(|entry| Some(entry.revision) == expected).map(|entry| entry.object);
            let is_object = [&before, &after].into_iter().flatten().any(|object| object.as_map().is_some());
            if is_object {
                let replaced = expected.zip(before.clone());
                let event = Event::Written { revision, change, object: after.clone() };
                // The history computes the changes when they are read.
                wrote(key, replaced, event, |entry| {
                    let managers = fields::changes(before.as_ref(), after.as_ref(), &entry.manager);
                    written(key, revision, change, managers)
                });
            }
            Ok(revision)
        })
    }

    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, Result<BoxWatch>> {
        self.0.watch(prefix, after)
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        self.0.compact(oldest)
    }

    fn is_shared(&self) -> bool {
        self.0.is_shared()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.0.close()
    }

    fn snapshot(&self) -> Result<Snapshot> {
        self.0.snapshot()
    }

    fn restore(&self, snapshot: &Snapshot) -> Result<Revision> {
        self.0.restore(snapshot)
    }

    /// A fork without a log: the server that gets it has a log of its own.
    fn fork(&self) -> Result<SharedStore> {
        self.0.fork()
    }
}

fn written(key: &Key, revision: Revision, change: Change, managers: Vec<super::ManagerChange>) -> Written {
    let parts = key.parts();
    let resource = in_group(parts.plural, parts.group);
    let namespace = parts.namespace.unwrap_or_default().to_owned();
    Written { resource, namespace, name: parts.name.to_owned(), revision: revision.get(), change, managers }
}
