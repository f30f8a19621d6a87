//! Resolves references.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_schema::internal::{FAULTS_WITH_SUGGESTIONS, similar_names};
use fieldmanager_value::{Str, Value};

/// The definitions by name, with aliases resolved to their targets.
pub(super) struct Targets<'i> {
    targets: BTreeMap<&'i str, DefinitionRole<'i>>,
    /// Names are shared among references.
    names: BTreeMap<&'i str, Str>,
    /// The aliases with their target types; `None` for an alias without a target.
    ends: Ends<'i>,
    circles: BTreeSet<&'i str>,
    /// The number of searches for a similar name.
    suggestions: Cell<usize>,
}

type Ends<'i> = BTreeMap<&'i str, Option<&'i str>>;

/// The role of a definition for references to it.
#[derive(Clone, Copy)]
pub(super) enum DefinitionRole<'i> {
    /// A type of its own.
    Type,
    /// An alias of another definition.
    Alias(&'i str),
    /// A skipped definition.
    Dropped,
}

impl<'i> Targets<'i> {
    pub(super) fn new(all: &[(&'i Str, &'i Value)], dropped: &BTreeSet<Str>) -> Self {
        let mut targets = BTreeMap::new();
        let mut names = BTreeMap::new();
        for (name, schema) in all {
            let target = match schema
                .get("$ref")
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
            {
                _ if dropped.contains(name.as_str()) => DefinitionRole::Dropped,
                Some(reference) => DefinitionRole::Alias(last_segment(reference)),
                None => DefinitionRole::Type,
            };
            targets.insert(name.as_str(), target);
            names.insert(name.as_str(), (*name).clone());
        }

        let (ends, circles) = ends(&targets);
        Targets {
            targets,
            names,
            ends,
            circles,
            suggestions: Cell::default(),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<DefinitionRole<'i>> {
        self.targets.get(name).copied()
    }

    /// Resolves a name to the name of its type, if it has one.
    pub(super) fn leads_to(&self, name: &str) -> Option<Str> {
        let end = match self.targets.get_key_value(name)? {
            (name, DefinitionRole::Type) => name,
            (name, DefinitionRole::Alias(_)) => self.ends.get(name).copied().flatten()?,
            (_, DefinitionRole::Dropped) => return None,
        };
        self.names.get(end).cloned()
    }

    /// Whether a definition is an alias of itself, directly or through others.
    pub(super) fn is_circle(&self, name: &str) -> bool {
        self.circles.contains(name)
    }

    /// The most similar name, if there is a similar one.
    pub(super) fn nearest(&self, name: &str) -> Option<&str> {
        if self.suggestions.get() >= FAULTS_WITH_SUGGESTIONS {
            return None;
        }
        self.suggestions.set(self.suggestions.get() + 1);
        similar_names(name, self.names.keys().map(|known| (*known, *known)), 0.9)
            .first()
            .copied()
    }
}

/// Resolves each alias, and finds those in a cycle. Each alias is visited once, however long the chains are.
fn ends<'i>(targets: &BTreeMap<&'i str, DefinitionRole<'i>>) -> (Ends<'i>, BTreeSet<&'i str>) {
    // Aliases form chains. All names of a chain lead to the same end, so each is visited once.
    let mut ends = Ends::new();
    let mut circles = BTreeSet::new();
    for start in targets.keys().copied() {
        let mut chain = Vec::new();
        let mut at = start;
        let end = loop {
            match targets.get(at) {
                Some(DefinitionRole::Alias(next)) => {
                    if let Some(known) = ends.get(at) {
                        // The chain has reached a name that this walk visited before.
                        circles.extend(chain.iter().skip_while(|name| **name != at));
                        break *known;
                    }
                    ends.insert(at, None);
                    chain.push(at);
                    at = next;
                }
                Some(DefinitionRole::Type) => break Some(at),
                Some(DefinitionRole::Dropped) | None => break None,
            }
        };

        for name in chain {
            ends.insert(name, end);
        }
    }

    (ends, circles)
}

/// The last segment of a reference, such as `NAME` of `#/definitions/NAME`.
pub(super) fn last_segment(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or_default()
}
