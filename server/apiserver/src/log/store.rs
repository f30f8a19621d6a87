//! A store whose writes are noted in the log.

use futures::future::BoxFuture;

use super::recorder::{is_recording, wrote};
use super::{Change, Event, Written, fields};
use crate::object::in_group;
use crate::store::{Key, Layer, Result, Revision, SharedStore, Store, Write};

/// A store whose writes are noted in the entry of the request that makes them.
pub(crate) struct Recorded(pub(crate) SharedStore);

impl Layer for Recorded {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn write_through<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Result<Revision>> {
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
            let before = before
                .filter(|entry| Some(entry.revision) == expected)
                .map(|entry| entry.object);
            let is_object = [&before, &after]
                .into_iter()
                .flatten()
                .any(|object| object.as_map().is_some());

            if is_object {
                let replaced = expected.zip(before.clone());
                let event = Event::Written {
                    revision,
                    change,
                    object: after.clone(),
                };

                // The history computes the changes when they are read.
                wrote(key, replaced, event, |entry| {
                    let parts = key.parts();
                    Written {
                        resource: in_group(parts.plural, parts.group),
                        namespace: parts.namespace.unwrap_or_default().to_owned(),
                        name: parts.name.to_owned(),
                        revision: revision.get(),
                        change,
                        managers: fields::changes(before.as_ref(), after.as_ref(), &entry.manager),
                    }
                });
            }

            Ok(revision)
        })
    }
}
