//! The namespaces whose quotas have to be counted again.

use std::collections::BTreeSet;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The namespaces whose quotas have to be counted again.
#[derive(Default)]
pub(super) struct Recounts {
    namespaces: Mutex<BTreeSet<String>>,
    added: Notify,
}

impl Recounts {
    pub(super) fn add(&self, namespace: &str) {
        self.namespaces().insert(namespace.to_owned());
        self.added.notify_one();
    }

    /// Takes the namespaces that were added, and waits for one.
    pub(super) async fn next(&self) -> BTreeSet<String> {
        self.added.notified().await;
        mem::take(&mut *self.namespaces())
    }

    fn namespaces(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.namespaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
