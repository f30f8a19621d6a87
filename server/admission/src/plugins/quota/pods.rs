//! What Pods need of a quota.
//!
//! Behaviour: `k8s.io/kubernetes/pkg/quota/v1/evaluator/core/pods.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use fieldmanager_structural::internal::{Quantity, Timestamp};
use fieldmanager_value::Value;

use super::super::amounts::{Amounts, asked, has_own_resources, is_best_effort, total};
use super::super::object::{at, containers, items, text};

/// Whether a quota counts something of Pods by this name.
pub(super) fn tracks(name: &str) -> bool {
    let asked = name.strip_prefix("requests.");
    matches!(without_side(name), "cpu" | "memory" | "ephemeral-storage")
        || name.starts_with("hugepages-")
        || asked.is_some_and(|name| name.starts_with("hugepages-") || is_extended(name))
}

/// Whether the name of a resource is none of Kubernetes, or that of a class of devices.
fn is_extended(name: &str) -> bool {
    name.starts_with("deviceclass.resource.kubernetes.io/")
        || (name.contains('/') && !name.contains("kubernetes.io/"))
}

/// `cpu` of `requests.cpu`.
fn without_side(name: &str) -> &str {
    let sides = ["requests.", "limits."];
    let short = sides.iter().find_map(|side| name.strip_prefix(side));
    short.unwrap_or(name)
}

/// Whether a Pod ends by itself after a time.
pub(super) fn is_terminating(pod: &Value) -> bool {
    let seconds = at(pod, &["spec", "activeDeadlineSeconds"]).as_i64();
    seconds.is_some_and(|seconds| seconds >= 0)
}

/// Whether a scope includes a Pod.
pub(super) fn is_in_scope(pod: &Value, scope: &str, operator: &str, values: &Value) -> bool {
    match scope {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => is_best_effort(pod),
        "NotBestEffort" => !is_best_effort(pod),
        "PriorityClass" => {
            let class = text(pod, &["spec", "priorityClassName"]);
            selects(class, operator, values)
        }
        "CrossNamespacePodAffinity" => is_near_other_namespaces(pod),
        _ => false,
    }
}

/// Whether a selector of a quota selects the class of an object, which is empty if it has none.
pub(super) fn selects(class: &str, operator: &str, values: &Value) -> bool {
    let is_listed = || items(values, &[]).any(|value| value.as_str() == Some(class));
    match operator {
        "Exists" => !class.is_empty(),
        "DoesNotExist" => class.is_empty(),
        "In" => !class.is_empty() && is_listed(),
        "NotIn" => class.is_empty() || !is_listed(),
        _ => false,
    }
}

/// Whether an affinity of a Pod is for Pods of other namespaces.
fn is_near_other_namespaces(pod: &Value) -> bool {
    ["podAffinity", "podAntiAffinity"].iter().any(|affinity| {
        let affinity = at(pod, &["spec", "affinity", affinity]);
        // A preferred term makes the scheduler look at the other namespaces as well.
        let terms = |when: &str| items(affinity, &[when]);
        let required = terms("requiredDuringSchedulingIgnoredDuringExecution");
        let preferred = terms("preferredDuringSchedulingIgnoredDuringExecution")
            .map(|term| at(term, &["podAffinityTerm"]));
        required.chain(preferred).any(|term| {
            let has_names = items(term, &["namespaces"]).next().is_some();
            has_names || !at(term, &["namespaceSelector"]).is_null()
        })
    })
}

/// What the containers of a Pod must ask for and do not.
pub(super) fn missing(names: &BTreeSet<&str>, pod: &Value) -> Option<String> {
    // Its containers share what the Pod asks for, and need not say more.
    if has_own_resources(pod) {
        return None;
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in containers(pod) {
        let named = by_names(&asked(container, "requests"), &asked(container, "limits"));
        for &name in names.iter().filter(|name| !named.contains_key(**name)) {
            if matches!(without_side(name), "cpu" | "memory") {
                let of = missing.entry(name).or_default();
                of.insert(text(container, &["name"]));
            }
        }
    }

    let joined = |of: BTreeSet<&str>| of.into_iter().collect::<Vec<_>>().join(",");
    let missing = missing.into_iter();
    let missing = missing.map(|(name, of)| format!("{name} for: {}", joined(of)));
    let missing: Vec<String> = missing.collect();
    (!missing.is_empty()).then(|| format!("must specify {}", missing.join("; ")))
}

/// Requests and limits by the names that quotas have for them.
fn by_names(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut named = Amounts::from([("pods".to_owned(), Quantity::count(1))]);
    for (name, amount) in requests {
        let is_compute = matches!(&**name, "cpu" | "memory" | "ephemeral-storage");
        let is_counted = is_compute || name.starts_with("hugepages-");
        if is_counted {
            named.insert(name.clone(), *amount);
        }
        // Extended resources cannot be overcommitted, so they are counted by their requests only.
        if is_counted || is_extended(name) {
            named.insert(format!("requests.{name}"), *amount);
        }
    }
    for name in ["cpu", "memory", "ephemeral-storage"] {
        let limit = limits.get(name).copied();
        named.extend(limit.map(|limit| (format!("limits.{name}"), limit)));
    }
    named
}

/// Adds what a Pod needs, unless it has ended.
pub(super) fn add_usage(usage: &mut Amounts, pod: &Value) {
    // An ended Pod keeps its object but needs nothing of its node.
    let has_ended = matches!(text(pod, &["status", "phase"]), "Failed" | "Succeeded");
    if !has_ended && !is_overdue(pod) {
        let [requests, limits] = ["requests", "limits"].map(|side| total(pod, side, true));
        usage.extend(by_names(&requests, &limits));
    }
}

/// Whether a Pod was deleted and its grace period is over.
fn is_overdue(pod: &Value) -> bool {
    let deleted = text(pod, &["metadata", "deletionTimestamp"]).parse::<Timestamp>();
    let grace = at(pod, &["metadata", "deletionGracePeriodSeconds"]).as_i64();
    // A Pod whose node is gone stays for long, and would block its successor.
    let (Ok(deleted), Some(grace)) = (deleted, grace) else {
        return false;
    };
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);

    now > deleted.unix_seconds().saturating_add(grace)
}
