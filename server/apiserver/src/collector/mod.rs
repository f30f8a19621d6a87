//! The collector: deletes what namespaces hold, and what was owned by objects that no longer exist.
//!
//! Behaviour: the garbage collector and the namespace controller of Kubernetes, without their delays and conditions.
//!
//! The collector reads a [store](crate::store) and follows it by a watch. What it changes goes through [`Cluster`], so that
//! a deletion by the collector obeys finalizers and is watched like any other.
//!
//! | object | what the collector does |
//! |---|---|
//! | a terminating namespace with the finalizer `kubernetes` in its spec | deletes the objects in it; removes the finalizer when there are none |
//! | a terminating object with the finalizer `orphan` | removes it from the `ownerReferences` of its dependents, then the finalizer |
//! | a terminating object with the finalizer `foregroundDeletion` | removes the finalizer when no dependent with `blockOwnerDeletion` is left |
//! | an object whose owners are all absent | deletes it |
//! | an object whose owners are absent or wait for their dependents | deletes it, in the foreground if it has dependents |
//! | an object with other owners as well | removes the absent and the waiting ones from its `ownerReferences` |
//!
//! An object is left as it is if an owner has a kind that is not served, or if it has no namespace but its owner has.
//!
//! # Order
//!
//! The collector makes one change at a time, and always the first that it finds in the order of keys; namespaces are last.
//! Equal stores therefore lead to equal sequences of changes. A test runs it [step by step](Collector::step), or
//! [to the end](Collector::settle); a server [runs](Collector::run) it in a task, or does not.

mod graph;
mod object;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use fieldmanager_value::Value;
use futures::{FutureExt, StreamExt, future::BoxFuture};

use crate::object::{FOREGROUND, ORPHAN, has_finalizer, is_terminating, without_finalizer};
use crate::registry::Collected;
use crate::store::{BoxWatch, Entry, Event, Key, List, Prefix, Result, SharedStore, StoreError};
use graph::Graph;
use object::{
    KUBERNETES, Owner, holds_namespace, owners, uid, unblocked, without_namespace_finalizer,
    without_owners,
};

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They remain.
    Orphan,
}

/// What became of a request of the collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The store was changed.
    Done,
    /// The object is no longer at the revision of the entry. The collector looks at it again.
    Overtaken,
    /// The request failed, for a reason that persists. The collector leaves the object until its metadata or its
    /// owners change.
    Refused(String),
    /// The request failed, for a reason that may pass, as that the store is full. The collector tries again after it has
    /// looked at other objects.
    Failed(String),
}

/// What the collector needs of a server.
pub(crate) trait Cluster: Send + Sync {
    /// Returns the resources that are served now. It is called often.
    fn resources(&self) -> Arc<[Collected]>;

    /// Changes an object if it still has the revision of the entry.
    fn make<'a>(
        &'a self,
        entry: &'a Entry,
        request: CollectorRequest,
    ) -> BoxFuture<'a, Result<Reply>>;
}

/// What the collector asks of a server.
#[derive(Clone, Debug)]
pub(crate) enum CollectorRequest {
    /// Deletes an object, as a request with this propagation policy does: an object with finalizers or a grace period
    /// becomes terminating.
    Delete(Propagation),
    /// Replaces an object, in the form in which it is stored. A terminating object that has no finalizer left is removed.
    Update(Value),
}

/// A change that the collector made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorStep {
    /// The changed object.
    pub key: Key,
    /// What was changed.
    pub change: CollectorChange,
    /// Why the change was refused, if it was.
    pub refused: Option<String>,
}

/// A kind of change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CollectorChange {
    /// The object was deleted.
    Delete(Propagation),
    /// Owners with these uids were removed from the `ownerReferences` of the object.
    RemoveOwners(Vec<String>),
    /// The `ownerReferences` of the object no longer block the deletion of its owners, because they depend on each other.
    UnblockOwners,
    /// This finalizer was removed from the metadata, or `kubernetes` from the spec of a namespace.
    RemoveFinalizer(&'static str),
}

/// The collector of a server.
pub(crate) struct Collector<C> {
    store: SharedStore,
    cluster: C,
    watch: Option<BoxWatch>,
    graph: Graph,
    /// The resources that were served at the last step.
    resources: Arc<[Collected]>,
}

/// The number of objects that are read at once.
const PAGE: usize = 1000;

/// The delay before the next attempt after an error; it doubles with each attempt.
const FIRST_DELAY: Duration = Duration::from_millis(50);
const LAST_DELAY: Duration = Duration::from_secs(5);

/// How long the collector waits for the next event of a store that is behind its own revision.
const QUIET: Duration = Duration::from_millis(50);

