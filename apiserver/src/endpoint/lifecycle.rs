//! The steps around a write: namespaces must exist, definitions are served, terminating objects end.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use fieldmanager_handlers::custom::has_valid_certificates;
use fieldmanager_handlers::{Action, Outcome, Refused};
use fieldmanager_value::{List, Value};
use futures::{StreamExt, TryStreamExt, stream};

use super::failure::Unwritten;
use super::{Call, Core, Failure};
use crate::object::{
    finalizers, has_finalizer, has_items, is_terminating, map, text, with_field, with_metadata,
    without_finalizer,
};
use crate::registry::{Definition, Served};
use crate::store::{Entry, InvalidKey, Key, List as ListOf, Prefix, Revision, StoreError, Write};

/// The finalizer of definitions, which the server removes after it deleted their objects.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The delay before a store is followed again after an error.
const FOLLOW_DELAY: Duration = Duration::from_millis(200);

/// The delay before the end of definitions is tried again after an error.
const END_DELAY: Duration = Duration::from_secs(1);

/// The number of objects of a definition that are read at once when it ends.
const PAGE: usize = 500;

/// The number of them that are deleted at once: a store makes such writes together.
const AT_ONCE: usize = 64;

impl Core {
    /// The outcome of a request that creates an object, unless its namespace does not exist or is terminating. Faults of
    /// the body are reported before that, those of the object after it.
    pub(super) async fn admitted(
        &self,
        call: &Call<'_>,
        made: Result<Outcome, Refused>,
    ) -> Result<Outcome, Failure> {
        let creates = match &made {
            Ok(outcome) => outcome.action == Action::Create,
            Err(refused) => refused.status.reason == "Invalid" && is_of_object(&refused.status),
        };
        if creates && call.served.definition().is_some_and(|definition| definition.is_terminating) {
            return Err(Failure::of_object(403, "Forbidden", call, |resource, name| {
                format!(
                    "{resource} {name} is forbidden: create not allowed while custom resource definition is terminating"
                )
            }));
        }
        if creates
            && call.served.facts.namespaced
            && let Some(failure) = self.refused_namespace(call).await?
        {
            return Err(failure);
        }
        Ok(made?)
    }

    async fn refused_namespace(&self, call: &Call<'_>) -> Result<Option<Failure>, Failure> {
        let Ok(key) = Key::new("", "namespaces", None, call.namespace) else { return Ok(None) };
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
        let failure = Failure::of_object(403, "Forbidden", call, |resource, name| {
            format!(
                "{resource} {name} is forbidden: unable to create new content in namespace {namespace} because it is being terminated"
            )
        });
        Ok(Some(failure.cause("NamespaceTerminating", &terminating, "metadata.namespace")))
    }

    /// The consequences of a write of an object.
    pub(super) async fn written(&self, served: &Served, key: &Key, outcome: &Outcome) -> Result<(), Failure> {
        if outcome.action == Action::Create {
            self.inert.created(served);
        }
        match outcome.action {
            Action::Delete => self.removed(served, &outcome.object).await,
            _ if served.is_definition() => {
                self.define(key).await?;
                self.define_waiting(text(&outcome.object, &["spec", "group"])).await
            }
            _ => Ok(()),
        }
    }

    /// The consequences of a write that changes nothing: those of an earlier one which failed.
    pub(super) async fn repeated(&self, served: &Served, key: &Key) -> Result<(), Failure> {
        match served.is_definition() {
            true => self.define(key).await,
            false => Ok(()),
        }
    }

    /// The consequences of a deletion that waits for finalizers.
    pub(super) async fn marked(&self, served: &Served, key: &Key) -> Result<(), Failure> {
        if !served.is_definition() {
            return Ok(());
        }
        let mut ending = Ending::begin(self, key);
        let ended = self.end_definition(key).await;
        ending.is_over = ended.is_ok();
        ended
    }

    /// Stores an object, in the form in which it is stored, in place of an entry. A terminating object that has no
    /// finalizer left ends.
    pub(super) async fn replace(
        &self,
        served: &Served,
        entry: &Entry,
        object: Value,
    ) -> Result<Revision, Unwritten> {
        let expected = entry.revision;
        if !is_terminating(&object)
            || has_items(&object, &["metadata", "finalizers"])
            || has_items(&object, &["spec", "finalizers"])
        {
            return Ok(self.store.write(&entry.key, Write::Update { expected, object }).await?);
        }
        let revision = self.store.write(&entry.key, Write::Delete { expected }).await?;
        self.removed(served, &object).await?;
        Ok(revision)
    }

