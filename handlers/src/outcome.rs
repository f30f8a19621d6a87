//! The results of requests.

use fieldmanager_managedfields::Status;
use fieldmanager_value::Value;

/// The effect of a request.
///
/// A request with `dryRun` has the same outcome; the server does not store it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The object to store. Its `resourceVersion` is that of the live object, or absent if the object is new: the server
    /// sets it.
    pub object: Value,
    /// The answer if it is not the object: the `Scale` of a request for `scale`.
    pub scale: Option<Value>,
    /// The texts of the `Warning` headers.
    pub warnings: Vec<String>,
    /// The effect on the storage.
    pub action: Action,
}

/// The effect of an [`Outcome`] on the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The object is new: the server stores it, and answers 201.
    Create,
    /// The server stores the object, and answers 200.
    Update,
    /// The object equals the live one: the server stores nothing, and answers 200 with the live `resourceVersion`.
    Nothing,
    /// The last finalizer of a terminating object is gone: the server removes the object, and answers 200 with it.
    Delete,
}

impl Outcome {
    /// The status code of the answer: 201 if an object was created, otherwise 200.
    pub fn code(&self) -> u16 {
        if self.action == Action::Create { 201 } else { 200 }
    }
}

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The answer.
    pub status: Box<Status>,
    /// The texts of the `Warning` headers: those of the steps before the one that failed.
    pub warnings: Vec<String>,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.status.message)
    }
}

impl std::error::Error for Refused {}

/// The warnings of a request in progress. A text that occurs again is dropped.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<String>);

impl Warnings {
    pub(crate) fn add(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.0.contains(&text) {
            self.0.push(text);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<String> {
        self.0
    }
}
