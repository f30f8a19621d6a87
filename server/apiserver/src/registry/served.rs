//! One resource at one version.

use std::sync::{Arc, OnceLock};

use fieldmanager_builtin::{Kind, KindDescription};
use fieldmanager_handlers::internal::{converting_resource, custom_resource};
use fieldmanager_handlers::{Outcome, Resource, Subresource};
use fieldmanager_openapi::Types;
use fieldmanager_schema::Type;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::CrdError;
use fieldmanager_value::internal::Work;
use fieldmanager_value::{Map, Str, Value};

use super::Definition;
use super::beta::from_beta;
use crate::facts::{self, ResourceFacts, SelectableField, resource_of_definition};
use crate::object::{in_group, with_metadata};
use crate::pool;
use crate::store::{Entry, InvalidKey, Key, Prefix, Revision};
use crate::table::Printer;

/// The verbs that discovery lists of a resource whose definition is terminating.
const TERMINATING_VERBS: [&str; 5] = ["delete", "deletecollection", "get", "list", "watch"];

/// A resource at one version.
pub(crate) struct Served {
    pub(crate) facts: ResourceFacts,
    kind: GroupVersionKind,
    /// The kind at the version at which objects are stored; `None` if none are.
    storage: Option<GroupVersionKind>,
    /// Made at the first request that writes: most kinds are never used.
    handlers: OnceLock<Result<Resource, String>>,
    storage_handlers: OnceLock<Option<Resource>>,
    printer: OnceLock<Printer>,
    /// Whether unions have an effect.
    unions: bool,
    /// The definition of a custom resource.
    definition: Option<Arc<Definition>>,
}

impl Served {
    pub(super) fn builtin(facts: ResourceFacts, unions: bool) -> Self {
        let kind = facts.group_version_kind();
        // An Event of `events.k8s.io` is stored as one of the core group.
        let group = KindDescription::find(&kind).internal_group();
        let storage = facts.storage_version.as_ref();
        let storage =
            storage.map(|version| GroupVersionKind::new(group, version.clone(), kind.kind));
        Served::new(facts, storage, None, unions)
    }

    /// The resources of a definition, at the versions that are served.
    pub(super) fn of_definition(definition: &Arc<Definition>, unions: bool) -> Vec<Self> {
        let versions = definition.resource.versions.iter();
        let served = versions.filter(|version| version.served);
        let resources = served.filter_map(|version| {
            let mut served = Served::custom(&version.name, definition.clone(), unions).ok()?;
            if definition.is_terminating {
                // Clients that begin now should not write. Requests to change objects are answered all the same.
                served.facts.verbs = TERMINATING_VERBS.map(Str::from).to_vec();
            }
            Some(served)
        });

        resources.collect()
    }

    /// The resource of a definition at the version at which objects are stored, whether or not it is served.
    pub(crate) fn at_storage_version(
        definition: Arc<Definition>,
        unions: bool,
    ) -> Result<Self, CrdError> {
        let version = definition.storage_version();
        Served::custom(&version, definition, unions)
    }

    fn custom(version: &str, definition: Arc<Definition>, unions: bool) -> Result<Self, CrdError> {
        let facts = resource_of_definition(&definition.resource, version)?;
        let kind = facts.group_version_kind();
        let storage = GroupVersionKind::new(kind.group, definition.storage_version(), kind.kind);
        Ok(Served::new(facts, Some(storage), Some(definition), unions))
    }

    fn new(
        facts: ResourceFacts,
        storage: Option<GroupVersionKind>,
        definition: Option<Arc<Definition>>,
        unions: bool,
    ) -> Self {
        Served {
            kind: facts.group_version_kind(),
            facts,
            storage,
            handlers: OnceLock::new(),
            storage_handlers: OnceLock::new(),
            printer: OnceLock::new(),
            unions,
            definition,
        }
    }

    /// The kind of the objects.
    pub(crate) fn kind(&self) -> &GroupVersionKind {
        &self.kind
    }

    /// Whether objects are stored, as those of reviews are not.
    pub(crate) fn is_stored(&self) -> bool {
        self.storage.is_some()
    }

    /// Whether the kind is built in.
    pub(crate) fn is_builtin(&self) -> bool {
        self.definition.is_none()
    }