    /// The consequences of the end of an object.
    pub(super) async fn removed(&self, served: &Served, object: &Value) -> Result<(), Failure> {
        if served.is_definition() {
            return self.undefine(object).await;
        }
        self.release_unused(served, object, None).await?;
        let Some(definition) = served.definition() else { return Ok(()) };
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
        let _turn = self.definitions.lock().await;
        loop {
            let Some(entry) = self.store.get(key, None).await?.entry else { return Ok(()) };
            let accepted = accepted(&entry.object, &self.registry());
            let now = self.source.now().to_string();
            let object = self.with_status(&entry, |definition| with_conditions(definition, &accepted, &now));
            if accepted.is_ok()
                && is_established(&object)
                && let Ok(definition) = Definition::of(&object)
            {
                self.set_registry(self.registry().with_definition(Arc::new(definition)));
            }
            if object == entry.object {
                return Ok(());
            }
            match self.store.write(key, Write::Update { expected: entry.revision, object }).await {
                Err(StoreError::Conflict { .. }) => {}
                other => return other.map(|_| ()).map_err(Failure::from),
            }
        }
    }

    /// Serves the definitions of a group whose names were taken, and are free now.
    async fn define_waiting(&self, group: &str) -> Result<(), Failure> {
        for entry in self.store.list(ListOf::new(definitions()?)).await?.entries {
            if text(&entry.object, &["spec", "group"]) == group && !is_accepted(&entry.object) {
                self.define(&entry.key).await?;
            }
        }
        Ok(())
    }

    /// A stored definition after the server changed its status by a request of its own.
    fn with_status(&self, entry: &Entry, change: impl FnOnce(&Value) -> Value) -> Value {
        let registry = self.registry();
        let Some((served, handlers)) =
            registry.of_key(&entry.key).and_then(|served| Some((served, served.handlers().ok()?)))
        else {
            return entry.object.clone();
        };
        let live = served.live(entry);
        let changed = change(&live);
        if changed == live {
            return entry.object.clone();
        }
        let name = text(&live, &["metadata", "name"]).to_owned();
        let request = fieldmanager_handlers::Request::new(self.source.now())
            .subresource(fieldmanager_handlers::Subresource::Status)
            .name(&name)
            .content_type("application/json")
            .user_agent("kube-apiserver");
        let updated = handlers.update(&request, Some(&live), changed.to_json().as_bytes());
        // A definition that today's rules refuse has its status all the same.
        served.to_stored(&updated.map_or(changed, |outcome| outcome.object))
    }

    /// Ends a terminating definition: deletes its objects, then the definition itself.
    async fn end_definition(&self, key: &Key) -> Result<(), Failure> {
        let stored = self.store.get(key, None).await?.entry;
        let Some(stored) = stored.filter(|stored| is_ending(&stored.object)) else { return Ok(()) };
        // A definition that was never established has no objects.
        if is_established(&stored.object)
            && let Ok(definition) = Definition::of(&stored.object)
        {
            // From now on, no request creates an object.
            self.follow_definition(&definition.name).await?;
            let objects = Served::at_storage_version(Arc::new(definition), self.registry().has_unions())
                .map_err(|error| Failure::new(500, "InternalError", error.to_string()))?;
            // Another server, which does not know of the end yet, may create objects meanwhile.
            while self.delete_instances(&objects).await? {}
            if !self.is_empty(&objects).await? {
                return self.wait_for_objects(key).await;
            }
        }
        self.remove_definition(key).await
    }

    /// Deletes the objects of a definition, a page at a time. Returns whether there were any that had not been deleted
    /// before.
    async fn delete_instances(&self, objects: &Served) -> Result<bool, Failure> {
        let mut list = ListOf::new(objects.prefix("")?).limit(PAGE).uncounted();
        let mut found = false;
        loop {
            let page = self.store.list(list.clone()).await?;
            found |= page.entries.iter().any(|entry| !is_terminating(&entry.object));
            let is_held = |entry: &Entry| {
                is_terminating(&entry.object) && has_items(&entry.object, &["metadata", "finalizers"])
            };
            stream::iter(page.entries.into_iter().filter(|entry| !is_held(entry)).map(Ok))
                .try_for_each_concurrent(AT_ONCE, |entry| self.delete_instance(objects, entry))
                .await?;
            let Some(next) = page.next else { return Ok(found) };
            list = list.after(next);
            // A store in memory never waits.
            tokio::task::yield_now().await;
        }
    }

