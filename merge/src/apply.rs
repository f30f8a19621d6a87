//! The steps of an apply, in the order in which they run.

use fieldmanager_fieldpath::{Owners, VersionedSet};
use fieldmanager_typed::TypedValue;
use fieldmanager_typed::internal::{
    MergedValue, field_set_sharing, merge_tracked, normalize_applied, normalize_config,
};

use crate::error::{Error, Stage, union_error};
use crate::ownership::{Cleared, ObjectChange, Wanted, reconcile, reconciled};
use crate::prune::Pruning;
use crate::request::{Applied, ApplyRequest};
use crate::settings::Settings;
use crate::versions::ObjectVersions;

/// An apply in progress.
pub(crate) struct Apply<'r> {
    settings: &'r Settings,
    request: &'r ApplyRequest<'r>,
    /// The live object, at the versions at which managers own fields.
    live: ObjectVersions<'r>,
    /// The owners after the steps so far.
    owners: Owners,
}

impl<'r> Apply<'r> {
    pub(crate) fn run(
        settings: &'r Settings,
        request: &'r ApplyRequest<'r>,
    ) -> Result<Applied, Error> {
        let mut apply = Self::reconcile(settings, request)?;
        let config = apply.normalize()?;
        let MergedValue {
            object,
            shadowed_empty_map,
            ..
        } = apply.merge(&config)?;
        let last = apply.own(&config);
        let cleared = apply.clear_members(&config, object)?;
        let new = apply.prune(cleared.after.clone(), shadowed_empty_map, last)?;
        let owners = apply.take_from_others(&new, cleared)?;
        let unchanged = !settings.return_input_on_noop && request.live.value() == new.value();

        Ok(Applied {
            object: (!unchanged).then_some(new),
            owners,
        })
    }

    /// Adapts the sets of all managers to the current types.
    fn reconcile(settings: &'r Settings, request: &'r ApplyRequest<'r>) -> Result<Self, Error> {
        let mut live = ObjectVersions::new(settings.converter(), &request.version, request.live);
        let owners = reconcile(&mut live, request.owners)?;
        Ok(Apply {
            settings,
            request,
            live,
            owners,
        })
    }

    /// Normalizes the unions of the configuration: a member that it sets brings its discriminator with it, so that the
    /// manager owns both.
    fn normalize(&self) -> Result<TypedValue, Error> {
        let ApplyRequest { live, config, .. } = *self.request;
        if self.settings.unions {
            let normalized = normalize_config(live, config);
            Ok(normalized
                .map_err(|source| union_error(source, Stage::Merge))?
                .value)
        } else {
            Ok(config.clone())
        }
    }

    /// Merges the configuration into the live object.
    fn merge(&self, config: &TypedValue) -> Result<MergedValue, Error> {
        let merged = merge_tracked(self.request.live, config);
        merged.map_err(|source| Error::Typed {
            stage: Stage::Merge,
            source,
        })
    }

    /// Makes the manager the owner of the fields of the configuration, and of no others. Returns what it owned.
    fn own(&mut self, config: &TypedValue) -> Option<VersionedSet> {
        let ApplyRequest {
            version, manager, ..
        } = self.request;
        let last = self
            .owners
            .get(manager)
            .map(|entry| entry.set().clone())
            .unwrap_or_default();

        // A manager that applies for the first time often owns the same fields as another applier.
        let other = || {
            self.owners
                .iter()
                .find(|(_, entry)| entry.is_applied())
                .map(|(_, entry)| entry.set())
        };
        let similar = Some(&last)
            .filter(|last| !last.is_empty())
            .or_else(other)
            .unwrap_or(&last);
        let set = self
            .settings
            .tracked(field_set_sharing(config, similar), version);
        let entry = reconciled(VersionedSet::new(set, version.clone(), true), config);

        self.owners.insert(*manager, entry)
    }

    /// Clears the members of unions that the configuration made obsolete in the merged object.
    fn clear_members(&self, config: &TypedValue, merged: TypedValue) -> Result<Cleared, Error> {
        if !self.settings.unions {
            return Ok(Cleared {
                before: None,
                after: merged,
            });
        }

        let normalized = normalize_applied(self.request.live, config, &merged);
        let normalized = normalized.map_err(|source| union_error(source, Stage::Compare))?;
        let before = (!normalized.changes.is_empty()).then_some(merged);
        Ok(Cleared {
            before,
            after: normalized.value,
        })
    }

    /// Removes what the manager owned last time and does not apply any more.
    fn prune(
        &self,
        merged: TypedValue,
        shadowed_empty_map: bool,
        last: Option<VersionedSet>,
    ) -> Result<TypedValue, Error> {
        // A manager that owned nothing has nothing to prune.
        let Some(last) = last.filter(|last| !last.set().is_empty()) else {
            return Ok(merged);
        };
        let pruning = Pruning {
            settings: self.settings,
            version: &self.request.version,
            owners: &self.owners,
            manager: self.request.manager,
            last: &last,
        };

        pruning.prune(merged, shadowed_empty_map)
    }

    /// Takes the changed fields from their other owners. Without force they are conflicts.
    fn take_from_others(self, new: &TypedValue, cleared: Cleared) -> Result<Owners, Error> {
        let Apply {
            settings,
            request,
            live,
            owners,
        } = self;
        let change = ObjectChange::new(settings, &request.version, live, new).clearing(&cleared);
        let mut owners = change
            .take_from_others(&owners, request.manager, request.force, Wanted::Owners)?
            .owners;

        // An entry without fields is not stored.
        if owners
            .get(request.manager)
            .is_some_and(|entry| entry.set().is_empty())
        {
            owners.remove(request.manager);
        }
        Ok(owners)
    }
}
