//! An object and its owners.

use fieldmanager_fieldpath::{ApiVersion, Owners, Set, VersionedSet};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

/// The version at which everything happens.
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
    /// The same, read anew from its texts, so that it shares nothing and nothing is known of it. None if the object
    /// is not valid any more: pruning may take the key from an item, as in the Go package.
    pub(crate) fn read_anew(&self) -> Result<Option<State>, String> {
        let Some(live) = read_anew(&self.live)? else {
            return Ok(None);
        };
        let mut owners = Owners::new();
        for (name, entry) in &self.owners {
            let text = entry.set().to_json();
            let set = Set::from_json(text.as_bytes()).map_err(|error| format!("{error}: {text}"))?;
            let entry = VersionedSet::new(set, entry.api_version().clone(), entry.is_applied());
            owners.insert(name.clone(), entry);
        }
        Ok(Some(State { live, owners }))
    }
}

/// A value read anew from its text; none if it does not fit its type any more.
pub(crate) fn read_anew(value: &TypedValue) -> Result<Option<TypedValue>, String> {
    let text = value.value().to_json();
    let read = Value::from_json(&text).map_err(|error| format!("{error}: {text}"))?;
    Ok(TypedValue::new(read, value.ty().clone(), Duplicates::Allow).ok())
}