impl<C: Cluster> Collector<C> {
    /// Returns a collector that has not read the store.
    pub(crate) fn new(store: SharedStore, cluster: C) -> Self {
        Self {
            store,
            cluster,
            watch: None,
            graph: Graph::default(),
            resources: Arc::new([]),
        }
    }

    /// Makes the next change and returns it; `None` if there is nothing to do, or only what [failed](Reply::Failed) since the
    /// last `None`.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn step(&mut self) -> Result<Option<CollectorStep>> {
        self.notice_resources();
        self.follow().await?;
        while let Some(key) = self.graph.next_pending() {
            // An error of the store must not lose the object: the next step looks at it again.
            let change = self
                .change(&key)
                .await
                .inspect_err(|_| self.graph.add_pending(key.clone()))?;
            let Some((step, reply)) = change else {
                continue;
            };

            let refused = match reply {
                Reply::Done => None,
                Reply::Refused(reason) => Some(reason),
                Reply::Failed(reason) => {
                    self.graph.postpone(key);
                    Some(reason)
                }
                Reply::Overtaken => {
                    // The object changed meanwhile. The events up to now may give reason for another change.
                    self.graph.add_pending(key);
                    self.follow().await?;
                    continue;
                }
            };
            return Ok(Some(CollectorStep { refused, ..step }));
        }
        // What failed is tried again only after this `None`, so that `settle` ends even if a failure persists.
        self.graph.add_postponed();

