//! Server-Side Apply on the objects of `kube` and `k8s-openapi`.
//!
//! [`ApplyObject`] provides the operations of [`FieldManager`] for `DynamicObject` and the types of `k8s-openapi`, and
//! [`kind_of`], [`from_kube`] and [`to_kube`] convert group, version and kind.
//!
//! ```
//! use fieldmanager_kube::{ApplyObject, kind_of};
//! use fieldmanager_managedfields::{ApplyRequest, FieldManager};
//! use fieldmanager_openapi::builtin;
//! use k8s_openapi::api::core::v1::ConfigMap;
//!
//! let manager = FieldManager::builder(kind_of::<ConfigMap>()).types(builtin::types()).build()?;
//! let config = ConfigMap { data: Some([("a".into(), "b".into())].into()), ..ConfigMap::default() };
//! let noon = "2026-01-31T12:00:00Z".parse()?;
//! let applied = manager.apply_to(ApplyRequest::for_objects(None, &config).manager("ci").at(noon))?;
//! let entries = applied.object.metadata.managed_fields.unwrap_or_default();
//! assert_eq!(entries[0].manager.as_deref(), Some("ci"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The trait `CrdWithUnions`, behind the feature `crd`, creates custom resource definitions with the unions that Rust
//! types declare by `#[derive(KubeUnion)]`.
//!
//! # What this crate knows
//!
//! The types of `kube-core` and `k8s-openapi`. The crates below implement the operations. A feature of `k8s-openapi`
//! selects the version of Kubernetes: the default feature `latest` selects the newest; without it, the user's crate
//! must select one.

#[cfg(feature = "crd")]
mod crd;

#[cfg(feature = "crd")]
pub use crd::CrdWithUnions;

use fieldmanager_managedfields::{
    ApplyRequest, ExtractForm, FieldManager, ObjectError, ObjectOutcome, UpdateRequest,
};
use fieldmanager_openapi::GroupVersionKind;
use kube_core::DynamicObject;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Objects that can be applied to: `DynamicObject` and the types of `k8s-openapi` with metadata.
///
/// ```
/// use fieldmanager_kube::KubeObject;
/// fn is_one<T: KubeObject>() {}
/// is_one::<k8s_openapi::api::apps::v1::Deployment>();
/// is_one::<kube_core::DynamicObject>();
/// ```
pub trait KubeObject: Serialize + DeserializeOwned {}

impl<T: Serialize + DeserializeOwned + kube_core::Resource> KubeObject for T {}

/// The operations of a [`FieldManager`] on the objects of `kube` and `k8s-openapi`.
///
/// `DynamicObject` keeps every field. A generated type keeps only the fields that it declares, so use it for live
/// objects only if it is at least as new as the server.
pub trait ApplyObject {
    /// Applies a configuration to the live object, if there is one.
    ///
    /// # Errors
    ///
    /// [`ObjectError`]. Its variant `Operation` has the `Status` that an API server sends.
    ///
    /// Behaviour: `FieldManager.Apply` of `k8s.io/apimachinery/pkg/util/managedfields`.
    ///
    /// ```
    /// use fieldmanager_kube::{ApplyObject, from_kube};
    /// use fieldmanager_managedfields::{ApplyRequest, FieldManager};
    /// use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
    ///
    /// let kind = GroupVersionKind::gvk("example.com", "v1", "Shop");
    /// let manager = FieldManager::builder(from_kube(&kind)).build()?;
    /// let shop = DynamicObject::new("x", &ApiResource::from_gvk(&kind))
    ///     .data(serde_json::json!({"spec": {"size": 3}}));
    /// let applied = manager.apply_to(ApplyRequest::for_objects(None, &shop).manager("ci"))?;
    /// assert_eq!(applied.object.data["spec"]["size"], 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn apply_to<T: KubeObject>(
        &self,
        request: ApplyRequest<'_, T, T>,
    ) -> Result<ObjectOutcome<T>, ObjectError>;

    /// Tracks a create, update or patch.
    ///
    /// # Errors
    ///
    /// [`ObjectError`].
    ///
    /// Behaviour: `FieldManager.Update` of `k8s.io/apimachinery/pkg/util/managedfields`.
    ///
    /// ```
    /// use fieldmanager_kube::{ApplyObject, kind_of};
    /// use fieldmanager_managedfields::{FieldManager, UpdateRequest};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// let manager = FieldManager::builder(kind_of::<ConfigMap>()).build()?;
    /// let new = ConfigMap { immutable: Some(true), ..ConfigMap::default() };
    /// let updated = manager.update_to(UpdateRequest::for_objects(None, &new).manager("ci"))?;
    /// assert_eq!(updated.managed.entries()[0].fields.to_string(), ".immutable");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn update_to<T: KubeObject>(
        &self,
        request: UpdateRequest<'_, T>,
    ) -> Result<ObjectOutcome<T>, ObjectError>;

    /// The fields that a manager applied last, as a configuration that it can apply again; `None` if it has no entry.
    ///
    /// # Errors
    ///
    /// [`ObjectError`].
    ///
    /// Behaviour: `ExtractInto` of `k8s.io/apimachinery/pkg/util/managedfields`.
    ///
    /// ```
    /// use fieldmanager_kube::{ApplyObject, kind_of};
    /// use fieldmanager_managedfields::{ApplyRequest, FieldManager};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// let manager = FieldManager::builder(kind_of::<ConfigMap>()).build()?;
    /// let config = ConfigMap { immutable: Some(true), ..ConfigMap::default() };
    /// let live = manager.apply_to(ApplyRequest::for_objects(None, &config).manager("ci"))?.object;
    /// let own: Option<ConfigMap> = manager.extract_from(&live, "ci")?;
    /// assert_eq!(own.and_then(|own| own.immutable), Some(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn extract_from<T: KubeObject>(
        &self,
        live: &T,
        manager: &str,
    ) -> Result<Option<T>, ObjectError>;
}

