//! Amounts of resources, such as of CPU and memory, and what Pods ask for.

use std::collections::BTreeMap;

use fieldmanager_structural::internal::Quantity;
use fieldmanager_value::Value;

use super::object::{at, containers, entries, items, text};
use crate::request::field;

/// Amounts by the name of their resource.
pub(super) type Amounts = BTreeMap<String, Quantity>;

/// The number of a value that is a quantity.
pub(super) fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Int(number) => Some(Quantity::count(*number)),
        _ => None,
    }
}

/// The amounts of a map of quantities.
pub(super) fn amounts(list: &Value) -> Amounts {
    let read = |(name, value): (&_, _)| Some((ToString::to_string(name), quantity(value)?));
    entries(list, &[]).filter_map(read).collect()
}

/// The `requests` or the `limits` of a container.
pub(super) fn asked(container: &Value, side: &str) -> Amounts {
    amounts(at(container, &["resources", side]))
}

/// A map of quantities.
pub(super) fn to_value(amounts: &Amounts) -> Value {
    let written = |(name, amount): (&String, &Quantity)| (name.clone(), amount.to_string());
    Value::Map(amounts.iter().map(written).collect())
}

/// Adds amounts to others.
pub(super) fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = sum.entry(name.clone());
        sum.and_modify(|sum| *sum = sum.plus(*amount))
            .or_insert(*amount);
    }
}

/// Raises one of the amounts to another one that is larger.
fn raise(most: &mut Amounts, name: &str, amount: Quantity) {
    let is_more = |most: &Quantity| amount.nanos > most.nanos;
    if most.get(name).is_none_or(is_more) {
        most.insert(name.to_owned(), amount);
    }
}

/// Raises amounts to others that are larger.
fn raise_all(most: &mut Amounts, others: &Amounts) {
    for (name, amount) in others {
        raise(most, name, *amount);
    }
}

/// Whether two lists have the same amounts.
pub(super) fn are_equal(a: &Amounts, b: &Amounts) -> bool {
    let mut both = a.values().zip(b.values());
    a.keys().eq(b.keys()) && both.all(|(a, b)| a.nanos == b.nanos)
}

/// The most that a Pod needs at one time, from what each of its containers needs: its containers and sidecars together,
/// or one of the others that run before them with the sidecars that were started before it.
///
/// Behaviour: `aggregateContainerResourcesByFn` of `k8s.io/component-helpers/resource/helpers.go`.
fn of_containers(pod: &Value, of: impl Fn(&Value) -> Amounts) -> Amounts {
    let (mut sum, mut sidecars, mut most) = (Amounts::new(), Amounts::new(), Amounts::new());
    for container in items(pod, &["spec", "containers"]) {
        add(&mut sum, &of(container));
    }

    for container in items(pod, &["spec", "initContainers"]) {
        let own = of(container);
        let is_sidecar = text(container, &["restartPolicy"]) == "Always";
        for (name, amount) in &own {
            let before = sidecars.get(name).copied();
            let mut both = before.map_or(*amount, |before| amount.plus(before));
            // A sidecar runs on beside all that start later, so it counts for each of them.
            if is_sidecar {
                both = before.map_or(*amount, |before| before.plus(*amount));
                sidecars.insert(name.clone(), both);
            }
            raise(&mut most, name, both);
        }
        if is_sidecar {
            add(&mut sum, &own);
        }
    }
    // The others have ended before the containers start: only the largest need counts.
    raise_all(&mut sum, &most);
    sum
}

/// The `requests` or the `limits` of a Pod, without its overhead.
///
/// Behaviour: `podRequests` and `podLimits` of `k8s.io/kubernetes/plugin/pkg/admission/limitranger/admission.go`.
pub(super) fn specified(pod: &Value, side: &str) -> Amounts {
    let mut sum = of_containers(pod, |container| asked(container, side));
    let whole = amounts(at(pod, &["spec", "resources", side])).into_iter();
    sum.extend(whole.filter(|(name, _)| matches!(&**name, "cpu" | "memory")));
    sum
}