    /// Removes a terminating definition without objects, unless finalizers of clients remain.
    async fn remove_definition(&self, key: &Key) -> Result<(), Failure> {
        loop {
            let stored = self.store.get(key, None).await?.entry;
            let Some(stored) = stored.filter(|stored| is_ending(&stored.object)) else { return Ok(()) };
            let now = self.source.now().to_string();
            let object = self.with_status(&stored, |object| {
                let (reason, message) = match is_established(object) {
                    true => ("InstanceDeletionCompleted", "removed all instances"),
                    false => ("NeverEstablished", "resource was never established"),
                };
                with_condition(object, "Terminating", "False", reason, message, &now)
            });
            let object = without_finalizer(&object, CLEANUP);
            let is_last = !has_items(&object, &["metadata", "finalizers"]);
            let expected = stored.revision;
            let write = match is_last {
                true => Write::Delete { expected },
                false => Write::Update { expected, object },
            };
            match self.store.write(key, write).await {
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(_) if is_last => return self.undefine(&stored.object).await,
                Ok(_) => return Ok(()),
            }
        }
    }

    /// Marks a terminating definition, whose objects have finalizers, in its conditions and in discovery.
    async fn wait_for_objects(&self, key: &Key) -> Result<(), Failure> {
        while let Some(entry) =
            self.store.get(key, None).await?.entry.filter(|entry| is_ending(&entry.object))
        {
            let (reason, message) = ("InstanceDeletionInProgress", "CustomResource deletion is in progress");
            let now = self.source.now().to_string();
            let object = with_condition(&entry.object, "Terminating", "True", reason, message, &now);
            if object == entry.object {
                break;
            }
            match self.store.write(key, Write::Update { expected: entry.revision, object }).await {
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => break,
            }
        }
        self.follow_definition(key.parts().name).await?;
        Ok(())
    }

