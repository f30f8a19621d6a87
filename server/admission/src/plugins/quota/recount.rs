//! The status of quotas, from all objects.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::Quantity;
use fieldmanager_value::{Map, Value};
use futures::future::BoxFuture;

use super::super::amounts::{Amounts, add, amounts, are_equal, to_value};
use super::super::object::{at, set, text};
use super::charge::{Charge, RESOURCES, is_ignored};
use crate::{Cluster, Denial, ResourceName};

/// A quota with the status that counts all objects of its namespace; `None` if it has that status. What cannot be counted
/// stays as it is, such as the objects of a resource that does not exist.
///
/// Behaviour: `syncResourceQuota` of `k8s.io/kubernetes/pkg/controller/resourcequota/resource_quota_controller.go`.
///
/// # Errors
///
/// A [`Denial`] of the cluster for a resource that every cluster has.
pub fn recount<'a>(
    quota: &'a Value,
    cluster: &'a dyn Cluster,
) -> BoxFuture<'a, Result<Option<Value>, Denial>> {
    Box::pin(async move {
        let field = |path: &[&str]| amounts(at(quota, path));
        let (hard, old) = (field(&["spec", "hard"]), field(&["status", "used"]));
        let counted = count(quota, &hard, cluster).await?;
        let mut used = old.clone();
        used.extend(counted);
        used.retain(|name, _| hard.contains_key(name));

        let status = at(quota, &["status"]);
        let hard_is_known = are_equal(&hard, &field(&["status", "hard"]));
        // Each write makes an event for all who watch, so there is none without a change.
        let has_status = status.get("hard").is_some() && status.get("used").is_some();
        if has_status && hard_is_known && are_equal(&used, &old) {
            return Ok(None);
        }
        let status = Map::from_iter([
            ("hard", at(quota, &["spec", "hard"]).clone()),
            ("used", to_value(&used)),
        ]);
        Ok(Some(set(quota, &["status"], status)))
    })
}

/// What the objects of the namespace of a quota need, of what it limits.
///
/// Behaviour: `CalculateUsage` of `k8s.io/apiserver/pkg/quota/v1/resources.go`.
async fn count(quota: &Value, hard: &Amounts, cluster: &dyn Cluster) -> Result<Amounts, Denial> {
    let namespace = text(quota, &["metadata", "namespace"]);
    // Objects of custom resources are counted by `count/RESOURCE.GROUP` alone.
    let named = hard.keys().filter_map(|name| {
        let name = name.strip_prefix("count/")?;
        let (resource, group) = name.split_once('.').unwrap_or((name, ""));
        Some((group, resource))
    });
    let named = named.filter(|resource| !is_ignored(*resource));
    let resources: BTreeSet<ResourceName<'_>> = named.chain(RESOURCES).collect();

    let mut sum = Amounts::new();
    for resource in resources {
        let charge = Charge::new(resource, cluster).await?;
        let names: BTreeSet<&String> = hard.keys().filter(|name| charge.tracks(name)).collect();
        if names.is_empty() {
            continue;
        }
        // A quota may count a resource that is defined later. The rest of it must work until then.
        let objects = match cluster.list(resource, namespace).await {
            Ok(objects) => objects,
            Err(denial) if RESOURCES.contains(&resource) => return Err(denial),
            Err(_) => continue,
        };

        // Zero is an answer too: without it the status looks as if nobody had counted.
        let zero = |name: &&String| ((*name).clone(), Quantity::count(0));
        add(&mut sum, &names.iter().map(zero).collect());
        for object in objects.iter() {
            if !charge.is_in_scope(quota, object) {
                continue;
            }
            let mut usage = charge.usage(object);
            usage.retain(|name, _| names.contains(name));
            add(&mut sum, &usage);
        }
    }
    Ok(sum)
}
