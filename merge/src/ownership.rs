//! Ownership after a change: conflicts, and the fields that other managers lose.

use std::collections::BTreeMap;

use fieldmanager_fieldpath::{ApiVersion, Managers, Path, PathElement, Set, VersionedSet};
use fieldmanager_typed::{Comparison, TypedValue, discriminator_of, reconcile};
use fieldmanager_value::Str;

use crate::conflict::{Conflict, Conflicts};
use crate::error::{Error, Stage};
use crate::updater::{Force, Updater};
use crate::versions::Versions;

/// A change of the object, as the managers at one version see it.
struct Change {
    version: ApiVersion,
    /// `None` if the version does not exist.
    seen: Option<Seen>,
}

struct Seen {
    old: TypedValue,
    new: TypedValue,
    comparison: Comparison,
    /// Added or modified: what conflicts with another owner.
    touched: Set,
    /// Members of unions that were cleared, with everything in them: that conflicts too.
    cleared: Set,
}

impl Updater {
    /// The managers with their sets adapted to the current types. Managers at versions that no longer exist are
    /// dropped.
    pub(crate) fn reconcile(&self, live: &mut Versions<'_>, managers: &Managers) -> Result<Managers, Error> {
        let mut edits: Vec<(Str, Option<VersionedSet>)> = Vec::new();
        for (name, entry) in managers {
            let Some(object) = live.at(entry.api_version())? else {
                edits.push((name.clone(), None));
                continue;
            };
            let ty = object.ty();
            if entry.is_reconciled_with(ty) {
                continue;
            }
            let adapted = match reconcile(entry.set(), ty) {
                Some(set) => entry.with_set(set),
                None => entry.clone(),
            };
            edits.push((name.clone(), Some(adapted.reconciled_with(ty.clone()))));
        }
        Ok(managers.with_edits(edits))
    }
}

/// What the caller needs from an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The managers only.
    Managers,
    /// The managers and what changed.
    Comparison,
}

/// The effect of an operation on the object.
pub(crate) struct Operation<'o> {
    updater: &'o Updater,
    live: Versions<'o>,
    new: Versions<'o>,
    /// The object before and after members of unions were cleared, if any were.
    clearing: Option<(Versions<'o>, Versions<'o>)>,
    version: &'o ApiVersion,
}

impl<'o> Operation<'o> {
    /// Replaces the live object by a new one; both are at `version`.
    pub(crate) fn new(
        updater: &'o Updater,
        live: Versions<'o>,
        new: &TypedValue,
        version: &'o ApiVersion,
    ) -> Self {
        let new = Versions::new(updater.converter(), version, new.clone());
        Operation { updater, live, new, clearing: None, version }
    }

    /// Counts the members of unions that were cleared as taken from their owners.
    pub(crate) fn clearing(mut self, cleared: Option<(TypedValue, TypedValue)>) -> Self {
        let versions = |object| Versions::new(self.updater.converter(), self.version, object);
        self.clearing = cleared.map(|(before, after)| (versions(before), versions(after)));
        self
    }

    /// Takes from the other managers what the operation takes from them. Without force, taking a value that
    /// another manager owns is a conflict, and so is clearing one; that a field is removed otherwise is none.
    ///
    /// With the managers comes what changed at the operation's own version, if that had to be found out: there
    /// is no need to where nobody else owns anything, and `wanted` does not ask for it.
    pub(crate) fn take_from_others(
        mut self,
        managers: &Managers,
        manager: &str,
        force: Force,
        wanted: Wanted,
    ) -> Result<(Managers, Option<Comparison>), Error> {
        let alone = managers.iter().all(|(name, _)| name == manager);
        if alone && wanted == Wanted::Managers && self.cannot_fail()? {
            return Ok((managers.clone(), None));
        }
        let mut changes = vec![self.change(self.version, &[])?];
        let mut positions = BTreeMap::new();
        let mut conflicts = Vec::new();
        let mut edits = Vec::new();
        for (name, entry) in managers {
            if name == manager {
                continue;
            }
            let at = match positions.get(entry.api_version()) {
                Some(at) => *at,
                None if entry.api_version() == self.version => 0,
                None => {
                    changes.push(self.change(entry.api_version(), &changes)?);
                    positions.insert(entry.api_version(), changes.len() - 1);
                    changes.len() - 1
                }
            };
            let Some(seen) = changes.get(at).and_then(|change| change.seen.as_ref()) else {
                edits.push((name.clone(), None));
                continue;
            };
            let taken = entry.set().intersection(&seen.touched);
            if force == Force::No {
                let wanted = taken.union(&seen.cleared_from(entry.set(), &taken));
                if !wanted.is_empty() {
                    conflicts.extend(wanted.paths().map(|path| Conflict {
                        manager: name.clone(),
                        live: seen.old.get(&path).cloned(),
                        wanted: seen.new.get(&path).cloned(),
                        path,
                    }));
                    continue;
                }
            }
            let left = entry.set().difference(&taken).difference(&seen.comparison.removed);
            if left.is_empty() {
                edits.push((name.clone(), None));
            } else if !left.ptr_eq(entry.set()) {
                edits.push((name.clone(), Some(entry.with_set(left))));
            }
        }
        if !conflicts.is_empty() {
            return Err(Error::Conflicts(Conflicts::new(conflicts)));
        }
        let comparison = changes.swap_remove(0).seen.map(|seen| seen.comparison);
        Ok((managers.with_edits(edits), Some(comparison.unwrap_or_default())))
    }

