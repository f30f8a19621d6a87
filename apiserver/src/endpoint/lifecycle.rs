//! The steps around a write: namespaces must exist, definitions are served, terminating objects end.

use std::sync::Arc;

use fieldmanager_handlers::custom::has_valid_certificates;
use fieldmanager_handlers::{Action, Outcome, Refused};
use fieldmanager_value::{List, Value};
use futures::StreamExt;
use futures::future::BoxFuture;

use super::failure::Unwritten;
use super::{Call, Core, Failure};
use crate::collector::Propagation;
use crate::object::{
    finalizers, has_finalizer, has_items, is_terminating, map, text, with_field, with_metadata,
    without_finalizer,
};
use crate::registry::{Definition, Served};
use crate::store::{Entry, InvalidKey, Key, Prefix, Revision, StoreError, Write};

/// The finalizer of definitions, which the server removes after it deleted their objects.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The delay before a store is followed again after an error.
const FOLLOW_DELAY: std::time::Duration = std::time::Duration::from_millis(200);

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
            let mut details = fieldmanager_managedfields::Details::default();
            details.name = call.namespace.to_owned();
            details.kind = "namespaces".to_owned();
            let message = format!("namespaces {:?} not found", call.namespace);
            let status = fieldmanager_managedfields::Status::failure(404, "NotFound", message, Some(details));
            return Ok(Some(status.into()));
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
        match served.is_definition() {
            true => self.end_definition(served, key).await,
            false => Ok(()),
        }
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
            self.undefine(text(object, &["metadata", "name"])).await;
            self.define_waiting(text(object, &["spec", "group"])).await?;
        }
        self.release_unused(served, object, None).await?;
        // The last object of a terminating definition ends the definition.
        if let Some(definition) = served.definition() {
            let key = Key::new("apiextensions.k8s.io", "customresourcedefinitions", None, &definition.name)?;
            let entry = self.store.get(&key, None).await?.entry;
            let registry = self.registry();
            if entry.is_some_and(|entry| is_terminating(&entry.object))
                && let Some(definitions) = registry.of_key(&key)
            {
                self.end_definition(definitions, &key).await?;
            }
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
        for entry in self.store.list(crate::store::List::new(definitions()?)).await?.entries {
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
    fn end_definition<'a>(&'a self, served: &'a Served, key: &'a Key) -> BoxFuture<'a, Result<(), Failure>> {
        // The end of the last object ends the definition, so ends are nested.
        Box::pin(async move {
            let mut entry = self.store.get(key, None).await?.entry;
            let Some(definition) = &entry else { return Ok(()) };
            let name = text(&definition.object, &["metadata", "name"]).to_owned();
            let registry = self.registry();
            let objects = registry
                .definition(&name)
                .and_then(|definition| registry.all().find(|served| served.is_of(definition)));
            if let Some(objects) = objects {
                for object in self.entries(objects, "").await? {
                    if let Err(Unwritten::Failed(failure)) =
                        self.collect(objects, &object, Propagation::Background).await
                    {
                        return Err(failure);
                    }
                }
                if !self.entries(objects, "").await?.is_empty() {
                    return self.wait_for_objects(key).await;
                }
            }
            while let Some(definition) = &entry {
                let now = self.source.now().to_string();
                let object = self.with_status(definition, |object| {
                    let (reason, message) = match is_established(object) {
                        true => ("InstanceDeletionCompleted", "removed all instances"),
                        false => ("NeverEstablished", "resource was never established"),
                    };
                    let object = with_condition(object, "Terminating", "False", reason, message, &now);
                    without_finalizer(&object, CLEANUP)
                });
                let object = without_finalizer(&object, CLEANUP);
                match self.replace(served, definition, object).await {
                    Err(Unwritten::Overtaken(current)) => entry = current,
                    Err(Unwritten::Failed(failure)) => return Err(failure),
                    Ok(_) => break,
                }
            }
            Ok(())
        })
    }

    /// Marks a terminating definition, whose objects have finalizers, in its conditions and in discovery.
    async fn wait_for_objects(&self, key: &Key) -> Result<(), Failure> {
        let _turn = self.definitions.lock().await;
        while let Some(entry) = self.store.get(key, None).await?.entry {
            let (reason, message) = ("InstanceDeletionInProgress", "CustomResource deletion is in progress");
            let now = self.source.now().to_string();
            let object = with_condition(&entry.object, "Terminating", "True", reason, message, &now);
            if let Ok(definition) = Definition::of(&object)
                && self.registry().definition(&definition.name).is_some_and(|known| !known.is_terminating)
            {
                self.set_registry(self.registry().with_definition(Arc::new(definition)));
            }
            if object == entry.object {
                break;
            }
            match self.store.write(key, Write::Update { expected: entry.revision, object }).await {
                Err(StoreError::Conflict { .. }) => {}
                other => return other.map(|_| ()).map_err(Failure::from),
            }
        }
        Ok(())
    }

    /// Serves the definitions that the store has. What a server that was killed left unfinished is finished: definitions
    /// without their names, and definitions that were deleted.
    pub(crate) async fn define_stored(&self) -> Result<(), StoreError> {
        let Ok(prefix) = definitions() else { return Ok(()) };
        let turn = self.definitions.lock().await;
        let entries = self.store.list(crate::store::List::new(prefix)).await?.entries;
        for entry in &entries {
            let established = Definition::of(&entry.object).ok().filter(|_| is_established(&entry.object));
            if let Some(definition) = established {
                self.set_registry(self.registry().with_definition(Arc::new(definition)));
            }
        }
        drop(turn);
        for entry in &entries {
            // A store without space has to be readable.
            if let Err(failure) = self.finish_definition(entry).await {
                let (name, message) = (entry.key.parts().name, failure.status.message);
                tracing::warn!(name, message, "a definition is not finished");
            }
        }
        Ok(())
    }

    async fn finish_definition(&self, entry: &Entry) -> Result<(), Failure> {
        if !is_accepted(&entry.object) {
            self.define(&entry.key).await?;
        }
        match self.registry().of_key(&entry.key) {
            Some(definitions) if is_terminating(&entry.object) => {
                self.end_definition(definitions, &entry.key).await
            }
            _ => Ok(()),
        }
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
        let page = self.store.list(crate::store::List::new(prefix.clone())).await?;
        let known = self.registry().definitions().map(|known| known.name.clone()).collect::<Vec<_>>();
        let stored = page.entries.iter().map(|entry| entry.key.parts().name.to_owned());
        for name in stored.chain(known) {
            self.follow_definition(&name).await?;
        }
        let mut events = self.store.watch(prefix, page.revision).await?;
        while let Some(event) = events.next().await {
            self.follow_definition(event?.key.parts().name).await?;
        }
        Ok(())
    }

    /// Serves a definition as it is stored now.
    async fn follow_definition(&self, name: &str) -> Result<(), StoreError> {
        let Ok(key) = Key::new("apiextensions.k8s.io", "customresourcedefinitions", None, name) else {
            return Ok(());
        };
        let _turn = self.definitions.lock().await;
        let entry = self.store.get(&key, None).await?.entry;
        let stored = entry.filter(|entry| is_established(&entry.object));
        let definition = stored.and_then(|entry| Definition::of(&entry.object).ok());
        let registry = self.registry();
        match (definition, registry.definition(name)) {
            (Some(definition), Some(known)) if definition.object() == known.object() => {}
            (Some(definition), _) => self.set_registry(registry.with_definition(Arc::new(definition))),
            (None, Some(_)) => self.set_registry(registry.without_definition(name)),
            (None, None) => {}
        }
        Ok(())
    }

    async fn undefine(&self, name: &str) {
        let _turn = self.definitions.lock().await;
        self.set_registry(self.registry().without_definition(name));
    }
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
