//! The steps of an update, in the order in which they run.

use fieldmanager_fieldpath::VersionedSet;
use fieldmanager_merge::Updater;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_typed::Duplicates;
use fieldmanager_value::{Str, Value};

use crate::cap;
use crate::depth::check_depth;
use crate::error::Error;
use crate::identity::Operation;
use crate::managed_fields::ManagedFields;
use crate::object::{check_live_object, check_object, with_list};
use crate::outcome::{Outcome, Tracked};
use crate::request::UpdateRequest;
use crate::settings::Settings;
use crate::state::RequestStart;
use crate::stripped::strip;
use crate::time::Time;

/// The manager that owns the fields that an object had before its first apply.
pub const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The name of the manager of an update while the update is computed. What the manager owned before counts as owned by
/// another manager, so that the result shows what this update changed.
const CURRENT_OPERATION: &str = "current-operation";

/// An update in progress.
pub(crate) struct Update<'r> {
    settings: &'r Settings,
    updater: &'r Updater,
    /// The live object, without managed fields.
    live: &'r Value,
    /// The new object, without managed fields.
    new: &'r Value,
    manager: &'r str,
    now: Option<Time>,
}

impl<'r> Update<'r> {
    pub(crate) fn run(settings: &Settings, request: &UpdateRequest<'_>) -> Result<Outcome, Error> {
        check_live_object(request.live())?;
        check_object("new object", request.new)?;
        let RequestStart {
            managed,
            dropped,
            from_request,
        } = RequestStart::of_update(settings, request.live(), request.new)?;
        let update = Update {
            settings,
            updater: &settings.updater,
            live: &settings.without_managed_fields(request.live()),
            new: &with_list(request.new, None),
            manager: request.manager,
            now: request.now,
        };

        // An object is tracked from its creation or from its first apply on. Another update does not start that.
        let after = if update.is_tracked(&managed) {
            update.track(managed)
        } else {
            update.leave_untracked(managed)
        };
        // Entries that the request sends are the fault of the client; those that are stored are not.
        let after = after.map_err(|error| {
            if from_request {
                error.of_request_entries()
            } else {
                error
            }
        })?;

        Ok(Outcome::new(request.live(), after, dropped))
    }

    /// Makes [`BEFORE_FIRST_APPLY`] the owner of the fields of a live object without entries, as the first step of an apply.
    pub(crate) fn seed(
        settings: &'r Settings,
        live: &'r Value,
        config: &Value,
        now: Option<Time>,
    ) -> Result<Tracked, Error> {
        let update = Update {
            settings,
            // The live object is stored already, so its unions are not normalized.
            updater: &settings.updater.with_unions(false),
            live: &empty_object_like(settings, config),
            new: live,
            manager: BEFORE_FIRST_APPLY,
            now,
        };

        update
            .track(ManagedFields::new())
            .map_err(Error::of_what_is_stored)
    }

    /// Whether the object is tracked: it has entries, or it is being created. An object without entries that exists, which
    /// has a `uid`, is tracked from its first apply on.
    fn is_tracked(&self, managed: &ManagedFields) -> bool {
        !managed.is_empty() || self.live.uid().is_none_or(str::is_empty)
    }

    fn leave_untracked(&self, managed: ManagedFields) -> Result<Tracked, Error> {
        check_depth(self.new, None, &managed)?;
        Ok(Tracked {
            object: self.new.clone(),
            managed,
        })
    }

    /// The new object and its owners.
    fn track(&self, managed: ManagedFields) -> Result<Tracked, Error> {
        let Tracked {
            object,
            mut managed,
        } = self.merge(managed)?;
        self.record(&mut managed);
        cap::unite_oldest_updaters(&mut managed, self.settings.max_updaters);
        Ok(Tracked { object, managed })
    }

    /// Normalizes the unions of the new object, and determines what [`CURRENT_OPERATION`] owns and other managers lose.
    fn merge(&self, mut managed: ManagedFields) -> Result<Tracked, Error> {
        let Update {
            settings,
            live,
            new,
            ..
        } = self;
        let new_there =
            settings.to_request_version(new, "convert new object to proper version ()")?;
        let live_there =
            settings.to_request_version(live, "convert live object to proper version")?;
        let typed_new = settings.typed(
            &new_there,
            "convert new object to smd typed",
            true,
            Duplicates::Allow,
        )?;

        let typed_live = settings.typed(
            &live_there,
            "convert live object to smd typed",
            false,
            Duplicates::Allow,
        )?;
        let updated = self.updater.update(
            fieldmanager_merge::UpdateRequest::new(&typed_live, &typed_new)
                .version(settings.version.clone())
                .owners(&managed.owners)
                .manager(CURRENT_OPERATION),
        )?;

        // Fields that identify the object, and those that the server sets, have no owner.
        managed.owners = updated.owners;
        strip(&mut managed.owners, CURRENT_OPERATION);
        // The new object keeps its own version, unless its unions were normalized.
        let normalized = updated.object.value();
        let object = if normalized.ptr_eq(&new_there) {
            (*new).clone()
        } else {
            settings.back_to_own_version(new, normalized)?
        };
        check_depth(&object, Some(normalized), &managed)?;

        Ok(Tracked { object, managed })
    }

    /// Adds what [`CURRENT_OPERATION`] owns to the entry of the manager, which gets the time of the request.
    fn record(&self, managed: &mut ManagedFields) {
        let Some(changed) = managed.owners.remove(CURRENT_OPERATION) else {
            return;
        };

        // The change has a name of its own up to here, so that it is known apart from what the manager owned before.
        let identifier = self.settings.identifier(self.manager, Operation::Update);
        let owned = match managed.owners.get(&identifier) {
            Some(before) => changed.set().union(before.set()),
            None => changed.set().clone(),
        };
        managed.owners.insert(
            identifier.clone(),
            VersionedSet::new(owned, changed.api_version().clone(), changed.is_applied()),
        );
        managed.set_time(identifier, self.now);
    }
}

/// The object before a request sets any field, with the parts of the kind that a configuration names.
fn empty_object_like(settings: &Settings, config: &Value) -> Value {
    let names = ["apiVersion", "kind"]
        .into_iter()
        .filter(|name| config.get(name).is_none());
    let edits: Vec<_> = names.map(|name| (Str::from(name), None)).collect();
    match &settings.empty {
        Value::Map(fields) if !edits.is_empty() => Value::Map(fields.with_edits(edits)),
        empty => empty.clone(),
    }
}
