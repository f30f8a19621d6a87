//! The managed fields that a request starts from.

use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;

use crate::entry::{Entry, EntryError};
use crate::error::Error;
use crate::managed_fields::{Decoded, ManagedFields};

use crate::settings::Settings;

/// The start of a request.
#[derive(Default)]
pub(crate) struct RequestStart {
    pub(crate) managed: ManagedFields,
    /// The entries that cannot be read and are dropped.
    pub(crate) dropped: Vec<EntryError>,
    /// Whether the entries are those that the request sends.
    pub(crate) from_request: bool,
}

impl RequestStart {
    /// The entries of the live object.
    pub(crate) fn stored(settings: &Settings, live: &Value) -> Result<Self, Error> {
        let Decoded { managed, faults } = settings.decode(live.managed_fields());
        match faults.first() {
            Some(fault) if !settings.recover => Err(fault.clone().into()),
            _ => Ok(RequestStart {
                managed,
                dropped: faults,
                from_request: false,
            }),
        }
    }

    /// The entries that an update starts from: those that the request sends, if it sends any and all can be read,
    /// otherwise those of the live object. A reset starts without entries.
    pub(crate) fn of_update(settings: &Settings, live: &Value, new: &Value) -> Result<Self, Error> {
        if !settings.subresource.is_empty() {
            return Self::stored(settings, live);
        }
        let list = new.managed_fields();
        if is_reset(list) {
            return Ok(RequestStart::default());
        }

        let Decoded { managed, faults } = settings.decode(list);
        if faults.is_empty() && !managed.is_empty() {
            return Ok(RequestStart {
                managed,
                dropped: faults,
                from_request: true,
            });
        }

        // Clients that do not understand managed fields must not delete them.
        let mut state = Self::stored(settings, live)?;
        state.dropped.extend(faults);
        Ok(state)
    }
}

/// Whether a list of entries requests a reset of the managed fields: it is empty, or its only entry is empty.
fn is_reset(list: Option<&Value>) -> bool {
    match list {
        Some(Value::List(entries)) => {
            entries.is_empty()
                || (entries.len() == 1 && entries.get(0).is_some_and(Entry::is_blank))
        }
        _ => false,
    }
}
