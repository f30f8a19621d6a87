//! Dry runs: the effect of a request in detail.

use std::collections::BTreeSet;

use fieldmanager_fieldpath::{Path, Set};
use fieldmanager_merge::{Conflicts, Stage};
use fieldmanager_typed::{Comparison, Duplicates, TypedValue};
use fieldmanager_value::{Str, Value};

use crate::error::Error;
use crate::identity::Identity;
use crate::managed_fields::ManagedFields;
use crate::manager::FieldManager;
use crate::object::{list_of, with_list};
use crate::outcome::Outcome;
use crate::request::{ApplyRequest, PatchRequest, UpdateRequest};

/// The effect of an apply, an update or a patch.
///
/// ```
/// use fieldmanager_managedfields::{ApplyRequest, FieldManager};
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_value::Value;
/// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let config = |n: i32| Value::from_json(&format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","data":{{"n":"{n}"}}}}"#));
/// let live = manager.apply(ApplyRequest::new(&Value::Null, &config(1)?).manager("ci"))?.object;
///
/// let dry = manager.dry_run_apply(ApplyRequest::new(&live, &config(2)?).manager("ops"))?;
/// assert_eq!(dry.conflicts.map(|conflicts| conflicts.len()), Some(1));
/// let change = &dry.changes[0];
/// assert_eq!(change.to_string(), r#".data.n: "1" -> "2""#);
/// let lost = dry.ownership.iter().find(|change| change.identity.manager.as_str() == "ci").ok_or("no change")?;
/// assert_eq!(lost.lost.to_string(), ".data.n");
/// assert_eq!(dry.outcome.object.get("data"), config(2)?.get("data"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DryRun {
    /// The result of the request. If an apply conflicts, it is the result of the apply by force.
    pub outcome: Outcome,
    /// The conflicts of the request.
    pub conflicts: Option<Conflicts>,
    /// The paths that would change, at the version of the field manager, including lists and maps.
    pub comparison: Comparison,
    /// The fields that would be added, modified or removed, with their values, in the order of paths. For an added or
    /// removed list or map, its parts are listed.
    pub changes: Vec<Change>,
    /// The fields that each manager would gain and lose, by identifier. Managers without changes are omitted.
    pub ownership: Vec<OwnershipChange>,
}

/// A field that would change.
///
/// ```
/// use fieldmanager_managedfields::{FieldManager, UpdateRequest};
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_value::Value;
/// let kind = GroupVersionKind::from_api_version_kind("apps/v1", "Deployment");
/// let manager = FieldManager::builder(kind).build()?;
/// let live = Value::from_yaml("{apiVersion: apps/v1, kind: Deployment, spec: {paused: true, replicas: 2}}")?;
/// let new = Value::from_yaml("{apiVersion: apps/v1, kind: Deployment, spec: {paused: true}}")?;
/// let dry = manager.dry_run_update(UpdateRequest::new(&live, &new))?;
/// assert_eq!(dry.changes[0].to_string(), ".spec.replicas: 2 -> nothing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The path of the field.
    pub path: Path,
    /// Its value in the live object; `None` if it would be added.
    pub before: Option<Value>,
    /// Its value in the new object; `None` if it would be removed.
    pub after: Option<Value>,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_json);
        write!(f, "{}: {} -> {}", self.path, text(&self.before), text(&self.after))
    }
}

/// The fields that a manager would gain and lose, see [`DryRun`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnershipChange {
    /// The manager.
    pub identity: Identity,
    /// The paths that it would own and does not own now.
    pub gained: Set,
    /// The paths that it owns now and would no longer own.
    pub lost: Set,
}

impl FieldManager {
    /// Computes the effect of [`apply`](Self::apply). Conflicts are part of the result, which then shows the apply by force.
    ///
    /// # Errors
    ///
    /// Those of [`apply`](Self::apply), except conflicts.
    ///
    /// Behaviour: an apply with `dryRun=All`, which returns only the object.
    #[doc(hidden)]
    pub fn dry_run_apply(&self, request: ApplyRequest<'_>) -> Result<DryRun, Error> {
        let (outcome, conflicts) = match self.apply(request) {
            Ok(outcome) => (outcome, None),
            Err(Error::Conflicts(conflicts)) => (self.apply(request.force())?, Some(conflicts)),
            Err(other) => return Err(other),
        };
        self.dry_run(request.live(), outcome, conflicts)
    }