    /// The description of a built-in kind; `None` for a custom resource.
    pub(crate) fn description(&self) -> Option<&'static KindDescription> {
        self.is_builtin().then(|| KindDescription::find(&self.kind))
    }

    /// Whether the kind is built in and its description has a property.
    pub(crate) fn is(&self, has: fn(&KindDescription) -> bool) -> bool {
        self.description().is_some_and(has)
    }

    /// Whether the objects are CustomResourceDefinitions.
    pub(crate) fn is_definition(&self) -> bool {
        self.is(|kind| kind.is_definition)
    }

    /// Whether this is a resource of a definition.
    pub(crate) fn is_of(&self, definition: &Arc<Definition>) -> bool {
        self.definition
            .as_ref()
            .is_some_and(|own| Arc::ptr_eq(own, definition))
    }

    /// The definition of a custom resource.
    pub(crate) fn definition(&self) -> Option<&Arc<Definition>> {
        self.definition.as_ref()
    }

    /// `deployments.apps`: the resource as messages name it.
    pub(crate) fn group_resource(&self) -> String {
        in_group(&self.facts.plural, &self.facts.group)
    }

    /// `Deployment.apps`: the kind as messages name it.
    pub(crate) fn group_kind(&self) -> String {
        in_group(&self.facts.kind, self.storage_group())
    }

    /// The handlers of requests that write. The error is a message.
    pub(crate) fn handlers(&self) -> Result<&Resource, String> {
        let made = self.handlers.get_or_init(|| {
            // The deadline of one request is not that of the others.
            let made = Work::new().run(|| self.resource(&self.kind));
            made.map_err(|stopped| stopped.to_string())?
                .map_err(|error| error.to_string())
        });
        made.as_ref().map_err(String::clone)
    }

    /// Whether objects can be read without making the handlers first.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_builtin() || self.handlers.get().is_some()
    }

    fn resource(
        &self,
        kind: &GroupVersionKind,
    ) -> Result<Resource, fieldmanager_handlers::ResourceError> {
        let resource = match &self.definition {
            Some(definition) => match definition.conversion.clone() {
                Some(conversion) => {
                    let convert = move |object: &Value, version: &str| {
                        pool::wait(conversion.convert(object.clone(), version))
                            .unwrap_or_else(|| Err(pool::TIMED_OUT.to_owned()))
                    };
                    converting_resource(&definition.resource, &kind.version, Arc::new(convert))?
                }
                None => Resource::custom(&definition.resource, &kind.version)?,
            },
            None => Resource::builtin(kind)?,
        };
        Ok(resource.server_answers(true).unions(self.unions))
    }

    /// The group under which objects are stored.
    pub(crate) fn storage_group(&self) -> &str {
        self.storage
            .as_ref()
            .map_or(&self.facts.group, |kind| &kind.group)
    }

    /// Whether objects are stored at this version.
    pub(crate) fn is_storage_version(&self) -> bool {
        self.storage
            .as_ref()
            .is_some_and(|storage| storage.version == self.kind.version)
    }

    /// The type of the objects; `None` if it is not known.
    pub(crate) fn object_type(&self) -> Option<Type> {
        let types = match &self.definition {
            Some(definition) => Types::from_custom_resource(&definition.resource).ok()?,
            None => fieldmanager_openapi::builtin::types(),
        };
        types.for_kind(&self.kind).ok()
    }

    /// The key of an object.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> Result<Key, InvalidKey> {
        let namespace = self.facts.namespaced.then_some(namespace);
        Key::new(self.storage_group(), &self.facts.plural, namespace, name)
    }

    /// The keys of the objects of a namespace, or of all if it is empty.
    pub(crate) fn prefix(&self, namespace: &str) -> Result<Prefix, InvalidKey> {
        if self.facts.namespaced && !namespace.is_empty() {
            Prefix::namespace(self.storage_group(), &self.facts.plural, namespace)
        } else {
            Prefix::resource(self.storage_group(), &self.facts.plural)
        }
    }

    /// A stored object at the version of the resource, with its resource version.
    pub(crate) fn read(&self, entry: &Entry) -> Value {
        self.present(&entry.object, entry.revision)
    }

    /// A stored object as the handlers take it, which read it themselves.
    pub(crate) fn live(&self, entry: &Entry) -> Value {
        let version = Value::from(entry.revision.to_string().as_str());
        with_metadata(&entry.object, "resourceVersion", Some(version))
    }

    /// The warning of each request to the version; `None` if it is not deprecated.
    pub(crate) fn deprecation(&self) -> Option<&str> {
        self.handlers().ok()?.deprecation()
    }

    /// Whether objects are presented as they are stored, but for the resource version: a built-in kind was decoded and
    /// defaulted when it was stored; the schema of a custom one may have changed since.
    pub(crate) fn is_as_stored(&self) -> bool {
        self.definition.is_none() && self.storage.as_ref() == Some(&self.kind)
    }

    /// An object of the store at the version of the resource, with a resource version.
    pub(crate) fn present(&self, stored: &Value, revision: Revision) -> Value {
        let handlers = (!self.is_as_stored()).then(|| self.handlers());
        let object = match handlers {
            Some(Ok(handlers)) => handlers.read(stored),
            _ if self.is_definition() => from_beta(stored).unwrap_or_else(|| stored.clone()),
            _ => stored.clone(),
        };

        with_metadata(
            &object,
            "resourceVersion",
            Some(Value::from(revision.to_string().as_str())),
        )
    }

    /// An object of an answer as it is stored: at the storage version, without a resource version.
    pub(crate) fn to_stored(&self, object: &Value) -> Value {
        let object = with_metadata(object, "resourceVersion", None);
        let Some(storage) = self
            .storage
            .as_ref()
            .filter(|storage| **storage != self.kind && !self.converts_by_webhook())
        else {
            return object;
        };
        // A conversion fills in no defaults: neither those of the version of the object, nor those of the store.
        let storage_handlers = || match &self.definition {
            Some(definition) => custom_resource(&definition.resource, &storage.version, false).ok(),
            None => self.resource(storage).ok(),
        };
        let make = || Work::new().run(storage_handlers).ok()?;
        let handlers = self.storage_handlers.get_or_init(make);

        handlers
            .as_ref()
            .map_or_else(|| object.clone(), |handlers| handlers.read(&object))
    }

    /// Whether the resource has a subresource; an empty one is the object itself.
    pub(crate) fn supports_subresource(&self, subresource: &str) -> bool {
        subresource.is_empty() || self.facts.subresource(subresource).is_some()
    }

    /// Whether a webhook converts objects between this version and that of the store.
    pub(crate) fn converts_by_webhook(&self) -> bool {
        let definition = self.definition.as_ref();
        definition.is_some_and(|definition| definition.resource.converts_by_webhook)
    }

    /// The object of an outcome as it is stored.
    pub(crate) fn outcome_to_stored(&self, outcome: &Outcome) -> Value {
        let stored = outcome.stored().cloned();
        stored.unwrap_or_else(|| self.to_stored(&outcome.object))
    }

    /// The object of an outcome as it is stored in place of another one. kube-apiserver changes a built-in object at a version
    /// that has the fields of all versions, so the part that a request does not change stays as it is stored: at the
    /// version of the request it can have less, or another order.
    pub(crate) fn to_stored_over(
        &self,
        outcome: &Outcome,
        part: Subresource,
        stored: &Value,
    ) -> Value {
        let new = self.outcome_to_stored(outcome);
        let Value::Map(mut fields) = new else {
            return new;
        };
        if self.is_builtin() && self.storage.as_ref() != Some(&self.kind) {
            let kept = if part == Subresource::Status {
                "spec"
            } else {
                "status"
            };
            let kept = stored.get(kept).map(|value| (kept, value));
            let status = outcome.stored_status().map(|status| ("status", status));
            for (name, value) in kept.into_iter().chain(status) {
                fields.insert(name, value.clone());
            }
        }

        Value::Map(fields)
    }

    /// What makes tables of the objects.
    pub(crate) fn printer(&self) -> &Printer {
        self.printer.get_or_init(|| match &self.definition {
            Some(definition) => Printer::of_definition(definition.columns(&self.kind.version)),
            None => Printer::of_kind(&self.kind),
        })
    }

    /// The fields that field selectors can name.
    pub(crate) fn selectable_fields(&self) -> Vec<SelectableField> {
        match &self.definition {
            Some(definition) => definition.selectable_fields(&self.kind.version),
            None => facts::field_selectors(&self.kind).to_vec(),
        }
    }

    /// The object of a bookmark: what Go writes of an empty object of the kind.
    pub(crate) fn bookmark(&self) -> Value {
        // A typed server writes fields without `omitempty` even in an empty object.
        let zero = Kind::of(&self.kind)
            .filter(|_| self.is_builtin())
            .map(|kind| kind.zero());
        let mut fields = zero
            .as_ref()
            .and_then(Value::as_map)
            .cloned()
            .unwrap_or_default();
        fields.insert("kind", &self.facts.kind);
        fields.insert("apiVersion", self.facts.group_version());
        fields.insert("metadata", Map::new());

        Value::Map(fields)
    }

    /// Whether the resource or a subresource of it supports a verb.
    pub(crate) fn supports(&self, subresource: &str, verb: &str) -> bool {
        match subresource {
            // Objects of custom resources support all verbs, also those that discovery no longer lists.
            "" => self.definition.is_some() || self.facts.supports(verb),
            name => self
                .facts
                .subresource(name)
                .is_some_and(|sub| sub.verbs.iter().any(|own| own == verb)),
        }
    }
}
