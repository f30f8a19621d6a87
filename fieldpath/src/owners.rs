//! Owners of the fields of an object.

use std::fmt;

use fieldmanager_schema::Type;
use fieldmanager_value::Str;
use fieldmanager_value::internal::sorted::{Iter, SortedMap};

use crate::Set;

/// A version of an object's type, such as `v1` or `apps/v1`.
///
/// ```
/// use fieldmanager_fieldpath::ApiVersion;
/// let version = ApiVersion::from("apps/v1");
/// assert_eq!(version.as_str(), "apps/v1");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ApiVersion(Str);

impl ApiVersion {
    /// Returns the version as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Str>> From<T> for ApiVersion {
    fn from(text: T) -> Self {
        ApiVersion(text.into())
    }
}

impl From<&ApiVersion> for ApiVersion {
    fn from(version: &ApiVersion) -> Self {
        version.clone()
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// The fields owned by one manager.
///
/// ```
/// use fieldmanager_fieldpath::{Set, VersionedSet};
/// let set = Set::from_json(br#"{"f:spec":{"f:replicas":{}}}"#)?;
/// let entry = VersionedSet::new(set, "apps/v1", true);
/// assert_eq!(entry.set().to_string(), ".spec.replicas");
/// assert!(entry.is_applied() && entry.api_version().as_str() == "apps/v1");
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone)]
pub struct VersionedSet {
    set: Set,
    api_version: ApiVersion,
    applied: bool,
    /// The type with which the set is known to need no reconciliation.
    reconciled: Option<Type>,
}

impl VersionedSet {
    /// Creates an entry for a set of fields of the object at a version. `applied` distinguishes appliers from updaters.
    pub fn new(set: Set, api_version: impl Into<ApiVersion>, applied: bool) -> Self {
        VersionedSet {
            set,
            api_version: api_version.into(),
            applied,
            reconciled: None,
        }
    }

    /// The owned fields.
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// The version of the object in which these paths are valid.
    pub fn api_version(&self) -> &ApiVersion {
        &self.api_version
    }

    /// Whether the manager owns the fields through apply rather than update.
    pub fn is_applied(&self) -> bool {
        self.applied
    }

    /// Records that the set needs no reconciliation with a type, so the set is not walked again.
    ///
    /// ```
    /// use fieldmanager_fieldpath::internal::is_reconciled_with;
    /// use fieldmanager_fieldpath::{Set, VersionedSet};
    /// use fieldmanager_schema::Schema;
    /// let any = Schema::deduced();
    /// let entry = VersionedSet::new(Set::new(), "v1", true);
    /// assert!(!is_reconciled_with(&entry, &any));
    /// assert!(is_reconciled_with(&entry.reconciled_with(any.clone()), &any));
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn reconciled_with(mut self, ty: Type) -> Self {
        self.reconciled = Some(ty);
        self
    }
}

/// Whether the set is known to need no reconciliation with a type.
pub fn is_reconciled_with(entry: &VersionedSet, ty: &Type) -> bool {
    entry.reconciled.as_ref() == Some(ty)
}

/// Returns the entry with another set. A recorded [reconciliation](VersionedSet::reconciled_with) is kept, which is correct
/// if the set is derived from the old one at the same type.
///
/// ```
/// use fieldmanager_fieldpath::internal::with_set;
/// use fieldmanager_fieldpath::{Set, VersionedSet};
/// let entry = VersionedSet::new(Set::from_json(br#"{"f:a":{},"f:b":{}}"#)?, "v1", true);
/// let less = with_set(&entry, Set::from_json(br#"{"f:b":{}}"#)?);
/// assert!(less.is_applied() && less.set().len() == 1);
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[must_use]
pub fn with_set(entry: &VersionedSet, set: Set) -> VersionedSet {
    VersionedSet {
        set,
        ..entry.clone()
    }
}

impl PartialEq for VersionedSet {
    fn eq(&self, other: &Self) -> bool {
        self.api_version == other.api_version
            && self.applied == other.applied
            && self.set == other.set
    }
}

impl Eq for VersionedSet {}

impl fmt::Debug for VersionedSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = if self.applied { "Apply" } else { "Update" };
        write!(f, "{operation} {} {:?}", self.api_version, self.set)
    }
}

/// The owners of the fields of one object: a set per manager, keyed by name. Cloning is O(1).
///
/// This corresponds to `fieldpath.ManagedFields` of the Go package. The entries of `metadata.managedFields`, which also
/// have a time, an operation and a subresource, correspond to `ManagedFields` of the crate
/// `fieldmanager-managedfields`, whose identifiers are the manager names of this type.
///
/// ```
/// use fieldmanager_fieldpath::{Owners, Set, VersionedSet};
/// let mut owners = Owners::new();
/// let set = Set::from_json(br#"{"f:spec":{}}"#)?;
/// owners.insert("kubectl", VersionedSet::new(set, "v1", true));
/// assert!(owners.get("kubectl").unwrap().is_applied());
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Owners(SortedMap<Str, VersionedSet>);

impl Owners {
    /// Creates an empty map of owners.
    pub const fn new() -> Self {
        Owners(SortedMap::new())
    }

    /// The number of managers.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no managers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields owned by a manager.
    pub fn get(&self, manager: &str) -> Option<&VersionedSet> {
        self.0.get(manager)
    }

