//! Resets the parts of a custom resource with the subresource `status` that an API server ignores.

use fieldmanager_fieldpath::{Path, PathElement};
use fieldmanager_structural::crd::Version;
use fieldmanager_value::{Str, Value};

const STATUS: &str = "status";

/// The part of the new object that is ignored: a request to the object does not write its status, and a request to the
/// status writes nothing else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reset {
    Nothing,
    Status,
    AllButStatus,
}

impl Reset {
    pub(crate) fn of(version: &Version, subresource: &str) -> Self {
        match subresource {
            "" if version.status => Reset::Status,
            STATUS if version.status => Reset::AllButStatus,
            _ => Reset::Nothing,
        }
    }

    /// The new object with the ignored part restored from the live object.
    pub(crate) fn object(self, live: &Value, new: &Value) -> Value {
        let (Value::Map(fields), part) = (new, live.get(STATUS)) else {
            return new.clone();
        };
        match (self, live) {
            (Reset::Status, _) => Value::Map(fields.with_edits(vec![(STATUS.into(), part.cloned())])),
            (Reset::AllButStatus, Value::Map(before)) => {
                let entries = new.get("metadata").and_then(|metadata| metadata.get("managedFields"));
                let metadata = before.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
                let metadata = metadata.with_edits(vec![("managedFields".into(), entries.cloned())]);
                let mut edits: Vec<(Str, Option<Value>)> = vec![(STATUS.into(), new.get(STATUS).cloned())];
                edits.push(("metadata".into(), Some(Value::Map(metadata))));
                edits.sort_by(|a, b| a.0.cmp(&b.0));
                Value::Map(before.with_edits(edits))
            }
            _ => new.clone(),
        }
    }

    /// Whether the value at a path is ignored.
    pub(crate) fn resets(self, path: &Path) -> bool {
        let in_status = path.first().is_some_and(|first| *first == PathElement::field(STATUS));
        match self {
            Reset::Nothing => false,
            Reset::Status => in_status,
            Reset::AllButStatus => !in_status,
        }
    }
}