    /// Whether comparing the object before and after is known to find no fault: no item has lost its key.
    fn cannot_fail(&mut self) -> Result<bool, Error> {
        let (live, new) = (self.live.at(self.version)?, self.new.at(self.version)?);
        Ok(live.is_none_or(|live| live.has_all_keys()) && new.is_none_or(|new| new.has_all_keys()))
    }

    /// What changed at a version. Where the object is the same at another version, so is what changed.
    fn change(&mut self, version: &ApiVersion, others: &[Change]) -> Result<Change, Error> {
        let cleared = match &mut self.clearing {
            Some((before, after)) => match (before.at(version)?, after.at(version)?) {
                (Some(before), Some(after)) => self.updater.compare(&before, &after, version)?.removed,
                _ => Set::new(),
            },
            None => Set::new(),
        };
        let seen = match (self.live.at(version)?, self.new.at(version)?) {
            (Some(old), Some(new)) => {
                let same = |object: &TypedValue, other: &TypedValue| {
                    object.ty() == other.ty() && object.value().ptr_eq(other.value())
                };
                let known = others.iter().find_map(|other| {
                    let seen = other.seen.as_ref()?;
                    let filtered =
                        [version, &other.version].iter().any(|at| self.updater.filter(at).is_some());
                    (!filtered && same(&old, &seen.old) && same(&new, &seen.new)).then_some(seen)
                });
                let comparison = match known {
                    Some(seen) => seen.comparison.clone(),
                    None => self.updater.compare(&old, &new, version)?,
                };
                let touched = comparison.modified.union(&comparison.added);
                Some(Seen { touched, cleared, comparison, old, new })
            }
            _ => None,
        };
        Ok(Change { version: version.clone(), seen })
    }
}

impl Updater {
    /// What changed between two objects at a version, of the fields that count there.
    fn compare(&self, old: &TypedValue, new: &TypedValue, version: &ApiVersion) -> Result<Comparison, Error> {
        let comparison = old.compare(new).map_err(|source| Error::Typed { stage: Stage::Compare, source })?;
        Ok(match self.filter(version) {
            Some(filter) => comparison.filter(filter),
            None => comparison,
        })
    }
}

impl Seen {
    /// The members that were cleared and of which a manager owns something, unless a conflict about the
    /// discriminator of the same union says it all.
    fn cleared_from(&self, owned: &Set, taken: &Set) -> Set {
        let mut members = Set::new();
        if self.cleared.is_empty() {
            return members;
        }
        for path in topmost(&self.cleared) {
            let discriminator = discriminator_of(self.new.ty(), &path);
            let told = discriminator.is_some_and(|discriminator| taken.has(&discriminator));
            if !told && owns_at_or_below(owned, &path) {
                members.insert(&path);
            }
        }
        members
    }
}

/// The paths of a set that do not begin with another path of it.
fn topmost(set: &Set) -> Vec<Path> {
    let mut found = Vec::new();
    let mut open = vec![(Path::new(), set.clone())];
    while let Some((prefix, set)) = open.pop() {
        for (element, node) in set.nodes() {
            let mut path = prefix.clone();
            path.push(element.clone());
            if node.is_member() {
                found.push(path);
            } else {
                open.push((path, node.children().clone()));
            }
        }
    }
    found
}

fn owns_at_or_below(set: &Set, path: &[PathElement]) -> bool {
    match path.split_first() {
        None => !set.is_empty(),
        Some((first, rest)) => set.get(first).is_some_and(|node| {
            (rest.is_empty() && node.is_member()) || owns_at_or_below(node.children(), rest)
        }),
    }
}
