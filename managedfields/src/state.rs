//! The managed fields that an operation starts from.

use fieldmanager_value::Value;

use crate::entry::{Entry, EntryError};
use crate::error::Error;
use crate::managed::{ManagedFields, list_of};
use crate::manager::FieldManager;

/// Where an operation starts.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) managed: ManagedFields,
    /// The entries that cannot be read and are dropped.
    pub(crate) dropped: Vec<EntryError>,
    /// Whether the entries are those that the request sends.
    pub(crate) from_request: bool,
}

impl FieldManager {
    /// The entries of the live object.
    pub(crate) fn stored_state(&self, live: &Value) -> Result<State, Error> {
        let (managed, faults) = ManagedFields::decode_lossy(list_of(live));
        match faults.first() {
            Some(fault) if !self.recover => Err(fault.clone().into()),
            _ => Ok(State { managed, dropped: faults, from_request: false }),
        }
    }

    /// The entries that an update starts from: those that the request sends, if it sends any and all can be read, else
    /// those of the live object. A reset starts without entries.
    pub(crate) fn starting_state(&self, live: &Value, new: &Value) -> Result<State, Error> {
        if !self.subresource.is_empty() {
            return self.stored_state(live);
        }
        let list = list_of(new);
        if is_reset(list) {
            return Ok(State::default());
        }
        let (managed, faults) = ManagedFields::decode_lossy(list);
        if faults.is_empty() && !managed.is_empty() {
            return Ok(State { managed, dropped: faults, from_request: true });
        }
        // Clients that do not understand managed fields must not delete them.
        let mut state = self.stored_state(live)?;
        state.dropped.extend(faults);
        Ok(state)
    }
}

/// Whether a list of entries asks to reset the managed fields: it is empty, or its only entry is empty.
fn is_reset(list: Option<&Value>) -> bool {
    match list {
        Some(Value::List(entries)) => {
            entries.is_empty() || (entries.len() == 1 && entries.get(0).is_some_and(Entry::says_nothing))
        }
        _ => false,
    }
}
