//! Conversion of managed fields between an object and its `scale` subresource.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_fieldpath::{ApiVersion, Path, PathElement, Set, VersionedSet};
use fieldmanager_value::Str;

use crate::entry::Entry;
use crate::identity::Operation;
use crate::managed_fields::ManagedFields;
use crate::migrate::Selector;

/// The version of `Scale` objects.
const SCALE: &str = "autoscaling/v1";

/// Converts managed fields between objects of a kind and their `scale` subresource.
///
/// A `Scale` has managed fields of its own: the owners of the object's replicas, under the path of the replicas in a
/// `Scale`. A request to the subresource changes them; afterwards they are converted back.
///
/// Behaviour: `ScaleHandler` of `k8s.io/apimachinery/pkg/util/managedfields`, except for the differences listed at
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
/// // Without a request to the subresource, nothing changes.
/// assert_eq!(scale.to_parent(&parent, &of_scale), parent);
///
/// // Another manager took the replicas.
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

/// Identifies a manager across the versions of object and `Scale`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ScaleManager {
    manager: Str,
    operation: Operation,
    subresource: Str,
}

impl ScaleManager {
    fn of(entry: &Entry) -> Self {
        let Entry {
            manager,
            operation,
            subresource,
            ..
        } = entry.clone();
        ScaleManager {
            manager,
            operation,
            subresource,
        }
    }
}

/// The entries without zero times: Go's handler writes its result to an object and reads it again, which drops them.
fn entries(managed: &ManagedFields) -> impl Iterator<Item = Entry> {
    let timed = |entry: Entry| Entry {
        time: entry.time.filter(|time| !time.is_zero()),
        ..entry
    };
    managed.entries().into_iter().map(timed)
}

impl ScaleHandler {
    /// A handler for objects at a version. New owners of the replicas get entries at it.
    pub fn new(version: impl Into<ApiVersion>) -> Self {
        ScaleHandler {
            version: version.into(),
            replicas: BTreeMap::new(),
        }
    }

    /// The path of the replicas at a version.
    #[must_use]
    pub fn replicas(mut self, version: impl Into<ApiVersion>, path: Path) -> Self {
        self.replicas.insert(version.into(), Some(path));
        self
    }

    /// A served version without replicas. Entries at versions that are given neither here nor to
    /// [`replicas`](Self::replicas) are dropped.
    #[must_use]
    pub fn without_replicas(mut self, version: impl Into<ApiVersion>) -> Self {
        self.replicas.insert(version.into(), None);
        self
    }

    /// The managed fields of a `Scale`: the owners of the object's replicas.
    pub fn to_subresource(&self, parent: &ManagedFields) -> ManagedFields {
        let mut scale = ManagedFields::new();
        for entry in entries(parent) {
            let Some(Some(path)) = self.replicas.get(&entry.api_version) else {
                continue;
            };
            if entry.fields.has(path) {
                scale.add(Entry {
                    api_version: SCALE.into(),
                    fields: replicas_in_scale(),
                    ..entry
                });
            }
        }

        scale
    }

