//! Requests to a field manager.

use fieldmanager_patch::{PatchSchema, PatchType};
use fieldmanager_value::Value;

use crate::time::Time;

/// The live object of a request that creates one.
static NO_OBJECT: Value = Value::Null;

/// A request to apply a configuration to a live object, for [`FieldManager::apply`](crate::FieldManager::apply).
///
/// [`manager`](Self::manager) and [`force`](Self::force) have the meanings and defaults of `field_manager` and `force`
/// in `PatchParams` of the crate `kube`.
///
/// ```
/// use fieldmanager_managedfields::{ApplyRequest, FieldManager, Time};
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_value::Value;
/// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let config = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}"#)?;
/// let now: Time = "2026-01-31T12:00:00Z".parse()?;
///
/// // There is no live object yet.
/// let live = manager.apply(ApplyRequest::new(&Value::Null, &config).manager("shop").at(now))?.object;
///
/// let config = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"c"}}"#)?;
/// let request = ApplyRequest::new(&live, &config).manager("ops").at(now);
/// assert!(manager.apply(request).is_err());
/// assert_eq!(manager.apply(request.force())?.object.get("data"), config.get("data"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a request does nothing until a field manager gets it"]
pub struct ApplyRequest<'a, T = Value, C = Value> {
    pub(crate) live: Option<&'a T>,
    pub(crate) config: &'a C,
    pub(crate) manager: &'a str,
    pub(crate) force: bool,
    pub(crate) now: Option<Time>,
}

impl<'a> ApplyRequest<'a> {
    /// Applies a configuration to a live object; an object that does not exist yet is null.
    pub fn new(live: &'a Value, config: &'a Value) -> Self {
        Self::for_objects(Some(live), config)
    }

    pub(crate) fn live(&self) -> &'a Value {
        self.live.unwrap_or(&NO_OBJECT)
    }
}

impl<'a, T, C> ApplyRequest<'a, T, C> {
    /// As [`new`](ApplyRequest::new) for types that implement the traits of serde, for
    /// [`FieldManager::apply_object`](crate::FieldManager::apply_object). The configuration may be of another type than
    /// the live object.
    pub fn for_objects(live: Option<&'a T>, config: &'a C) -> Self {
        ApplyRequest {
            live,
            config,
            manager: "",
            force: false,
            now: None,
        }
    }

    /// The name of the manager that applies; [`manager_name`](crate::manager_name) determines it from the parameters of
    /// a request. By default, and if it is empty, it is `unknown`.
    pub fn manager(mut self, name: &'a str) -> Self {
        self.manager = name;
        self
    }

    /// Takes fields that other managers own and whose values would change. Without force they are conflicts.
    pub fn force(self) -> Self {
        self.force_if(true)
    }

    /// As [`force`](Self::force) if the condition is true.
    pub fn force_if(mut self, condition: bool) -> Self {
        self.force = condition;
        self
    }

    /// The time that the entry of the manager gets if the object changes. By default the entry has no time.
    pub fn at(mut self, now: Time) -> Self {
        self.now = Some(now);
        self
    }

    /// The same request for other objects.
    pub(crate) fn with_objects<'b, U, D>(
        self,
        live: Option<&'b U>,
        config: &'b D,
    ) -> ApplyRequest<'b, U, D>
    where
        'a: 'b,
    {
        ApplyRequest {
            live,
            config,
            manager: self.manager,
            force: self.force,
            now: self.now,
        }
    }
}

impl<T, C> Clone for ApplyRequest<'_, T, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, C> Copy for ApplyRequest<'_, T, C> {}

/// A request to replace a live object by a new one, for [`FieldManager::update`](crate::FieldManager::update) and
/// [`update_no_errors`](crate::internal::update_no_errors).
///
/// ```
/// use fieldmanager_managedfields::{FieldManager, UpdateRequest};
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_value::Value;
/// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let new = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}"#)?;
/// let now = "2026-01-31T12:00:00Z".parse()?;
/// let created = manager.update(UpdateRequest::new(&Value::Null, &new).manager("kubectl-create").at(now))?;
/// assert_eq!(created.managed.entries()[0].manager, "kubectl-create");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a request does nothing until a field manager gets it"]
pub struct UpdateRequest<'a, T = Value> {
    pub(crate) live: Option<&'a T>,
    pub(crate) new: &'a T,
    pub(crate) manager: &'a str,
    pub(crate) now: Option<Time>,
}

