//! The end of definitions: their objects are deleted first, a page at a time.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use fieldmanager_value::Value;
use futures::{TryStreamExt, stream};

use super::definition::{CLEANUP, definitions, is_ending, is_established, with_condition};
use super::{Core, Failure};
use crate::object::{finalizers, has_items, is_terminating, without_finalizer};
use crate::registry::{Definition, Served};
use crate::store::{Entry, Key, List as ListOf, StoreError};

/// The delay before the end of definitions is tried again after an error.
const END_DELAY: Duration = Duration::from_secs(1);

/// The number of objects of a definition that are read at once when it ends.
const PAGE: usize = 500;

/// The number of them that are deleted at once: a store makes such writes together.
const AT_ONCE: usize = 64;

impl Core {
    /// Ends a terminating definition: deletes its objects, then the definition itself. Returns false if that is left to the
    /// task that ends definitions: a request deletes a page at most, so that its answer takes a bounded time.
    pub(super) async fn end_definition(
        &self,
        key: &Key,
        by_request: bool,
    ) -> Result<bool, Failure> {
        let stored = self.store.get(key, None).await?.entry;
        let Some(stored) = stored.filter(|stored| is_ending(&stored.object)) else {
            return Ok(true);
        };

        // A definition that was never established has no objects.
        if is_established(&stored.object)
            && let Ok(mut definition) = Definition::of(&stored.object)
        {
            definition.conversion = self.conversion_of(&definition);
            // From now on, no request creates an object.
            self.follow_definition(&definition.name).await?;
            let objects =
                Served::at_storage_version(Arc::new(definition), self.registry().has_unions())
                    .map_err(|error| Failure::new(500, "InternalError", error.to_string()))?;
            if by_request && self.has_ending_task && self.has_more_than_a_page(&objects).await? {
                self.wait_for_objects(key).await?;
                return Ok(false);
            }
            // Another server, which does not know of the end yet, may create objects meanwhile.
            while self.delete_instances(&objects).await? {}
            if !self.is_empty(&objects).await? {
                self.wait_for_objects(key).await?;
                return Ok(true);
            }
        }

        self.remove_definition(key).await?;
        Ok(true)
    }

    async fn has_more_than_a_page(&self, objects: &Served) -> Result<bool, Failure> {
        let list = ListOf::new(objects.prefix("")?).limit(PAGE).uncounted();
        Ok(self.store.list(list).await?.next.is_some())
    }

    /// Deletes the objects of a definition, a page at a time. Returns whether there were any that had not been deleted
    /// before.
    async fn delete_instances(&self, objects: &Served) -> Result<bool, Failure> {
        let mut list = ListOf::new(objects.prefix("")?).limit(PAGE).uncounted();
        let mut found = false;
        loop {
            let page = self.store.list(list.clone()).await?;
            found |= page
                .entries
                .iter()
                .any(|entry| !is_terminating(&entry.object));
            // Objects that wait for finalizers are skipped, so that each call costs what is left to delete.
            let is_held = |entry: &Entry| {
                is_terminating(&entry.object)
                    && has_items(&entry.object, &["metadata", "finalizers"])
            };
            stream::iter(
                page.entries
                    .into_iter()
                    .filter(|entry| !is_held(entry))
                    .map(Ok),
            )
            .try_for_each_concurrent(AT_ONCE, |entry| self.delete_instance(objects, entry))
            .await?;

            let Some(next) = page.next else {
                return Ok(found);
            };
            list = list.after(next);

            // A store in memory never waits.
            tokio::task::yield_now().await;
        }
    }

    /// Removes a terminating definition without objects, unless finalizers of clients remain.
    pub(super) async fn remove_definition(&self, key: &Key) -> Result<(), Failure> {
        let without_cleanup = |stored: &Entry| {
            let now = self.source.now().to_string();
            let object = self.with_status(stored, |object| {
                let (reason, message) = if is_established(object) {
                    ("InstanceDeletionCompleted", "removed all instances")
                } else {
                    ("NeverEstablished", "resource was never established")
                };
                with_condition(object, "Terminating", ("False", reason, message), &now)
            });
            without_finalizer(&object, CLEANUP)
        };

        let removed = self.rewrite(key, |stored| {
            is_ending(&stored.object).then(|| without_cleanup(stored))
        });
        // Without finalizers of clients, the write has removed the definition.
        match removed.await? {
            Some(stored) if finalizers(&stored.object).all(|name| name == CLEANUP) => {
                self.undefine(&stored.object).await
            }
            _ => Ok(()),
        }
    }

    /// Marks a terminating definition, whose objects have finalizers, in its conditions and in discovery.
    async fn wait_for_objects(&self, key: &Key) -> Result<(), Failure> {
        let (reason, message) = (
            "InstanceDeletionInProgress",
            "CustomResource deletion is in progress",
        );
        let waiting = |object: &Value| {
            let now = self.source.now().to_string();
            with_condition(object, "Terminating", ("True", reason, message), &now)
        };
        let marked = self.rewrite(key, |entry| {
            is_ending(&entry.object).then(|| waiting(&entry.object))
        });
        marked.await?;
        self.follow_definition(key.parts().name).await?;

        Ok(())
    }

    /// Ends the terminating definitions that the store has, but for those that requests end. Returns whether none of them
    /// failed.
    pub(crate) async fn end_definitions(&self) -> Result<bool, StoreError> {
        let mut succeeded = true;
        let entries = self.store.list(ListOf::new(definitions())).await?.entries;
        let of_requests = self
            .ending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();

        for entry in entries
            .iter()
            .filter(|entry| !of_requests.contains(&entry.key))
        {
            // A store without space has to be readable.
            if let Err(failure) = self.end_definition(&entry.key, false).await {
                let (name, reason) = (entry.key.parts().name, failure.status.message);
                tracing::warn!(name, reason, "a definition is not ended");
                succeeded = false;
            }
        }

        Ok(succeeded)
    }

    /// Ends definitions until the store is closed: those that a server which was killed left, and those of which the
    /// server that deleted them, or a request to this one, did not.
    pub(crate) async fn keep_ending_definitions(&self) {
        loop {
            match self.end_definitions().await {
                Err(StoreError::Closed) => return,
                Ok(true) => self.terminated.notified().await,
                Ok(false) | Err(_) => tokio::time::sleep(END_DELAY).await,
            }
        }
    }
}

/// The end of a definition by a request. If it fails, or the request ends before it, the task that ends definitions does
/// the rest.
pub(super) struct Ending<'a> {
    core: &'a Core,
    key: &'a Key,
    pub(super) is_over: bool,
}

impl<'a> Ending<'a> {
    pub(super) fn begin(core: &'a Core, key: &'a Key) -> Self {
        core.ending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key.clone());
        Ending {
            core,
            key,
            is_over: false,
        }
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.core
            .ending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(self.key);
        if !self.is_over {
            self.core.terminated.notify_one();
        }
    }
}
