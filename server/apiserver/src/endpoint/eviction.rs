//! `pods/eviction`: a deletion that PodDisruptionBudgets can refuse.

use fieldmanager_handlers::Resource;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use super::actions::done;
use super::admission::refused;
use super::binding::with_pod_condition;
use super::conditions::{condition, has_condition, since, with_condition};
use super::deletion::DeleteOptions;
use super::failure::internal;
use super::failure::{Unwritten, until_written};
use super::{Answer, Call, Core, Failure};
use crate::object::{is_terminating, map, text, with, with_field};
use crate::registry::Served;
use crate::selector::LabelSelector;
use crate::store::{self, Entry};
use crate::table::selector_text;

/// The condition of a budget that says whether it allows a disruption.
const ALLOWED: &str = "DisruptionAllowed";

/// Refuses an eviction whose options have other dry runs than the request.
fn check_dry_run(call: &Call<'_>, options: Option<&Value>) -> Result<(), Failure> {
    let asked: Vec<&str> = call.query.all("dryRun").collect();
    let own = options.and_then(|options| options.get("dryRun")?.as_list());
    let own: Vec<&str> = own
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if asked.is_empty() || own.is_empty() || asked == own {
        return Ok(());
    }
    let (asked, own) = (asked.join(" "), own.join(" "));
    let text = "Non-matching dry-run options in request and content";
    Err(Failure::new(
        500,
        "",
        format!("{text}: [{asked}] and [{own}]"),
    ))
}

impl Core {
    /// `POST` of `pods/eviction`.
    pub(super) async fn evict(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let kind = GroupVersionKind::new("policy", "v1", "Eviction");
        let handlers = Resource::builtin(&kind).map_err(|error| internal(error.to_string()))?;
        let check = |eviction: &Value| check_eviction(call.name, eviction);
        let outcome = self.question(call, &handlers, check).await?;
        let evicted = self.evict_pod(call, &outcome.object).await;
        evicted.map_err(|failure| refused(&outcome.warnings, failure))?;
        Ok(Answer {
            warnings: outcome.warnings,
            ..done(201)
        })
    }

    /// Deletes the Pod that an eviction names.
    async fn evict_pod(&self, call: &Call<'_>, eviction: &Value) -> Result<(), Failure> {
        let options = eviction.get("deleteOptions");
        check_dry_run(call, options)?;
        let mut options = DeleteOptions::read(&options.cloned().unwrap_or_default())?;
        options.dry_run |= call.query.all("dryRun").next().is_some();
        let key = call.served.key(call.namespace, call.name)?;
        let entry = self.store.get(&key, None).await?.entry;
        let pod = entry.as_ref().map(|entry| call.served.read(entry));
        let pod = pod.ok_or_else(|| Failure::not_found(call))?;
        // The eviction of a Pod that does not run takes no disruption from a budget.
        let phase = text(&pod, &["status", "phase"]);
        if !["Pending", "Succeeded", "Failed"].contains(&phase) && !is_terminating(&pod) {
            self.disrupt(&pod, call.namespace, options.dry_run).await?;
        }

        let options = &options;
        let evicted = until_written(entry, |live| async move {
            options.check(call.served, &call.served.read(&live))?;
            let live = self.marked_as_evicted(call.served, live, options).await?;
            // The mark is a change of this request.
            let mut options = options.clone();
            options.resource_version = None;
            self.delete_entry(call.served, &live, &options).await
        });
        evicted.await?.ok_or_else(|| Failure::not_found(call))?;
        Ok(())
    }

    /// Writes the condition of a Pod that says why it ends.
    async fn marked_as_evicted(
        &self,
        served: &Served,
        live: Entry,
        options: &DeleteOptions,
    ) -> Result<Entry, Unwritten> {
        let texts = [
            ("reason", "EvictionByEvictionAPI"),
            ("message", "Eviction API: evicting"),
        ];
        let object =
            with_pod_condition(&live.object, "DisruptionTarget", self.source.now(), &texts);
        if options.dry_run || object == live.object {
            return Ok(live);
        }
        let revision = self.replace(served, &live, object.clone()).await?;
        Ok(Entry {
            object,
            revision,
            ..live
        })
    }

    /// Takes the disruption of a Pod from its budget, if it has one.
    ///
    /// Behaviour: `Create` and `checkAndDecrement` of `EvictionREST` in `pkg/registry/core/pod/storage` of Kubernetes.
    async fn disrupt(&self, pod: &Value, namespace: &str, dry_run: bool) -> Result<(), Failure> {
        let registry = self.registry();
        let Some(served) = registry.get("policy", "v1", "poddisruptionbudgets") else {
            return Ok(());
        };

        // Another request may change the budget meanwhile.
        loop {
            let page = store::List::new(served.prefix(namespace)?);
            let entries = self.store.list(page).await?.entries;
            let budgets = entries.iter().map(|entry| served.read(entry));
            let budgets: Vec<Value> = budgets.filter(|budget| protects(budget, pod)).collect();
            let budget = match budgets.as_slice() {
                [] => return Ok(()),
                [budget] => budget,
                _ => {
                    let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                    return Err(Failure::new(500, "", message));
                }
            };

            if !has_condition(pod, "Ready") && spares_unhealthy(budget) {
                return Ok(());
            }
            check_allowed(budget)?;
            if dry_run {
                return Ok(());
            }
            let decremented = decremented(budget, pod, self.source.now().to_string().into());
            match self.put_status(served, &decremented).await {
                Err(failure) if failure.status.code == 409 => {}
                other => return other,
            }
        }
    }
}

