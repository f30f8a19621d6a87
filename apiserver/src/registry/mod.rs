//! The resources that are served: those built in, and those of CustomResourceDefinitions.

mod beta;
mod custom;
mod served;

use std::collections::BTreeMap;
use std::sync::Arc;

use fieldmanager_structural::GroupVersionKind;

use crate::facts::{self, ServedResource};
use crate::store::Key;
pub(crate) use custom::Definition;
pub(crate) use served::Served;

/// Group, version and plural of a resource.
type Place = (String, String, String);

/// The resources of one moment. A definition that is created, changed or removed makes another registry.
#[derive(Clone)]
pub(crate) struct Registry {
    /// Whether unions have an effect.
    unions: bool,
    resources: BTreeMap<Place, Arc<Served>>,
    /// By the name of the definition.
    definitions: BTreeMap<String, Arc<Definition>>,
}

impl Registry {
    /// The resources that kube-apiserver serves by default.
    pub(crate) fn builtin(unions: bool) -> Self {
        let resources = facts::resources().iter().map(|facts| Served::builtin(facts.clone(), unions));
        Registry {
            unions,
            resources: resources.map(|served| (place(&served.facts), Arc::new(served))).collect(),
            definitions: BTreeMap::new(),
        }
    }

    /// Whether unions have an effect.
    pub(crate) fn has_unions(&self) -> bool {
        self.unions
    }

    /// The resource at a group, version and plural.
    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        self.resources.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// The resource of a kind.
    pub(crate) fn of_kind(&self, kind: &GroupVersionKind) -> Option<&Arc<Served>> {
        let of_group =
            self.resources.range((kind.group.to_string(), kind.version.to_string(), String::new())..);
        of_group
            .take_while(|((group, version, _), _)| {
                *group == kind.group.as_str() && *version == kind.version.as_str()
            })
            .map(|(_, served)| served)
            .find(|served| served.facts.kind == kind.kind)
    }

    /// All resources, by group, version and plural.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.resources.values()
    }

    /// A resource whose objects are stored under the group and plural of a key.
    pub(crate) fn of_key(&self, key: &Key) -> Option<&Arc<Served>> {
        let parts = key.parts();
        let is_of = |served: &&Arc<Served>| {
            served.is_stored() && served.storage_group() == parts.group && served.facts.plural == parts.plural
        };
        self.all().find(is_of)
    }

    /// The resource whose objects are stored under a group and a plural, at the storage version if that is served.
    pub(crate) fn stored_as(&self, group: &str, plural: &str) -> Option<&Arc<Served>> {
        let is_of = |served: &&Arc<Served>| {
            served.is_stored() && served.storage_group() == group && served.facts.plural == plural
        };
        self.all().filter(is_of).max_by_key(|served| served.is_storage_version())
    }

    /// One resource for each that is stored: of several versions, the first.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Arc<Served>> {
        let mut known = std::collections::BTreeSet::new();
        self.all().filter(move |served| {
            served.is_stored()
                && known.insert((served.storage_group().to_owned(), served.facts.plural.clone()))
        })
    }

    /// The definitions that are served.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.definitions.values()
    }

    /// The definition with a name.
    pub(crate) fn definition(&self, name: &str) -> Option<&Arc<Definition>> {
        self.definitions.get(name)
    }

    /// The registry with a definition in place of the one of that name.
    pub(crate) fn with_definition(&self, definition: Arc<Definition>) -> Self {
        let mut registry = self.without_definition(&definition.name);
        for served in Served::of_definition(&definition, self.unions) {
            registry.resources.insert(place(&served.facts), Arc::new(served));
        }
        registry.definitions.insert(definition.name.clone(), definition);
        registry
    }

    /// The registry without a definition.
    pub(crate) fn without_definition(&self, name: &str) -> Self {
        let mut registry = self.clone();
        if let Some(old) = registry.definitions.remove(name) {
            registry.resources.retain(|_, served| !served.is_of(&old));
        }
        registry
    }
}

fn place(facts: &ServedResource) -> Place {
    (facts.group.to_string(), facts.version.to_string(), facts.plural.to_string())
}
