//! The updater and its options.

use std::sync::Arc;

use fieldmanager_fieldpath::{ApiVersion, Filter, Managers, VersionedSet};
use fieldmanager_typed::TypedValue;

use crate::converter::{Converter, SameVersion};
use crate::error::{Error, Stage};
use crate::ownership::Operation;
use crate::versions::Versions;

/// Whether an apply takes fields that other managers own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// It does not: that is a conflict.
    No,
    /// It does: the others lose them.
    Yes,
}

/// Computes what applies and updates do. It holds the options and no state: one can serve any number of
/// objects and threads.
#[derive(Clone)]
pub struct Updater {
    converter: Arc<dyn Converter>,
    filters: Vec<(ApiVersion, Filter)>,
    return_input_on_noop: bool,
    unions: bool,
}

/// Collects the options of an [`Updater`].
#[derive(Clone)]
pub struct UpdaterBuilder(Updater);

impl UpdaterBuilder {
    /// How the object's versions differ. Without it they do not.
    #[must_use]
    pub fn converter(mut self, converter: impl Converter + 'static) -> Self {
        self.0.converter = Arc::new(converter);
        self
    }

    /// Which fields count at a version: others belong to nobody, cause no conflicts and are taken from
    /// nobody. The reset fields of Kubernetes are such filters. A second filter of a version replaces the
    /// first.
    #[must_use]
    pub fn filter(mut self, version: impl Into<ApiVersion>, filter: Filter) -> Self {
        let version = version.into();
        self.0.filters.retain(|(known, _)| *known != version);
        self.0.filters.push((version, filter));
        self
    }

    /// Whether an apply that changes nothing returns the object all the same. Off by default.
    #[must_use]
    pub fn return_input_on_noop(mut self, on: bool) -> Self {
        self.0.return_input_on_noop = on;
        self
    }

    /// Whether unions are normalized before ownership is computed (`APIUnions` in KEP-1027). On by default.
    /// Off, unions of the schema mean nothing.
    #[must_use]
    pub fn unions(mut self, on: bool) -> Self {
        self.0.unions = on;
        self
    }

    /// The updater.
    #[must_use]
    pub fn build(self) -> Updater {
        self.0
    }
}

/// What an update did.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The new object.
    pub object: TypedValue,
    /// The managers after the update.
    pub managers: Managers,
}

/// What an apply did.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The new object; none if it equals the live one, unless the updater returns it then too.
    pub object: Option<TypedValue>,
    /// The managers after the apply.
    pub managers: Managers,
}

impl Updater {
    /// An updater with options of its own.
    pub fn builder() -> UpdaterBuilder {
        UpdaterBuilder(Updater {
            converter: Arc::new(SameVersion),
            filters: Vec::new(),
            return_input_on_noop: false,
            unions: true,
        })
    }

    /// Whether unions are normalized.
    pub fn unions(&self) -> bool {
        self.unions
    }

    pub(crate) fn converter(&self) -> &dyn Converter {
        &*self.converter
    }

    pub(crate) fn filter(&self, version: &ApiVersion) -> Option<&Filter> {
        let found = self.filters.iter().find(|(known, _)| known == version);
        found.map(|(_, filter)| filter)
    }

