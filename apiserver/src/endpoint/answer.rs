//! Answers to requests that succeeded.

use std::sync::Arc;

use fieldmanager_value::Value;

use super::selection::{Selection, WatchOptions};
use crate::registry::Served;
use crate::store::{Prefix, Revision};

/// The answer to a request that succeeded.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) warnings: Vec<String>,
    pub(crate) content: Content,
}

/// The body of an answer.
pub(crate) enum Content {
    /// An object.
    Object(Value),
    /// A `Status`, as of a deletion.
    Status(Value),
    /// A list.
    List(Listed),
    /// A watch, which the caller starts.
    Watch(WatchCall),
}

/// The items of a list.
pub(crate) struct Listed {
    pub(crate) items: Vec<Value>,
    pub(crate) revision: Revision,
    /// The token of the next page; empty if this is the last one.
    pub(crate) next: String,
    /// The number of items after this page, if the server knows it.
    pub(crate) remaining: Option<u64>,
}

/// The parts of a watch.
pub(crate) struct WatchCall {
    pub(crate) served: Arc<Served>,
    pub(crate) prefix: Prefix,
    pub(crate) selection: Selection,
    pub(crate) options: WatchOptions,
}

impl Answer {
    pub(super) fn object(code: u16, object: Value) -> Self {
        Answer { code, warnings: Vec::new(), content: Content::Object(object) }
    }
}