    /// Ends the terminating definitions that the store has, but for those that requests end. Returns whether none of them
    /// failed.
    pub(crate) async fn end_definitions(&self) -> Result<bool, StoreError> {
        let Ok(prefix) = definitions() else { return Ok(true) };
        let mut succeeded = true;
        let entries = self.store.list(ListOf::new(prefix)).await?.entries;
        let of_requests = self.ending.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for entry in entries.iter().filter(|entry| !of_requests.contains(&entry.key)) {
            // A store without space has to be readable.
            if let Err(failure) = self.end_definition(&entry.key).await {
                let (name, message) = (entry.key.parts().name, failure.status.message);
                tracing::warn!(name, message, "a definition is not ended");
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

    /// Serves the definitions that the store has, and gives those their names which a server that was killed left without.
    pub(crate) async fn define_stored(&self) -> Result<(), StoreError> {
        let Ok(prefix) = definitions() else { return Ok(()) };
        let turn = self.definitions.lock().await;
        let entries = self.store.list(ListOf::new(prefix)).await?.entries;
        for entry in &entries {
            let established = Definition::of(&entry.object).ok().filter(|_| is_established(&entry.object));
            if let Some(definition) = established {
                self.set_registry(self.registry().with_definition(Arc::new(definition)));
            }
        }
        drop(turn);
        for entry in entries.iter().filter(|entry| !is_accepted(&entry.object)) {
            // A store without space has to be readable.
            if let Err(failure) = self.define(&entry.key).await {
                let (name, message) = (entry.key.parts().name, failure.status.message);
                tracing::warn!(name, message, "a definition is not finished");
            }
        }
        Ok(())
    }

    /// Serves the definitions that other servers of the same store write, until the store is closed.
    pub(crate) async fn follow_definitions(&self) {
        loop {
            match self.follow_once().await {
                Err(StoreError::Closed) => return,
                Err(error) => tracing::warn!(%error, "definitions of other servers are not followed"),
                Ok(()) => {}
            }
            tokio::time::sleep(FOLLOW_DELAY).await;
        }
    }

    async fn follow_once(&self) -> Result<(), StoreError> {
        let Ok(prefix) = definitions() else { return Ok(()) };
        let page = self.store.list(ListOf::new(prefix.clone())).await?;
        let known = self.registry().definitions().map(|known| known.name.clone()).collect::<Vec<_>>();
        let stored = page.entries.iter().map(|entry| entry.key.parts().name.to_owned());
        for name in stored.chain(known) {
            self.follow_other(&name).await?;
        }
        let mut events = self.store.watch(prefix, page.revision).await?;
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
    async fn follow_definition(&self, name: &str) -> Result<bool, StoreError> {
        let Ok(key) = definition_key(name) else { return Ok(false) };
        let _turn = self.definitions.lock().await;
        let entry = self.store.get(&key, None).await?.entry;
        let stored = entry.filter(|entry| is_established(&entry.object));
        let definition = stored.and_then(|entry| Definition::of(&entry.object).ok());
        let registry = self.registry();
        let is_terminating = |definition: &Definition| definition.is_terminating;
        let known = registry.definition(name);
        let begins = definition.as_ref().is_some_and(is_terminating)
            && !known.is_some_and(|known| is_terminating(known));
        match (definition, known) {
            (Some(definition), Some(known)) if definition.object() == known.object() => {}
            (Some(definition), _) => self.set_registry(registry.with_definition(Arc::new(definition))),
            (None, Some(_)) => self.set_registry(registry.without_definition(name)),
            (None, None) => {}
        }
        Ok(begins)
    }

    /// Follows the end of a definition: it is no longer served, and those that waited for its names are.
    async fn undefine(&self, definition: &Value) -> Result<(), Failure> {
        let turn = self.definitions.lock().await;
        self.set_registry(self.registry().without_definition(text(definition, &["metadata", "name"])));
        drop(turn);
        self.define_waiting(text(definition, &["spec", "group"])).await
    }
}

/// The end of a definition by a request. If it fails, or the request ends before it, the task that ends definitions does
/// the rest.
struct Ending<'a> {
    core: &'a Core,
    key: &'a Key,
    is_over: bool,
}

impl<'a> Ending<'a> {
    fn begin(core: &'a Core, key: &'a Key) -> Self {
        core.ending.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        Ending { core, key, is_over: false }
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.core.ending.lock().unwrap_or_else(PoisonError::into_inner).remove(self.key);
        if !self.is_over {
            self.core.terminated.notify_one();
        }
    }
}

/// The key of a definition.
fn definition_key(name: &str) -> Result<Key, InvalidKey> {
    Key::new("apiextensions.k8s.io", "customresourcedefinitions", None, name)
}

/// Whether a definition was deleted, and the server has to delete its objects or to see their end.
fn is_ending(definition: &Value) -> bool {
    is_terminating(definition) && has_finalizer(definition, CLEANUP)
}

/// Where definitions are stored.
fn definitions() -> Result<Prefix, InvalidKey> {
    Prefix::resource("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Whether a refusal is about the object, and not about the options of the request.
fn is_of_object(status: &fieldmanager_managedfields::Status) -> bool {
    status.details.as_ref().is_none_or(|details| details.group != "meta.k8s.io")
}

fn is_established(definition: &Value) -> bool {
    has_condition(definition, "Established")
}

fn is_accepted(definition: &Value) -> bool {
    has_condition(definition, "NamesAccepted")
}

fn condition<'v>(definition: &'v Value, name: &str) -> Option<&'v Value> {
    let conditions = definition.get("status").and_then(|status| status.get("conditions")?.as_list());
    conditions?.iter().find(|condition| text(condition, &["type"]) == name)
}

fn has_condition(definition: &Value, name: &str) -> bool {
    condition(definition, name).is_some_and(|condition| text(condition, &["status"]) == "True")
}

/// The definition as a request to delete it leaves it: it waits for the end of its objects.
///
/// Behaviour: `Delete` of `k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition`.
pub(super) fn deleted_definition(object: &Value, now: &str) -> Value {
    let mut object = with_metadata(object, "deletionTimestamp", Some(now.into()));
    if !has_finalizer(&object, CLEANUP) {
        let list: List = finalizers(&object).chain([CLEANUP]).map(Value::from).collect();
        object = with_metadata(&object, "finalizers", Some(Value::List(list)));
    }
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    with_condition(&object, "Terminating", "True", "InstanceDeletionPending", message, now)
}

/// The names that a definition gets. The error is the reason and the message of the condition.
fn accepted(object: &Value, registry: &crate::registry::Registry) -> Result<(), (&'static str, String)> {
    let own = text(object, &["metadata", "name"]);
    let group = text(object, &["spec", "group"]);
    for name in ["plural", "singular", "kind", "listKind"] {
        let wanted = text(object, &["spec", "names", name]);
        for other in registry.all().filter(|served| served.facts.group == group) {
            if other.definition().is_some_and(|definition| definition.name == own) {
                continue;
            }
            let facts = &other.facts;
            let taken = match name {
                "kind" | "listKind" => {
                    [&facts.kind, &facts.list_kind].into_iter().any(|taken| *taken == wanted)
                }
                _ => [&facts.plural, &facts.singular]
                    .into_iter()
                    .chain(&facts.short_names)
                    .any(|taken| *taken == wanted),
            };
            if taken && !wanted.is_empty() {
                let reason = match name {
                    "plural" => "PluralConflict",
                    "singular" => "SingularConflict",
                    "kind" => "KindConflict",
                    _ => "ListKindConflict",
                };
                return Err((reason, format!("{wanted:?} is already in use")));
            }
        }
    }
    Ok(())
}

/// The definition with the conditions `NamesAccepted` and `Established`, and with the accepted names.
fn with_conditions(object: &Value, accepted: &Result<(), (&'static str, String)>, now: &str) -> Value {
    let established = match has_valid_certificates(object) {
        true => ("True", "InitialNamesAccepted", "the initial names have been accepted"),
        false => ("False", "InvalidCABundle", "The conversion webhook CABundle is invalid"),
    };
    let conditions = match accepted {
        Ok(()) => [
            ("NamesAccepted", "True", "NoConflicts", "no conflicts found".to_owned()),
            ("Established", established.0, established.1, established.2.to_owned()),
        ],
        Err((reason, message)) => [
            ("NamesAccepted", "False", *reason, message.clone()),
            ("Established", "False", "NotAccepted", "not all names are accepted".to_owned()),
        ],
    };
    let spec = object.get("spec").and_then(|spec| spec.get("names"));
    let accepted_names = object.get("status").and_then(|status| status.get("acceptedNames"));
    let has_names = spec == accepted_names;
    let mut object = object.clone();
    for (kind, state, reason, message) in conditions {
        // Names that were accepted are not looked at again.
        if has_names && (kind == "NamesAccepted" || !is_accepted(&object) || is_established(&object)) {
            continue;
        }
        // An established definition stays established when a change of its names is refused.
        if kind == "Established"
            && let Some(own) =
                condition(&object, kind).filter(|own| text(own, &["status"]) == "True").cloned()
        {
            object =
                with_condition(&object, kind, "True", text(&own, &["reason"]), text(&own, &["message"]), now);
            continue;
        }
        object = with_condition(&object, kind, state, reason, &message, now);
    }
    match (accepted, object.get("spec").and_then(|spec| spec.get("names"))) {
        (Ok(()), Some(names)) => with_field(&object, "status", "acceptedNames", names.clone()),
        _ => object,
    }
}

/// The definition with a condition. An unchanged state keeps its time.
fn with_condition(object: &Value, kind: &str, state: &str, reason: &str, message: &str, now: &str) -> Value {
    let conditions = object.get("status").and_then(|status| status.get("conditions")?.as_list());
    let mut all: Vec<Value> = conditions.into_iter().flatten().cloned().collect();
    let old = all.iter_mut().find(|condition| text(condition, &["type"]) == kind);
    let since = match &old {
        Some(old) if text(old, &["status"]) == state && !text(old, &["lastTransitionTime"]).is_empty() => {
            text(old, &["lastTransitionTime"]).to_owned()
        }
        _ => now.to_owned(),
    };
    let new = map([
        ("type", kind.into()),
        ("status", state.into()),
        ("reason", reason.into()),
        ("message", message.into()),
        ("lastTransitionTime", since.into()),
    ]);
    match old {
        Some(old) => *old = new,
        None => all.push(new),
    }
    with_field(object, "status", "conditions", Value::List(all.into_iter().collect()))
}
