//! An object and its owners.

use fieldmanager_fieldpath::{ApiVersion, Owners, Set, VersionedSet};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

/// The version of all requests.
pub(crate) fn version() -> ApiVersion {
    "v1".into()
}

/// An object and its owners.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) live: TypedValue,
    pub(crate) owners: Owners,
}

impl State {
    /// Returns the state reparsed from its JSON, without sharing or cached knowledge. Returns `None` if the object is
    /// no longer valid: pruning may remove the key of an item, as in the Go package.
    pub(crate) fn reparsed(&self) -> Result<Option<State>, String> {
        let Some(live) = reparsed(&self.live)? else {
            return Ok(None);
        };
        let mut owners = Owners::new();
        for (name, entry) in &self.owners {
            let text = entry.set().to_json();
            let set =
                Set::from_json(text.as_bytes()).map_err(|error| format!("{error}: {text}"))?;
            let entry = VersionedSet::new(set, entry.api_version().clone(), entry.is_applied());
            owners.insert(name.clone(), entry);
        }
        Ok(Some(State { live, owners }))
    }
}

/// Returns a value reparsed from its JSON, or `None` if it is no longer valid for its type.
pub(crate) fn reparsed(value: &TypedValue) -> Result<Option<TypedValue>, String> {
    let text = value.value().to_json();
    let read = Value::from_json(&text).map_err(|error| format!("{error}: {text}"))?;
    Ok(TypedValue::new(read, value.ty().clone(), Duplicates::Allow).ok())
}
