//! The objects that configure admission and priorities, without a question to the store for each request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fieldmanager_value::Value;
use futures::{FutureExt, StreamExt};

use crate::endpoint::Failure;
use crate::flows;
use crate::object::text;
use crate::registry::Served;
use crate::store::{BoxWatch, Counted, Counts, List, SharedStore};

const REGISTRATION: &str = "admissionregistration.k8s.io";

/// The resources whose objects are kept.
const KEPT: &[(&str, &str)] = &[
    ("", "limitranges"),
    ("", "resourcequotas"),
    flows::SCHEMAS,
    flows::LEVELS,
    (REGISTRATION, "mutatingadmissionpolicies"),
    (REGISTRATION, "mutatingadmissionpolicybindings"),
    (REGISTRATION, "mutatingwebhookconfigurations"),
    (REGISTRATION, "validatingadmissionpolicies"),
    (REGISTRATION, "validatingadmissionpolicybindings"),
    (REGISTRATION, "validatingwebhookconfigurations"),
    ("networking.k8s.io", "ingressclasses"),
    ("scheduling.k8s.io", "priorityclasses"),
    ("storage.k8s.io", "storageclasses"),
];

/// Lists of small resources, as they are since the last write.
pub(crate) struct Lists {
    counts: Arc<Counts>,
    kept: Vec<Mutex<Option<KeptList>>>,
}

/// All objects of a resource.
struct KeptList {
    /// The number of writes that the list has.
    seen: u64,
    /// The changes by other servers of the store.
    changes: Option<BoxWatch>,
    list: Arc<Vec<Value>>,
}

impl Default for Lists {
    fn default() -> Self {
        Lists {
            counts: Counts::new(KEPT),
            kept: KEPT.iter().map(|_| Mutex::default()).collect(),
        }
    }
}

impl Lists {
    /// The store with counts of the writes that change a list.
    pub(crate) fn counting(&self, store: SharedStore) -> SharedStore {
        let counts = self.counts.clone();
        Arc::new(Counted { store, counts })
    }

    /// The objects of a resource in a namespace, or in all if it is empty. All objects are the same `Arc` as long as none of
    /// them is written, if the resource is one of those that are kept.
    pub(crate) async fn list(
        &self,
        store: &SharedStore,
        served: &Served,
        namespace: &str,
    ) -> Result<Arc<Vec<Value>>, Failure> {
        let Some((place, kept)) = self.place((&served.facts.group, &served.facts.plural)) else {
            return Ok(Arc::new(read(store, served, namespace).await?));
        };

        // Of several requests that read the list at once, the last one keeps it, and a list that lacks a write is read again.
        let writes = self.counts.at(place);
        let list = match at(kept, writes) {
            Some(list) => list,
            None => {
                let new = KeptList::read(store, served, writes).await?;
                let list = new.list.clone();
                *locked(kept) = Some(new);
                list
            }
        };
        Ok(inside(list, namespace))
    }

    /// The same, if it is known without the store: so it is for nearly every request.
    pub(crate) fn known(&self, name: (&str, &str), namespace: &str) -> Option<Arc<Vec<Value>>> {
        let (place, kept) = self.place(name)?;
        let list = at(kept, self.counts.at(place))?;
        Some(inside(list, namespace))
    }

    fn place(&self, name: (&str, &str)) -> Option<(usize, &Mutex<Option<KeptList>>)> {
        let place = KEPT.iter().position(|kept| *kept == name)?;
        Some((place, self.kept.get(place)?))
    }
}

fn locked(kept: &Mutex<Option<KeptList>>) -> MutexGuard<'_, Option<KeptList>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The list that is kept, if it has all writes.
fn at(kept: &Mutex<Option<KeptList>>, writes: u64) -> Option<Arc<Vec<Value>>> {
    locked(kept).as_mut()?.at(writes)
}

/// The objects of a list that are in a namespace; all of them if it is empty.
fn inside(list: Arc<Vec<Value>>, namespace: &str) -> Arc<Vec<Value>> {
    if namespace.is_empty() || list.is_empty() {
        return list;
    }
    let is_inside = |object: &&Value| text(object, &["metadata", "namespace"]) == namespace;
    Arc::new(list.iter().filter(is_inside).cloned().collect())
}

impl KeptList {
    async fn read(store: &SharedStore, served: &Served, writes: u64) -> Result<Self, Failure> {
        // The watch begins before the list, so that no change between the two is lost.
        let changes = if store.is_shared() {
            let now = store.revision().await?;
            Some(store.watch(served.prefix("")?, now).await?)
        } else {
            None
        };
        Ok(KeptList {
            seen: writes,
            changes,
            list: Arc::new(read(store, served, "").await?),
        })
    }

    /// The list, if it has all writes.
    fn at(&mut self, writes: u64) -> Option<Arc<Vec<Value>>> {
        let is_unchanged = |changes: &mut BoxWatch| changes.next().now_or_never().is_none();
        let is_current = self.seen == writes && self.changes.as_mut().is_none_or(is_unchanged);
        is_current.then(|| self.list.clone())
    }
}

async fn read(
    store: &SharedStore,
    served: &Served,
    namespace: &str,
) -> Result<Vec<Value>, Failure> {
    let page = store
        .list(List::new(served.prefix(namespace)?).uncounted())
        .await?;
    Ok(page
        .entries
        .iter()
        .map(|entry| served.read(entry))
        .collect())
}
