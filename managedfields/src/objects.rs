//! Operations on objects of any type that implements the traits of serde.

use fieldmanager_merge::Force;
use fieldmanager_value::{Value, from_value, to_value};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::entry::EntryError;
use crate::error::Error;
use crate::extract::ExtractForm;
use crate::managed::ManagedFields;
use crate::manager::FieldManager;
use crate::time::Time;

/// Why an operation on serialised objects failed.
///
/// ```
/// use fieldmanager_managedfields::{Error, ObjectError};
/// let error = ObjectError::from(Error::ManagedFieldsInConfig);
/// assert_eq!(error.to_string(), "metadata.managedFields must be nil");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// An object has no form as a value.
    #[error("cannot serialize the {what}: {source}")]
    Serialize {
        /// Which object.
        what: &'static str,
        /// What is wrong.
        source: fieldmanager_value::Error,
    },
    /// The result does not fit the type that is wanted.
    #[error("cannot deserialize the result: {source}")]
    Deserialize {
        /// What is wrong.
        source: fieldmanager_value::Error,
    },
    /// The operation itself failed.
    #[error(transparent)]
    Operation(#[from] Error),
}

/// What an operation on an object of a type gives.
///
/// ```
/// # use fieldmanager_managedfields::{FieldManager, Force};
/// # use fieldmanager_openapi::GroupVersionKind;
/// use serde_json::json;
/// # let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// # let noon = "2026-01-31T12:00:00Z".parse()?;
/// let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
/// let applied = manager.apply_object(None::<&serde_json::Value>, &config, "ci", Force::No, noon)?;
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
    /// Whether the object, or an entry of it, differs from the live one.
    pub changed: bool,
    /// Entries that could not be read and are gone, see [`Outcome::dropped`](crate::Outcome::dropped).
    pub dropped: Vec<EntryError>,
}

impl FieldManager {
    /// [`apply`](Self::apply) on objects of types that serde knows, such as `serde_json::Value` or generated ones.
    /// The configuration may have another type than the object.
    ///
    /// What the type does not know is lost on the way: fields of newer versions, and whether a field that is
    /// always written was given. A type for configurations leaves out what is not set.
    ///
    /// # Errors
    ///
    /// [`ObjectError`].
    ///
    /// ```
    /// use fieldmanager_managedfields::{FieldManager, Force};
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
    /// let noon = "2026-01-31T12:00:00Z".parse()?;
    /// let applied = manager.apply_object(None::<&Shop>, &shop, "ci", Force::No, noon)?;
    /// assert_eq!(applied.object.size, 3);
    /// assert_eq!(applied.managed.entries()[0].fields.to_string(), ".size");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply_object<T: Serialize + DeserializeOwned>(
        &self,
        live: Option<&T>,
        config: &impl Serialize,
        manager: &str,
        force: Force,
        now: Time,
    ) -> Result<ObjectOutcome<T>, ObjectError> {
        let (live, config) = (live_value(live)?, value("configuration", config)?);
        let outcome = self.apply(&live, &config, manager, force, now)?;
        Ok(ObjectOutcome {
            object: object(outcome.object)?,
            managed: outcome.managed,
            changed: outcome.changed,
            dropped: outcome.dropped,
        })
    }

    /// [`update`](Self::update) on objects of a type that serde knows. What the type does not know is lost.
    ///
    /// # Errors
    ///
    /// [`ObjectError`].
    ///
    /// ```
    /// # use fieldmanager_managedfields::FieldManager;
    /// # use fieldmanager_openapi::GroupVersionKind;
    /// # let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// # let noon = "2026-01-31T12:00:00Z".parse()?;
    /// let new = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
    /// let updated = manager.update_object(None, &new, "ci", noon)?;
    /// assert_eq!(updated.object["metadata"]["managedFields"][0]["operation"], "Update");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_object<T: Serialize + DeserializeOwned>(
        &self,
        live: Option<&T>,
        new: &T,
        manager: &str,
        now: Time,
    ) -> Result<ObjectOutcome<T>, ObjectError> {
        let (live, new) = (live_value(live)?, value("new object", new)?);
        let outcome = self.update(&live, &new, manager, now)?;
        Ok(ObjectOutcome {
            object: object(outcome.object)?,
            managed: outcome.managed,
            changed: outcome.changed,
            dropped: outcome.dropped,
        })
    }

    /// [`extract`](Self::extract) from an object of a type that serde knows, to another or the same type.
    ///
    /// # Errors
    ///
    /// [`ObjectError`].
    ///
    /// ```
    /// # use fieldmanager_managedfields::{ExtractForm, FieldManager, Force};
    /// # use fieldmanager_openapi::GroupVersionKind;
    /// # let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// # let noon = "2026-01-31T12:00:00Z".parse()?;
    /// let config = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
    /// let live = manager.apply_object(None::<&serde_json::Value>, &config, "ci", Force::No, noon)?.object;
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
        self.extract(&live, manager, form)?.map(object).transpose()
    }
}

/// A function from object to object, on an object of a type that serde knows.
///
/// # Errors
///
/// [`ObjectError`] if the object has no form as a value, or the result does not fit the type.
///
/// ```
/// use fieldmanager_managedfields::{StripOptions, map_object, strip_for_apply};
/// let read = serde_json::json!({"metadata": {"name": "x", "uid": "1"}});
/// let config = map_object(&read, |object| strip_for_apply(object, StripOptions::all()))?;
/// assert_eq!(config, serde_json::json!({"metadata": {"name": "x"}}));
/// # Ok::<(), fieldmanager_managedfields::ObjectError>(())
/// ```
pub fn map_object<T: Serialize + DeserializeOwned>(
    source: &T,
    change: impl FnOnce(&Value) -> Value,
) -> Result<T, ObjectError> {
    object(change(&value("object", source)?))
}

fn live_value<T: Serialize>(live: Option<&T>) -> Result<Value, ObjectError> {
    live.map_or(Ok(Value::Null), |live| value("live object", live))
}

fn value(what: &'static str, object: &impl Serialize) -> Result<Value, ObjectError> {
    to_value(object).map_err(|source| ObjectError::Serialize { what, source })
}

fn object<T: DeserializeOwned>(value: Value) -> Result<T, ObjectError> {
    from_value(value).map_err(|source| ObjectError::Deserialize { source })
}
