//! The end of Events: each is deleted some time after its last write.
//!
//! kube-apiserver gives each Event a lease of etcd when it is written (`--event-ttl`). Here the server deletes them, in
//! every store: the time of the last write is in the object, so it is known after a start too.

use std::sync::Arc;
use std::time::Duration;

use fieldmanager_managedfields::Time;
use fieldmanager_value::Value;

use crate::endpoint::{Core, Failure};
use crate::log::recorded;
use crate::object::text;
use crate::store::{CORE, Entry, List, Prefix, Revision, StoreError, Write};

/// The number of Events that are looked at at once.
const PAGE: usize = 500;

/// How often Events are looked at, at most and at least.
const SOONEST: Duration = Duration::from_millis(200);
const LATEST: Duration = Duration::from_secs(60);

/// Deletes Events until the store is closed.
pub(crate) async fn run(core: Arc<Core>, age: Duration) {
    loop {
        tokio::time::sleep((age / 10).clamp(SOONEST, LATEST)).await;
        match expire(&core, age).await {
            Ok(()) => {}
            Err(StoreError::Closed) => return,
            // It is tried again.
            Err(error) => tracing::warn!(%error, "old Events are not deleted"),
        }
    }
}

async fn expire(core: &Core, age: Duration) -> Result<(), StoreError> {
    let age = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
    let oldest = core.source.now().unix_seconds().saturating_sub(age);
    // Those of `events.k8s.io` are stored here too.
    let events = Prefix::builtin(CORE, "events");
    let mut list = List::new(events).limit(PAGE).uncounted();

    loop {
        let page = core.store.list(list.clone()).await?;
        for entry in page.entries {
            if last_write(&entry.object).is_none_or(|written| written >= oldest) {
                continue;
            }
            match delete(core, &entry).await {
                // Another write was faster, or another server deleted it.
                Ok(_) | Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }

        match page.next {
            Some(next) => list = list.after(next),
            None => return Ok(()),
        }
    }
}

/// Deletes an Event, and logs it.
async fn delete(core: &Core, entry: &Entry) -> Result<Revision, StoreError> {
    let deletion = async {
        core.store
            .write(
                &entry.key,
                Write::Delete {
                    expected: entry.revision,
                },
            )
            .await
    };
    let registry = core.registry();
    let Some(served) = registry.of_key(&entry.key) else {
        return deletion.await;
    };

    let log = || core.collecting("delete", served, &entry.key);
    recorded(core.log.as_ref(), log, deletion, |deleted| match deleted {
        Ok(_) => (200, ""),
        Err(StoreError::Conflict { .. }) => (409, "Conflict"),
        Err(error) => {
            let status = Failure::from(error.clone()).status;
            (status.code, status.reason)
        }
    })
    .await
}

/// The time of the last write of an object in seconds, as far as its metadata say.
fn last_write(object: &Value) -> Option<i64> {
    let managed = object
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields")?.as_list());
    let times = managed
        .into_iter()
        .flatten()
        .map(|entry| text(entry, &["time"]));
    // An event whose managed fields have no times ends some time after its creation.
    let times = times.chain([text(object, &["metadata", "creationTimestamp"])]);

    times
        .filter_map(|time| time.parse::<Time>().ok())
        .map(Time::unix_seconds)
        .max()
}
