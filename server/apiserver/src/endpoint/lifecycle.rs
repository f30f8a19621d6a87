//! The steps around a write: namespaces must exist, definitions are served, terminating objects end.

use std::sync::Arc;
use std::time::Duration;

use fieldmanager_access::RBAC_GROUP;
use fieldmanager_handlers::{Action, Outcome, Pending};
use fieldmanager_value::Value;
use futures::StreamExt;

use super::definition::{
    accepted, definition_key, definitions, is_accepted, is_ended, is_ending, is_established,
    with_conditions,
};
use super::ending::Ending;
use super::failure::{Unwritten, until_written};
use super::{Call, Core, Failure};
use crate::object::{has_items, is_terminating, metadata, text};
use crate::registry::{Definition, Served};
use crate::store::{Entry, Key, List as ListOf, Revision, StoreError, Write};

/// The delay before a store is followed again after an error.
const FOLLOW_DELAY: Duration = Duration::from_millis(200);

impl Core {
    /// Refuses a request that creates an object where there can be none: its definition is terminating, or its namespace is
    /// or does not exist. Faults of the body are reported before that, those of the object after it.
    ///
    /// Behaviour: the plugin NamespaceLifecycle, which is the first one.
    pub(super) async fn check_place(
        &self,
        call: &Call<'_>,
        pending: &Pending<'_>,
    ) -> Result<(), Failure> {
        let definition = call.served.definition();
        if definition.is_some_and(|definition| definition.is_terminating) {
            return Err(Failure::of_object(
                403,
                "Forbidden",
                call,
                |resource, name| {
                    format!(
                        "{resource} {name} is forbidden: create not allowed while custom resource definition is terminating"
                    )
                },
            ));
        }

        if !call.served.facts.namespaced {
            return Ok(());
        }
        match self.refused_namespace(call, pending.object()).await? {
            Some(failure) => Err(failure.with_warnings_of_fields(pending.warnings().to_vec())),
            None => Ok(()),
        }
    }

    async fn refused_namespace(
        &self,
        call: &Call<'_>,
        object: &Value,
    ) -> Result<Option<Failure>, Failure> {
        let Ok(key) = Key::new("", "namespaces", None, call.namespace) else {
            return Ok(None);
        };
        // kube-apiserver looks again, as its cache may be late. The store is never late, so 404 is certain.
        let Some(entry) = self.store.get(&key, None).await?.entry else {
            let message = format!("namespaces {:?} not found", call.namespace);
            let about = ("", "namespaces", call.namespace);
            return Ok(Some(Failure::about(404, "NotFound", about, message)));
        };
        if text(&entry.object, &["status", "phase"]) != "Terminating" {
            return Ok(None);
        }

        let namespace = call.namespace;
        let terminating = format!("namespace {namespace} is being terminated");
        let own = |name| text(object, &["metadata", name]);
        let name = match (own("name"), own("generateName")) {
            ("", "") => "Unknown",
            ("", generated) => generated,
            (name, _) => name,
        };
        let named = Call { name, ..*call };
        let failure = Failure::of_object(403, "Forbidden", &named, |resource, name| {
            format!(
                "{resource} {name} is forbidden: unable to create new content in namespace {namespace} because it is being terminated"
            )
        });

        Ok(Some(failure.cause(
            "NamespaceTerminating",
            &terminating,
            "metadata.namespace",
        )))
    }

    /// The consequences of a write of an object.
    pub(super) async fn written(
        &self,
        served: &Served,
        key: &Key,
        outcome: &Outcome,
    ) -> Result<(), Failure> {
        // Roles have an effect where they decide.
        let decides = self.access.has_rules() && served.facts.group == RBAC_GROUP;
        if outcome.action == Action::Create && !decides {
            self.inert.created(served);
        }
        match outcome.action {
            Action::Delete => self.removed(served, &outcome.object).await,
            _ if served.is_definition() => {
                self.define(key).await?;
                self.define_waiting(text(&outcome.object, &["spec", "group"]))
                    .await
            }
            _ => Ok(()),
        }
    }

    /// The consequences of a write that changes nothing: those of an earlier one which failed.
    pub(super) async fn repeated(&self, served: &Served, key: &Key) -> Result<(), Failure> {
        if served.is_definition() {
            self.define(key).await
        } else {
            Ok(())
        }
    }

    /// The consequences of a deletion that waits for finalizers.
    pub(super) async fn marked(&self, served: &Served, key: &Key) -> Result<(), Failure> {
        if !served.is_definition() {
            return Ok(());
        }
        // The task leaves a definition to this request as long as the request lasts, and gets it if that fails.
        let mut ending = Ending::begin(self, key);
        ending.is_over = self.end_definition(key, true).await?;
        Ok(())
    }

