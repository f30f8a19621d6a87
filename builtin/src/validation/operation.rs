//! The operation for which an object is validated.

use fieldmanager_value::Value;

/// The operation for which an object is validated.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation<'v> {
    Create,
    /// With the live counterpart of the value that is checked, if it has one.
    Update(Option<&'v Value>),
}

impl<'v> Operation<'v> {
    pub(super) fn live(self) -> Option<&'v Value> {
        match self {
            Operation::Create => None,
            Operation::Update(live) => live,
        }
    }

    pub(super) fn is_update(self) -> bool {
        matches!(self, Operation::Update(_))
    }
}
