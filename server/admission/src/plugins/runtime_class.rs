//! RuntimeClass: what a runtime needs is added to Pods that use it.
//!
//! Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/runtimeclass/admission.go`.

use fieldmanager_value::Value;

use super::amounts::{amounts, are_equal};
use super::object::{at, entries, items, set, text};
use super::plugin::PluginSteps::Both;
use super::plugin::{Plugin, is_create};
use crate::{AdmissionAnswer, AdmissionRequest, Admitted, Cluster, Denial};

/// The plugin.
pub(super) const RUNTIME_CLASS: Plugin = Plugin {
    name: "RuntimeClass",
    handles: |request| request.is_of("", "pods") && is_create(request),
    steps: Both(mutate, validate),
};

/// The most tolerations that are compared with each other, since that takes the square of their number.
const MOST_MERGED: usize = 2000;
const OTHER_OVERHEAD: &str =
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

/// The class that a Pod names; `null` if it names none.
async fn class(request: &AdmissionRequest<'_>, cluster: &dyn Cluster) -> Result<Value, Denial> {
    let Some(name) = request.field(&["spec", "runtimeClassName"]).as_str() else {
        return Ok(Value::Null);
    };
    let class = cluster
        .get(("node.k8s.io", "runtimeclasses"), "", name)
        .await?;
    class
        .ok_or_else(|| request.forbidden(&format!("pod rejected: RuntimeClass {name:?} not found")))
}

fn mutate<'a>(request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    Box::pin(async move {
        let class = class(&request, cluster).await?;
        let mut pod = request.field(&[]).clone();
        let (overhead, own) = (at(&class, &["overhead"]), ["spec", "overhead"]);
        if !overhead.is_null() {
            let own = amounts(at(&pod, &own));
            // Own overhead is allowed only if it says the same, so that nobody pays less.
            if !own.is_empty() && !are_equal(&own, &amounts(at(overhead, &["podFixed"]))) {
                return Err(request.forbidden(OTHER_OVERHEAD));
            }
        }

        if let fixed @ Value::Map(_) = at(overhead, &["podFixed"]) {
            pod = set(&pod, &own, fixed.clone());
        }
        match at(&class, &["scheduling"]) {
            Value::Null => {}
            scheduling => pod = schedule(&request, &pod, scheduling)?,
        }
        Ok(Admitted::changed(pod))
    })
}

/// A Pod with the node selector and the tolerations of a class.
fn schedule(
    request: &AdmissionRequest<'_>,
    pod: &Value,
    scheduling: &Value,
) -> Result<Value, Denial> {
    let mut changed = pod.clone();
    for (key, value) in entries(scheduling, &["nodeSelector"]) {
        let path = ["spec", "nodeSelector", key];
        let own = at(pod, &path).as_str();
        // A Pod cannot be on a node with two values of a label, so it would never run.
        if let (Some(own), Some(value)) = (own, value.as_str())
            && own != value
        {
            return Err(request.forbidden(&format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            )));
        }
        changed = set(&changed, &path, value.clone());
    }

    let path = ["spec", "tolerations"];
    let merged = merge(items(pod, &path).chain(items(scheduling, &["tolerations"])));
    match &*merged {
        [] => Ok(changed),
        _ => Ok(set(&changed, &path, merged)),
    }
}

/// Tolerations without those that another one includes, unless they are very many.
///
/// Behaviour: `MergeTolerations` of `k8s.io/kubernetes/pkg/util/tolerations/tolerations.go`.
fn merge<'v>(all: impl Iterator<Item = &'v Value>) -> Vec<Value> {
    let all: Vec<&Value> = all.collect();
    if all.len() > MOST_MERGED {
        return all.into_iter().cloned().collect();
    }
    let mut merged: Vec<Value> = Vec::new();
    for (at, one) in all.iter().enumerate() {
        let mut later = all.iter().skip(at + 1);
        // Equal tolerations include each other: the first of them stays.
        let is_redundant = merged.iter().any(|other| includes(other, one))
            || later.any(|other| !is_same(one, other) && includes(other, one));
        if !is_redundant {
            merged.push((*one).clone());
        }
    }
    merged
}

/// Whether two tolerations are the same.
fn is_same(a: &Value, b: &Value) -> bool {
    let texts = ["key", "operator", "value", "effect"];
    let seconds = |toleration| at(toleration, &["tolerationSeconds"]);
    texts
        .iter()
        .all(|field| text(a, &[field]) == text(b, &[field]))
        && seconds(a) == seconds(b)
}

/// Whether a toleration tolerates all that another one does.
fn includes(larger: &Value, smaller: &Value) -> bool {
    let both = |field: &str| (text(larger, &[field]), text(smaller, &[field]));
    if is_same(larger, smaller) {
        return true;
    }
    let (key, own_key) = both("key");
    let (operator, own_operator) = both("operator");
    let (effect, own_effect) = both("effect");
    let is_any = key.is_empty() && operator == "Exists";
    if (key != own_key && !is_any) || (!effect.is_empty() && effect != own_effect) {
        return false;
    }

    let seconds = |toleration: &Value| at(toleration, &["tolerationSeconds"]).as_i64();
    // Without seconds a toleration is for ever, and includes all others.
    if effect == "NoExecute"
        && let Some(limit) = seconds(larger)
        && seconds(smaller).is_none_or(|own| own > limit)
    {
        return false;
    }
    match operator {
        "Equal" | "" => {
            own_operator == "Equal" && text(larger, &["value"]) == text(smaller, &["value"])
        }
        operator => operator == "Exists",
    }
}

fn validate<'a>(request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    Box::pin(async move {
        let class = class(&request, cluster).await?;
        let own = request.field(&["spec", "overhead"]);
        match at(&class, &["overhead"]) {
            Value::Null if own.is_null() => Ok(Admitted::default()),
            Value::Null => Err(request.forbidden(
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
            )),
            overhead => {
                let fixed = amounts(at(overhead, &["podFixed"]));
                if are_equal(&fixed, &amounts(own)) {
                    Ok(Admitted::default())
                } else {
                    Err(request.forbidden(OTHER_OVERHEAD))
                }
            }
        }
    })
}
