//! Managed fields between an object and its scale subresource.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_fieldpath::{ApiVersion, Path, PathElement, Set};
use fieldmanager_value::Str;

use crate::entry::Entry;
use crate::identity::Operation;
use crate::managed_fields::ManagedFields;
use crate::migrate::Selector;

/// The version of `Scale` objects.
const SCALE: &str = "autoscaling/v1";

/// Carries managed fields between objects of a kind and their `scale` subresource.
///
/// A `Scale` has managed fields of its own: who owns the object's replicas, under the path that they have in a
/// `Scale`. A request to the subresource changes these, and what became of them is carried back.
///
/// Behaviour: `ScaleHandler` of `k8s.io/apimachinery/pkg/util/managedfields`, but for what is written at
/// [`to_parent`](Self::to_parent).
///
/// ```
/// use fieldmanager_fieldpath::Path;
/// use fieldmanager_managedfields::{ManagedFields, ScaleHandler};
/// use fieldmanager_value::Value;
/// let scale = ScaleHandler::new("apps/v1").replicas("apps/v1", ".spec.replicas".parse::<Path>()?);
/// let parent = ManagedFields::decode(Some(&Value::from_json(r#"[
///     {"manager": "ci", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
///      "fieldsV1": {"f:spec": {"f:replicas": {}, "f:selector": {}}}}
/// ]"#)?))?;
///
/// let of_scale = scale.to_subresource(&parent);
/// let entry = &of_scale.entries()[0];
/// assert_eq!((entry.api_version.as_str(), entry.fields.to_string().as_str()), ("autoscaling/v1", ".spec.replicas"));
/// // Nothing happened: nothing changes.
/// assert_eq!(scale.to_parent(&parent, &of_scale), parent);
///
/// // Somebody else took the replicas.
/// let taken = ManagedFields::decode(Some(&Value::from_json(r#"[
///     {"manager": "hpa", "operation": "Update", "apiVersion": "autoscaling/v1", "subresource": "scale",
///      "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
/// ]"#)?))?;
/// let entries = scale.to_parent(&parent, &taken).entries();
/// assert_eq!((entries[0].manager.as_str(), entries[0].fields.to_string().as_str()), ("ci", ".spec.selector"));
/// assert_eq!((entries[1].manager.as_str(), entries[1].fields.to_string().as_str()), ("hpa", ".spec.replicas"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScaleHandler {
    version: ApiVersion,
    replicas: BTreeMap<ApiVersion, Option<Path>>,
}

/// What tells managers apart across the versions of object and `Scale`.
type Who = (Str, Operation, Str);

impl ScaleHandler {
    /// For objects at a version, which owners of the replicas get in the object.
    pub fn new(version: impl Into<ApiVersion>) -> Self {
        ScaleHandler { version: version.into(), replicas: BTreeMap::new() }
    }

    /// Where the replicas are at a version.
    #[must_use]
    pub fn replicas(mut self, version: impl Into<ApiVersion>, path: Path) -> Self {
        self.replicas.insert(version.into(), Some(path));
        self
    }

    /// A version that is served and has no replicas. Entries at versions that are neither given here nor to
    /// [`replicas`](Self::replicas) are dropped.
    #[must_use]
    pub fn without_replicas(mut self, version: impl Into<ApiVersion>) -> Self {
        self.replicas.insert(version.into(), None);
        self
    }

    /// The managed fields of a `Scale`: who owns the replicas of the object.
    pub fn to_subresource(&self, parent: &ManagedFields) -> ManagedFields {
        let mut scale = ManagedFields::new();
        for entry in parent.entries() {
            let Some(Some(path)) = self.replicas.get(&entry.api_version) else {
                continue;
            };
            if entry.fields.has(path) {
                scale.add(Entry { api_version: SCALE.into(), fields: replicas_in_scale(), ..entry });
            }
        }
        scale
    }

    /// The managed fields of the object after a request to its `Scale`: who does not own the replicas there any
    /// more has lost them in the object, and who came to own them there has got them.
    ///
    /// Entries of the object at a version that the handler does not know are dropped.
    ///
    /// In Go an untouched updater of the object becomes two entries of one identity, of which the next request
    /// reads one and forgets the other; an applier who applies to `Scale` what it did not own replaces its other
    /// fields; and entries that come from a `Scale` lose their time. Here nobody loses anything but the replicas,
    /// and the later time counts.
    pub fn to_parent(&self, parent: &ManagedFields, scale: &ManagedFields) -> ManagedFields {
        let mut owners: BTreeMap<Who, Entry> = BTreeMap::new();
        for entry in scale.entries() {
            owners
                .entry(who(&entry))
                .and_modify(|known| {
                    known.fields = known.fields.union(&entry.fields);
                    known.time = known.time.max(entry.time);
                })
                .or_insert(entry);
        }
        let mut out = ManagedFields::new();
        let mut kept: BTreeSet<Who> = BTreeSet::new();
        for mut entry in parent.entries() {
            let Some(path) = self.replicas.get(&entry.api_version) else {
                continue;
            };
            if let Some(path) = path.as_ref().filter(|path| entry.fields.has(path)) {
                let who = who(&entry);
                match owners.get(&who).filter(|owner| keeps(owner)) {
                    Some(owner) => {
                        entry.time = entry.time.max(owner.time);
                        kept.insert(who);
                    }
                    None => {
                        entry.fields = entry.fields.difference(&Set::from_iter([path]));
                        if entry.fields.is_empty() {
                            continue;
                        }
                    }
                }
            }
            out.add(entry);
        }
        for (who, owner) in owners {
            if !kept.contains(&who) && owns_replicas(&owner) {
                self.give(&mut out, owner);
            }
        }
        out
    }

    /// Notes that who owns the replicas in a `Scale` owns them in the object.
    fn give(&self, managed: &mut ManagedFields, owner: Entry) {
        let path = |version: &ApiVersion| self.replicas.get(version).and_then(Option::as_ref);
        let Some(own_path) = path(&self.version) else {
            return;
        };
        let mut given =
            Entry { api_version: self.version.clone(), fields: Set::from_iter([own_path]), ..owner };
        // An applier has one entry for all versions, and its paths mean nothing at another one.
        let known = managed.get(&given.identity()).map(|known| known.api_version().clone());
        if let Some(version) = known.filter(|version| *version != self.version) {
            match path(&version) {
                Some(path) => given = Entry { api_version: version, fields: Set::from_iter([path]), ..given },
                None => *managed = managed.without(&Selector::of(&given)),
            }
        }
        managed.add(given);
    }
}

fn who(entry: &Entry) -> Who {
    (entry.manager.clone(), entry.operation, entry.subresource.clone())
}

/// Whether who has this entry in a `Scale` keeps the replicas of the object. An applier is known by its entry
/// alone; an updater, who writes whole objects, by what it owns.
fn keeps(owner: &Entry) -> bool {
    owner.operation == Operation::Apply || owns_replicas(owner)
}

fn owns_replicas(owner: &Entry) -> bool {
    replicas_in_scale().is_subset(&owner.fields)
}

fn replicas_in_scale() -> Set {
    Set::from_iter([[PathElement::field("spec"), PathElement::field("replicas")]])
}
