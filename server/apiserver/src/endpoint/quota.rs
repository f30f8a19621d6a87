//! The usage in the status of quotas. Admission adds to it; what a write leaves less of is counted again.
//!
//! Behaviour: `k8s.io/kubernetes/pkg/controller/resourcequota`.

use std::time::Duration;

use fieldmanager_admission::Cluster;
use fieldmanager_admission::plugins::recount;
use fieldmanager_handlers::Action;

use super::recounts::WritingIn;
use super::{Call, Core, Failure};
use crate::registry::Served;
use crate::store::Key;

/// The time between two counts, so that many deletions of one namespace cost few of them.
const PAUSE: Duration = Duration::from_millis(100);

const QUOTAS: (&str, &str) = ("", "resourcequotas");

/// The resources of which an update can leave less.
const SHRINKING: [&str; 4] = [
    "persistentvolumeclaims",
    "pods",
    "resourceclaims",
    "services",
];

impl Core {
    /// What a request that writes an object in a namespace keeps until it ends; `None` if no quota is charged for it.
    pub(super) fn writing<'c>(&'c self, call: &Call<'c>) -> Option<WritingIn<'c>> {
        let is_charged = self.counts_quotas && !call.namespace.is_empty() && !is_quota(call.served);
        is_charged.then(|| self.recounts.begin(call.namespace))
    }

    /// Counts again, now or soon, what the quotas of the namespace of an object have, after a write of it. A quota that a
    /// client writes has its status when the client gets the answer, unless other requests write in its namespace.
    pub(super) async fn recount_after(
        &self,
        served: &Served,
        key: &Key,
        action: Action,
    ) -> Result<(), Failure> {
        let namespace = key.parts().namespace.unwrap_or_default();
        let plural = &*served.facts.plural;
        let is_quota = is_quota(served);
        let may_shrink = match action {
            Action::Create => is_quota,
            Action::Update => is_quota || SHRINKING.contains(&plural),
            Action::Delete => !is_quota,
            Action::Nothing => false,
        };
        if !may_shrink || namespace.is_empty() || !self.counts_quotas {
            return Ok(());
        }
        if is_quota {
            return self.recount(namespace).await;
        }
        let quotas = Cluster::list(self, QUOTAS, namespace).await?;
        if !quotas.is_empty() {
            self.recounts.add(namespace);
        }
        Ok(())
    }

    /// Counts what the quotas of a namespace have.
    async fn recount(&self, namespace: &str) -> Result<(), Failure> {
        let quotas = Cluster::list(self, QUOTAS, namespace).await?;
        // A request may have charged these quotas and not have stored its object. One that charges them later makes the
        // write of the status fail.
        if quotas.is_empty() || self.recounts.postpone(namespace) {
            return Ok(());
        }

        for quota in quotas.iter() {
            if let Some(counted) = recount(quota, self).await?
                && !self.update_status(QUOTAS, counted).await?
            {
                self.recounts.add(namespace);
            }
        }
        Ok(())
    }

    /// Counts quotas again as it becomes necessary, until the store is closed.
    pub(crate) async fn keep_recounting(&self) {
        loop {
            let namespaces = self.recounts.next().await;
            for namespace in namespaces {
                if let Err(failure) = self.recount(&namespace).await {
                    let reason = failure.status.message;
                    tracing::warn!(namespace, reason, "quotas are not counted");
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn is_quota(served: &Served) -> bool {
    (&*served.facts.group, &*served.facts.plural) == QUOTAS
}