    /// Computes the effect of [`update`](Self::update).
    ///
    /// # Errors
    ///
    /// Those of [`update`](Self::update).
    ///
    /// Behaviour: an update with `dryRun=All`, which returns only the object.
    ///
    /// ```
    /// use fieldmanager_managedfields::{FieldManager, UpdateRequest};
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use fieldmanager_value::Value;
    /// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let new = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"n":"1"}}"#)?;
    /// let dry = manager.dry_run_update(UpdateRequest::new(&Value::Null, &new).manager("ci"))?;
    /// assert_eq!(dry.ownership[0].gained.to_string(), ".data\n.data.n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn dry_run_update(&self, request: UpdateRequest<'_>) -> Result<DryRun, Error> {
        self.dry_run(request.live(), self.update(request)?, None)
    }

    /// Computes the effect of [`patch`](Self::patch).
    ///
    /// # Errors
    ///
    /// Those of [`patch`](Self::patch).
    ///
    /// Behaviour: a patch with `dryRun=All`, which returns only the object.
    ///
    /// ```
    /// use fieldmanager_managedfields::{FieldManager, PatchRequest};
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use fieldmanager_patch::PatchType;
    /// use fieldmanager_value::Value;
    /// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let live = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"n":"1"}}"#)?;
    /// let patch = Value::from_json(r#"{"data":{"n":"2"}}"#)?;
    /// let dry = manager.dry_run_patch(PatchRequest::new(&live, &patch, PatchType::Merge).manager("ops"))?;
    /// assert_eq!(dry.changes[0].to_string(), r#".data.n: "1" -> "2""#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn dry_run_patch(&self, request: PatchRequest<'_>) -> Result<DryRun, Error> {
        self.dry_run(request.live, self.patch(request)?, None)
    }

    fn dry_run(&self, live: &Value, outcome: Outcome, conflicts: Option<Conflicts>) -> Result<DryRun, Error> {
        // Entries that cannot be read have failed the request, or were dropped by a field manager that recovers.
        let before = ManagedFields::decode_lossy(list_of(live)).managed;
        let old = self.for_comparison(live, "convert live object to proper version")?;
        let new = self.for_comparison(&outcome.object, "convert new object to proper version")?;
        let comparison = old.compare(&new).map_err(|source| {
            Error::Merge(fieldmanager_merge::Error::Typed { stage: Stage::Compare, source })
        })?;
        let ownership = ownership(&before, &outcome.managed);
        let changes = changes(&old, &new, &comparison);
        Ok(DryRun { outcome, conflicts, comparison, changes, ownership })
    }

    /// An object without its entries, at the version of the field manager.
    fn for_comparison(&self, object: &Value, action: &'static str) -> Result<TypedValue, Error> {
        let object = self.settings.to_request_version(&with_list(object, None), action)?;
        self.settings.typed(&object, action, false, Duplicates::Allow)
    }
}

fn changes(old: &TypedValue, new: &TypedValue, comparison: &Comparison) -> Vec<Change> {
    let all = [&comparison.added, &comparison.modified, &comparison.removed];
    let paths: BTreeSet<Path> =
        all.into_iter().flat_map(|set| set.leaves().paths().collect::<Vec<_>>()).collect();
    let change =
        |path: Path| Change { before: old.get(&path).cloned(), after: new.get(&path).cloned(), path };
    paths.into_iter().map(change).collect()
}

fn ownership(before: &ManagedFields, after: &ManagedFields) -> Vec<OwnershipChange> {
    let identifiers: BTreeSet<&Str> =
        before.owners.iter().chain(after.owners.iter()).map(|(identifier, _)| identifier).collect();
    let change = |identifier: &Str| {
        let set = |managed: &ManagedFields| {
            managed.owners.get(identifier).map_or_else(Set::new, |owned| owned.set().clone())
        };
        let (before, after) = (set(before), set(after));
        let (gained, lost) = (after.difference(&before), before.difference(&after));
        let identity = Identity::of_identifier(identifier)?;
        (!gained.is_empty() || !lost.is_empty()).then_some(OwnershipChange { identity, gained, lost })
    };
    identifiers.into_iter().filter_map(change).collect()
}