impl ApplyObject for FieldManager {
    fn apply_to<T: KubeObject>(
        &self,
        request: ApplyRequest<'_, T, T>,
    ) -> Result<ObjectOutcome<T>, ObjectError> {
        self.apply_object(request)
    }

    fn update_to<T: KubeObject>(
        &self,
        request: UpdateRequest<'_, T>,
    ) -> Result<ObjectOutcome<T>, ObjectError> {
        self.update_object(request)
    }

    fn extract_from<T: KubeObject>(
        &self,
        live: &T,
        manager: &str,
    ) -> Result<Option<T>, ObjectError> {
        self.extract_object(live, manager, ExtractForm::Reapply)
    }
}

/// The kind of a type of `k8s-openapi`.
///
/// ```
/// use fieldmanager_kube::kind_of;
/// let kind = kind_of::<k8s_openapi::api::apps::v1::Deployment>();
/// assert_eq!(kind.to_string(), "apps/v1, Kind=Deployment");
/// ```
pub fn kind_of<T: k8s_openapi::Resource>() -> GroupVersionKind {
    GroupVersionKind::new(T::GROUP, T::VERSION, T::KIND)
}

/// The kind of a `DynamicObject`; `None` if it has no type.
///
/// ```
/// use fieldmanager_kube::kind_of_object;
/// use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
/// let kind = GroupVersionKind::gvk("apps", "v1", "Deployment");
/// let object = DynamicObject::new("x", &ApiResource::from_gvk(&kind));
/// assert_eq!(kind_of_object(&object).map(|kind| kind.to_string()), Some("apps/v1, Kind=Deployment".into()));
/// ```
pub fn kind_of_object(object: &DynamicObject) -> Option<GroupVersionKind> {
    let types = object
        .types
        .as_ref()
        .filter(|types| !types.api_version.is_empty() && !types.kind.is_empty())?;
    Some(GroupVersionKind::from_api_version_kind(
        &types.api_version,
        &types.kind,
    ))
}

/// Converts group, version and kind of `kube` to those of this library.
///
/// ```
/// use fieldmanager_kube::{from_kube, to_kube};
/// let kind = kube_core::GroupVersionKind::gvk("", "v1", "Pod");
/// assert_eq!(from_kube(&kind).to_string(), "/v1, Kind=Pod");
/// assert_eq!(to_kube(&from_kube(&kind)), kind);
/// ```
pub fn from_kube(kind: &kube_core::GroupVersionKind) -> GroupVersionKind {
    GroupVersionKind::new(
        kind.group.as_str(),
        kind.version.as_str(),
        kind.kind.as_str(),
    )
}

/// Converts group, version and kind of this library to those of `kube`.
///
/// ```
/// use fieldmanager_kube::to_kube;
/// use fieldmanager_openapi::GroupVersionKind;
/// let kind = to_kube(&GroupVersionKind::from_api_version_kind("apps/v1", "Deployment"));
/// assert_eq!(kind.api_version(), "apps/v1");
/// ```
pub fn to_kube(kind: &GroupVersionKind) -> kube_core::GroupVersionKind {
    kube_core::GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind)
}
