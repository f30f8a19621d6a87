//! The difference between two objects in detail.

use std::collections::BTreeSet;

use fieldmanager_fieldpath::{Path, Set};
use fieldmanager_merge::Stage;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_typed::{Comparison, Duplicates, TypedValue};
use fieldmanager_value::{Str, Value};

use crate::error::Error;
use crate::identity::Identity;
use crate::managed_fields::{ManagedFields, decode_lossy};
use crate::manager::FieldManager;
use crate::object::with_list;

/// The effect of a request on the fields of an object and on their owners.
///
/// ```
/// use fieldmanager_managedfields::internal::compare_objects;
/// use fieldmanager_managedfields::{ApplyRequest, FieldManager};
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_value::Value;
/// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let config = |n: i32| Value::from_json(&format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","data":{{"n":"{n}"}}}}"#));
/// let live = manager.apply(ApplyRequest::new(&Value::Null, &config(1)?).manager("ci"))?.object;
/// let new = manager.apply(ApplyRequest::new(&live, &config(2)?).manager("ops").force())?.object;
///
/// let difference = compare_objects(&manager, &live, &new)?;
/// assert_eq!(difference.changes[0].to_string(), r#".data.n: "1" -> "2""#);
/// let mut ownership = difference.ownership.iter();
/// let lost = ownership.find(|change| change.identity.manager.as_str() == "ci").ok_or("no change")?;
/// assert_eq!(lost.lost.to_string(), ".data.n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// The paths that change, at the version of the field manager, including lists and maps.
    pub comparison: Comparison,
    /// The fields that are added, modified or removed, with their values, in the order of paths. For an added or removed
    /// list or map, its parts are listed.
    pub changes: Vec<Change>,
    /// The fields that each manager gains and loses, by identifier. Managers without changes are omitted.
    pub ownership: Vec<OwnershipChange>,
}

/// A field that changes.
///
/// ```
/// use fieldmanager_managedfields::internal::compare_objects;
/// use fieldmanager_managedfields::FieldManager;
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_value::Value;
/// let kind = GroupVersionKind::from_api_version_kind("apps/v1", "Deployment");
/// let manager = FieldManager::builder(kind).build()?;
/// let live = Value::from_yaml("{apiVersion: apps/v1, kind: Deployment, spec: {paused: true, replicas: 2}}")?;
/// let new = Value::from_yaml("{apiVersion: apps/v1, kind: Deployment, spec: {paused: true}}")?;
/// let difference = compare_objects(&manager, &live, &new)?;
/// assert_eq!(difference.changes[0].to_string(), ".spec.replicas: 2 -> nothing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The path of the field.
    pub path: Path,
    /// Its value in the live object; `None` if it is added.
    pub before: Option<Value>,
    /// Its value in the new object; `None` if it is removed.
    pub after: Option<Value>,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text =
            |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_json);
        write!(
            f,
            "{}: {} -> {}",
            self.path,
            text(&self.before),
            text(&self.after)
        )
    }
}

/// The fields that a manager gains and loses, see [`Difference`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnershipChange {
    /// The manager.
    pub identity: Identity,
    /// The paths that it owns afterwards and did not own before.
    pub gained: Set,
    /// The paths that it owned before and does not own afterwards.
    pub lost: Set,
}

impl FieldManager {
    /// An object without its entries, at the version of the field manager.
    fn for_comparison(&self, object: &Value, action: &'static str) -> Result<TypedValue, Error> {
        let object = self
            .settings
            .to_request_version(&with_list(object, None), action)?;
        self.settings
            .typed(&object, action, false, Duplicates::Allow)
    }
}

/// The difference between the live object and a new one.
///
/// # Errors
///
/// If an object does not fit its type, or cannot be converted to the version of the field manager.
pub fn compare_objects(
    manager: &FieldManager,
    live: &Value,
    new: &Value,
) -> Result<Difference, Error> {
    // Entries that cannot be read have failed the request, or were dropped by a field manager that recovers.
    let owners = |object: &Value| decode_lossy(object.managed_fields()).managed;
    let ownership = ownership(&owners(live), &owners(new));
    let old = manager.for_comparison(live, "convert live object to proper version")?;
    let new = manager.for_comparison(new, "convert new object to proper version")?;
    let comparison = old.compare(&new).map_err(|source| {
        Error::Merge(fieldmanager_merge::Error::Typed {
            stage: Stage::Compare,
            source,
        })
    })?;
    let changes = changes(&old, &new, &comparison);

    Ok(Difference {
        comparison,
        changes,
        ownership,
    })
}

fn changes(old: &TypedValue, new: &TypedValue, comparison: &Comparison) -> Vec<Change> {
    let all = [&comparison.added, &comparison.modified, &comparison.removed];
    let paths: BTreeSet<Path> = all
        .into_iter()
        .flat_map(|set| set.leaves().paths().collect::<Vec<_>>())
        .collect();
    let change = |path: Path| Change {
        before: old.get(&path).cloned(),
        after: new.get(&path).cloned(),
        path,
    };

    paths.into_iter().map(change).collect()
}

fn ownership(before: &ManagedFields, after: &ManagedFields) -> Vec<OwnershipChange> {
    let identifiers: BTreeSet<&Str> = before
        .owners
        .iter()
        .chain(after.owners.iter())
        .map(|(identifier, _)| identifier)
        .collect();
    let change = |identifier: &Str| {
        let set = |managed: &ManagedFields| {
            managed
                .owners
                .get(identifier)
                .map_or_else(Set::new, |owned| owned.set().clone())
        };
        let (before, after) = (set(before), set(after));
        let (gained, lost) = (after.difference(&before), before.difference(&after));
        let identity = Identity::of_identifier(identifier)?;

        (!gained.is_empty() || !lost.is_empty()).then_some(OwnershipChange {
            identity,
            gained,
            lost,
        })
    };

    identifiers.into_iter().filter_map(change).collect()
}
