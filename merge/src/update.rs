//! The steps of an update, in the order in which they run.

use fieldmanager_fieldpath::internal::is_reconciled_with;
use fieldmanager_fieldpath::{Owners, VersionedSet};
use fieldmanager_typed::{Comparison, TypedValue};

use crate::error::{Error, Stage, union_error};
use crate::ownership::{ObjectChange, Wanted, reconcile, reconciled};
use crate::request::{UpdateRequest, Updated};
use crate::settings::Settings;
use crate::versions::ObjectVersions;

/// An update in progress.
pub(crate) struct Update<'r> {
    settings: &'r Settings,
    request: &'r UpdateRequest<'r>,
}

impl<'r> Update<'r> {
    pub(crate) fn run(
        settings: &'r Settings,
        request: &'r UpdateRequest<'r>,
    ) -> Result<Updated, Error> {
        let update = Update { settings, request };
        let mut live = ObjectVersions::new(settings.converter(), &request.version, request.live);
        let owners = reconcile(&mut live, request.owners)?;
        let new = update.normalize()?;
        let change = ObjectChange::new(settings, &request.version, live, &new);

        // An update never conflicts: it takes fields as an apply with force does.
        let taken = change.take_from_others(&owners, request.manager, true, Wanted::Comparison)?;
        let owners = update.own(&new, taken.owners, &taken.comparison.unwrap_or_default());

        Ok(Updated {
            object: new,
            owners,
        })
    }

    /// Normalizes the unions of the new object.
    fn normalize(&self) -> Result<TypedValue, Error> {
        let UpdateRequest { live, new, .. } = *self.request;
        if self.settings.unions {
            let normalized = live.normalize_update(new);
            Ok(normalized
                .map_err(|source| union_error(source, Stage::Compare))?
                .value)
        } else {
            Ok(new.clone())
        }
    }

    /// Makes the manager the owner of what it added and modified, besides what it owned and did not remove.
    fn own(&self, new: &TypedValue, mut owners: Owners, changed: &Comparison) -> Owners {
        let UpdateRequest {
            version, manager, ..
        } = self.request;
        let before = owners.get(manager);

        // What the manager owned at another version was reconciled with another type.
        let same_type = before.is_none_or(|entry| is_reconciled_with(entry, new.ty()));
        let owned = before.map(|entry| entry.set().clone()).unwrap_or_default();

        // An updater keeps the fields that it leaves unchanged, while the set of an applier is replaced.
        let set = owned
            .difference(&changed.removed)
            .union(&changed.modified)
            .union(&changed.added);
        let set = self.settings.tracked(set, version);

        if set.is_empty() {
            owners.remove(manager);
        } else {
            let entry = VersionedSet::new(set, version.clone(), false);
            owners.insert(
                *manager,
                if same_type {
                    reconciled(entry, new)
                } else {
                    entry
                },
            );
        }

        owners
    }
}
