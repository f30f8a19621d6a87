//! The roles and bindings that a store has.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use fieldmanager_access::{RBAC_GROUP, RbacPolicy};
use futures::{FutureExt, StreamExt};

use crate::store::{BoxWatch, Counted, Counts, List, Prefix, SharedStore, StoreError};

/// The resources of the group, and the kinds of their objects.
const RESOURCES: [(&str, &str); 4] = [
    ("clusterroles", "ClusterRole"),
    ("clusterrolebindings", "ClusterRoleBinding"),
    ("roles", "Role"),
    ("rolebindings", "RoleBinding"),
];

/// The roles and bindings of a store, as they are since its last write.
pub(super) struct Roles {
    policy: RwLock<RbacPolicy>,
    /// The changes of each of the resources; none before the objects were read.
    changes: tokio::sync::Mutex<Vec<BoxWatch>>,
    /// The number of writes of roles and bindings by this server, and how many of them the policy has.
    counts: Arc<Counts>,
    seen: AtomicU64,
}

impl Default for Roles {
    fn default() -> Self {
        Roles {
            policy: RwLock::default(),
            changes: tokio::sync::Mutex::default(),
            counts: Counts::new(&[(RBAC_GROUP, "")]),
            seen: AtomicU64::new(0),
        }
    }
}

impl Roles {
    /// The store with a count of what there is to take over: most requests find nothing, and look no further.
    pub(super) fn counting(&self, store: SharedStore) -> SharedStore {
        let counts = self.counts.clone();
        Arc::new(Counted { store, counts })
    }

    /// The roles and bindings, after taking over what was written since the last call. A store that other servers write to may
    /// tell of their writes later.
    pub(super) async fn follow(
        &self,
        store: &SharedStore,
    ) -> Result<RwLockReadGuard<'_, RbacPolicy>, StoreError> {
        let policy = || self.policy.read().unwrap_or_else(PoisonError::into_inner);
        let is_current = |writes| self.seen.load(Ordering::SeqCst) >= writes && !store.is_shared();
        if is_current(self.counts.at(0)) {
            return Ok(policy());
        }
        let mut changes = self.changes.lock().await;
        let writes = self.counts.at(0);
        if is_current(writes) {
            return Ok(policy());
        }

        if !self.take_over(&mut changes) {
            // The objects are read anew if changes were lost, as after a snapshot was restored.
            let mut policy = RbacPolicy::default();
            changes.clear();
            let mut followed = Vec::new();
            for (resource, _) in RESOURCES {
                let prefix = Prefix::builtin(RBAC_GROUP, resource);
                let page = store.list(List::new(prefix.clone()).uncounted()).await?;
                for entry in &page.entries {
                    policy.set(&entry.object);
                }
                followed.push(store.watch(prefix, page.revision).await?);
            }
            *changes = followed;
            *self.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
        }
        self.seen.store(writes, Ordering::SeqCst);
        Ok(policy())
    }

    /// Takes over the changes that are known. Returns false if some were lost.
    fn take_over(&self, changes: &mut [BoxWatch]) -> bool {
        for (watch, (_, kind)) in changes.iter_mut().zip(RESOURCES) {
            while let Some(change) = watch.next().now_or_never() {
                let Some(Ok(change)) = change else {
                    return false;
                };
                let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
                match &change.object {
                    Some(object) => {
                        policy.set(object);
                    }
                    None => {
                        let parts = change.key.parts();
                        policy.remove(kind, parts.namespace.unwrap_or_default(), parts.name);
                    }
                }
            }
        }

        !changes.is_empty()
    }
}
