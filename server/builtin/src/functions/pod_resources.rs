//! The resources of a whole pod, which follow from those of its containers.

use std::collections::BTreeMap;

use fieldmanager_value::{Map, Str, Value};

use super::edit::{at, list, text, with};
use crate::amount::Amount;

/// Quantities by resource.
type Totals = BTreeMap<Str, Total>;

/// A sum of quantities, with the one whose notation it has.
#[derive(Clone, Default)]
pub(crate) struct Total {
    pub(crate) amount: Amount,
    model: Str,
}

impl Total {
    fn of(quantity: &Value) -> Total {
        let text = quantity.as_str().unwrap_or_default();
        Total {
            amount: Amount::parse(text).unwrap_or_default(),
            model: text.into(),
        }
    }

    /// The sum as a canonical quantity.
    pub(crate) fn text(&self) -> String {
        self.amount.write_like(&self.model)
    }
}

/// The quantities of a container, `requests` or `limits`.
fn of_container(container: &Value, member: &str) -> Totals {
    let entries = at(container, &format!("resources.{member}")).and_then(Value::as_map);
    let totals = entries.into_iter().flatten();
    totals
        .map(|(name, quantity)| (name.clone(), Total::of(quantity)))
        .collect()
}

fn add(totals: &mut Totals, more: &Totals) {
    for (name, other) in more {
        let total = totals.entry(name.clone()).or_default();
        // A sum has the notation of its first summand that is not zero.
        if total.amount.is_zero() {
            total.model = other.model.clone();
        }
        total.amount = total.amount.plus(other.amount);
    }
}

/// What the containers of a pod need together, `requests` or `limits`: an init container runs with the sidecars before it,
/// and the others run at the same time.
pub(crate) fn of_containers(spec: &Value, member: &str) -> Totals {
    let mut together = Totals::new();
    for container in list(at(spec, "containers")) {
        add(&mut together, &of_container(container, member));
    }

    let (mut sidecars, mut most) = (Totals::new(), Totals::new());
    for container in list(at(spec, "initContainers")) {
        let mut running = of_container(container, member);
        if text(container, "restartPolicy") == "Always" {
            add(&mut together, &running);
            add(&mut sidecars, &running);
            running = sidecars.clone();
        } else {
            add(&mut running, &sidecars);
        }
        raise(&mut most, running);
    }

    raise(&mut together, most);
    together
}

fn raise(totals: &mut Totals, others: Totals) {
    for (name, other) in others {
        match totals.get(&name) {
            Some(total) if total.amount >= other.amount => {}
            _ => {
                totals.insert(name, other);
            }
        }
    }
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_supported(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_page(name)
}

/// Resources of a pod that has some get those that follow from its containers.
pub(super) fn pod_level_resources(pod: &Value) -> Option<Value> {
    let spec = at(pod, "spec")?;
    let own = |member: &str| {
        let entries = at(spec, "resources").and_then(|resources| at(resources, member));
        entries.and_then(Value::as_map).cloned().unwrap_or_default()
    };
    let (mut limits, mut requests) = (own("limits"), own("requests"));
    if limits.is_empty() && requests.is_empty() {
        return None;
    }

    let default = |entries: &mut Map, name: &Str, quantity: Value| {
        if is_supported(name) && !entries.contains(name) {
            *entries = entries.with_edits(vec![(name.clone(), Some(quantity))]);
        }
    };
    // Huge pages cannot be overcommitted, so a pod without a request has the limit of its containers.
    let limited = of_containers(spec, "limits");
    for (name, total) in &limited {
        if is_huge_page(name) && !requests.contains(name) {
            default(&mut limits, name, total.text().into());
        }
    }

    for (name, total) in of_containers(spec, "requests") {
        if !is_huge_page(&name) {
            default(&mut requests, &name, total.text().into());
        }
    }
    for (name, limit) in &limits {
        default(&mut requests, name, limit.clone());
    }

    // A limit follows only if all containers have one. It is never below the request.
    let lists = ["containers", "initContainers", "ephemeralContainers"];
    for (name, request) in &requests {
        let mut containers = lists.iter().flat_map(|name| list(at(spec, name)));
        let is_limited =
            containers.all(|container| of_container(container, "limits").contains_key(name));
        if let Some(total) = limited.get(name).filter(|_| is_limited) {
            let limit = if Total::of(request).amount > total.amount {
                request.clone()
            } else {
                total.text().into()
            };
            default(&mut limits, name, limit);
        }
    }

    let mut out = pod.clone();
    for (member, entries) in [("limits", limits), ("requests", requests)] {
        if !entries.is_empty() {
            out = with(&out, &format!("spec.resources.{member}"), entries)?;
        }
    }
    Some(out)
}