    /// Sets the fields owned by a manager and returns the old entry.
    pub fn insert(
        &mut self,
        manager: impl Into<Str>,
        fields: VersionedSet,
    ) -> Option<VersionedSet> {
        self.0.insert(manager.into(), fields)
    }

    /// Removes a manager and returns its entry.
    #[doc(hidden)]
    pub fn remove(&mut self, manager: &str) -> Option<VersionedSet> {
        self.0.remove(manager)
    }

    /// Iterates over the managers, sorted by name.
    pub fn iter(&self) -> Iter<'_, Str, VersionedSet> {
        self.0.iter()
    }

    /// Returns the changes from these owners to others: the symmetric difference of the two sets of a manager, its
    /// entire other set if the version changed, and the sets of managers present on only one side. Unchanged managers
    /// are omitted.
    ///
    /// Behaviour: `ManagedFields.Difference` of `sigs.k8s.io/structured-merge-diff/v6/fieldpath`.
    ///
    /// ```
    /// use fieldmanager_fieldpath::{Owners, Set, VersionedSet};
    /// let set = |text: &str| Set::from_json(text.as_bytes());
    /// let entry = |text| set(text).map(|set| VersionedSet::new(set, "v1", true));
    /// let old: Owners = [("alice", entry(r#"{"f:a":{},"f:b":{}}"#)?)].into_iter().collect();
    /// let new: Owners = [("alice", entry(r#"{"f:b":{}}"#)?)].into_iter().collect();
    /// assert_eq!(old.difference(&new).get("alice").unwrap().set().to_string(), ".a");
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn difference(&self, other: &Owners) -> Owners {
        let mut out = Vec::new();
        for (name, left, right) in self.0.join(&other.0) {
            let changed = match (left, right) {
                (Some(only), None) | (None, Some(only)) => {
                    (!only.set.is_empty()).then(|| only.clone())
                }
                (Some(left), Some(right)) if left.api_version != right.api_version => {
                    Some(right.clone())
                }
                (Some(left), Some(right)) => {
                    let set = left
                        .set
                        .difference(&right.set)
                        .union(&right.set.difference(&left.set));
                    (!set.is_empty())
                        .then(|| VersionedSet::new(set, right.api_version.clone(), false))
                }
                (None, None) => None,
            };
            out.extend(changed.map(|changed| (name.clone(), changed)));
        }

        Owners(SortedMap::from_sorted(out))
    }
}

/// Returns the owners with each given manager set to its entry, or removed if the entry is `None`. The names must
/// be sorted, without duplicates.
///
/// ```
/// use fieldmanager_fieldpath::internal::edit_owners;
/// use fieldmanager_fieldpath::{Owners, Set, VersionedSet};
/// let entry = VersionedSet::new(Set::from_json(br#"{"f:a":{}}"#)?, "v1", true);
/// let owners: Owners = [("alice", entry.clone())].into_iter().collect();
/// let edited = edit_owners(&owners, vec![("alice".into(), None), ("bob".into(), Some(entry))]);
/// assert_eq!(edited.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["bob"]);
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[must_use]
pub fn edit_owners(owners: &Owners, edits: Vec<(Str, Option<VersionedSet>)>) -> Owners {
    Owners(owners.0.with_edits(edits))
}

impl<N: Into<Str>> FromIterator<(N, VersionedSet)> for Owners {
    fn from_iter<I: IntoIterator<Item = (N, VersionedSet)>>(entries: I) -> Self {
        Owners(
            entries
                .into_iter()
                .map(|(name, set)| (name.into(), set))
                .collect(),
        )
    }
}

impl<'a> IntoIterator for &'a Owners {
    type Item = (&'a Str, &'a VersionedSet);
    type IntoIter = Iter<'a, Str, VersionedSet>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Owners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(fields: &str, version: &str, applied: bool) -> VersionedSet {
        VersionedSet::new(Set::from_json(fields.as_bytes()).unwrap(), version, applied)
    }

    #[test]
    fn difference_is_symmetric_except_for_versions() {
        let a: Owners = [
            ("changed", entry(r#"{"f:a":{},"f:b":{}}"#, "v1", true)),
            ("gone", entry(r#"{"f:a":{}}"#, "v1", true)),
            ("moved", entry(r#"{"f:a":{}}"#, "v1", false)),
            ("same", entry(r#"{"f:a":{}}"#, "v1", true)),
            ("empty", entry("{}", "v1", true)),
        ]
        .into_iter()
        .collect();
        let b: Owners = [
            ("changed", entry(r#"{"f:b":{},"f:c":{}}"#, "v1", true)),
            ("moved", entry(r#"{"f:a":{}}"#, "v2", false)),
            ("new", entry(r#"{"f:a":{}}"#, "v2", false)),
            ("same", entry(r#"{"f:a":{}}"#, "v1", false)),
        ]
        .into_iter()
        .collect();
        let expected: Owners = [
            ("changed", entry(r#"{"f:a":{},"f:c":{}}"#, "v1", false)),
            ("gone", entry(r#"{"f:a":{}}"#, "v1", true)),
            ("moved", entry(r#"{"f:a":{}}"#, "v2", false)),
            ("new", entry(r#"{"f:a":{}}"#, "v2", false)),
        ]
        .into_iter()
        .collect();
        assert_eq!(a.difference(&b), expected);
        assert!(a.difference(&a).is_empty());
    }
}
