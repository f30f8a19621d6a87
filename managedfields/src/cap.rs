//! The limit on updaters.

use ahash::AHashMap;
use fieldmanager_fieldpath::VersionedSet;
use fieldmanager_value::Str;

use crate::identity::{Identity, Operation};
use crate::managed::ManagedFields;
use crate::time::Time;

/// The default limit on the updaters of an object.
pub const MAX_UPDATERS: usize = 10;

/// The manager that the fields of the oldest updaters go to.
pub const ANCIENT_CHANGES: &str = "ancient-changes";

/// Unites the oldest updaters of one version until no more than `limit` updaters are left, or until each of them
/// is the only one of its version.
///
/// Go, where an updater is older than an existing `ancient-changes` entry, unites that entry with itself and then
/// deletes it. Here the older one goes into it.
///
/// Behaviour: `NewCapManagersManager` of `k8s.io/apimachinery/pkg/util/managedfields`.
pub(crate) fn updaters(managed: &mut ManagedFields, limit: usize) {
    let updaters = managed.managers.iter().filter(|(_, owned)| !owned.is_applied());
    let mut updaters: Vec<(Str, VersionedSet)> =
        updaters.map(|(id, owned)| (id.clone(), owned.clone())).collect();
    let mut left = updaters.len();
    if left <= limit {
        return;
    }
    let seconds = |id: &Str| managed.times.get(id).map_or(0, |time| time.unix_seconds());
    updaters.sort_by(|(a, _), (b, _)| seconds(a).cmp(&seconds(b)).then_with(|| a.cmp(b)));
    // The oldest updater of a version, or what became of it.
    let mut oldest: AHashMap<String, Str> = AHashMap::new();
    for (id, owned) in updaters {
        if left <= limit {
            break;
        }
        let version = owned.api_version();
        let Some(first) = oldest.get(version.as_str()) else {
            oldest.insert(version.to_string(), id);
            continue;
        };
        let bucket = Identity::new(ANCIENT_CHANGES, Operation::Update, version.clone(), "").identifier();
        let known = managed.managers.get(&bucket).cloned();
        let since: Option<Time> = managed.times.get(&id).copied();
        let waits = known.is_some() && bucket != id && bucket != *first;
        let (other, time) = if waits {
            // An older bucket that the loop has not reached yet takes the entry and keeps its later time.
            (known, since.max(managed.times.get(&bucket).copied()))
        } else {
            (managed.managers.remove(first), since)
        };
        let fields = other.map_or_else(|| owned.set().clone(), |other| owned.set().union(other.set()));
        managed.managers.remove(&id);
        managed.managers.insert(bucket.clone(), VersionedSet::new(fields, version.clone(), false));
        match time {
            Some(time) => managed.times.insert(bucket.clone(), time),
            None => managed.times.remove(&bucket),
        };
        if !waits {
            oldest.insert(version.to_string(), bucket);
        }
        left -= 1;
    }
}
