//! Objects that are fit to be applied.

use fieldmanager_value::{Map, Str, Value};

use crate::last_applied::LAST_APPLIED;

/// What the server writes into `metadata`, or does not let an apply set, sorted.
const SERVERS: [&str; 9] = [
    "clusterName",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// What [`strip_for_apply`] removes besides what the server wrote into `metadata`.
///
/// ```
/// use fieldmanager_managedfields::StripOptions;
/// assert!(!StripOptions::default().status && StripOptions::all().status);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StripOptions {
    /// `status`.
    pub status: bool,
    /// The annotation in which `kubectl` keeps what client-side apply applied last.
    pub last_applied: bool,
}

impl StripOptions {
    /// Removes everything.
    pub fn all() -> Self {
        StripOptions { status: true, last_applied: true }
    }

    /// Sets whether `status` is removed.
    #[must_use]
    pub fn status(mut self, remove: bool) -> Self {
        self.status = remove;
        self
    }

    /// Sets whether the annotation of client-side apply is removed.
    #[must_use]
    pub fn last_applied(mut self, remove: bool) -> Self {
        self.last_applied = remove;
        self
    }
}

/// An object that was read from a server, without what a configuration must not have: an apiserver refuses
/// `metadata.managedFields`, and `resourceVersion`, `uid` and the like would make the apply fail later or own what
/// belongs to the server.
///
/// What is left owns every other field of the object when it is applied. To get only what one manager applied, see
/// [`FieldManager::extract`](crate::FieldManager::extract).
///
/// Behaviour: an apply of `k8s.io/apimachinery/pkg/util/managedfields` accepts the result.
///
/// ```
/// use fieldmanager_managedfields::{LAST_APPLIED, StripOptions, strip_for_apply};
/// use fieldmanager_value::Value;
/// let read = Value::from_json(&format!(
///     r#"{{"metadata":{{"name":"x","uid":"1","managedFields":[],"annotations":{{"{LAST_APPLIED}":"{{}}"}}}},
///         "spec":{{}},"status":{{}}}}"#
/// ))?;
/// let config = strip_for_apply(&read, StripOptions::all());
/// assert_eq!(config.to_json(), r#"{"metadata":{"name":"x"},"spec":{}}"#);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[must_use]
pub fn strip_for_apply(object: &Value, options: StripOptions) -> Value {
    let Value::Map(fields) = object else {
        return object.clone();
    };
    let mut edits: Vec<(Str, Option<Value>)> = Vec::new();
    if let Some(Value::Map(metadata)) = fields.get("metadata") {
        edits.push(("metadata".into(), Some(Value::Map(stripped_metadata(metadata, options)))));
    }
    if options.status {
        edits.push(("status".into(), None));
    }
    Value::Map(fields.with_edits(edits))
}

fn stripped_metadata(metadata: &Map, options: StripOptions) -> Map {
    // In the order of names, as edits must be.
    let mut edits: Vec<(Str, Option<Value>)> = Vec::new();
    if let Some(Value::Map(annotations)) = metadata.get("annotations")
        && options.last_applied
        && annotations.contains(LAST_APPLIED)
    {
        let others = annotations.with_edits(vec![(LAST_APPLIED.into(), None)]);
        // An empty map would be owned.
        let others = (!others.is_empty()).then_some(Value::Map(others));
        edits.push(("annotations".into(), others));
    }
    edits.extend(SERVERS.iter().map(|name| (Str::from(*name), None)));
    metadata.with_edits(edits)
}
