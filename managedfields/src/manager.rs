//! The field manager: what an apiserver calls on create, update, patch and apply.

use std::sync::Arc;

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_merge::{Force, Updater};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_schema::Type;
use fieldmanager_value::{Str, Value};

use crate::builder::{Defaulter, FieldManagerBuilder};
use crate::convert::{ObjectConverter, Typing};
use crate::entry::EntryError;
use crate::error::Error;
use crate::managed::{ManagedFields, list_of, with_list};
use crate::state::State;
use crate::time::Time;

/// Keeps the managed fields of the objects of one kind, for requests to one subresource.
///
/// It holds options and no state: one serves any number of objects and threads. Objects are taken by reference and
/// returned as new values that share what did not change, so an error changes nothing.
///
/// ```
/// use fieldmanager_managedfields::{FieldManager, Force, Time};
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
/// let applied = manager.apply(&Value::Null, &config(1)?, "ci", Force::No, noon)?;
/// assert_eq!(applied.managed.entries()[0].fields.to_string(), ".data\n.data.n");
///
/// let error = manager.apply(&applied.object, &config(2)?, "ops", Force::No, noon).unwrap_err();
/// assert_eq!(error.to_string(), r#"Apply failed with 1 conflict: conflict with "ci": .data.n"#);
/// assert_eq!(error.status().code, 409);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FieldManager {
    pub(crate) kind: GroupVersionKind,
    pub(crate) version: ApiVersion,
    pub(crate) hub: ApiVersion,
    pub(crate) ty: Type,
    pub(crate) typing: Typing,
    pub(crate) subresource: Str,
    pub(crate) converter: Arc<dyn ObjectConverter>,
    pub(crate) defaulter: Option<Defaulter>,
    pub(crate) updater: Updater,
    pub(crate) max_updaters: usize,
    pub(crate) recover: bool,
}

/// The result of an operation.
///
/// ```
/// # use fieldmanager_managedfields::{FieldManager, Force, Time};
/// # use fieldmanager_openapi::GroupVersionKind;
/// # use fieldmanager_value::Value;
/// # let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// # let noon: Time = "2026-01-31T12:00:00Z".parse()?;
/// let config = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}"#)?;
/// let first = manager.apply(&Value::Null, &config, "ci", Force::No, noon)?;
/// // Nothing changes the second time, and so no time does.
/// let later: Time = "2026-01-31T13:00:00Z".parse()?;
/// let again = manager.apply(&first.object, &config, "ci", Force::No, later)?;
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
    /// Whether the object, or an entry of it, differs from the live one.
    pub changed: bool,
    /// Entries that could not be read and are gone; empty unless the field manager
    /// [recovers](FieldManagerBuilder::recover), or a request sent managed fields that cannot be read: then those
    /// of the live object count.
    pub dropped: Vec<EntryError>,
}

impl FieldManager {
    /// Begins a field manager for objects of a kind.
    pub fn builder(kind: GroupVersionKind) -> FieldManagerBuilder {
        FieldManagerBuilder::new(kind)
    }

    /// The kind of the objects.
    pub fn object_kind(&self) -> &GroupVersionKind {
        &self.kind
    }

    /// The version of requests: `apps/v1`.
    pub fn version(&self) -> &ApiVersion {
        &self.version
    }

