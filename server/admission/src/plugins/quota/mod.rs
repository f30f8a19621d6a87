//! ResourceQuota: a namespace has no more objects, and they ask for no more, than its quotas allow.

mod charge;
mod pods;
mod recount;

pub use recount::recount;

use std::collections::BTreeSet;

use fieldmanager_managedfields::Status;
use fieldmanager_value::Value;
use futures::lock::Mutex;

use self::charge::Charge;
use super::amounts::{Amounts, add, amounts, to_value};
use super::object::{at, entries, name, set, text};
use super::plugin::{is_create, is_write};
use crate::{
    Admission, AdmissionAnswer, AdmissionPhase, AdmissionRequest, Admitted, Cluster, Denial,
    ResourceName,
};

/// How often the status of a quota is written, should others write it at the same time.
const ATTEMPTS: usize = 4;
const QUOTAS: ResourceName<'static> = ("", "resourcequotas");

/// The plugin. Requests wait for each other, since each of them changes the status of the quotas of its namespace.
///
/// Behaviour: `k8s.io/apiserver/pkg/admission/plugin/resourcequota`, without limited resources of a configuration.
#[derive(Debug, Default)]
pub(super) struct ResourceQuota {
    lock: Mutex<()>,
}

impl Admission for ResourceQuota {
    fn name(&self) -> &str {
        "ResourceQuota"
    }

    fn handles(&self, phase: AdmissionPhase, request: &AdmissionRequest<'_>) -> bool {
        let resource = (request.group, request.resource);
        let is_namespace = is_create(request) && resource == ("", "namespaces");
        phase == AdmissionPhase::Validate
            && is_write(request)
            && !request.namespace.is_empty()
            && !is_namespace
            && charge::charges(request)
    }

    fn validate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        Box::pin(async move {
            if !cluster.list(QUOTAS, request.namespace).await?.is_empty() {
                let charge = Charge::new((request.group, request.resource), cluster).await?;
                // Two requests that read the same status would both find room for one object.
                let _one = self.lock.lock().await;
                charge_quotas(&request, cluster, &charge).await?;
            }
            Ok(Admitted::default())
        })
    }
}

/// Writes the status of all quotas that count an object, again for those that others wrote at the same time.
///
/// Behaviour: `checkQuotas` of `controller.go`.
async fn charge_quotas(
    request: &AdmissionRequest<'_>,
    cluster: &dyn Cluster,
    charge: &Charge<'_>,
) -> Result<(), Denial> {
    let mut failed = BTreeSet::new();
    for attempt in 0..ATTEMPTS {
        let quotas = cluster.list(QUOTAS, request.namespace).await?;
        // After the first attempt, the quotas that were written have the object counted already.
        let is_open = |quota: &&Value| attempt == 0 || failed.contains(name(quota));
        let open: Vec<&Value> = quotas.iter().filter(is_open).collect();
        let charged = charge_request(request, charge, &open)?;
        // Whether it fits is known now, and nothing may be stored.
        if request.dry_run {
            return Ok(());
        }

        failed.clear();
        for quota in charged {
            let name = name(&quota).to_owned();
            if !cluster.update_status(QUOTAS, quota).await? {
                failed.insert(name);
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
    }

    let last = failed.last().map_or("", String::as_str);
    Err(Status::conflict(format!(
        "Operation cannot be fulfilled on resourcequotas {last:?}: the object has been modified; please apply your \
         changes to the latest version and try again"
    ))
    .into())
}

/// The quotas whose status changes, with that status.
///
/// Behaviour: `CheckRequest` of `controller.go`.
fn charge_request(
    request: &AdmissionRequest<'_>,
    charge: &Charge<'_>,
    quotas: &[&Value],
) -> Result<Vec<Value>, Denial> {
    let object = request.field(&[]);
    let mut relevant = Vec::new();
    for quota in quotas {
        let hard = entries(quota, &["status", "hard"]).map(|(name, _)| name.as_str());
        let names: BTreeSet<&str> = hard.filter(|name| charge.tracks(name)).collect();
        // What a quota does not limit is not its business.
        if names.is_empty() || !charge.is_in_scope(quota, object) {
            continue;
        }
        if let Some(fault) = charge.missing(&names, object) {
            return Err(request.forbidden(&format!("failed quota: {}: {fault}", name(quota))));
        }

        // Until a quota was counted for the first time, nobody knows how much room there is.
        let used = at(quota, &["status", "used"]);
        if names.iter().any(|name| used.get(name).is_none()) {
            let names: Vec<&str> = names.into_iter().collect();
            let (quota, names) = (name(quota), names.join(","));
            let reason = format!("status unknown for quota: {quota}, resources: {names}");
            return Err(request.forbidden(&reason));
        }
        relevant.push(*quota);
    }

    let usage = charge.usage(object);
    // A negative amount would give room to others.
    let negative = usage.iter().filter(|(_, amount)| amount.nanos < 0);
    let negative: Vec<&str> = negative.map(|(name, _)| name.as_str()).collect();
    if !negative.is_empty() {
        let names = negative.join(",");
        let reason = format!("quota usage is negative for resource(s): {names}");
        return Err(request.forbidden(&reason));
    }

    // What is changed was charged when it was made, so only the increase is charged.
    let old = request.old.filter(|_| !is_create(request));
    let old = old.filter(|old| !text(old, &["metadata", "resourceVersion"]).is_empty());
    let more = old.map(|old| increase(&usage, &charge.usage(old)));
    let mut charged = Vec::new();
    for quota in relevant {
        // An update may move an object into the scope of a quota, which then counts all of it.
        let counted = old.is_some_and(|old| charge.is_in_scope(quota, old));
        let delta = more.as_ref().filter(|_| counted).unwrap_or(&usage);
        charged.extend(charge_one(request, quota, delta)?);
    }
    Ok(charged)
}

/// What an object needs more than it did.
fn increase(new: &Amounts, old: &Amounts) -> Amounts {
    let more = new.iter().map(|(name, amount)| {
        let old = old.get(name);
        (name.clone(), old.map_or(*amount, |old| amount.minus(*old)))
    });
    more.filter(|(_, amount)| amount.nanos > 0).collect()
}

/// A quota that counts more; `None` if it does not change.
fn charge_one(
    request: &AdmissionRequest<'_>,
    quota: &Value,
    delta: &Amounts,
) -> Result<Option<Value>, Denial> {
    let status = |field: &str| amounts(at(quota, &["status", field]));
    let (hard, used) = (status("hard"), status("used"));
    let mut requested = delta.clone();
    requested.retain(|name, amount| amount.nanos != 0 && hard.contains_key(name));
    if requested.is_empty() {
        return Ok(None);
    }

    let mut sum = used.clone();
    add(&mut sum, &requested);
    let is_over = |name: &&String| {
        let both = sum.get(*name).zip(hard.get(*name));
        both.is_some_and(|(sum, hard)| sum.nanos > hard.nanos)
    };
    let exceeded: Vec<&String> = requested.keys().filter(is_over).collect();
    // The status tells what is the case: refusing it would not make the object smaller.
    if !exceeded.is_empty() && request.subresource != "status" {
        let of = |amounts: &Amounts| {
            let part = |name: &&String| Some(format!("{name}={}", amounts.get(*name)?));
            let parts: Vec<String> = exceeded.iter().filter_map(part).collect();
            parts.join(",")
        };
        return Err(request.forbidden(&format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            name(quota),
            of(&requested),
            of(&used),
            of(&hard)
        )));
    }
    Ok(Some(set(quota, &["status", "used"], to_value(&sum))))
}
