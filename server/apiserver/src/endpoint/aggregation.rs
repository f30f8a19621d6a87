//! Cluster roles whose rules are those of others, such as `view`.

use std::time::Duration;

use fieldmanager_access::{RBAC_GROUP, aggregate_rules};
use fieldmanager_value::{List as ListOf, Value};
use futures::StreamExt;

use super::{Call, Core, Failure, Verb};
use crate::access::admin;
use crate::object::{map, text};
use crate::query::Query;
use crate::store::{List, Prefix, StoreError};

/// The time between two looks at all roles: changes that come together cost one.
const DELAY: Duration = Duration::from_millis(20);

/// The options of the request that writes rules.
const OPTIONS: &str = "fieldManager=clusterrole-aggregation-controller&force=true";

impl Core {
    /// Fills in the rules of aggregated cluster roles whenever roles change, until the store is closed.
    ///
    /// Behaviour: the controller `clusterrole-aggregation-controller` of Kubernetes.
    pub(crate) async fn keep_aggregating(&self) {
        loop {
            match self.aggregate().await {
                Err(StoreError::Closed) => return,
                Err(error) => tracing::warn!(%error, "aggregated roles are not filled in"),
                Ok(()) => {}
            }
            tokio::time::sleep(DELAY).await;
        }
    }

    /// Fills in the rules, and waits for the next change of a role.
    async fn aggregate(&self) -> Result<(), StoreError> {
        let roles = Prefix::builtin(RBAC_GROUP, "clusterroles");
        let page = self
            .store
            .list(List::new(roles.clone()).uncounted())
            .await?;
        let all = || page.entries.iter().map(|entry| &entry.object);
        for role in all() {
            if let Some(rules) = aggregate_rules(role, all())
                && let Err(failure) = self.set_rules(role, rules).await
            {
                let (name, reason) = (text(role, &["metadata", "name"]), failure.status.message);
                tracing::warn!(name, reason, "an aggregated role is not filled in");
            }
        }

        // What was written here is a change too, after which nothing is left to do.
        let mut changes = self.store.watch(roles, page.revision).await?;
        changes
            .next()
            .await
            .map_or(Ok(()), |change| change.map(drop))
    }

    async fn set_rules(&self, role: &Value, rules: Vec<Value>) -> Result<(), Failure> {
        let registry = self.registry();
        let served = registry.get(RBAC_GROUP, "v1", "clusterroles");
        let served = served.ok_or_else(Failure::resource_not_found)?;
        let name = text(role, &["metadata", "name"]);
        let body = map([
            ("apiVersion", format!("{RBAC_GROUP}/v1").into()),
            ("kind", "ClusterRole".into()),
            ("metadata", map([("name", name.into())])),
            ("rules", Value::List(ListOf::from_iter(rules))),
        ]);
        let body = body.to_json();

        let call = Call {
            user: &admin(),
            served,
            verb: Verb::Patch,
            namespace: "",
            name,
            subresource: "",
            query: &Query::of(Some(OPTIONS)),
            content_type: "application/apply-patch+yaml",
            user_agent: "clusterrole-aggregation-controller",
            body: body.as_bytes(),
            stale: None,
        };
        self.answer(&call).await.map(drop)
    }
}