    /// Stores an object, in the form in which it is stored, in place of an entry. A terminating object that has neither
    /// finalizers nor a grace period ends.
    pub(super) async fn replace(
        &self,
        served: &Served,
        entry: &Entry,
        object: Value,
    ) -> Result<Revision, Unwritten> {
        let expected = entry.revision;
        let grace = metadata(&object, "deletionGracePeriodSeconds").and_then(Value::as_i64);
        if !is_terminating(&object)
            || grace.unwrap_or(0) > 0
            || has_items(&object, &["metadata", "finalizers"])
            || has_items(&object, &["spec", "finalizers"])
        {
            return Ok(self
                .store
                .write(&entry.key, Write::Update { expected, object })
                .await?);
        }

        // The last finalizer is gone: the object ends with the write that removed it.
        let revision = self
            .store
            .write(&entry.key, Write::Delete { expected })
            .await?;
        self.removed(served, &object).await?;
        Ok(revision)
    }

    /// The consequences of the end of an object.
    pub(super) async fn removed(&self, served: &Served, object: &Value) -> Result<(), Failure> {
        if served.is_definition() {
            return self.undefine(object).await;
        }
        self.check_flow_schemas_after(served).await?;
        self.release_unused(served, object, None).await?;
        let Some(definition) = served.definition() else {
            return Ok(());
        };

        let key = definition_key(&definition.name)?;
        let stored = self.store.get(&key, None).await?.entry;
        // The last object of a terminating definition ends the definition.
        if stored.is_some_and(|stored| is_ending(&stored.object)) && self.is_empty(served).await? {
            self.remove_definition(&key).await?;
        }
        Ok(())
    }

    /// Serves the stored definition of a key: gives it its names and its conditions, and changes the registry.
    async fn define(&self, key: &Key) -> Result<(), Failure> {
        // Definitions are served one after the other, since the names of each depend on those that are served.
        let _turn = self.definitions.lock().await;
        let defined = self.rewrite(key, |entry| {
            let accepted = accepted(&entry.object, &self.registry());
            let now = self.source.now().to_string();
            let object = self.with_status(entry, |definition| {
                with_conditions(definition, &accepted, &now)
            });

            // A definition whose names are taken stays stored and unserved. It is looked at again when names become
            // free.
            if accepted.is_ok()
                && is_established(&object)
                && let Ok(definition) = Definition::of(&object)
            {
                self.serve_definition(definition);
            }
            Some(object)
        });

        defined.await.map(|_| ())
    }

    /// Serves a definition. Watches of its objects end, unless it serves the same as before.
    fn serve_definition(&self, mut definition: Definition) {
        let registry = self.registry();
        definition.conversion = self.conversion_of(&definition);
        let earlier = registry.definition(&definition.name);
        if let Some(earlier) = earlier {
            definition.inherit_watches(earlier);
        }
        let definition = Arc::new(definition);
        self.set_registry(registry.with_definition(definition.clone()));
        if let Some(earlier) = earlier {
            earlier.end_watches(Some(&definition));
        }
    }

    /// Converts the objects of definitions that another server served as this one does.
    pub(crate) fn adopt_definitions(&self) {
        for definition in self.registry().definitions() {
            if definition.conversion.is_some()
                && let Ok(definition) = Definition::of(definition.object())
            {
                self.serve_definition(definition);
            }
        }
    }

    fn forget_definition(&self, name: &str) {
        let registry = self.registry();
        self.set_registry(registry.without_definition(name));
        if let Some(earlier) = registry.definition(name) {
            earlier.end_watches(None);
        }
    }

    /// Stores another object under a key, computed from the object of the moment, unless it is the same or `None`. Returns
    /// the object that was replaced. A definition whose last finalizer is removed ends.
    pub(super) async fn rewrite(
        &self,
        key: &Key,
        new: impl Fn(&Entry) -> Option<Value>,
    ) -> Result<Option<Entry>, Failure> {
        let entry = self.store.get(key, None).await?.entry;
        let new = &new;
        let written = until_written(entry, |entry| async move {
            // An equal object is not written: a revision without a change would wake all watches.
            let Some(object) = new(&entry).filter(|object| *object != entry.object) else {
                return Ok(None);
            };
            let expected = entry.revision;
            let write = if is_ended(&object) {
                Write::Delete { expected }
            } else {
                Write::Update { expected, object }
            };
            self.store.write(key, write).await?;

            Ok(Some(entry))
        });

        written.await.map(Option::flatten)
    }

    /// Serves the definitions of a group whose names were taken, and are free now.
    async fn define_waiting(&self, group: &str) -> Result<(), Failure> {
        for entry in self.store.list(ListOf::new(definitions())).await?.entries {
            if text(&entry.object, &["spec", "group"]) == group && !is_accepted(&entry.object) {
                self.define(&entry.key).await?;
            }
        }
        Ok(())
    }

