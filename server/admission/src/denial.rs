//! Refusals.

use fieldmanager_managedfields::Status;
use fieldmanager_value::Value;

/// Why a request is refused, and what the client gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Denial {
    /// The answer.
    pub status: Box<Status>,
    /// The answer in place of `status`, if a webhook made it with reasons and details of its own.
    pub body: Option<Value>,
    /// The warnings that the client gets with the answer.
    pub warnings: Vec<String>,
    /// Annotations for the log: a key and a text.
    pub annotations: Vec<(String, String)>,
    /// The seconds after which the client may try again; 0 if it need not.
    pub retry_after: u32,
    /// Who refuses it: the name of a plugin, a webhook or a closure.
    pub by: String,
}

impl From<Status> for Denial {
    fn from(status: Status) -> Self {
        Denial {
            status: Box::new(status),
            body: None,
            warnings: Vec::new(),
            annotations: Vec::new(),
            retry_after: 0,
            by: String::new(),
        }
    }
}
