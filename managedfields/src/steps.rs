//! The steps of an update and an apply.

use std::sync::LazyLock;

use fieldmanager_fieldpath::{PathElement, Set, VersionedSet};
use fieldmanager_merge::{ConvertError, Force, Updater};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{Str, Value};

use crate::cap;
use crate::convert::at_version;
use crate::error::Error;
use crate::identity::{Identity, Operation};
use crate::managed::{ManagedFields, list_of};
use crate::manager::FieldManager;
use crate::time::Time;

/// The manager that owns what an object had before anybody was tracked.
pub const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The name of the manager of an update while the update is computed. What the manager owned before counts as owned by
/// another manager, so that the result shows what this update changed.
const CURRENT_OPERATION: &str = "current-operation";

/// Fields without an owner: the API server sets them, or they identify the object.
static STRIPPED: LazyLock<Set> = LazyLock::new(|| {
    let field = |name: &str| PathElement::field(name);
    let metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let mut set = Set::new();
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert(&[field(name)]);
    }
    for name in metadata {
        set.insert(&[field("metadata"), field(name)]);
    }
    set
});

impl FieldManager {
    /// The identifier of the manager of a request.
    fn identifier(&self, manager: &str, operation: Operation) -> Str {
        let manager = if manager.is_empty() { "unknown" } else { manager };
        Identity::new(manager, operation, self.version.clone(), self.subresource.clone()).identifier()
    }

    /// An update, unless the object has no entries: then tracking begins with a create or an apply.
    pub(crate) fn track_update(
        &self,
        live: &Value,
        new: &Value,
        managed: ManagedFields,
        manager: &str,
        now: Time,
    ) -> Result<(Value, ManagedFields), Error> {
        let uid = live.get("metadata").and_then(|metadata| metadata.get("uid")).and_then(Value::as_str);
        if managed.is_empty() && uid.is_some_and(|uid| !uid.is_empty()) {
            self.check_depth(new, None, &managed)?;
            return Ok((new.clone(), managed));
        }
        self.update_as(&self.updater, live, new, managed, manager, now)
    }

    /// An update with its time, within the limit on updaters.
    fn update_as(
        &self,
        updater: &Updater,
        live: &Value,
        new: &Value,
        managed: ManagedFields,
        manager: &str,
        now: Time,
    ) -> Result<(Value, ManagedFields), Error> {
        let (object, mut managed) = self.merge_update(updater, live, new, managed)?;
        if let Some(changed) = managed.managers.remove(CURRENT_OPERATION) {
            let identifier = self.identifier(manager, Operation::Update);
            let owned = match managed.managers.get(&identifier) {
                Some(before) => changed.set().union(before.set()),
                None => changed.set().clone(),
            };
            managed.managers.insert(
                identifier.clone(),
                VersionedSet::new(owned, changed.api_version().clone(), changed.is_applied()),
            );
            managed.times.insert(identifier, now);
        }
        cap::updaters(&mut managed, self.max_updaters);
        Ok((object, managed))
    }

    /// What an update does to the managers, and to unions of the object.
    fn merge_update(
        &self,
        updater: &Updater,
        live: &Value,
        new: &Value,
        mut managed: ManagedFields,
    ) -> Result<(Value, ManagedFields), Error> {
        let new_there = self.to_request_version(new, "convert new object to proper version ()")?;
        let live_there = self.to_request_version(live, "convert live object to proper version")?;
        let typed_new = self.typed(&new_there, "convert new object to smd typed", true, Duplicates::Allow)?;
        let typed_live =
            self.typed(&live_there, "convert live object to smd typed", false, Duplicates::Allow)?;
        let updated =
            updater.update(&typed_live, &typed_new, &self.version, &managed.managers, CURRENT_OPERATION)?;
        managed.managers = updated.managers;
        strip(&mut managed, CURRENT_OPERATION);
        // The request's own object goes on, at its own version, unless its unions were normalized.
        let normalized = updated.object.value();
        let object = match normalized.ptr_eq(&new_there) {
            true => new.clone(),
            false => self.back_to_own_version(new, normalized)?,
        };
        self.check_depth(&object, Some(normalized), &managed)?;
        Ok((object, managed))
    }

    /// An apply with its time. A no-op leaves object and time alone.
    pub(crate) fn apply_as(
        &self,
        live: &Value,
        config: &Value,
        managed: &ManagedFields,
        manager: &str,
        force: Force,
        now: Time,
    ) -> Result<(Value, ManagedFields), Error> {
        let (live, managed) = if managed.is_empty() {
            // This only seeds `before-first-apply`, so unions are not normalized.
            let updater = self.updater.with_unions(false);
            let empty = self.empty_like(config);
            self.update_as(&updater, &empty, live, managed.clone(), BEFORE_FIRST_APPLY, now)
                .map_err(Error::of_what_is_stored)?
        } else {
            (live.clone(), managed.clone())
        };
        let identifier = self.identifier(manager, Operation::Apply);
        let (object, mut managed) = self.merge_apply(&live, config, managed, &identifier, force)?;
        let object = match object {
            Some(object) => {
                managed.times.insert(identifier, now);
                object
            }
            None => live,
        };
        Ok((object, managed))
    }