    /// A stored definition after the server changed its status by a request of its own.
    pub(super) fn with_status(&self, entry: &Entry, change: impl FnOnce(&Value) -> Value) -> Value {
        let registry = self.registry();
        let Some((served, handlers)) = registry
            .of_key(&entry.key)
            .and_then(|served| Some((served, served.handlers().ok()?)))
        else {
            return entry.object.clone();
        };

        let live = served.live(entry);
        let changed = change(&live);
        if changed == live {
            return entry.object.clone();
        }
        let name = text(&live, &["metadata", "name"]).to_owned();
        // The handlers make the write, so that its managed fields have an entry of the server, as those of
        // kube-apiserver.
        let request = fieldmanager_handlers::Request::new(self.source.now())
            .subresource(fieldmanager_handlers::Subresource::Status)
            .name(&name)
            .user_agent("kube-apiserver");
        let updated = handlers.update_to(&request, Some(&live), &changed);

        // A definition that today's rules refuse has its status all the same.
        served.to_stored(&updated.map_or(changed, |outcome| outcome.object))
    }

    /// Serves the definitions that the store has, and gives those their names which a server that was killed left without.
    pub(crate) async fn define_stored(&self) -> Result<(), StoreError> {
        let turn = self.definitions.lock().await;
        let entries = self.store.list(ListOf::new(definitions())).await?.entries;
        for entry in &entries {
            let established = Definition::of(&entry.object)
                .ok()
                .filter(|_| is_established(&entry.object));
            if let Some(definition) = established {
                self.serve_definition(definition);
            }
        }

        // Serving a definition takes the lock again, and writes. The stored ones are served before any of these writes.
        drop(turn);
        for entry in entries.iter().filter(|entry| !is_accepted(&entry.object)) {
            // A store without space has to be readable.
            if let Err(failure) = self.define(&entry.key).await {
                let (name, reason) = (entry.key.parts().name, failure.status.message);
                tracing::warn!(name, reason, "a definition is not finished");
            }
        }

        Ok(())
    }

    /// Serves the definitions that other servers of the same store write, until the store is closed.
    pub(crate) async fn follow_definitions(&self) {
        loop {
            match self.follow_once().await {
                Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::warn!(%error, "definitions of other servers are not followed")
                }
                Ok(()) => {}
            }
            tokio::time::sleep(FOLLOW_DELAY).await;
        }
    }

    async fn follow_once(&self) -> Result<(), StoreError> {
        let page = self.store.list(ListOf::new(definitions())).await?;
        let known = self
            .registry()
            .definitions()
            .map(|known| known.name.clone())
            .collect::<Vec<_>>();
        let stored = page
            .entries
            .iter()
            .map(|entry| entry.key.parts().name.to_owned());
        // A definition that is known and no longer stored was deleted while the store was not followed.
        for name in stored.chain(known) {
            self.follow_other(&name).await?;
        }

        let mut events = self.store.watch(definitions(), page.revision).await?;
        while let Some(event) = events.next().await {
            self.follow_other(event?.key.parts().name).await?;
        }
        Ok(())
    }

    /// Serves a definition as another server may have written it. The end of it is a task of every server, of which some
    /// may be killed.
    async fn follow_other(&self, name: &str) -> Result<(), StoreError> {
        if self.follow_definition(name).await? {
            self.terminated.notify_one();
        }
        Ok(())
    }

    /// Serves a definition as it is stored now. Returns whether it is terminating and was not before.
    pub(super) async fn follow_definition(&self, name: &str) -> Result<bool, StoreError> {
        let Ok(key) = definition_key(name) else {
            return Ok(false);
        };
        let _turn = self.definitions.lock().await;
        let entry = self.store.get(&key, None).await?.entry;
        let stored = entry.filter(|entry| is_established(&entry.object));
        let definition = stored.and_then(|entry| Definition::of(&entry.object).ok());
        let registry = self.registry();
        let is_terminating = |definition: &Definition| definition.is_terminating;
        let known = registry.definition(name);
        // Only the beginning of an end is reported, so that the task is not woken by each write of a terminating
        // definition.
        let begins = definition.as_ref().is_some_and(is_terminating)
            && !known.is_some_and(|known| is_terminating(known));

        // An equal definition keeps its registry, and so the handlers that were made for it.
        match (definition, known) {
            (Some(definition), Some(known)) if definition.object() == known.object() => {}
            (Some(definition), _) => self.serve_definition(definition),
            (None, Some(_)) => self.forget_definition(name),
            (None, None) => {}
        }

        Ok(begins)
    }

    /// Follows the end of a definition: it is no longer served, and those that waited for its names are.
    pub(super) async fn undefine(&self, definition: &Value) -> Result<(), Failure> {
        let turn = self.definitions.lock().await;
        self.forget_definition(text(definition, &["metadata", "name"]));
        // The lock is released first, since each definition that gets the names takes it.
        drop(turn);
        self.define_waiting(text(definition, &["spec", "group"]))
            .await
    }
}
