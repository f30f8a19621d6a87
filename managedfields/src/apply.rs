//! The steps of an apply, in the order in which they run.

use fieldmanager_merge::Conflicts;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_typed::Duplicates;
use fieldmanager_value::{Str, Value};

use crate::depth::check_depth;
use crate::error::Error;
use crate::identity::Operation;
use crate::last_applied;
use crate::managed_fields::ManagedFields;
use crate::object::{check_live_object, check_object};
use crate::outcome::{Outcome, Tracked};
use crate::request::ApplyRequest;
use crate::settings::Settings;
use crate::state::RequestStart;
use crate::stripped::strip;
use crate::update::Update;

/// An apply in progress.
pub(crate) struct Apply<'r> {
    settings: &'r Settings,
    request: &'r ApplyRequest<'r>,
    /// The identifier of the manager's entry.
    identifier: Str,
    /// The live object and the owners before the apply.
    live: Tracked,
}

/// The effect of a configuration.
struct MergedConfiguration {
    /// The new object; `None` if it equals the live one.
    object: Option<Value>,
    managed: ManagedFields,
}

impl<'r> Apply<'r> {
    pub(crate) fn run(
        settings: &'r Settings,
        request: &'r ApplyRequest<'r>,
    ) -> Result<Outcome, Error> {
        // The order of the checks decides about the error of a request with several faults.
        check_live_object(request.live())?;
        if request.config.as_map().is_none() {
            check_object("configuration", request.config)?;
        }
        let RequestStart {
            managed, dropped, ..
        } = RequestStart::stored(settings, request.live())?;
        settings.check_kind(request.config)?;
        let identifier = settings.identifier(request.manager, Operation::Apply);
        let object = settings.without_managed_fields(request.live());
        let apply = Apply {
            settings,
            request,
            identifier,
            live: Tracked { object, managed },
        }
        .seed()?;

        apply.check_config()?;
        // With `kubectl`, conflicts about fields of its own client-side apply do not count, so that an object can be
        // migrated.
        let merged = match apply.merge(request.force) {
            Err(Error::Conflicts(conflicts)) if apply.is_of_kubectl() => {
                match apply.without_last_applied(&conflicts) {
                    Some(others) => return Err(Error::Conflicts(others)),
                    None => apply.merge(true)?,
                }
            }
            merged => merged?,
        };
        let is_merged = merged.object.is_some();
        let after = apply.renew_last_applied(apply.record_time(merged));

        Ok(Outcome {
            is_merged,
            ..Outcome::new(request.live(), after, dropped)
        })
    }

    /// Makes the manager `before-first-apply` the owner of the fields of an object that has no entries.
    fn seed(self) -> Result<Self, Error> {
        if !self.live.managed.is_empty() {
            return Ok(self);
        }
        // The fields of an object without entries get an owner, so that an apply that changes them conflicts.
        let live = Update::seed(
            self.settings,
            &self.live.object,
            self.request.config,
            self.request.now,
        )?;
        Ok(Apply { live, ..self })
    }

    /// Refuses a configuration with managed fields.
    fn check_config(&self) -> Result<(), Error> {
        match self.request.config.managed_fields() {
            Some(list) if !list.is_null() => Err(Error::ManagedFieldsInConfig),
            _ => Ok(()),
        }
    }

    /// Merges the configuration into the live object, fills in defaults, and determines the new owners.
    fn merge(&self, force: bool) -> Result<MergedConfiguration, Error> {
        let Apply {
            settings,
            request,
            identifier,
            live,
        } = self;
        let live_there =
            settings.to_request_version(&live.object, "convert live object to proper version")?;

        // Only a configuration is refused for duplicates: a live object may have been stored before they were
        // validated.
        let config = settings.typed(
            request.config,
            "create typed patch object",
            true,
            Duplicates::Refuse,
        )?;
        // The schema of most kinds refuses metadata that are no map, as in Go; that of a deduced kind does not.
        check_object("configuration", request.config)?;

        let typed_live = settings.typed(
            &live_there,
            "create typed live object",
            false,
            Duplicates::Allow,
        )?;
        let applied = settings.updater.apply(
            fieldmanager_merge::ApplyRequest::new(&typed_live, &config)
                .version(settings.version.clone())
                .owners(&live.managed.owners)
                .manager(identifier)
                .force_if(force),
        )?;

        let mut managed = ManagedFields {
            owners: applied.owners,
            times: live.managed.times.clone(),
        };

        // Fields that identify the object, and those that the server sets, have no owner.
        strip(&mut managed.owners, identifier);
        let Some(object) = applied.object else {
            check_depth(&live.object, Some(&live.object), &managed)?;
            return Ok(MergedConfiguration {
                object: None,
                managed,
            });
        };

        let merged = object.into_value();
        // Ownership is computed already, so defaults have no owner.
        let object = settings.to_hub_version(&settings.defaulted(&merged), request.config)?;
        check_depth(&object, Some(&merged), &managed)?;
        Ok(MergedConfiguration {
            object: Some(object),
            managed,
        })
    }

    fn is_of_kubectl(&self) -> bool {
        self.request.manager == last_applied::KUBECTL
    }

    /// The conflicts that count for `kubectl`. Fields that it applied on the client's side, and that are unchanged since, are
    /// its own. `None` if no conflict counts.
    fn without_last_applied(&self, conflicts: &Conflicts) -> Option<Conflicts> {
        match last_applied::unchanged_fields(self.settings, self.request.live()) {
            Some(own) => conflicts.filtered(|conflict| !own.has(&conflict.path)),
            None => Some(conflicts.clone()),
        }
    }

    /// Sets the time of the manager's entry. A no-op changes neither object nor time.
    fn record_time(&self, merged: MergedConfiguration) -> Tracked {
        let MergedConfiguration {
            object,
            mut managed,
        } = merged;
        let Some(object) = object else {
            return Tracked {
                object: self.live.object.clone(),
                managed,
            };
        };
        managed.set_time(self.identifier.clone(), self.request.now);

        Tracked { object, managed }
    }

    /// Sets the annotation of client-side apply to the configuration, if `kubectl` applies and the object has one.
    fn renew_last_applied(&self, after: Tracked) -> Tracked {
        if self.is_of_kubectl() {
            Tracked {
                object: last_applied::renewed(&after.object, self.request.config),
                ..after
            }
        } else {
            after
        }
    }
}