/// Checks an eviction, with the name of the Pod in the path.
///
/// Behaviour: `Create` of `EvictionREST` in `pkg/registry/core/pod/storage` of Kubernetes.
fn check_eviction(in_path: &str, eviction: &Value) -> Result<(), Failure> {
    if text(eviction, &["metadata", "name"]) == in_path {
        return Ok(());
    }
    let message = "name in URL does not match name in Eviction object";
    Err(Failure::bad_request(message))
}

/// A budget with one disruption less.
fn decremented(budget: &Value, pod: &Value, now: Value) -> Value {
    let allowed = number(budget, "disruptionsAllowed") - 1;
    let changed = with_field(budget, "status", "disruptionsAllowed", allowed.into());
    let disrupted = budget
        .get("status")
        .and_then(|status| status.get("disruptedPods"));
    let name = text(pod, &["metadata", "name"]);
    let disrupted = with(disrupted.unwrap_or(&Value::Null), name, now.clone());
    let changed = with_field(&changed, "status", "disruptedPods", disrupted);
    match allowed {
        0 => with_insufficient_pods(&changed, now),
        _ => changed,
    }
}

/// Whether the selector of a budget selects a Pod.
fn protects(budget: &Value, pod: &Value) -> bool {
    let has_selector = budget
        .get("spec")
        .and_then(|spec| spec.get("selector"))
        .is_some_and(|selector| !selector.is_null());
    let selector = selector_text(budget, "spec.selector").filter(|_| has_selector);
    selector
        .and_then(|text| LabelSelector::parse(&text).ok())
        .is_some_and(|selector| selector.matches(pod))
}

/// Whether a budget lets go of a Pod that is not ready, without counting it.
fn spares_unhealthy(budget: &Value) -> bool {
    let desired = number(budget, "desiredHealthy");
    text(budget, &["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow"
        || number(budget, "currentHealthy") >= desired && desired > 0
}

/// Refuses a disruption that a budget does not allow.
fn check_allowed(budget: &Value) -> Result<(), Failure> {
    let refused = |cause: String| {
        let message = "Cannot evict pod as it would violate the pod's disruption budget.";
        Failure::new(429, "TooManyRequests", message).cause("DisruptionBudget", &cause, "")
    };
    let name = text(budget, &["metadata", "name"]);
    let generation = crate::object::metadata(budget, "generation").and_then(Value::as_i64);
    if number(budget, "observedGeneration") < generation.unwrap_or_default() {
        let cause = format!("The disruption budget {name} is still being processed by the server.");
        return Err(Failure {
            retry_after: 10,
            ..refused(cause)
        });
    }
    if number(budget, "disruptionsAllowed") > 0 {
        return Ok(());
    }

    let (current, desired) = (
        number(budget, "currentHealthy"),
        number(budget, "desiredHealthy"),
    );
    let condition = condition(budget, ALLOWED).filter(|found| text(found, &["status"]) == "False");
    let said = |field| condition.map_or("", |found| text(found, &[field]));
    let (reason, message) = (said("reason"), said("message"));
    let currently = format!("The disruption budget {name} does not allow evicting pods currently");

    // The numbers of a budget that could not be computed say nothing.
    Err(refused(if !message.is_empty() && reason == "SyncFailed" {
        format!("{currently} because it failed sync: {message}")
    } else if current <= desired {
        format!(
            "The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        )
    } else if !message.is_empty() {
        format!("{currently} ({reason}): {message}")
    } else {
        currently
    }))
}

/// A budget whose last disruption was taken.
fn with_insufficient_pods(budget: &Value, now: Value) -> Value {
    with_condition(budget, ALLOWED, |old| {
        map([
            ("type", ALLOWED.into()),
            ("status", "False".into()),
            ("reason", "InsufficientPods".into()),
            ("message", "".into()),
            (
                "observedGeneration",
                number(budget, "observedGeneration").into(),
            ),
            ("lastTransitionTime", since(old, "False").unwrap_or(now)),
        ])
    })
}

/// A number in the status of a budget.
fn number(budget: &Value, name: &str) -> i64 {
    let found = budget.get("status").and_then(|status| status.get(name));
    found.and_then(Value::as_i64).unwrap_or_default()
}