impl<'a> UpdateRequest<'a> {
    /// Replaces a live object by a new one; an object that does not exist yet is null.
    pub fn new(live: &'a Value, new: &'a Value) -> Self {
        Self::for_objects(Some(live), new)
    }

    pub(crate) fn live(&self) -> &'a Value {
        self.live.unwrap_or(&NO_OBJECT)
    }
}

impl<'a, T> UpdateRequest<'a, T> {
    /// As [`new`](UpdateRequest::new) for a type that implements the traits of serde, for
    /// [`FieldManager::update_object`](crate::FieldManager::update_object).
    pub fn for_objects(live: Option<&'a T>, new: &'a T) -> Self {
        UpdateRequest {
            live,
            new,
            manager: "",
            now: None,
        }
    }

    /// The name of the manager that updates; [`manager_name`](crate::manager_name) determines it from the parameters of
    /// a request. By default, and if it is empty, it is `unknown`.
    pub fn manager(mut self, name: &'a str) -> Self {
        self.manager = name;
        self
    }

    /// The time that the entry of the manager gets if the request changes anything. By default the entry has no time.
    pub fn at(mut self, now: Time) -> Self {
        self.now = Some(now);
        self
    }

    /// The same request for other objects.
    pub(crate) fn with_objects<'b, U>(self, live: Option<&'b U>, new: &'b U) -> UpdateRequest<'b, U>
    where
        'a: 'b,
    {
        UpdateRequest {
            live,
            new,
            manager: self.manager,
            now: self.now,
        }
    }
}

impl<T> Clone for UpdateRequest<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for UpdateRequest<'_, T> {}

/// A request to patch a live object, for [`FieldManager::patch`](crate::FieldManager::patch).
///
/// ```
/// use fieldmanager_managedfields::{FieldManager, PatchRequest};
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_patch::{PatchSchema, PatchType};
/// use fieldmanager_value::Value;
/// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let live = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}"#)?;
/// let patch = Value::from_json(r#"{"data":{"a":"c"}}"#)?;
/// let request = PatchRequest::new(&live, &patch, PatchType::Strategic).schema(PatchSchema::free()).manager("ops");
/// assert_eq!(manager.patch(request)?.object.get("data"), patch.get("data"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a request does nothing until a field manager gets it"]
pub struct PatchRequest<'a> {
    pub(crate) live: &'a Value,
    pub(crate) patch: &'a Value,
    pub(crate) patch_type: PatchType,
    pub(crate) schema: Option<PatchSchema<'a>>,
    pub(crate) manager: &'a str,
    pub(crate) now: Option<Time>,
}

impl<'a> PatchRequest<'a> {
    /// Patches a live object. To apply a configuration, use [`ApplyRequest`].
    pub fn new(live: &'a Value, patch: &'a Value, patch_type: PatchType) -> Self {
        PatchRequest {
            live,
            patch,
            patch_type,
            schema: None,
            manager: "",
            now: None,
        }
    }

    /// The type of the object for strategic merge patches, see `PatchTypes::for_kind`. Without it, as for custom resources,
    /// strategic merge patches are refused.
    pub fn schema(mut self, schema: impl Into<Option<PatchSchema<'a>>>) -> Self {
        self.schema = schema.into();
        self
    }

    /// The name of the manager that patches; [`manager_name`](crate::manager_name) determines it from the parameters of
    /// a request. By default, and if it is empty, it is `unknown`.
    pub fn manager(mut self, name: &'a str) -> Self {
        self.manager = name;
        self
    }

    /// The time that the entry of the manager gets if the patch changes anything. By default the entry has no time.
    pub fn at(mut self, now: Time) -> Self {
        self.now = Some(now);
        self
    }
}
