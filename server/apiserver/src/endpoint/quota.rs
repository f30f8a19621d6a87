//! The usage in the status of quotas. Admission adds to it; what a write leaves less of is counted again.
//!
//! Behaviour: `k8s.io/kubernetes/pkg/controller/resourcequota`.

use std::time::Duration;

use fieldmanager_admission::Cluster;
use fieldmanager_admission::plugins::recount;
use fieldmanager_handlers::Action;

use super::{Core, Failure};
use crate::registry::Served;
use crate::store::Key;

/// The time between two counts, so that many deletions of one namespace cost few of them.
const PAUSE: Duration = Duration::from_millis(100);

const QUOTAS: (&str, &str) = ("", "resourcequotas");

/// The resources of which an update can leave less.
const SHRINKING: [&str; 5] = [
    "persistentvolumeclaims",
    "pods",
    "resourceclaims",
    "resourcequotas",
    "services",
];

impl Core {
    /// Counts again, now or soon, what the quotas of the namespace of an object have, after a write of it. A quota that a
    /// client writes has its status when the client gets the answer.
    pub(super) async fn recount_after(
        &self,
        served: &Served,
        key: &Key,
        action: Action,
    ) -> Result<(), Failure> {
        let namespace = key.parts().namespace.unwrap_or_default();
        let plural = &*served.facts.plural;
        let is_quota = (&*served.facts.group, plural) == QUOTAS;
        let may_shrink = match action {
            Action::Create => is_quota,
            Action::Update => SHRINKING.contains(&plural),
            Action::Delete => !is_quota,
            Action::Nothing => false,
        };
        if !may_shrink || namespace.is_empty() || !self.participants.has_quotas() {
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
        for quota in Cluster::list(self, QUOTAS, namespace).await?.iter() {
            // A quota that is written meanwhile is counted after that write.
            if let Some(counted) = recount(quota, self).await? {
                self.update_status(QUOTAS, counted).await?;
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
