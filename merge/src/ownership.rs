//! Who owns what after a change: conflicts, and what the others lose.

use fieldmanager_fieldpath::{ApiVersion, Managers, Set, VersionedSet};
use fieldmanager_typed::{Comparison, TypedValue, reconcile};
use fieldmanager_value::Str;

use crate::conflict::{Conflict, Conflicts};
use crate::error::{Error, Stage};
use crate::updater::{Force, Updater};
use crate::versions::Versions;

/// A change of the object, as the managers at one version see it.
struct Change {
    version: ApiVersion,
    /// None if there is no such version.
    seen: Option<Seen>,
}

struct Seen {
    old: TypedValue,
    new: TypedValue,
    comparison: Comparison,
    /// Added or modified: what conflicts with another owner.
    touched: Set,
}

impl Updater {
    /// The managers with their sets adapted to the types of today; those at versions that do not exist any
    /// more are dropped.
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

    /// Takes from the other managers what a change takes from them. Without force, taking a value that
    /// another manager owns is a conflict; that the field is removed is none.
    pub(crate) fn take_from_others(
        &self,
        live: &mut Versions<'_>,
        new: &TypedValue,
        version: &ApiVersion,
        managers: &Managers,
        manager: &str,
        force: Force,
    ) -> Result<(Managers, Comparison), Error> {
        let mut new_versions = Versions::new(self.converter(), version, new.clone());
        let own = self.change(live, &mut new_versions, version)?;
        let mut changes = vec![own];
        let mut conflicts = Vec::new();
        let mut edits = Vec::new();
        for (name, entry) in managers {
            if name == manager {
                continue;
            }
            let at = match changes.iter().position(|c| c.version == *entry.api_version()) {
                Some(at) => at,
                None => {
                    changes.push(self.change(live, &mut new_versions, entry.api_version())?);
                    changes.len() - 1
                }
            };
            let Some(seen) = changes.get(at).and_then(|change| change.seen.as_ref()) else {
                edits.push((name.clone(), None));
                continue;
            };
            let taken = entry.set().intersection(&seen.touched);
            if !taken.is_empty() && force == Force::No {
                conflicts.extend(taken.paths().map(|path| Conflict {
                    manager: name.clone(),
                    live: seen.old.get(&path).cloned(),
                    wanted: seen.new.get(&path).cloned(),
                    path,
                }));
                continue;
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
        Ok((managers.with_edits(edits), comparison.unwrap_or_default()))
    }

    fn change(
        &self,
        live: &mut Versions<'_>,
        new: &mut Versions<'_>,
        version: &ApiVersion,
    ) -> Result<Change, Error> {
        let seen = match (live.at(version)?, new.at(version)?) {
            (Some(old), Some(new)) => {
                let comparison =
                    old.compare(&new).map_err(|source| Error::Typed { stage: Stage::Compare, source })?;
                let comparison = match self.filter(version) {
                    Some(filter) => comparison.filter(filter),
                    None => comparison,
                };
                Some(Seen { touched: comparison.modified.union(&comparison.added), comparison, old, new })
            }
            _ => None,
        };
        Ok(Change { version: version.clone(), seen })
    }
}
