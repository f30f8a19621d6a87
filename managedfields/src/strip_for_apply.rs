//! Turns an object that was read from a server into a configuration.

use fieldmanager_value::{Map, Str, Value};

use crate::last_applied::LAST_APPLIED;

/// The members of `metadata` that the server writes or that an apply must not set, sorted.
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

/// Options of [`strip_for_apply`]: the parts to remove besides the members of `metadata` that the server writes.
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
    /// The annotation [`LAST_APPLIED`] of client-side apply.
    pub last_applied: bool,
}

impl StripOptions {
    /// Removes everything.
    pub fn all() -> Self {
        StripOptions {
            status: true,
            last_applied: true,
        }
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

/// Removes the fields that a configuration must not have from an object that was read from a server. An API server
/// refuses `metadata.managedFields`; `resourceVersion`, `uid` and similar fields would make the apply fail later, or give
/// the manager fields of the server.
///
/// A manager that applies the result owns all its fields. To get only the fields that one manager applied, use
/// [`FieldManager::extract`](crate::FieldManager::extract).
///
/// Behaviour: an apply of `k8s.io/apimachinery/pkg/util/managedfields` accepts the result.
///
/// ```
/// use fieldmanager_managedfields::internal::LAST_APPLIED;
/// use fieldmanager_managedfields::{StripOptions, strip_for_apply};
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
        edits.push((
            "metadata".into(),
            Some(Value::Map(stripped_metadata(metadata, options))),
        ));
    }

    if options.status {
        edits.push(("status".into(), None));
    }
    Value::Map(fields.with_edits(edits))
}

fn stripped_metadata(metadata: &Map, options: StripOptions) -> Map {
    // Edits must be sorted by name.
    let mut edits: Vec<(Str, Option<Value>)> = Vec::new();
    if let Some(Value::Map(annotations)) = metadata.get("annotations")
        && options.last_applied
        && annotations.contains(LAST_APPLIED)
    {
        let others = annotations.with_edits(vec![(LAST_APPLIED.into(), None)]);
        // Applying an empty map would own it.
        let others = (!others.is_empty()).then_some(Value::Map(others));
        edits.push(("annotations".into(), others));
    }
    edits.extend(SERVERS.iter().map(|name| (Str::from(*name), None)));

    metadata.with_edits(edits)
}