    /// The managed fields of the object after a request to its `Scale`. Managers that no longer own the replicas of the
    /// `Scale` lose them in the object; managers that own them now gain them.
    ///
    /// Entries of the object at an unknown version are dropped.
    ///
    /// In Go, an updater of the object that the request does not affect gets two entries of one identity, of which the
    /// next request reads only one; an applier that applies replicas which it did not own loses its other fields; and
    /// entries of a `Scale` lose their time. Here managers lose nothing but the replicas, and the later time is kept.
    pub fn to_parent(&self, parent: &ManagedFields, scale: &ManagedFields) -> ManagedFields {
        // A writer is the same whatever its version: its entry in the `Scale` is at the version of the `Scale`.
        let mut owners: BTreeMap<ScaleManager, Entry> = BTreeMap::new();
        for entry in entries(scale) {
            owners
                .entry(ScaleManager::of(&entry))
                .and_modify(|known| {
                    known.fields = known.fields.union(&entry.fields);
                    known.time = known.time.max(entry.time);
                })
                .or_insert(entry);
        }

        let mut out = ManagedFields::new();
        let mut kept: BTreeSet<ScaleManager> = BTreeSet::new();

        // An owner of the replicas in the object loses them if no entry of the `Scale` keeps them for it.
        for mut entry in entries(parent) {
            let Some(path) = self.replicas.get(&entry.api_version) else {
                continue;
            };
            if let Some(path) = path.as_ref().filter(|path| entry.fields.has(path)) {
                let writer = ScaleManager::of(&entry);
                match owners.get(&writer).filter(|owner| keeps(owner)) {
                    Some(owner) => {
                        entry.time = entry.time.max(owner.time);
                        kept.insert(writer);
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

        // The remaining owners of the replicas are new to the object.
        for (writer, owner) in owners {
            if !kept.contains(&writer) && owns_replicas(&owner) {
                self.give(&mut out, owner);
            }
        }
        out
    }

    /// Makes an owner of the replicas of the `Scale` their owner in the object.
    fn give(&self, managed: &mut ManagedFields, owner: Entry) {
        let path = |version: &ApiVersion| self.replicas.get(version).and_then(Option::as_ref);
        let Some(own_path) = path(&self.version) else {
            return;
        };
        let mut given = Entry {
            api_version: self.version.clone(),
            fields: Set::from_iter([own_path]),
            ..owner
        };

        // An applier has one entry for all versions, whose paths are valid only at the version of the entry.
        let known = managed
            .get(&given.identity())
            .map(|known| known.api_version().clone());
        if let Some(version) = known.filter(|version| *version != self.version) {
            match path(&version) {
                Some(path) => {
                    given = Entry {
                        api_version: version,
                        fields: Set::from_iter([path]),
                        ..given
                    }
                }
                None => *managed = managed.without(&Selector::of(&given)),
            }
        }
        managed.add(given);
    }
}

/// The managed fields of the object after a request to its `Scale`, as an API server writes them: an updater of the
/// object whose replicas the request keeps has two entries, and the new owners of the replicas have no time.
///
/// Behaviour: `ToParent` of `k8s.io/apimachinery/pkg/util/managedfields`.
pub fn to_parent_as_server(
    handler: &ScaleHandler,
    parent: &ManagedFields,
    scale: &ManagedFields,
) -> ManagedFields {
    let mut out = ManagedFields::new();
    for mut entry in entries(parent) {
        let Some(path) = handler.replicas.get(&entry.api_version) else {
            continue;
        };
        // An updater has other identities in the object and in the `Scale`, whose version differs. It loses the
        // replicas here, and gets them back with an entry of its own.
        let is_lost = scale.get(&entry.identity()).is_none();
        let lost = path
            .as_ref()
            .filter(|path| is_lost && entry.fields.has(path));
        if let Some(path) = lost {
            entry.fields = entry.fields.difference(&Set::from_iter([path]));
        }
        if lost.is_none() || !entry.fields.is_empty() {
            out.add(entry);
        }
    }

    let Some(Some(own_path)) = handler.replicas.get(&handler.version) else {
        return out;
    };
    for (identifier, owned) in scale.owners.iter() {
        let owns = replicas_in_scale().is_subset(owned.set());
        let kept = parent.owners.get(identifier).is_some_and(|before| {
            let path = handler.replicas.get(before.api_version());
            path.is_some_and(|path| path.as_ref().is_some_and(|path| before.set().has(path)))
        });
        if owns && !kept {
            let fields = Set::from_iter([own_path]);
            let owned = VersionedSet::new(fields, handler.version.clone(), owned.is_applied());
            out.owners.insert(identifier.clone(), owned);
            out.set_time(identifier.clone(), parent.times.get(identifier).copied());
        }
    }
    out
}

/// Whether the owner of an entry of a `Scale` keeps the replicas of the object. For an applier the entry suffices; an
/// updater, which writes whole objects, must own the replicas.
fn keeps(owner: &Entry) -> bool {
    owner.operation == Operation::Apply || owns_replicas(owner)
}

fn owns_replicas(owner: &Entry) -> bool {
    replicas_in_scale().is_subset(&owner.fields)
}

fn replicas_in_scale() -> Set {
    Set::from_iter([[PathElement::field("spec"), PathElement::field("replicas")]])
}
