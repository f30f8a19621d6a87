//! The resources that are served: those built in, and those of CustomResourceDefinitions.

mod beta;
mod custom;
mod served;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use fieldmanager_structural::GroupVersionKind;

use crate::facts::ResourceFacts;
use crate::store::Key;
pub(crate) use custom::Definition;
pub(crate) use served::Served;

/// Group, version and plural of a resource.
type GroupVersionPlural = (String, String, String);

/// A resource whose objects the collector collects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Collected {
    /// The API group by which `ownerReferences` name the resource; empty for the core group.
    pub(crate) group: String,
    /// The kind by which they name it.
    pub(crate) kind: String,
    /// The group under which objects are stored.
    pub(crate) storage_group: String,
    /// The plural name.
    pub(crate) plural: String,
    /// Whether objects have a namespace.
    pub(crate) namespaced: bool,
}

/// Resources by group and plural, with one for each version.
type ByStorage = BTreeMap<String, BTreeMap<String, Vec<Arc<Served>>>>;

/// The resources of one moment. A definition that is created, changed or removed makes another registry.
#[derive(Clone)]
pub(crate) struct Registry {
    /// Whether unions have an effect.
    unions: bool,
    resources: BTreeMap<GroupVersionPlural, Arc<Served>>,
    /// By the name of the definition.
    definitions: BTreeMap<String, Arc<Definition>>,
    collected: OnceLock<Arc<[Collected]>>,
    /// The resources by the group and the plural under which their objects are stored, which each request asks for.
    by_storage: OnceLock<ByStorage>,
}

impl Registry {
    /// The resources that kube-apiserver serves by default.
    pub(crate) fn builtin(unions: bool) -> Self {
        let resources = ResourceFacts::served().map(|facts| Served::builtin(facts.clone(), unions));
        Registry {
            unions,
            resources: resources
                .map(|served| (coordinates(&served.facts), Arc::new(served)))
                .collect(),
            definitions: BTreeMap::new(),
            collected: OnceLock::new(),
            by_storage: OnceLock::new(),
        }
    }

    /// Whether unions have an effect.
    pub(crate) fn has_unions(&self) -> bool {
        self.unions
    }

    /// The resource at a group, version and plural.
    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        self.resources
            .get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// Whether a group has kinds that are built in.
    pub(crate) fn is_builtin_group(&self, group: &str) -> bool {
        self.all()
            .any(|served| served.is_builtin() && served.facts.group == group)
    }

    /// Whether a version of a group has built-in kinds.
    pub(crate) fn is_builtin_version(&self, group: &str, version: &str) -> bool {
        self.of_version(group, version)
            .any(|served| served.is_builtin())
    }

    /// The resource of a kind.
    pub(crate) fn of_kind(&self, kind: &GroupVersionKind) -> Option<&Arc<Served>> {
        self.of_version(&kind.group, &kind.version)
            .find(|served| served.facts.kind == kind.kind)
    }

    /// The resources of a group and version.
    fn of_version(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Served>> {
        let first = (group.to_owned(), version.to_owned(), String::new());
        self.resources
            .range(first..)
            .take_while(move |((own, of, _), _)| own == group && of == version)
            .map(|(_, served)| served)
    }

    /// All resources, by group, version and plural.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.resources.values()
    }

    /// A resource whose objects are stored under the group and plural of a key.
    pub(crate) fn of_key(&self, key: &Key) -> Option<&Arc<Served>> {
        let parts = key.parts();
        self.all_stored_as(parts.group, parts.plural).first()
    }

    /// The resource whose objects are stored under a group and a plural, at the storage version if that is served.
    pub(crate) fn stored_as(&self, group: &str, plural: &str) -> Option<&Arc<Served>> {
        let all = self.all_stored_as(group, plural).iter();
        all.max_by_key(|served| served.is_storage_version())
    }

    /// The resources whose objects are stored under a group and a plural: one for each version.
    pub(crate) fn all_stored_as(&self, group: &str, plural: &str) -> &[Arc<Served>] {
        let by_storage = self.by_storage.get_or_init(|| {
            let mut groups = ByStorage::new();
            for served in self.all().filter(|served| served.is_stored()) {
                let plurals = groups.entry(served.storage_group().to_owned()).or_default();
                let all = plurals.entry(served.facts.plural.to_string()).or_default();
                all.push(served.clone());
            }
            groups
        });
        let found = by_storage
            .get(group)
            .and_then(|plurals| plurals.get(plural));
        found.map_or(&[], Vec::as_slice)
    }

    /// One resource for each that is stored: of several versions, the first.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Arc<Served>> {
        let mut known = std::collections::BTreeSet::new();
        self.all().filter(move |served| {
            served.is_stored()
                && known.insert((
                    served.storage_group().to_owned(),
                    served.facts.plural.clone(),
                ))
        })
    }

    /// The resources that are stored, for the collector, which asks for them before each change.
    pub(crate) fn collected(&self) -> Arc<[Collected]> {
        let collected = |served: &Arc<Served>| Collected {
            group: served.facts.group.to_string(),
            kind: served.facts.kind.to_string(),
            storage_group: served.storage_group().to_owned(),
            plural: served.facts.plural.to_string(),
            namespaced: served.facts.namespaced,
        };
        self.collected
            .get_or_init(|| self.stored().map(collected).collect())
            .clone()
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
        // The versions that the earlier definition served, and this one does not, are removed first.
        let mut registry = self.without_definition(&definition.name);
        // kube-apiserver has handlers of its own for the versions of built-in kinds, which hide others.
        let is_hidden = |served: &Served| {
            self.of_version(&served.facts.group, &served.facts.version)
                .any(|other| other.is_builtin())
        };
        let served = Served::of_definition(&definition, self.unions).into_iter();
        for served in served.filter(|served| !is_hidden(served)) {
            registry
                .resources
                .insert(coordinates(&served.facts), Arc::new(served));
        }
        registry
            .definitions
            .insert(definition.name.clone(), definition);
        registry
    }

    /// The registry without a definition.
    pub(crate) fn without_definition(&self, name: &str) -> Self {
        // What is derived from the resources is computed again for each registry.
        let mut registry = Registry {
            collected: OnceLock::new(),
            by_storage: OnceLock::new(),
            ..self.clone()
        };
        if let Some(old) = registry.definitions.remove(name) {
            registry.resources.retain(|_, served| !served.is_of(&old));
        }
        registry
    }
}

fn coordinates(facts: &ResourceFacts) -> GroupVersionPlural {
    (
        facts.group.to_string(),
        facts.version.to_string(),
        facts.plural.to_string(),
    )
}
