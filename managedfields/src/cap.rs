//! The limit on updaters.

use ahash::AHashMap;
use fieldmanager_fieldpath::VersionedSet;
use fieldmanager_value::Str;

use crate::identity::{Identity, Operation};
use crate::managed_fields::ManagedFields;
use crate::time::Time;

/// The default limit on the updaters of an object.
pub const MAX_UPDATERS: usize = 10;

/// The manager that gets the fields of the oldest updaters.
pub const ANCIENT_CHANGES: &str = "ancient-changes";

/// Unites the oldest updaters of one version until no more than `limit` updaters are left, or until each of them
/// is the only one of its version.
///
/// If an updater is older than an existing `ancient-changes` entry, Go unites that entry with itself and then deletes
/// it. Here the entry gets the fields of the older updater.
///
/// Behaviour: `NewCapManagersManager` of `k8s.io/apimachinery/pkg/util/managedfields`.
pub(crate) fn unite_oldest_updaters(managed: &mut ManagedFields, limit: usize) {
    let updaters = managed
        .owners
        .iter()
        .filter(|(_, owned)| !owned.is_applied());
    let mut updaters: Vec<(Str, VersionedSet)> = updaters
        .map(|(id, owned)| (id.clone(), owned.clone()))
        .collect();
    let mut left = updaters.len();
    if left <= limit {
        return;
    }

    // The oldest updaters are united first.
    let seconds = |id: &Str| managed.times.get(id).map_or(0, |time| time.unix_seconds());
    updaters.sort_by(|(a, _), (b, _)| seconds(a).cmp(&seconds(b)).then_with(|| a.cmp(b)));
    // The oldest updater of a version, or the bucket that it was united into.
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

        // Sets are united for each version, at which their paths are valid.
        let bucket =
            Identity::new(ANCIENT_CHANGES, Operation::Update, version.clone(), "").identifier();
        let known = managed.owners.get(&bucket).cloned();
        let since: Option<Time> = managed.times.get(&id).copied();
        let is_younger = known.is_some() && bucket != id && bucket != *first;
        let (other, time) = if is_younger {
            // The loop has not reached the bucket yet, so the bucket is younger and keeps its time.
            (known, since.max(managed.times.get(&bucket).copied()))
        } else {
            (managed.owners.remove(first), since)
        };
        let fields = other.map_or_else(
            || owned.set().clone(),
            |other| owned.set().union(other.set()),
        );

        managed.owners.remove(&id);
        managed.owners.insert(
            bucket.clone(),
            VersionedSet::new(fields, version.clone(), false),
        );
        match time {
            Some(time) => managed.times.insert(bucket.clone(), time),
            None => managed.times.remove(&bucket),
        };
        if !is_younger {
            oldest.insert(version.to_string(), bucket);
        }
        left -= 1;
    }
}