/// The `requests` or the `limits` of a Pod with its overhead; with `has_status`, what its containers have is counted if
/// it is more than what they ask for.
///
/// Behaviour: `PodRequests` and `PodLimits` of `k8s.io/component-helpers/resource/helpers.go`.
pub(super) fn total(pod: &Value, side: &str, has_status: bool) -> Amounts {
    let mut sum = of_containers(pod, |container| asked(container, side));
    if has_status {
        raise_to_status(&mut sum, pod, side);
    }

    let whole = amounts(at(pod, &["spec", "resources", side])).into_iter();
    sum.extend(whole.filter(|(name, _)| is_of_pods(name)));
    let mut overhead = amounts(at(pod, &["spec", "overhead"]));
    // What has no limit must not get one by the overhead.
    if side == "limits" {
        overhead.retain(|name, _| sum.get(name).is_some_and(|limit| limit.nanos != 0));
    }
    add(&mut sum, &overhead);
    sum
}

/// Raises what the containers of a Pod ask for to what they have, or replaces it if they cannot get it.
///
/// Behaviour: `AggregateContainerRequests` and `AggregateContainerLimits`.
fn raise_to_status(sum: &mut Amounts, pod: &Value, side: &str) {
    let pending = items(pod, &["status", "conditions"])
        .find(|condition| text(condition, &["type"]) == "PodResizePending");
    // The node will never give what the Pod asks for, so that does not count.
    let is_infeasible = pending.is_some_and(|one| text(one, &["reason"]) == "Infeasible");
    let lists = ["initContainerStatuses", "containerStatuses"].into_iter();
    let statuses = lists.flat_map(|list| items(pod, &["status", list]));
    let statuses: BTreeMap<&str, &Value> = statuses
        .map(|status| (text(status, &["name"]), status))
        .collect();
    let given = |container: &Value, paths: &[&[&str]]| {
        let status = statuses.get(text(container, &["name"]));
        let fields = paths.iter().map(|path| field(status.copied(), path));
        match fields.into_iter().find(|field| !field.is_null()) {
            Some(found) => amounts(found),
            None if is_infeasible => Amounts::new(),
            None => asked(container, side),
        }
    };

    let (allocated, actual): (&[&str], &[&str]) = (&["allocatedResources"], &["resources", side]);
    // Requests count by what the node runs and by what it promised, whichever is more.
    let sources: &[&[&[&str]]] = match side {
        "requests" => &[&[actual, allocated], &[allocated]],
        _ => &[&[actual]],
    };
    if is_infeasible {
        sum.clear();
    }
    for source in sources {
        let given = of_containers(pod, |container| given(container, source));
        raise_all(sum, &given);
    }
}

/// Whether a Pod as a whole can ask for a resource.
fn is_of_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// Whether a Pod as a whole asks for resources.
pub(super) fn has_own_resources(pod: &Value) -> bool {
    let sides = ["requests", "limits"].into_iter();
    sides
        .flat_map(|side| entries(pod, &["spec", "resources", side]))
        .any(|(name, _)| is_of_pods(name))
}

/// Whether a Pod asks for neither CPU nor memory.
///
/// Behaviour: `GetPodQOS` of `k8s.io/kubernetes/pkg/apis/core/v1/helper/qos/qos.go`.
pub(super) fn is_best_effort(pod: &Value) -> bool {
    let class = text(pod, &["status", "qosClass"]);
    // The class of a Pod never changes, so the one in the status is right once it is there.
    if !class.is_empty() {
        return class == "BestEffort";
    }

    let asks = |resources: &Value| {
        ["requests", "limits"].iter().any(|side| {
            let amounts = amounts(at(resources, &[side]));
            ["cpu", "memory"].iter().any(|name| {
                let amount = amounts.get(*name);
                amount.is_some_and(|amount| amount.nanos != 0)
            })
        })
    };
    if has_own_resources(pod) {
        return !asks(at(pod, &["spec", "resources"]));
    }
    !containers(pod).any(|container| asks(at(container, &["resources"])))
}
