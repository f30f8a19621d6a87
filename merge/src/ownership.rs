//! Ownership after a change: conflicts, and the fields that other managers lose.

use std::collections::BTreeMap;

use fieldmanager_fieldpath::internal::{edit_owners, is_reconciled_with, with_set};
use fieldmanager_fieldpath::{ApiVersion, Owners, Path, PathElement, Set, VersionedSet};
use fieldmanager_schema::internal::has_no_polymorphic_types;
use fieldmanager_typed::internal::{discriminator_of, has_all_keys};
use fieldmanager_typed::{Comparison, TypedValue};
use fieldmanager_value::Str;

use crate::conflict::{Conflict, Conflicts};
use crate::error::Error;
use crate::settings::Settings;
use crate::versions::ObjectVersions;

/// The owners with their sets adapted to the current types. Managers at versions that no longer exist are dropped.
pub(crate) fn reconcile(live: &mut ObjectVersions<'_>, owners: &Owners) -> Result<Owners, Error> {
    let mut edits: Vec<(Str, Option<VersionedSet>)> = Vec::new();
    // The paths of a set are valid only at its version, so a manager at a version that is no longer served is dropped.
    for (name, entry) in owners {
        let Some(object) = live.at(entry.api_version())? else {
            edits.push((name.clone(), None));
            continue;
        };
        let ty = object.ty();
        // A set that was adapted to this type before needs no second walk.
        if is_reconciled_with(entry, ty) {
            continue;
        }
        let adapted = match fieldmanager_typed::internal::reconcile(entry.set(), ty) {
            Some(set) => with_set(entry, set),
            None => entry.clone(),
        };
        edits.push((name.clone(), Some(adapted.reconciled_with(ty.clone()))));
    }

    Ok(edit_owners(owners, edits))
}

/// Marks a set that was made from the fields of an object as reconciled with the object's type. A type that may be
/// walked in two ways needs the reconciliation even then.
pub(crate) fn reconciled(entry: VersionedSet, object: &TypedValue) -> VersionedSet {
    if has_no_polymorphic_types(object.ty().schema()) {
        entry.reconciled_with(object.ty().clone())
    } else {
        entry
    }
}

/// The result that the caller needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The owners only.
    Owners,
    /// The owners and the changed fields.
    Comparison,
}

/// An object after obsolete members of its unions were cleared.
pub(crate) struct Cleared {
    /// The object before; `None` if no member was obsolete.
    pub(crate) before: Option<TypedValue>,
    pub(crate) after: TypedValue,
}

/// The remaining ownership of the other managers after an operation.
pub(crate) struct Taken {
    pub(crate) owners: Owners,
    /// The changed fields at the version of the operation. `None` if they were neither needed nor [`Wanted`].
    pub(crate) comparison: Option<Comparison>,
}

/// The change that an operation makes to an object.
pub(crate) struct ObjectChange<'o> {
    settings: &'o Settings,
    version: &'o ApiVersion,
    live: ObjectVersions<'o>,
    new: ObjectVersions<'o>,
    cleared: Option<ClearedVersions<'o>>,
}

/// An object before and after members of its unions were cleared.
struct ClearedVersions<'o> {
    before: ObjectVersions<'o>,
    after: ObjectVersions<'o>,
}

/// The same change at the version of some managers.
struct VersionChange {
    version: ApiVersion,
    /// `None` if the version does not exist.
    difference: Option<ObjectDifference>,
}

struct ObjectDifference {
    old: TypedValue,
    new: TypedValue,
    comparison: Comparison,
    /// Added or modified fields, which conflict with another owner.
    touched: Set,
    /// Members of unions that were cleared, with everything in them. They conflict too.
    cleared: Set,
}

impl<'o> ObjectChange<'o> {
    /// The live object is replaced by a new one; both are at `version`.
    pub(crate) fn new(
        settings: &'o Settings,
        version: &'o ApiVersion,
        live: ObjectVersions<'o>,
        new: &'o TypedValue,
    ) -> Self {
        let new = ObjectVersions::new(settings.converter(), version, new);
        ObjectChange {
            settings,
            version,
            live,
            new,
            cleared: None,
        }
    }

    /// Counts the members of unions that were cleared as taken from their owners.
    pub(crate) fn clearing(mut self, cleared: &'o Cleared) -> Self {
        // Each manager owns the members at its own version, so both objects are converted.
        let versions =
            |object| ObjectVersions::new(self.settings.converter(), self.version, object);
        self.cleared = cleared.before.as_ref().map(|before| ClearedVersions {
            before: versions(before),
            after: versions(&cleared.after),
        });
        self
    }

