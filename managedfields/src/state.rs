//! The managed fields that an operation starts from.

use fieldmanager_value::Value;

use crate::entry::{Entry, EntryError};
use crate::error::Error;
use crate::managed::{ManagedFields, list_of};
use crate::manager::FieldManager;

type State = (ManagedFields, Vec<EntryError>);

impl FieldManager {
    /// The entries of the live object.
    pub(crate) fn stored_state(&self, live: &Value) -> Result<State, Error> {
        let (managed, faults) = ManagedFields::decode_what_can_be(list_of(live));
        match faults.first() {
            Some(fault) if !self.recover => Err(fault.clone().into()),
            _ => Ok((managed, faults)),
        }
    }

    /// The entries that an update starts from: those that the request sends, unless it sends none or none that can
    /// be read; a reset starts from nothing.
    pub(crate) fn starting_state(&self, live: &Value, new: &Value) -> Result<State, Error> {
        if !self.subresource.is_empty() {
            return self.stored_state(live);
        }
        let list = list_of(new);
        if is_reset(list) {
            return Ok(State::default());
        }
        let (managed, faults) = ManagedFields::decode_what_can_be(list);
        if faults.is_empty() && !managed.is_empty() {
            return Ok((managed, faults));
        }
        // This keeps clients who do not understand managed fields from deleting them.
        let (managed, mut dropped) = self.stored_state(live)?;
        dropped.extend(faults);
        Ok((managed, dropped))
    }
}

/// Whether a list of entries asks to forget all of them: it is empty, or has one entry that says nothing.
fn is_reset(list: Option<&Value>) -> bool {
    match list {
        Some(Value::List(entries)) => {
            entries.is_empty() || (entries.len() == 1 && entries.get(0).is_some_and(Entry::says_nothing))
        }
        _ => false,
    }
}
