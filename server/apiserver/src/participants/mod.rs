//! What plugins, webhooks and closures make of requests.

mod lists;

use std::fmt;
use std::sync::Arc;

use fieldmanager_admission::{Admission, plugins};

pub(crate) use lists::Lists;

/// What takes part in admission, in the order in which it is asked.
#[derive(Clone)]
pub(crate) struct Participants {
    plugins: Vec<Arc<dyn Admission>>,
    closures: Vec<Arc<dyn Admission>>,
}

impl fmt::Debug for Participants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.all().map(|one| one.name()))
            .finish()
    }
}

impl Default for Participants {
    fn default() -> Self {
        Participants {
            plugins: plugins::all()
                .into_iter()
                .map(|(_, plugin)| plugin)
                .collect(),
            closures: Vec::new(),
        }
    }
}

impl Participants {
    /// Keeps the plugins with the given names only.
    pub(crate) fn retain(&mut self, is_enabled: impl Fn(&str) -> bool) {
        self.plugins.retain(|plugin| is_enabled(plugin.name()));
    }

    /// Adds a participant behind the plugins of kube-apiserver that change objects.
    pub(crate) fn add(&mut self, participant: Arc<dyn Admission>) {
        self.closures.push(participant);
    }

    /// All of them. Quotas come last, since they charge for what is admitted.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<dyn Admission>> {
        let is_last = |plugin: &&Arc<dyn Admission>| plugin.name() == "ResourceQuota";
        let first = self.plugins.iter().filter(move |plugin| !is_last(plugin));
        let last = self.plugins.iter().filter(move |plugin| is_last(plugin));
        first.chain(&self.closures).chain(last)
    }
}
