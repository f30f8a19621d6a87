//! Runs the steps of a scenario, to find the containers that managers own in it.
//!
//! A container that exists by a default has no owner on the server. A scenario has no defaults, so the manager that adds the
//! first field to the container owns it.

use fieldmanager_fieldpath::{Filter, Owners, Set};
use fieldmanager_merge::{ApplyRequest, UpdateRequest, Updater};
use fieldmanager_schema::Type;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

/// The state of a scenario.
pub(super) struct Replay {
    updater: Updater,
    version: String,
    live: TypedValue,
    owners: Owners,
}

impl Replay {
    /// The state before the first step. `ignored` are the fields that nobody owns.
    pub(super) fn new(ty: &Type, version: &str, ignored: &Value, unions: bool) -> Self {
        let ignored = Filter::Exclude(Set::from_value(ignored).unwrap_or_default());
        let updater = Updater::builder().filter(version, ignored).unions(unions).build();
        Replay {
            updater,
            version: version.to_owned(),
            live: TypedValue::null(ty.clone()),
            owners: Owners::new(),
        }
    }

    /// Runs a step. One that fails changes nothing, as in a scenario.
    pub(super) fn run(&mut self, step: &Value) {
        let (is_apply, fields) = match (step.get("apply"), step.get("update")) {
            (Some(fields), _) => (true, fields),
            (None, Some(fields)) => (false, fields),
            (None, None) => return,
        };
        let manager = fields.get("manager").and_then(Value::as_str).unwrap_or_default();
        let force = fields.get("force") == Some(&Value::Bool(true));
        let object = fields.get("object").cloned().unwrap_or_default();
        let duplicates = if is_apply { Duplicates::Refuse } else { Duplicates::Allow };
        let Ok(object) = TypedValue::new(object, self.live.ty().clone(), duplicates) else { return };
        let version = self.version.as_str();
        if is_apply {
            let request = ApplyRequest::new(&self.live, &object).version(version).owners(&self.owners);
            if let Ok(applied) = self.updater.apply(request.manager(manager).force_if(force)) {
                self.live = applied.object.unwrap_or_else(|| self.live.clone());
                self.owners = applied.owners;
            }
        } else {
            let request = UpdateRequest::new(&self.live, &object).version(version).owners(&self.owners);
            if let Ok(updated) = self.updater.update(request.manager(manager)) {
                (self.live, self.owners) = (updated.object, updated.owners);
            }
        }
    }

    /// The fields that a manager is expected to own: those that it owned on the server, with the containers that it owns in
    /// the scenario.
    pub(super) fn expected(&self, manager: &str, recorded: &Set) -> Set {
        let own = self.owners.get(manager).map(|owned| owned.set().clone());
        own.filter(|own| own.leaves() == recorded.leaves()).unwrap_or_else(|| recorded.clone())
    }
}
