//! The field manager: the methods that an API server calls on create, update, patch and apply.

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_structural::internal::ObjectExt as _;

use crate::apply::Apply;
use crate::error::Error;
use crate::object::with_list;
use crate::outcome::{Outcome, UncheckedOutcome};
use crate::patch::PatchRun;
use crate::request::{ApplyRequest, PatchRequest, UpdateRequest};
use crate::settings::Settings;
use crate::update::Update;

/// Maintains the managed fields of the objects of one kind, for requests to one subresource.
///
/// It holds options and no state, so one field manager serves any number of objects and threads. Objects are taken by
/// reference and returned as new values that share unchanged parts, so an error leaves them unchanged.
///
/// ```
/// use fieldmanager_managedfields::{ApplyRequest, FieldManager, Time};
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let config = |replicas| {
///     Value::from_json(&format!(
///         r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"x"}},"data":{{"n":"{replicas}"}}}}"#
///     ))
/// };
/// let noon: Time = "2026-01-31T12:00:00Z".parse()?;
///
/// // There is no live object yet.
/// let applied = manager.apply(ApplyRequest::new(&Value::Null, &config(1)?).manager("ci").at(noon))?;
/// assert_eq!(applied.managed.entries()[0].fields.to_string(), ".data\n.data.n");
///
/// let error = manager.apply(ApplyRequest::new(&applied.object, &config(2)?).manager("ops").at(noon)).unwrap_err();
/// assert_eq!(error.to_string(), r#"Apply failed with 1 conflict: conflict with "ci": .data.n"#);
/// assert_eq!(error.status().code, 409);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FieldManager {
    pub(crate) settings: Settings,
}

impl FieldManager {
    /// Applies a configuration: merges it into the live object, removes the fields that the manager applied before and
    /// does not apply any more, and records that the manager owns the fields of the configuration.
    ///
    /// If the live object has no managed fields, the manager `before-first-apply` becomes the owner of its fields.
    ///
    /// As in an API server, an apply by `kubectl` takes the fields that it applied on the client's side before, and sets
    /// the [annotation](crate::last_applied::LAST_APPLIED) of client-side apply if the object has it.
    ///
    /// # Errors
    ///
    /// [`Error::Conflicts`] if other managers own fields that would change, unless the request is
    /// [forced](ApplyRequest::force); any other [`Error`].
    ///
    /// Behaviour: `FieldManager.Apply` of `k8s.io/apimachinery/pkg/util/managedfields`.
    pub fn apply(&self, request: ApplyRequest<'_>) -> Result<Outcome, Error> {
        Apply::run(&self.settings, &request)
    }

