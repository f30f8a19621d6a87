//! The namespaces whose quotas have to be counted again.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The namespaces whose quotas have to be counted again, and those in which requests write.
#[derive(Default)]
pub(super) struct Recounts {
    state: Mutex<RecountState>,
    added: Notify,
}

#[derive(Default)]
struct RecountState {
    due: BTreeSet<String>,
    writing: BTreeMap<String, usize>,
}

/// A request that writes in a namespace, as long as it lasts: a quota may have been charged for an object that is not
/// stored yet.
pub(super) struct WritingIn<'r> {
    recounts: &'r Recounts,
    namespace: &'r str,
}

impl Recounts {
    pub(super) fn add(&self, namespace: &str) {
        self.state().due.insert(namespace.to_owned());
        self.added.notify_one();
    }

    pub(super) fn begin<'r>(&'r self, namespace: &'r str) -> WritingIn<'r> {
        *self
            .state()
            .writing
            .entry(namespace.to_owned())
            .or_default() += 1;
        WritingIn {
            recounts: self,
            namespace,
        }
    }

    /// Puts a count off until no request writes in a namespace. Returns whether one does.
    pub(super) fn postpone(&self, namespace: &str) -> bool {
        let mut state = self.state();
        let is_writing = state.writing.contains_key(namespace);
        if is_writing {
            state.due.insert(namespace.to_owned());
        }
        is_writing
    }

    /// Takes the namespaces that were added, and waits for one.
    pub(super) async fn next(&self) -> BTreeSet<String> {
        self.added.notified().await;
        mem::take(&mut self.state().due)
    }

    fn state(&self) -> MutexGuard<'_, RecountState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WritingIn<'_> {
    fn drop(&mut self) {
        let mut state = self.recounts.state();
        let Some(count) = state.writing.get_mut(self.namespace) else {
            return;
        };
        *count -= 1;
        if *count > 0 {
            return;
        }

        // The last one lets the count begin that was put off.
        state.writing.remove(self.namespace);
        if state.due.contains(self.namespace) {
            self.recounts.added.notify_one();
        }
    }
}