    /// Tracks a create, update or patch: `new` is the whole object as the request leaves it, `live` the one
    /// before, null for a create. The manager gains what it changed; an update never conflicts.
    ///
    /// The managed fields of the new object replace those of the live one, as clients that edit them expect,
    /// unless they are absent or cannot be read; an empty list, or one with an empty entry, resets them. A request
    /// to a subresource cannot change them. If nobody is tracked and the object is not being created (it has a
    /// `metadata.uid`), tracking begins with the next apply.
    ///
    /// `now` is the time that the manager's entry gets, if the request changed anything.
    ///
    /// # Errors
    ///
    /// [`Error`]; nothing is lost then, and an apiserver that does not want to refuse the request calls
    /// [`update_no_errors`](Self::update_no_errors).
    ///
    /// Behaviour: `FieldManager.Update` of `k8s.io/apimachinery/pkg/util/managedfields`.
    ///
    /// ```
    /// use fieldmanager_managedfields::{FieldManager, Time};
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use fieldmanager_value::Value;
    /// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let new = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}"#)?;
    /// let noon: Time = "2026-01-31T12:00:00Z".parse()?;
    /// let created = manager.update(&Value::Null, &new, "kubectl-create", noon)?;
    /// let entry = &created.managed.entries()[0];
    /// assert_eq!(entry.identity().display_name(), r#""kubectl-create" using v1"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update(&self, live: &Value, new: &Value, manager: &str, now: Time) -> Result<Outcome, Error> {
        check_object("live object", live, true)?;
        check_object("new object", new, false)?;
        let State { managed, dropped, from_request } = self.starting_state(live, new)?;
        let (object, managed) = self
            .track_update(
                &self.live_without_managed_fields(live),
                &with_list(new, None),
                managed,
                manager,
                now,
            )
            .map_err(|error| if from_request { error.of_request_entries() } else { error })?;
        Ok(self.outcome(live, object, managed, dropped))
    }

    /// [`update`](Self::update) for servers that let a request through whatever happens: if it fails, the new object
    /// keeps the managed fields of the live one, and the error is returned with it.
    ///
    /// Behaviour: `FieldManager.UpdateNoErrors` of `k8s.io/apimachinery/pkg/util/managedfields`.
    ///
    /// ```
    /// use fieldmanager_managedfields::{FieldManager, Time};
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use fieldmanager_value::Value;
    /// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let live = Value::from_json(r#"{"kind":"ConfigMap","metadata":{"managedFields":[{"manager":"broken"}]}}"#)?;
    /// let new = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{}}"#)?;
    /// let (object, error) = manager.update_no_errors(&live, &new, "ci", "2026-01-31T12:00:00Z".parse()?);
    /// assert!(error.is_some());
    /// assert_eq!(object.get("metadata"), live.get("metadata"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_no_errors(
        &self,
        live: &Value,
        new: &Value,
        manager: &str,
        now: Time,
    ) -> (Value, Option<Error>) {
        match self.update(live, new, manager, now) {
            Ok(outcome) => (outcome.object, None),
            Err(error) => (with_list(new, list_of(live).cloned()), Some(error)),
        }
    }

    /// Applies a configuration: merges it into the live object, removes what the manager applied before and does
    /// not any more, and notes that it owns what it applied. `live` is null if there is no object yet.
    ///
    /// If the live object has no managed fields, its fields belong to the manager `before-first-apply` afterwards.
    ///
    /// `now` is the time that the manager's entry gets, if the object changes. `kubectl` is treated specially, as
    /// apiservers do: it takes fields that it applied on the client's side before, and the annotation that says so
    /// is kept up to date.
    ///
    /// # Errors
    ///
    /// [`Error::Conflicts`] if another manager owns what would change, unless by force; any other [`Error`].
    ///
    /// Behaviour: `FieldManager.Apply` of `k8s.io/apimachinery/pkg/util/managedfields`.
    pub fn apply(
        &self,
        live: &Value,
        config: &Value,
        manager: &str,
        force: Force,
        now: Time,
    ) -> Result<Outcome, Error> {
        check_object("live object", live, true)?;
        check_object("configuration", config, false)?;
        let State { managed, dropped, .. } = self.stored_state(live)?;
        self.check_kind(config)?;
        let applied =
            self.apply_as(&self.live_without_managed_fields(live), config, &managed, manager, force, now);
        let (object, managed) = self.last_applied(live, config, &managed, manager, now, applied)?;
        Ok(self.outcome(live, object, managed, dropped))
    }

    /// The live object without its managed fields. An object that does not exist yet has only `apiVersion` and `kind`.
    fn live_without_managed_fields(&self, live: &Value) -> Value {
        // Applying `managedFields: null` over null is a no-op.
        if list_of(live) == Some(&Value::Null) {
            return live.clone();
        }
        if !live.is_null() {
            return with_list(live, None);
        }
        let fields = [("apiVersion", self.version.as_str()), ("kind", &*self.kind.kind)];
        Value::Map(fields.into_iter().map(|(name, text)| (Str::from(name), Value::from(text))).collect())
    }

    fn outcome(
        &self,
        live: &Value,
        object: Value,
        managed: ManagedFields,
        dropped: Vec<EntryError>,
    ) -> Outcome {
        let object = managed.set_in(&object);
        Outcome { changed: object != *live, object, managed, dropped }
    }
}

/// Objects are maps, and their metadata too.
pub(crate) fn check_object(what: &'static str, object: &Value, may_be_null: bool) -> Result<(), Error> {
    if object.is_null() && may_be_null {
        return Ok(());
    }
    if object.as_map().is_none() {
        return Err(Error::NotAnObject { what, expected: "an object", found: object.kind() });
    }
    match object.get("metadata") {
        None | Some(Value::Null | Value::Map(_)) => Ok(()),
        Some(other) => {
            Err(Error::NotAnObject { what, expected: "metadata that is a map", found: other.kind() })
        }
    }
}
