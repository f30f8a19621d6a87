//! Answers to requests that succeeded.

use std::sync::Arc;

use fieldmanager_value::Value;

use crate::registry::Served;
use crate::store::{Entry, Revision};
use crate::watch::WatchRequest;

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
    /// A watch of a resource, which the caller starts.
    Watch(Arc<Served>, WatchRequest),
}

/// The items of a list.
pub(crate) struct Listed {
    pub(crate) items: Vec<Entry>,
    /// Whether the items are as they are stored, and are [read](Served::read) when they are written.
    pub(crate) are_stored: bool,
    /// `None` if the items are not of the store.
    pub(crate) revision: Option<Revision>,
    /// The token of the next page; empty if this is the last one.
    pub(crate) next: String,
    /// The number of items after this page, if the server knows it.
    pub(crate) remaining: Option<u64>,
}

impl Answer {
    pub(super) fn new(code: u16, content: Content) -> Self {
        Answer {
            code,
            warnings: Vec::new(),
            content,
        }
    }

    pub(super) fn object(code: u16, object: Value) -> Self {
        Answer::new(code, Content::Object(object))
    }
}
