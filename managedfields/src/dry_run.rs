//! What a request would do.

use std::collections::BTreeSet;

use fieldmanager_fieldpath::{Path, Set};
use fieldmanager_merge::{Conflicts, Force, Stage};
use fieldmanager_patch::{PatchSchema, PatchType};
use fieldmanager_typed::{Comparison, Duplicates, TypedValue};
use fieldmanager_value::{Str, Value};

use crate::error::Error;
use crate::identity::Identity;
use crate::managed::{ManagedFields, with_list};
use crate::manager::{FieldManager, Outcome};
use crate::time::Time;

/// What an apply, an update or a patch would do to an object.
///
/// ```
/// use fieldmanager_managedfields::{FieldManager, Force, Time};
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_value::Value;
/// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let config = |n: i32| Value::from_json(&format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","data":{{"n":"{n}"}}}}"#));
/// let noon: Time = "2026-01-31T12:00:00Z".parse()?;
/// let live = manager.apply(&Value::Null, &config(1)?, "ci", Force::No, noon)?.object;
///
/// let dry = manager.dry_run_apply(&live, &config(2)?, "ops", noon)?;
/// assert_eq!(dry.conflicts.map(|conflicts| conflicts.len()), Some(1));
/// let change = &dry.changes[0];
/// assert_eq!(change.to_string(), r#".data.n: "1" -> "2""#);
/// let lost = dry.ownership.iter().find(|change| change.identity.manager.as_str() == "ci").ok_or("none")?;
/// assert_eq!(lost.lost.to_string(), ".data.n");
/// assert_eq!(dry.outcome.object.get("data"), config(2)?.get("data"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DryRun {
    /// The object that there would be, with its entries; of an apply that conflicts, the one by force.
    pub outcome: Outcome,
    /// The conflicts that an apply without force would fail with.
    pub conflicts: Option<Conflicts>,
    /// Every path that would change, at the version of the field manager, lists and maps included.
    pub comparison: Comparison,
    /// The fields that would change, with their values: added, modified and removed ones in the order of paths.
    /// What is part of an added or removed list or map is listed instead of it.
    pub changes: Vec<Change>,
    /// What managers would gain and lose, by identifier. Managers without changes are omitted.
    pub ownership: Vec<OwnershipChange>,
}

/// A field that would change.
///
/// ```
/// use fieldmanager_managedfields::Change;
/// let path = ".spec.replicas".parse()?;
/// let change = Change { path, before: Some(2.into()), after: None };
/// assert_eq!(change.to_string(), ".spec.replicas: 2 -> nothing");
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which field.
    pub path: Path,
    /// Its value in the live object; none if it would be added.
    pub before: Option<Value>,
    /// Its value afterwards; none if it would be removed.
    pub after: Option<Value>,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_json);
        write!(f, "{}: {} -> {}", self.path, text(&self.before), text(&self.after))
    }
}

/// What a manager would gain and lose.
///
/// ```
/// use fieldmanager_fieldpath::Set;
/// use fieldmanager_managedfields::{Identity, Operation, OwnershipChange};
/// let identity = Identity::new("ci", Operation::Apply, "v1", "");
/// let change = OwnershipChange { identity, gained: Set::new(), lost: Set::from_json(br#"{"f:data":{}}"#)? };
/// assert_eq!(change.lost.to_string(), ".data");
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnershipChange {
    /// Who.
    pub identity: Identity,
    /// The paths that it would own and does not own now.
    pub gained: Set,
    /// The paths that it owns now and would not own any more.
    pub lost: Set,
}

impl FieldManager {
    /// What [`apply`](Self::apply) would do, by force where that is needed.
    ///
    /// # Errors
    ///
    /// Those of [`apply`](Self::apply), but for conflicts, which are in the result.
    ///
    /// Behaviour: an apply with `dryRun=All`, which shows only the object.
    pub fn dry_run_apply(
        &self,
        live: &Value,
        config: &Value,
        manager: &str,
        now: Time,
    ) -> Result<DryRun, Error> {
        let (outcome, conflicts) = match self.apply(live, config, manager, Force::No, now) {
            Ok(outcome) => (outcome, None),
            Err(Error::Conflicts(conflicts)) => {
                (self.apply(live, config, manager, Force::Yes, now)?, Some(conflicts))
            }
            Err(other) => return Err(other),
        };
        self.dry_run(live, outcome, conflicts)
    }