        Ok(None)
    }

    /// Makes the change that an object gives reason for, and returns it with the reply.
    async fn change(&mut self, key: &Key) -> Result<Option<(CollectorStep, Reply)>> {
        let Some(entry) = self.store.get(key, None).await?.entry else {
            return Ok(None);
        };
        let Some((entry, change, request)) = self.decide(entry).await? else {
            return Ok(None);
        };

        let reply = self.cluster.make(&entry, request).await?;
        Ok(Some((
            CollectorStep {
                key: entry.key,
                change,
                refused: None,
            },
            reply,
        )))
    }

    /// Makes all changes that there are to make, and returns them in order.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn settle(&mut self) -> Result<Vec<CollectorStep>> {
        let mut steps = Vec::new();
        while let Some(step) = self.step().await? {
            steps.push(step);
        }
        Ok(steps)
    }

    /// Makes changes as they become necessary, until the store is closed. After an error of the store, and after requests
    /// that [failed](Reply::Failed), it waits and tries again.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub(crate) async fn run(mut self) {
        let mut delay = FIRST_DELAY;
        loop {
            match self.run_until_failure(&mut delay).await {
                Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::warn!(%error, "the collector waits for the store");
                    self.reset();
                }
                Ok(()) => {}
            }
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(LAST_DELAY);
        }
    }

    /// Forgets what the collector knows of the store, so that the next step looks at all objects.
    pub(crate) fn reset(&mut self) {
        self.watch = None;
    }

    /// Looks at all objects again if a resource began to be served: some may depend on objects whose kind was unknown.
    fn notice_resources(&mut self) {
        let resources = self.cluster.resources();
        if resources != self.resources && resources.iter().any(|one| !self.resources.contains(one))
        {
            self.reset();
        }
        self.resources = resources;
    }

    /// Makes changes until one failed and no other is left. A change that succeeds resets the delay.
    async fn run_until_failure(&mut self, delay: &mut Duration) -> Result<()> {
        loop {
            while let Some(step) = self.step().await? {
                if step.refused.is_none() {
                    *delay = FIRST_DELAY;
                }
                tokio::task::yield_now().await;
            }

            // What is left has failed, and needs the delay of the caller: nothing in the store announces that it would
            // succeed.
            if self.graph.has_pending() {
                return Ok(());
            }
            if let Some(watch) = &mut self.watch {
                let next = watch.next().await;
                self.notice(next)?;
            }
        }
    }

    /// Reads the events up to the current revision, or all objects if the events are lost.
    async fn follow(&mut self) -> Result<()> {
        let current = self.store.revision().await?;
        while let Some(watch) = &mut self.watch {
            if watch.as_mut().progress() >= current {
                return Ok(());
            }

            // Only a store that follows another one lets its reader wait, so other stores need no timer.
            let next = match watch.next().now_or_never() {
                Some(next) => next,
                None => match tokio::time::timeout(QUIET, watch.next()).await {
                    Ok(next) => next,
                    // Other programs raise the revision of an etcd without an event.
                    Err(_) => return Ok(()),
                },
            };
            self.notice(next)?;
        }

        self.load().await
    }

    /// Follows the next item of the watch.
    fn notice(&mut self, next: Option<Result<Event>>) -> Result<()> {
        match next {
            Some(Ok(event)) => self.graph.apply(&event),
            Some(Err(StoreError::Compacted { .. })) => self.watch = None,
            Some(Err(error)) => return Err(error),
            None => return Err(StoreError::Closed),
        }
        Ok(())
    }

    /// Reads all objects.
    async fn load(&mut self) -> Result<()> {
        // The store may compact the revision of the list before all pages are read or the watch begins. Then all
        // objects are read again, since events are missing.
        'state: loop {
            let mut graph = Graph::default();
            let mut list = List::new(Prefix::all()).limit(PAGE).uncounted();
            let revision = loop {
                let page = match self.store.list(list.clone()).await {
                    Err(StoreError::Compacted { .. }) => continue 'state,
                    page => page?,
                };
                page.entries.iter().for_each(|entry| graph.load(entry));
                match page.next {
                    Some(key) => list = list.after(key).at(page.revision),
                    None => break page.revision,
                }
            };

            match self.store.watch(Prefix::all(), revision).await {
                Err(StoreError::Compacted { .. }) => {}
                watch => {
                    (self.watch, self.graph) = (Some(watch?), graph);
                    return Ok(());
                }
            }
        }
    }

    /// Returns the change that an object gives reason for.
    async fn decide(&mut self, entry: Entry) -> Result<Option<Decision>> {
        let object = &entry.object;
        if holds_namespace(&entry.key, object) {
            return self.empty_namespace(entry).await;
        }
        // A terminating object is not deleted again. Other finalizers than these two are removed by other clients.
        if is_terminating(object) {
            if has_finalizer(object, ORPHAN) {
                return self.orphan_dependents(entry).await;
            }
            if has_finalizer(object, FOREGROUND) && !self.graph.is_blocked(uid(object)) {
                return Ok(Some(remove_finalizer(entry, FOREGROUND)));
            }
            return Ok(None);
        }

        // The namespace controller deletes in the background, and does not look at owners.
        if self.graph.is_in_terminating_namespace(&entry.key) {
            return Ok(Some(deletion(entry, Propagation::Background)));
        }
        self.check_owners(entry).await
    }

    /// Notes the next page of objects to delete in a terminating namespace, or removes its finalizer if it has none. Each
    /// object is read once, so the deletion of one costs the same however many wait for finalizers.
    async fn empty_namespace(&mut self, namespace: Entry) -> Result<Option<Decision>> {
        let name = namespace.key.parts().name;
        let resources = self.cluster.resources();
        let namespaced = resources.iter().filter(|resource| resource.namespaced);
        // The set gives the prefixes the order of keys, which resources do not have.
        let prefixes: BTreeSet<Prefix> = namespaced
            .filter_map(|resource| {
                Prefix::namespace(&resource.storage_group, &resource.plural, name).ok()
            })
            .collect();

        // Prefixes are read in the order of keys, so the last key that an earlier step read is the position in all of them.
        let searched = self.graph.searched(name);
        let mut last = searched.clone();
        let mut left = PAGE;
        for prefix in &prefixes {
            let mut list = List::new(prefix.clone()).limit(left).uncounted();
            list.after.clone_from(&searched);
            let entries = self.store.list(list).await?.entries;
            left -= entries.len();
            for entry in entries {
                // A terminating object waits for its finalizers, and another deletion changes nothing.
                if !is_terminating(&entry.object) {
                    self.graph.add_pending(entry.key.clone());
                }
                last = Some(entry.key);
            }

            if left == 0 {
                break;
            }
        }

        // Objects were found. The namespace is looked at again when one of them ends, and at once if there may be
        // another page.
        if left < PAGE {
            let is_known = self.graph.set_searched(name, last);
            if left == 0 && is_known {
                self.graph.add_pending(namespace.key);
            }
            return Ok(None);
        }

        // Nothing follows the last page, but objects of earlier pages may still wait for finalizers.
        for prefix in prefixes.into_iter().filter(|_| searched.is_some()) {
            if !self
                .store
                .list(List::new(prefix).limit(1).uncounted())
                .await?
                .entries
                .is_empty()
            {
                return Ok(None);
            }
        }

        let object = without_namespace_finalizer(&namespace.object);
        Ok(Some((
            namespace,
            CollectorChange::RemoveFinalizer(KUBERNETES),
            CollectorRequest::Update(object),
        )))
    }

    /// Removes a terminating owner from its dependents, one after the other, and then its finalizer.
    async fn orphan_dependents(&mut self, owner: Entry) -> Result<Option<Decision>> {
        let owner_uid = uid(&owner.object);
        for key in self.graph.dependents(owner_uid) {
            let Some(dependent) = self.store.get(key, None).await?.entry else {
                continue;
            };
            // The graph may be behind the store: a dependent without the reference needs no change.
            if owners(&dependent.object).any(|reference| reference.uid == owner_uid) {
                let object = without_owners(&dependent.object, &[owner_uid]);
                return Ok(Some((
                    dependent,
                    CollectorChange::RemoveOwners(vec![owner_uid.to_owned()]),
                    CollectorRequest::Update(object),
                )));
            }
        }

        Ok(Some(remove_finalizer(owner, ORPHAN)))
    }

    async fn check_owners(&mut self, entry: Entry) -> Result<Option<Decision>> {
        let object = &entry.object;
        let mut has_present = false;
        let (mut absent, mut waiting) = (Vec::new(), Vec::new());
        // An owner whose kind is not served may exist, so the object is left alone altogether.
        for owner in owners(object) {
            match self.state_of(&entry.key, &owner).await? {
                OwnerState::Unknown => return Ok(None),
                OwnerState::Present => has_present = true,
                OwnerState::Absent => absent.push(owner.uid),
                OwnerState::Waiting => waiting.push(owner.uid),
            }
        }

        if absent.is_empty() && waiting.is_empty() {
            return Ok(None);
        }
        // One present owner keeps the object. The references to the others are removed, so that a waiting owner can
        // end.
        if has_present {
            let removed = [absent, waiting].concat();
            let new = without_owners(object, &removed);
            let change =
                CollectorChange::RemoveOwners(removed.into_iter().map(str::to_owned).collect());
            return Ok(Some((entry, change, CollectorRequest::Update(new))));
        }

        // No owner waits for this object, so its own finalizers say what happens to its dependents.
        if waiting.is_empty() || !self.graph.has_dependents(uid(object)) {
            let propagation = if has_finalizer(object, ORPHAN) {
                Propagation::Orphan
            } else if has_finalizer(object, FOREGROUND) {
                Propagation::Foreground
            } else {
                Propagation::Background
            };
            return Ok(Some(deletion(entry, propagation)));
        }

        // A dependent that waits for its own dependents may wait for this object: a circle, in which nothing would end.
        for key in self.graph.dependents(uid(object)) {
            let dependent = self.store.get(key, None).await?.entry;
            if dependent.is_some_and(|dependent| object::is_waiting(&dependent.object))
                && let Some(object) = unblocked(object)
            {
                return Ok(Some((
                    entry,
                    CollectorChange::UnblockOwners,
                    CollectorRequest::Update(object),
                )));
            }
        }

        Ok(Some(deletion(entry, Propagation::Foreground)))
    }

    /// Looks an owner up by its coordinates.
    async fn state_of(&mut self, dependent: &Key, owner: &Owner<'_>) -> Result<OwnerState> {
        let resources = self.cluster.resources();
        let is_owner =
            |resource: &&Collected| resource.group == owner.group && resource.kind == owner.kind;
        let Some(resource) = resources.iter().find(is_owner) else {
            return Ok(OwnerState::Unknown);
        };

        let namespace = dependent.parts().namespace;
        // A reference has no namespace, so an object of cluster scope cannot say which owner it means.
        if resource.namespaced && namespace.is_none() {
            return Ok(OwnerState::Unknown);
        }
        // An owner is in the namespace of its dependent, or has cluster scope.
        let namespace = namespace.filter(|_| resource.namespaced);
        let Ok(key) = Key::new(
            &resource.storage_group,
            &resource.plural,
            namespace,
            owner.name,
        ) else {
            return Ok(OwnerState::Absent);
        };

        // An object with the name but another uid was created after the owner was deleted.
        Ok(match self.store.get(&key, None).await?.entry {
            Some(entry) if uid(&entry.object) != owner.uid => OwnerState::Absent,
            Some(entry) if object::is_waiting(&entry.object) => OwnerState::Waiting,
            Some(_) => OwnerState::Present,
            None => OwnerState::Absent,
        })
    }
}

/// An object as it is stored, what to change, and the request that does it.
type Decision = (Entry, CollectorChange, CollectorRequest);

fn deletion(entry: Entry, propagation: Propagation) -> Decision {
    let request = CollectorRequest::Delete(propagation);
    (entry, CollectorChange::Delete(propagation), request)
}

fn remove_finalizer(entry: Entry, finalizer: &'static str) -> Decision {
    let object = without_finalizer(&entry.object, finalizer);
    (
        entry,
        CollectorChange::RemoveFinalizer(finalizer),
        CollectorRequest::Update(object),
    )
}

enum OwnerState {
    Present,
    /// There is no object with the name and the uid.
    Absent,
    /// The owner is terminating in the foreground: it waits for its dependents.
    Waiting,
    /// The kind is not served, or the reference crosses scopes.
    Unknown,
}
