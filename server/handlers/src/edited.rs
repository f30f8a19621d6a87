//! The object that a request makes, before it is prepared for the store.

use fieldmanager_value::Value;

use crate::kind::Unseen;

/// The object that a request makes.
#[derive(Default)]
pub(crate) struct Edited {
    pub(crate) object: Value,
    pub(crate) unseen: Unseen,
    /// Whether an apply made no object, so that the live one is stored: nothing is converted then.
    pub(crate) keeps_live: bool,
}