    /// What [`update`](Self::update) would do.
    ///
    /// # Errors
    ///
    /// Those of [`update`](Self::update).
    ///
    /// Behaviour: an update with `dryRun=All`, which shows only the object.
    ///
    /// ```
    /// use fieldmanager_managedfields::FieldManager;
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use fieldmanager_value::Value;
    /// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let new = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"n":"1"}}"#)?;
    /// let dry = manager.dry_run_update(&Value::Null, &new, "ci", "2026-01-31T12:00:00Z".parse()?)?;
    /// assert_eq!(dry.ownership[0].gained.to_string(), ".data\n.data.n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dry_run_update(
        &self,
        live: &Value,
        new: &Value,
        manager: &str,
        now: Time,
    ) -> Result<DryRun, Error> {
        let outcome = self.update(live, new, manager, now)?;
        self.dry_run(live, outcome, None)
    }

    /// What [`patch`](Self::patch) would do.
    ///
    /// # Errors
    ///
    /// Those of [`patch`](Self::patch).
    ///
    /// Behaviour: a patch with `dryRun=All`, which shows only the object.
    ///
    /// ```
    /// use fieldmanager_managedfields::FieldManager;
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use fieldmanager_patch::PatchType;
    /// use fieldmanager_value::Value;
    /// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let live = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"n":"1"}}"#)?;
    /// let patch = Value::from_json(r#"{"data":{"n":"2"}}"#)?;
    /// let noon = "2026-01-31T12:00:00Z".parse()?;
    /// let dry = manager.dry_run_patch(&live, &patch, PatchType::Merge, None, "ops", noon)?;
    /// assert_eq!(dry.changes[0].to_string(), r#".data.n: "1" -> "2""#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dry_run_patch(
        &self,
        live: &Value,
        patch: &Value,
        how: PatchType,
        schema: Option<PatchSchema<'_>>,
        manager: &str,
        now: Time,
    ) -> Result<DryRun, Error> {
        let outcome = self.patch(live, patch, how, schema, manager, now)?;
        self.dry_run(live, outcome, None)
    }

    fn dry_run(&self, live: &Value, outcome: Outcome, conflicts: Option<Conflicts>) -> Result<DryRun, Error> {
        // What cannot be read was refused, or dropped by a field manager that recovers.
        let (before, _) = ManagedFields::decode_lossy(crate::managed::list_of(live));
        let old = self.for_comparison(live, "live object")?;
        let new = self.for_comparison(&outcome.object, "new object")?;
        let comparison = old.compare(&new).map_err(|source| {
            Error::Merge(fieldmanager_merge::Error::Typed { stage: Stage::Compare, source })
        })?;
        let ownership = ownership(&before, &outcome.managed);
        let changes = changes(&old, &new, &comparison);
        Ok(DryRun { outcome, conflicts, comparison, changes, ownership })
    }

    /// An object without its entries, at the version of the field manager.
    fn for_comparison(&self, object: &Value, what: &'static str) -> Result<TypedValue, Error> {
        let action = match what {
            "live object" => "convert live object to proper version",
            _ => "convert new object to proper version",
        };
        let object = self.to_request_version(&with_list(object, None), action)?;
        self.typed(&object, action, false, Duplicates::Allow)
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
        before.managers.iter().chain(after.managers.iter()).map(|(identifier, _)| identifier).collect();
    let change = |identifier: &Str| {
        let set = |managed: &ManagedFields| {
            managed.managers.get(identifier).map_or_else(Set::new, |owned| owned.set().clone())
        };
        let (before, after) = (set(before), set(after));
        let (gained, lost) = (after.difference(&before), before.difference(&after));
        let identity = Identity::of_identifier(identifier)?;
        (!gained.is_empty() || !lost.is_empty()).then_some(OwnershipChange { identity, gained, lost })
    };
    identifiers.into_iter().filter_map(change).collect()
}
