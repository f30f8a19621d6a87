//! What the collector knows between events.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fieldmanager_value::Value;

use super::object::{is_namespace, is_waiting, owners, uid};
use crate::object::{FOREGROUND, ORPHAN, has_finalizer, is_terminating, metadata};
use crate::store::{Entry, Event, Key};

/// The dependents of owners, and the objects that the collector has to look at.
#[derive(Default)]
pub(super) struct Graph {
    /// By the uid of the owner: the dependents, and whether they block its deletion in the foreground.
    dependents: HashMap<String, BTreeMap<Key, bool>>,
    /// By uid: the terminating objects that wait until something happened to their dependents.
    waiting: HashMap<String, Key>,
    terminating_namespaces: BTreeMap<String, Terminating>,
    /// The objects to look at. Namespaces are last, so that one is looked at once and not after each deletion in it.
    pending: BTreeSet<(bool, Key)>,
    /// The objects to look at after all others.
    postponed: Vec<Key>,
}

/// A terminating namespace.
struct Terminating {
    key: Key,
    /// The last of the objects in it that were looked at.
    searched: Option<Key>,
}

impl Graph {
    /// Adds an object of the state that the collector begins with.
    pub(super) fn load(&mut self, entry: &Entry) {
        self.add(&entry.key, &entry.object);
        if is_terminating(&entry.object) || owners(&entry.object).next().is_some() {
            self.add_pending(entry.key.clone());
        }
    }

    /// Follows a write.
    pub(super) fn apply(&mut self, event: &Event) {
        let old = event.previous.as_ref().map(|previous| &previous.object);
        let new = event.object.as_ref();
        if let Some(old) = old {
            self.remove(&event.key, old);
        }
        if let Some(new) = new {
            self.add(&event.key, new);
        }
        if is_namespace(&event.key) && !new.is_some_and(is_terminating) {
            self.terminating_namespaces.remove(event.key.parts().name);
        }

        // Only these fields matter to the collector. Most writes change none of them, and must not make it read the
        // object again.
        let is_same = |name: &str| {
            let field = |object: Option<&'_ Value>| {
                object.and_then(|object| metadata(object, name).cloned())
            };
            field(old) == field(new)
        };
        let is_changed = !["ownerReferences", "deletionTimestamp", "finalizers"]
            .into_iter()
            .all(is_same);
        let is_concerned = |new| {
            let may_change = is_terminating(new) || owners(new).next().is_some();
            is_changed && may_change || self.is_in_terminating_namespace(&event.key)
        };

        if new.is_some_and(is_concerned) {
            self.add_pending(event.key.clone());
        }

        // The dependents of an owner that ended, or that began to wait for them.
        if let Some(old) = old
            && new.is_none_or(|new| is_waiting(new) && !is_waiting(old))
            && let Some(dependents) = self.dependents.get(uid(old))
        {
            self.pending
                .extend(dependents.keys().map(|key| (false, key.clone())));
        }

        // The owners that wait for a dependent, and the namespace that waits for its objects.
        if is_changed {
            for owner in [old, new].into_iter().flatten().flat_map(owners) {
                if let Some(key) = self.waiting.get(owner.uid) {
                    self.pending.insert((is_namespace(key), key.clone()));
                }
            }
        }

        let namespace = event
            .key
            .parts()
            .namespace
            .and_then(|name| self.terminating_namespaces.get(name));

        if new.is_none()
            && let Some(namespace) = namespace
        {
            self.pending.insert((true, namespace.key.clone()));
        }
    }

    fn add(&mut self, key: &Key, object: &Value) {
        for owner in owners(object) {
            let dependents = self.dependents.entry(owner.uid.to_owned()).or_default();
            *dependents.entry(key.clone()).or_default() |= owner.blocks;
        }
        if !is_terminating(object) {
            return;
        }
        // With these finalizers, the object ends when its dependents are deleted or orphaned, so their events concern
        // it.
        if has_finalizer(object, FOREGROUND) || has_finalizer(object, ORPHAN) {
            self.waiting.insert(uid(object).to_owned(), key.clone());
        }

        if is_namespace(key) {
            let new = || Terminating {
                key: key.clone(),
                searched: None,
            };
            self.terminating_namespaces
                .entry(key.parts().name.to_owned())
                .or_insert_with(new);
        }
    }

    fn remove(&mut self, key: &Key, object: &Value) {
        // Empty maps are removed, as uids are never used again and would remain for ever.
        for owner in owners(object) {
            if let Some(dependents) = self.dependents.get_mut(owner.uid) {
                dependents.remove(key);
                if dependents.is_empty() {
                    self.dependents.remove(owner.uid);
                }
            }
        }
        self.waiting.remove(uid(object));
    }

    /// Notes an object to look at.
    pub(super) fn add_pending(&mut self, key: Key) {
        self.pending.insert((is_namespace(&key), key));
    }

    /// Takes the first object to look at.
    pub(super) fn next_pending(&mut self) -> Option<Key> {
        self.pending.pop_first().map(|(_, key)| key)
    }

    /// Reports whether there is an object to look at.
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Notes an object to look at after all others.
    pub(super) fn postpone(&mut self, key: Key) {
        self.postponed.push(key);
    }

    /// Makes the postponed objects those to look at.
    pub(super) fn add_postponed(&mut self) {
        for key in std::mem::take(&mut self.postponed) {
            self.add_pending(key);
        }
    }

    /// Returns the objects that name a uid as their owner.
    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = &Key> + use<'_> {
        self.dependents
            .get(uid)
            .into_iter()
            .flat_map(BTreeMap::keys)
    }

    /// Reports whether an object names a uid as its owner.
    pub(super) fn has_dependents(&self, uid: &str) -> bool {
        self.dependents.contains_key(uid)
    }

    /// Reports whether an object that names a uid as its owner blocks the deletion of the owner.
    pub(super) fn is_blocked(&self, uid: &str) -> bool {
        self.dependents
            .get(uid)
            .is_some_and(|dependents| dependents.values().any(|blocks| *blocks))
    }

    /// Returns the last of the objects in a terminating namespace that were looked at.
    pub(super) fn searched(&self, namespace: &str) -> Option<Key> {
        self.terminating_namespaces.get(namespace)?.searched.clone()
    }

    /// Notes the last of the objects in a terminating namespace that were looked at. Reports whether the namespace is known.
    pub(super) fn set_searched(&mut self, namespace: &str, last: Option<Key>) -> bool {
        let known = self.terminating_namespaces.get_mut(namespace);
        known.map(|known| known.searched = last).is_some()
    }

    /// Reports whether the namespace of an object is terminating.
    pub(super) fn is_in_terminating_namespace(&self, key: &Key) -> bool {
        key.parts()
            .namespace
            .is_some_and(|namespace| self.terminating_namespaces.contains_key(namespace))
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.dependents.is_empty()
            && self.waiting.is_empty()
            && self.terminating_namespaces.is_empty()
            && self.pending.is_empty()
            && self.postponed.is_empty()
    }
}