    /// Takes the changed fields from all managers but one. Without force, a field that another manager owns is a conflict
    /// if the operation adds or modifies it, or clears it as a member of a union. Other removals never conflict.
    pub(crate) fn take_from_others(
        mut self,
        owners: &Owners,
        manager: &str,
        force: bool,
        wanted: Wanted,
    ) -> Result<Taken, Error> {
        // Without other owners nothing is lost and nothing conflicts. The comparison still runs where it may find a
        // fault, which does not depend on owners.
        if owners.iter().all(|(name, _)| name == manager) {
            let comparison = match wanted {
                Wanted::Owners if self.cannot_fail() => None,
                _ => {
                    self.cleared_at(self.version)?;
                    Some(
                        self.settings
                            .compare(self.live.object, self.new.object, self.version)?,
                    )
                }
            };
            return Ok(Taken {
                owners: owners.clone(),
                comparison,
            });
        }

        // The change at the version of the operation is the first one, because its comparison is returned.
        let mut changes = vec![self.at_version(self.version, &[])?];
        let mut positions = BTreeMap::new();
        let mut conflicts = Vec::new();
        let mut edits = Vec::new();
        for (name, entry) in owners {
            if name == manager {
                continue;
            }
            // Managers at one version share its comparison.
            let at = match positions.get(entry.api_version()) {
                Some(at) => *at,
                None if entry.api_version() == self.version => 0,
                None => {
                    changes.push(self.at_version(entry.api_version(), &changes)?);
                    positions.insert(entry.api_version(), changes.len() - 1);
                    changes.len() - 1
                }
            };

            // A manager at a version that no longer exists loses its entry.
            let Some(difference) = changes
                .get(at)
                .and_then(|change| change.difference.as_ref())
            else {
                edits.push((name.clone(), None));
                continue;
            };

            // Removed fields are not among the touched ones: a removal conflicts only if it clears a member of a
            // union.
            let taken = entry.set().intersection(&difference.touched);
            if !force {
                let refused = taken.union(&difference.cleared_from(entry.set(), &taken));
                if !refused.is_empty() {
                    conflicts.extend(refused.paths().map(|path| Conflict {
                        manager: name.clone(),
                        live: difference.old.get(&path).cloned(),
                        wanted: difference.new.get(&path).cloned(),
                        path,
                    }));
                    continue;
                }
            }

            // A field that no longer exists has no owner, with and without force.
            let left = entry
                .set()
                .difference(&taken)
                .difference(&difference.comparison.removed);
            if left.is_empty() {
                edits.push((name.clone(), None));
            } else if !left.ptr_eq(entry.set()) {
                edits.push((name.clone(), Some(with_set(entry, left))));
            }
        }

        // The apply fails only after all managers are visited, so that the error names every conflict.
        if !conflicts.is_empty() {
            return Err(Error::Conflicts(Conflicts::new(conflicts)));
        }
        let own = changes
            .swap_remove(0)
            .difference
            .map(|difference| difference.comparison);

        Ok(Taken {
            owners: edit_owners(owners, edits),
            comparison: Some(own.unwrap_or_default()),
        })
    }

    /// Whether comparing the object before and after cannot find a fault: every item has its key.
    fn cannot_fail(&self) -> bool {
        has_all_keys(self.live.object) && has_all_keys(self.new.object)
    }

    /// The members of unions that were cleared, at a version.
    fn cleared_at(&mut self, version: &ApiVersion) -> Result<Set, Error> {
        let Some(ClearedVersions { before, after }) = &mut self.cleared else {
            return Ok(Set::new());
        };
        Ok(match (before.at(version)?, after.at(version)?) {
            (Some(before), Some(after)) => self.settings.compare(before, after, version)?.removed,
            _ => Set::new(),
        })
    }

    /// The change at a version. If the object is the same at another version, so is the change.
    fn at_version(
        &mut self,
        version: &ApiVersion,
        others: &[VersionChange],
    ) -> Result<VersionChange, Error> {
        let cleared = self.cleared_at(version)?;
        // Without the version there is no difference, and the caller drops the managers at it.
        let difference = match (self.live.at(version)?, self.new.at(version)?) {
            (Some(old), Some(new)) => {
                // A converter may return the same value for several versions. A comparison with a filter is not
                // reused, because each version has its own filter.
                let same = |object: &TypedValue, other: &TypedValue| {
                    object.ty() == other.ty() && object.value().ptr_eq(other.value())
                };
                let known = others.iter().find_map(|other| {
                    let known = other.difference.as_ref()?;
                    let filtered = [version, &other.version]
                        .iter()
                        .any(|at| self.settings.filter(at).is_some());
                    (!filtered && same(old, &known.old) && same(new, &known.new)).then_some(known)
                });
                let comparison = match known {
                    Some(known) => known.comparison.clone(),
                    None => self.settings.compare(old, new, version)?,
                };

                let touched = comparison.modified.union(&comparison.added);
                Some(ObjectDifference {
                    touched,
                    cleared,
                    comparison,
                    old: old.clone(),
                    new: new.clone(),
                })
            }
            _ => None,
        };

        Ok(VersionChange {
            version: version.clone(),
            difference,
        })
    }
}

impl ObjectDifference {
    /// The cleared members of which a manager owns something. A member whose discriminator is in `taken` is left out,
    /// because the conflict about the discriminator covers it.
    fn cleared_from(&self, owned: &Set, taken: &Set) -> Set {
        let mut members = Set::new();
        if self.cleared.is_empty() {
            return members;
        }
        // A conflict names the member as a whole, not each field in it.
        for path in topmost(&self.cleared) {
            let discriminator = discriminator_of(self.new.ty(), &path);
            let covered = discriminator.is_some_and(|discriminator| taken.has(&discriminator));
            if !covered && owns_at_or_below(owned, &path) {
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
