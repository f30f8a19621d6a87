//! Requests with objects of any type that implements the traits of serde.

use fieldmanager_value::{Value, from_value, to_value};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::entry::EntryError;
use crate::error::Error;
use crate::extract::ExtractForm;
use crate::managed_fields::ManagedFields;
use crate::manager::FieldManager;
use crate::outcome::Outcome;
use crate::request::{ApplyRequest, UpdateRequest};

/// The error of a request with objects of serde.
///
/// ```
/// use fieldmanager_managedfields::{Error, ObjectError};
/// let error = ObjectError::from(Error::ManagedFieldsInConfig);
/// assert_eq!(error.to_string(), "metadata.managedFields must be nil");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// An object cannot be serialized.
    #[error("cannot serialize the {what}: {source}")]
    Serialize {
        /// The object: `live object`, `new object` or `configuration`.
        what: &'static str,
        /// The reason.
        source: fieldmanager_value::Error,
    },
    /// The result does not fit the requested type.
    #[error("cannot deserialize the result: {source}")]
    Deserialize {
        /// The reason.
        source: fieldmanager_value::Error,
    },
    /// The request failed.
    #[error(transparent)]
    Operation(#[from] Error),
}

/// The result of a request with objects of serde.
///
/// ```
/// # use fieldmanager_managedfields::{ApplyRequest, FieldManager};
/// # use fieldmanager_openapi::GroupVersionKind;
/// use serde_json::json;
/// # let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
/// let live: Option<&serde_json::Value> = None;
/// let applied = manager.apply_object(ApplyRequest::for_objects(live, &config).manager("ci"))?;
/// assert!(applied.changed);
/// assert_eq!(applied.object["metadata"]["managedFields"][0]["manager"], "ci");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ObjectOutcome<T> {
    /// The new object, with its `metadata.managedFields` if its type has them.
    pub object: T,
    /// The owners of its fields.
    pub managed: ManagedFields,
    /// Whether the object, or one of its entries, differs from the live one.
    pub changed: bool,
    /// Entries that were dropped because they cannot be read, see [`Outcome::dropped`].
    pub dropped: Vec<EntryError>,
}

impl<T: DeserializeOwned> ObjectOutcome<T> {
    fn new(outcome: Outcome) -> Result<Self, ObjectError> {
        let Outcome {
            object,
            managed,
            changed,
            dropped,
            ..
        } = outcome;

        Ok(ObjectOutcome {
            object: deserialized(object)?,
            managed,
            changed,
            dropped,
        })
    }
}

impl FieldManager {
    /// As [`apply`](Self::apply), with objects of types that implement the traits of serde, such as `serde_json::Value`
    /// or generated types. The configuration may have another type than the object.
    ///
    /// Fields that a type does not declare are lost. The type of a configuration must omit fields that are not set.
    ///
    /// # Errors
    ///
    /// [`ObjectError`].
    ///
    /// ```
    /// use fieldmanager_managedfields::{ApplyRequest, FieldManager};
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// #[serde(rename_all = "camelCase")]
    /// struct Shop {
    ///     api_version: String,
    ///     kind: String,
    ///     #[serde(default)]
    ///     metadata: serde_json::Value,
    ///     size: i64,
    /// }
    ///
    /// let kind = GroupVersionKind::from_api_version_kind("example.com/v1", "Shop");
    /// let manager = FieldManager::builder(kind).build()?;
    /// let shop = Shop {
    ///     api_version: "example.com/v1".into(),
    ///     kind: "Shop".into(),
    ///     metadata: serde_json::json!({"name": "x"}),
    ///     size: 3,
    /// };
    /// let live: Option<&Shop> = None;
    /// let applied = manager.apply_object(ApplyRequest::for_objects(live, &shop).manager("ci"))?;
    /// assert_eq!(applied.object.size, 3);
    /// assert_eq!(applied.managed.entries()[0].fields.to_string(), ".size");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply_object<T: Serialize + DeserializeOwned, C: Serialize>(
        &self,
        request: ApplyRequest<'_, T, C>,
    ) -> Result<ObjectOutcome<T>, ObjectError> {
        let (live, config) = (
            live_value(request.live)?,
            value("configuration", request.config)?,
        );
        ObjectOutcome::new(self.apply(request.with_objects(Some(&live), &config))?)
    }

    /// As [`update`](Self::update), with objects of a type that implements the traits of serde. Fields that the type does
    /// not declare are lost.
    ///
    /// # Errors
    ///
    /// [`ObjectError`].
    ///
    /// ```
    /// # use fieldmanager_managedfields::{FieldManager, UpdateRequest};
    /// # use fieldmanager_openapi::GroupVersionKind;
    /// # let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let new = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
    /// let updated = manager.update_object(UpdateRequest::for_objects(None, &new).manager("ci"))?;
    /// assert_eq!(updated.object["metadata"]["managedFields"][0]["operation"], "Update");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_object<T: Serialize + DeserializeOwned>(
        &self,
        request: UpdateRequest<'_, T>,
    ) -> Result<ObjectOutcome<T>, ObjectError> {
        let (live, new) = (live_value(request.live)?, value("new object", request.new)?);
        ObjectOutcome::new(self.update(request.with_objects(Some(&live), &new))?)
    }

    /// As [`extract`](Self::extract), with types that implement the traits of serde.
    ///
    /// # Errors
    ///
    /// [`ObjectError`].
    ///
    /// ```
    /// # use fieldmanager_managedfields::{ApplyRequest, ExtractForm, FieldManager};
    /// # use fieldmanager_openapi::GroupVersionKind;
    /// # let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let config = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
    /// let nothing: Option<&serde_json::Value> = None;
    /// let live = manager.apply_object(ApplyRequest::for_objects(nothing, &config).manager("ci"))?.object;
    /// let own: Option<serde_json::Value> = manager.extract_object(&live, "ci", ExtractForm::Reapply)?;
    /// assert_eq!(own, Some(config));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extract_object<T: DeserializeOwned>(
        &self,
        live: &impl Serialize,
        manager: &str,
        form: ExtractForm,
    ) -> Result<Option<T>, ObjectError> {
        let live = value("live object", live)?;
        self.extract(&live, manager, form)?
            .map(deserialized)
            .transpose()
    }
}

/// Calls a function on an object of a type that implements the traits of serde.
///
/// # Errors
///
/// [`ObjectError`] if the object cannot be serialized, or the result does not fit the type.
///
/// ```
/// use fieldmanager_managedfields::internal::map_object;
/// use fieldmanager_managedfields::{StripOptions, strip_for_apply};
/// let read = serde_json::json!({"metadata": {"name": "x", "uid": "1"}});
/// let config = map_object(&read, |object| strip_for_apply(object, StripOptions::all()))?;
/// assert_eq!(config, serde_json::json!({"metadata": {"name": "x"}}));
/// # Ok::<(), fieldmanager_managedfields::ObjectError>(())
/// ```
pub fn map_object<T: Serialize + DeserializeOwned>(
    source: &T,
    change: impl FnOnce(&Value) -> Value,
) -> Result<T, ObjectError> {
    deserialized(change(&value("object", source)?))
}

fn live_value<T: Serialize>(live: Option<&T>) -> Result<Value, ObjectError> {
    live.map_or(Ok(Value::Null), |live| value("live object", live))
}

fn value(what: &'static str, object: &impl Serialize) -> Result<Value, ObjectError> {
    to_value(object).map_err(|source| ObjectError::Serialize { what, source })
}

fn deserialized<T: DeserializeOwned>(value: Value) -> Result<T, ObjectError> {
    from_value(value).map_err(|source| ObjectError::Deserialize { source })
}