    /// Tracks a create, update or patch, whose new object is complete. The manager gains what it changed. An update never
    /// conflicts.
    ///
    /// Clients may edit managed fields, so those of the new object replace those of the live one, unless they are absent
    /// or cannot be read. An empty list, or a list of one empty entry, resets them. A request to a subresource cannot
    /// change them. If the live object has no entries and is not being created (it has a `metadata.uid`), tracking begins
    /// with the next apply.
    ///
    /// # Errors
    ///
    /// [`Error`]. An API server that does not want to refuse the request calls
    /// [`update_no_errors`].
    ///
    /// Behaviour: `FieldManager.Update` of `k8s.io/apimachinery/pkg/util/managedfields`.
    ///
    /// ```
    /// use fieldmanager_managedfields::internal::display_name;
    /// use fieldmanager_managedfields::{FieldManager, UpdateRequest};
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use fieldmanager_value::Value;
    /// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let new = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}"#)?;
    /// let created = manager.update(UpdateRequest::new(&Value::Null, &new).manager("kubectl-create"))?;
    /// let entry = &created.managed.entries()[0];
    /// assert_eq!(display_name(&entry.identity()), r#""kubectl-create" using v1"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update(&self, request: UpdateRequest<'_>) -> Result<Outcome, Error> {
        Update::run(&self.settings, &request)
    }

    /// Patches the live object and tracks the result as an [`update`](Self::update).
    ///
    /// The patch sees the managed fields of the live object and can remove them. Like an update, a patch never conflicts
    /// with other managers. To apply a configuration, use [`apply`](Self::apply).
    ///
    /// # Errors
    ///
    /// | error | status |
    /// |---|---|
    /// | [`Error::NoObject`]: there is no live object | 404 |
    /// | [`Error::Patch`]: the type of the patch is not accepted, or the patch is malformed or does not apply | 415, 400, 413, 422 |
    /// | [`Error::Patch`]: the schema has a fault | 500 |
    /// | [`Error::PatchResult`]: the patched object is of another kind, or does not fit its type | 422 |
    /// | [`Error::Modified`]: the patch names a `resourceVersion` or `uid` that the live object does not have | 409 |
    ///
    /// and those of an update. Checks that the storage layer makes, such as whether a name may change, are not included.
    ///
    /// Behaviour: `patchResource` in `endpoints/handlers/patch.go` of `k8s.io/apiserver`.
    ///
    /// ```
    /// use fieldmanager_managedfields::{ApplyRequest, FieldManager, PatchRequest};
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use fieldmanager_patch::{PatchSchema, PatchType};
    /// use fieldmanager_value::Value;
    ///
    /// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let config = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1","b":"1"}}"#)?;
    /// let live = manager.apply(ApplyRequest::new(&Value::Null, &config).manager("ci"))?.object;
    ///
    /// let patch = Value::from_json(r#"{"data":{"b":"2","c":"2"}}"#)?;
    /// let request = PatchRequest::new(&live, &patch, PatchType::Strategic).manager("ops");
    /// let patched = manager.patch(request.schema(PatchSchema::free()))?;
    /// assert_eq!(patched.object.get("data").unwrap().to_json(), r#"{"a":"1","b":"2","c":"2"}"#);
    /// let owned = |at: usize| patched.managed.entries()[at].fields.to_string();
    /// assert_eq!((owned(0), owned(1)), (".data\n.data.a".into(), ".data.b\n.data.c".into()));
    ///
    /// let error = manager.patch(request).unwrap_err();
    /// assert_eq!(error.status().code, 415);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn patch(&self, request: PatchRequest<'_>) -> Result<Outcome, Error> {
        PatchRun::run(&self.settings, &request)
    }
}

/// As [`update`](FieldManager::update), for servers that must not refuse the request. If the update fails, the new object
/// keeps the managed fields of the live one.
///
/// Behaviour: `FieldManager.UpdateNoErrors` of `k8s.io/apimachinery/pkg/util/managedfields`.
///
/// ```
/// use fieldmanager_managedfields::internal::update_no_errors;
/// use fieldmanager_managedfields::{FieldManager, UpdateRequest};
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_value::Value;
/// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let live = Value::from_json(r#"{"kind":"ConfigMap","metadata":{"managedFields":[{"manager":"broken"}]}}"#)?;
/// let new = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{}}"#)?;
/// let updated = update_no_errors(&manager, UpdateRequest::new(&live, &new).manager("ci"));
/// assert!(updated.error.is_some());
/// assert_eq!(updated.object.get("metadata"), live.get("metadata"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn update_no_errors(manager: &FieldManager, request: UpdateRequest<'_>) -> UncheckedOutcome {
    match manager.update(request) {
        Ok(outcome) => UncheckedOutcome {
            object: outcome.object,
            error: None,
        },
        Err(error) => {
            let object = with_list(request.new, request.live().managed_fields().cloned());
            UncheckedOutcome {
                object,
                error: Some(error),
            }
        }
    }
}

/// The field manager that normalizes unions or does not.
#[must_use]
pub fn with_unions(manager: &FieldManager, on: bool) -> FieldManager {
    let updater = manager.settings.updater.with_unions(on);
    FieldManager {
        settings: Settings {
            updater,
            ..manager.settings.clone()
        },
    }
}

/// The version of requests: `apps/v1`.
pub fn manager_version(manager: &FieldManager) -> &ApiVersion {
    &manager.settings.version
}
