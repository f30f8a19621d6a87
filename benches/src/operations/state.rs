//! An object and its managers, between operations of the updater.

use fieldmanager_fieldpath::Managers;
use fieldmanager_merge::{Force, Updater};
use fieldmanager_schema::Type;
use fieldmanager_typed::TypedValue;
use serde_json::{Map, Value, json};

/// The live object and its managers.
#[derive(Clone)]
pub(super) struct State {
    pub(super) live: TypedValue,
    pub(super) managers: Managers,
}

impl State {
    /// The state without an object.
    pub(super) fn nothing(ty: &Type) -> Self {
        State { live: TypedValue::null(ty.clone()), managers: Managers::new() }
    }

    pub(super) fn apply(&self, updater: &Updater, config: &TypedValue, manager: &str, force: Force) -> Self {
        let applied =
            updater.apply(&self.live, config, &"v1".into(), &self.managers, manager, force).unwrap();
        State { live: applied.object.unwrap_or_else(|| self.live.clone()), managers: applied.managers }
    }

    pub(super) fn update(&self, updater: &Updater, new: &TypedValue, manager: &str, version: &str) -> Self {
        let updated = updater.update(&self.live, new, &version.into(), &self.managers, manager).unwrap();
        State { live: updated.object, managers: updated.managers }
    }

    /// The state in the notation of the Go side.
    pub(super) fn output(&self) -> Value {
        let managers: Map<String, Value> = self
            .managers
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