    /// The effect of an apply; no object if it equals the live one.
    fn merge_apply(
        &self,
        live: &Value,
        config: &Value,
        mut managed: ManagedFields,
        identifier: &Str,
        force: Force,
    ) -> Result<(Option<Value>, ManagedFields), Error> {
        if list_of(config).is_some_and(|list| !list.is_null()) {
            return Err(Error::ManagedFieldsInConfig);
        }
        let live_there = self.to_request_version(live, "convert live object to proper version")?;
        let typed_config = self.typed(config, "create typed patch object", true, Duplicates::Refuse)?;
        let typed_live = self.typed(&live_there, "create typed live object", false, Duplicates::Allow)?;
        let applied = self.updater.apply(
            &typed_live,
            &typed_config,
            &self.version,
            &managed.managers,
            identifier,
            force,
        )?;
        managed.managers = applied.managers;
        strip(&mut managed, identifier);
        let Some(object) = applied.object else {
            self.check_depth(live, Some(live), &managed)?;
            return Ok((None, managed));
        };
        let merged = object.into_value();
        // Defaults are filled in after ownership is computed, so they have no owner.
        let object = self.defaulter.as_ref().map_or_else(|| merged.clone(), |default| default(&merged));
        let object = at_version(&*self.converter, &object, &self.hub)
            .map_err(|source| self.convert_error("convert to unversioned", config, source))?;
        self.check_depth(&object, Some(&merged), &managed)?;
        Ok((Some(object), managed))
    }

    /// The object of a configuration's kind that has nothing.
    fn empty_like(&self, config: &Value) -> Value {
        let fields = ["apiVersion", "kind"].into_iter();
        let fields = fields.filter_map(|name| Some((Str::from(name), config.get(name)?.clone())));
        Value::Map(fields.collect())
    }

    /// A configuration must be of the kind, at the version, that the field manager is for.
    pub(crate) fn check_kind(&self, config: &Value) -> Result<(), Error> {
        let kind = kind_of(config);
        if kind == self.kind { Ok(()) } else { Err(Error::ObjectType { found: kind.to_string() }) }
    }

    /// The object at the version of the field manager.
    pub(crate) fn to_request_version(&self, object: &Value, action: &'static str) -> Result<Value, Error> {
        at_version(&*self.converter, object, &self.version)
            .map_err(|source| self.convert_error(action, object, source))
    }

    /// A value made from an object, converted back to the version of the object.
    fn back_to_own_version(&self, object: &Value, value: &Value) -> Result<Value, Error> {
        match object.get("apiVersion").and_then(Value::as_str) {
            Some(own) => at_version(&*self.converter, value, &own.into()).map_err(|source| {
                self.convert_error("convert new object back to its version", object, source)
            }),
            None => Ok(value.clone()),
        }
    }

    /// The object with the type of the kind that it says it is. What it leaves out is taken for that of the field
    /// manager.
    pub(crate) fn typed(
        &self,
        object: &Value,
        action: &'static str,
        callers: bool,
        duplicates: Duplicates,
    ) -> Result<TypedValue, Error> {
        let declared = |name: &str, otherwise: &str| {
            let text = object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            Str::from(text.unwrap_or(otherwise))
        };
        let kind = GroupVersionKind::from_api_version_kind(
            &declared("apiVersion", self.version.as_str()),
            &declared("kind", &self.kind.kind),
        );
        let ty = if kind == self.kind {
            self.ty.clone()
        } else {
            let fail = |source| Error::Kind { action, object: self.described(object), source };
            self.typing.for_kind(&kind).map_err(fail)?
        };
        TypedValue::new(object.clone(), ty, duplicates).map_err(|source| Error::Invalid {
            action,
            object: self.described(object),
            callers,
            source,
        })
    }

    fn convert_error(&self, action: &'static str, object: &Value, source: ConvertError) -> Error {
        Error::Convert { action, object: self.described(object), source }
    }

    /// An object in messages: namespace, name and what it says it is.
    pub(crate) fn described(&self, object: &Value) -> String {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let metadata = |name: &str| text(object.get("metadata").and_then(|metadata| metadata.get(name)));
        format!("{}/{}; {}", metadata("namespace"), metadata("name"), kind_of(object))
    }
}

/// What an object says it is, as Go reads it: nothing if its version has two slashes.
fn kind_of(object: &Value) -> GroupVersionKind {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let version = text("apiVersion");
    match version.split('/').nth(2) {
        Some(_) => GroupVersionKind::default(),
        None => GroupVersionKind::from_api_version_kind(version, text("kind")),
    }
}

/// Removes the fields without an owner from the set of a manager.
fn strip(managed: &mut ManagedFields, manager: &str) {
    let Some(owned) = managed.managers.get(manager) else {
        return;
    };
    let own = owned.set().difference(&STRIPPED);
    if own.is_empty() {
        managed.managers.remove(manager);
    } else if !own.ptr_eq(owned.set()) {
        let owned = owned.with_set(own);
        managed.managers.insert(manager, owned);
    }
}
