//! The results of requests.

use fieldmanager_value::Value;

use crate::entry::EntryError;
use crate::error::Error;
use crate::managed_fields::ManagedFields;

/// The result of a request.
///
/// ```
/// # use fieldmanager_managedfields::{ApplyRequest, FieldManager, Time};
/// # use fieldmanager_openapi::GroupVersionKind;
/// # use fieldmanager_value::Value;
/// # let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// # let noon: Time = "2026-01-31T12:00:00Z".parse()?;
/// let config = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}"#)?;
/// let first = manager.apply(ApplyRequest::new(&Value::Null, &config).manager("ci").at(noon))?;
/// // The second apply changes nothing, so the entry keeps its time.
/// let later: Time = "2026-01-31T13:00:00Z".parse()?;
/// let again = manager.apply(ApplyRequest::new(&first.object, &config).manager("ci").at(later))?;
/// assert!(first.changed && !again.changed);
/// assert_eq!(again.object, first.object);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The new object, with its `metadata.managedFields`.
    pub object: Value,
    /// The owners of its fields.
    pub managed: ManagedFields,
    /// Whether the object, or one of its entries, differs from the live one.
    pub changed: bool,
    /// Whether an apply made another object of the live one, and gave the entry of its manager a new time. It can be equal
    /// to the live one after it was decoded. True after an update.
    #[doc(hidden)]
    pub is_merged: bool,
    /// Entries that were dropped because they cannot be read. It is empty unless the field manager
    /// [recovers](crate::FieldManagerBuilder::recover), or the request sends managed fields that cannot be read. In the
    /// second case those of the live object are used.
    pub dropped: Vec<EntryError>,
}

impl Outcome {
    pub(crate) fn new(live: &Value, after: Tracked, dropped: Vec<EntryError>) -> Self {
        let Tracked { object, managed } = after;
        let object = managed.set_in(&object);
        Outcome {
            changed: object != *live,
            is_merged: true,
            object,
            managed,
            dropped,
        }
    }
}

/// The result of [`update_no_errors`](crate::internal::update_no_errors).
///
/// ```
/// # use fieldmanager_managedfields::internal::update_no_errors;
/// # use fieldmanager_managedfields::{FieldManager, UpdateRequest};
/// # use fieldmanager_openapi::GroupVersionKind;
/// # use fieldmanager_value::Value;
/// # let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let new = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}"#)?;
/// let updated = update_no_errors(&manager, UpdateRequest::new(&Value::Null, &new).manager("ci"));
/// assert!(updated.error.is_none() && updated.object.get("metadata").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UncheckedOutcome {
    /// The new object. If the update failed, it has the managed fields of the live one.
    pub object: Value,
    /// The error of the update.
    pub error: Option<Error>,
}

/// An object between two steps of a request, without its managed fields, and the owners of its fields.
pub(crate) struct Tracked {
    pub(crate) object: Value,
    pub(crate) managed: ManagedFields,
}
