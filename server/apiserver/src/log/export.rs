//! The history of an object as data, from which a program makes a file.

use bytes::Bytes;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use super::ManagerChange;

/// Writes a history as a file in YAML. The error says why there is no such file.
pub type ExportHistory = fn(&RecordedHistory) -> Result<String, String>;

/// The history of one object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedHistory {
    /// The kind and the name of the object, such as `Shop default/corner`.
    pub title: String,
    /// The kind, at the version at which its objects are stored.
    pub kind: GroupVersionKind,
    /// The CustomResourceDefinition of the kind; `None` for a kind of Kubernetes.
    pub definition: Option<Value>,
    /// Whether unions have an effect.
    pub unions: bool,
    /// What happened, the oldest first.
    pub events: Vec<RecordedEvent>,
}

/// What happened to an object at one time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedEvent {
    /// When the request began; empty for a state that the server found in its store.
    pub time: String,
    /// What happened, in one sentence.
    pub sentence: String,
    /// The manager of the request; empty for a state that was found.
    pub manager: String,
    /// The verb of the request, such as `apply`; empty for a state that was found.
    pub verb: String,
    /// The subresource of the request.
    pub subresource: String,
    /// The effect on the object.
    pub effect: RecordedEffect,
    /// The object before the event.
    pub before: Option<Value>,
    /// The object after the event.
    pub after: Option<Value>,
    /// The fields that managers gained, lost and changed.
    pub changes: Vec<ManagerChange>,
}

/// The effect of an event on an object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RecordedEffect {
    /// The object was found in the store: it is older than the history, or another server wrote it.
    Found,
    /// A request wrote or removed the object.
    Written,
    /// A request was refused.
    Refused {
        /// The message of each conflict, such as `conflict with "alice"`, and its path.
        conflicts: Vec<(String, String)>,
        /// The body of the request.
        body: Bytes,
    },
}