    /// Replaces the live object by a new one, as the verbs create, update and patch do. `live` and `new`
    /// are at `version`; for a create, `live` is [null](TypedValue::null).
    ///
    /// The manager comes to own what it added and modified, and keeps what it owned and did not remove;
    /// other managers lose what changed. An update never conflicts.
    ///
    /// # Errors
    ///
    /// [`Error::Typed`] if the two are of different types, have items without keys, or the new object
    /// contradicts itself about a union; [`Error::Convert`].
    ///
    /// Behaviour: `Updater.Update` of `sigs.k8s.io/structured-merge-diff/v6/merge`.
    pub fn update(
        &self,
        live: &TypedValue,
        new: &TypedValue,
        version: &ApiVersion,
        managers: &Managers,
        manager: &str,
    ) -> Result<Updated, Error> {
        let mut versions = Versions::new(self.converter(), version, live.clone());
        let managers = self.reconcile(&mut versions, managers)?;
        let normalized = match self.unions {
            true => live.normalize_update(new).map_err(unions)?.value,
            false => new.clone(),
        };
        let new = &normalized;
        let operation = Operation::new(self, versions, new, version);
        let (mut managers, changed) = operation.take_from_others(&managers, manager, Force::Yes)?;
        let before = managers.get(manager);
        // What the manager owned at another version was reconciled with another type.
        let same_type = before.is_none_or(|entry| entry.is_reconciled_with(new.ty()));
        let owned = before.map(|entry| entry.set().clone()).unwrap_or_default();
        let mut set = owned.difference(&changed.removed).union(&changed.modified).union(&changed.added);
        if let Some(filter) = self.filter(version) {
            set = filter.apply(&set);
        }
        if set.is_empty() {
            managers.remove(manager);
        } else {
            let entry = VersionedSet::new(set, version.clone(), false);
            let entry = if same_type { reconciled(entry, new) } else { entry };
            managers.insert(manager, entry);
        }
        Ok(Updated { object: new.clone(), managers })
    }

    /// Applies a configuration to the live object. Both are at `version`; an object that does not exist yet
    /// is [null](TypedValue::null).
    ///
    /// The configuration is merged into the object. What the manager applied before and does not any more
    /// is removed, unless another manager owns it or nobody did. The manager then owns what is in the
    /// configuration, and nothing else. Fields of other managers whose value would change are conflicts;
    /// with force, they lose them.
    ///
    /// # Errors
    ///
    /// [`Error::Conflicts`]; [`Error::Typed`] if the two are of different types, have items without keys, or
    /// the configuration contradicts itself about a union; [`Error::Convert`].
    ///
    /// Behaviour: `Updater.Apply` of `sigs.k8s.io/structured-merge-diff/v6/merge`.
    pub fn apply(
        &self,
        live: &TypedValue,
        config: &TypedValue,
        version: &ApiVersion,
        managers: &Managers,
        manager: &str,
        force: Force,
    ) -> Result<Applied, Error> {
        let mut versions = Versions::new(self.converter(), version, live.clone());
        let mut managers = self.reconcile(&mut versions, managers)?;
        let (merged, hollow) =
            live.merge_noting(config).map_err(|source| Error::Typed { stage: Stage::Merge, source })?;
        let mut set = config.field_set();
        if let Some(filter) = self.filter(version) {
            set = filter.apply(&set);
        }
        let entry = VersionedSet::new(set, version.clone(), true);
        let last = managers.insert(manager, reconciled(entry, config));
        let (merged, cleared) = match self.unions {
            true => clear(live, config, merged)?,
            false => (merged, None),
        };
        let new = self.prune(merged, hollow, version, &managers, manager, last)?;
        let operation = Operation::new(self, versions, &new, version).clearing(cleared);
        let (mut managers, _) = operation.take_from_others(&managers, manager, force)?;
        if managers.get(manager).is_some_and(|entry| entry.set().is_empty()) {
            managers.remove(manager);
        }
        let unchanged = !self.return_input_on_noop && live.value() == new.value();
        Ok(Applied { object: (!unchanged).then_some(new), managers })
    }
}

/// Clears what a configuration made obsolete in the object that it was merged into. If that is anything, the
/// object before and after comes with it.
fn clear(
    live: &TypedValue,
    config: &TypedValue,
    merged: TypedValue,
) -> Result<(TypedValue, Option<(TypedValue, TypedValue)>), Error> {
    let normalized = live.normalize_applied(config, &merged).map_err(unions)?;
    if normalized.changes.is_empty() {
        return Ok((normalized.value, None));
    }
    Ok((normalized.value.clone(), Some((merged, normalized.value))))
}

fn unions(source: fieldmanager_typed::Error) -> Error {
    Error::Typed { stage: Stage::Unions, source }
}

/// A set made from the fields of an object needs no reconciliation with the object's type, unless a type may
/// be walked in two ways.
fn reconciled(entry: VersionedSet, object: &TypedValue) -> VersionedSet {
    if object.ty().schema().is_plain() { entry.reconciled_with(object.ty().clone()) } else { entry }
}
