//! An object and its owners, between operations of the updater.

use fieldmanager_fieldpath::Owners;
use fieldmanager_merge::{ApplyRequest, UpdateRequest, Updater};
use fieldmanager_schema::Type;
use fieldmanager_typed::TypedValue;
use serde_json::{Map, Value, json};

/// The live object and its owners.
#[derive(Clone)]
pub(super) struct State {
    pub(super) live: TypedValue,
    pub(super) owners: Owners,
}

impl State {
    /// The state without an object.
    pub(super) fn nothing(ty: &Type) -> Self {
        State {
            live: TypedValue::null(ty.clone()),
            owners: Owners::new(),
        }
    }

    pub(super) fn apply(
        &self,
        updater: &Updater,
        config: &TypedValue,
        manager: &str,
        force: bool,
    ) -> Self {
        let request = ApplyRequest::new(&self.live, config)
            .version("v1")
            .owners(&self.owners);
        let applied = updater
            .apply(request.manager(manager).force_if(force))
            .unwrap();
        State {
            live: applied.object.unwrap_or_else(|| self.live.clone()),
            owners: applied.owners,
        }
    }

    pub(super) fn update(
        &self,
        updater: &Updater,
        new: &TypedValue,
        manager: &str,
        version: &str,
    ) -> Self {
        let request = UpdateRequest::new(&self.live, new)
            .version(version)
            .owners(&self.owners);
        let updated = updater.update(request.manager(manager)).unwrap();
        State {
            live: updated.object,
            owners: updated.owners,
        }
    }

    /// The state in the notation of the Go side.
    pub(super) fn output(&self) -> Value {
        let managers: Map<String, Value> = self
            .owners
            .iter()
            .map(|(name, owned)| {
                let fields: Value = serde_json::from_str(&owned.set().to_json()).unwrap();
                let entry = json!({"fields": fields, "version": owned.api_version().as_str(),
                                   "applied": owned.is_applied()});
                (name.to_string(), entry)
            })
            .collect();
        let object: Value = serde_json::from_str(&self.live.value().to_json()).unwrap();
        json!({"object": object, "managers": managers})
    }
}
