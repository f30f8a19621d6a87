//! Priority: the priority of a Pod is that of its class.
//!
//! Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/priority/admission.go`. Groups of Pods need a feature that is off.

use fieldmanager_value::Value;

use super::object::{at, name, set, text};
use super::plugin::PluginSteps::Both;
use super::plugin::{Plugin, is_write};
use crate::request::field;
use crate::{
    AdmissionAnswer, AdmissionOperation, AdmissionRequest, Admitted, Cluster, Denial, ResourceName,
};

/// The plugin.
pub(super) const PRIORITY: Plugin = Plugin {
    name: "Priority",
    handles: |request| {
        let classes = request.is_of("scheduling.k8s.io", "priorityclasses");
        is_write(request) && (request.is_of("", "pods") || classes)
    },
    steps: Both(mutate, validate),
};

const CLASSES: ResourceName<'static> = ("scheduling.k8s.io", "priorityclasses");

fn mutate<'a>(request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    Box::pin(async move {
        let Some(object) = request.object.filter(|_| request.resource == "pods") else {
            return Ok(Admitted::default());
        };
        // The class of a Pod is resolved once: a later change of the class leaves its Pods alone.
        let pod = match request.operation {
            AdmissionOperation::Create => {
                let class = class_of(&request, cluster).await?;
                with_priority(&request, object, class.as_ref())?
            }
            _ => keep(&request, object),
        };
        Ok(Admitted::changed(pod))
    })
}

/// A changed Pod with the priority and the policy that it had, if it says none.
fn keep(request: &AdmissionRequest<'_>, pod: &Value) -> Value {
    let fields = ["priority", "preemptionPolicy"].into_iter();
    fields.fold(pod.clone(), |pod, field| {
        let path = ["spec", field];
        let old = request.old_field(&path);
        if at(&pod, &path).is_null() && !old.is_null() {
            set(&pod, &path, old.clone())
        } else {
            pod
        }
    })
}

/// The class that a Pod names, or the default one; `None` if there is none.
async fn class_of(
    request: &AdmissionRequest<'_>,
    cluster: &dyn Cluster,
) -> Result<Option<Value>, Denial> {
    let class = text(request.field(&[]), &["spec", "priorityClassName"]);
    if class.is_empty() {
        return default(cluster).await;
    }
    let found = cluster.get(CLASSES, "", class).await?;
    // Refused, since the scheduler would have no number to sort the Pod by.
    if found.is_none() {
        let reason = format!("no PriorityClass with name {class} was found");
        return Err(request.forbidden(&reason));
    }
    Ok(found)
}

/// The default class: that with the lowest value, should there be several.
async fn default(cluster: &dyn Cluster) -> Result<Option<Value>, Denial> {
    let classes = cluster.list(CLASSES, "").await?;
    let is_default = |class: &&Value| at(class, &["globalDefault"]).as_bool() == Some(true);
    let defaults = classes.iter().filter(is_default);
    let lowest = defaults.min_by_key(|class| at(class, &["value"]).as_i64());
    Ok(lowest.cloned())
}

/// A new Pod with the priority of a class.
fn with_priority(
    request: &AdmissionRequest<'_>,
    pod: &Value,
    class: Option<&Value>,
) -> Result<Value, Denial> {
    let value = field(class, &["value"]).as_i64().unwrap_or(0);
    let policy = match class {
        Some(class) => text(class, &["preemptionPolicy"]),
        None => "PreemptLowerPriority",
    };
    // Users choose a class, never a number: only the classes can be guarded by a quota.
    let own = |field: &str| at(pod, &["spec", field]);
    if let Some(own) = own("priority").as_i64().filter(|own| *own != value) {
        return Err(request.forbidden(&format!(
            "the integer value of priority ({own}) must not be provided in pod spec; priority admission controller \
             computed {value} from the given PriorityClass name"
        )));
    }

    let mut changed = set(pod, &["spec", "priority"], value);
    if let Some(class) = class {
        changed = set(&changed, &["spec", "priorityClassName"], name(class));
    }
    if policy.is_empty() {
        return Ok(changed);
    }
    match own("preemptionPolicy").as_str().filter(|own| *own != policy) {
        Some(own) => Err(request.forbidden(&format!(
            "the string value of PreemptionPolicy ({own}) must not be provided in pod spec; priority admission \
             controller computed {policy} from the given PriorityClass name"
        ))),
        None => Ok(set(&changed, &["spec", "preemptionPolicy"], policy)),
    }
}

fn validate<'a>(request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    Box::pin(async move {
        let is_default = request.field(&["globalDefault"]).as_bool() == Some(true);
        if request.resource != "priorityclasses" || !is_default {
            return Ok(Admitted::default());
        }
        let default = default(cluster).await?;
        let other = default.as_ref().map(name).filter(|other| {
            let own = request.field(&["metadata", "name"]).as_str();
            request.operation == AdmissionOperation::Create || own != Some(other)
        });

        match other {
            Some(other) => Err(request.forbidden(&format!(
                "PriorityClass {other} is already marked as default. Only one default can exist"
            ))),
            None => Ok(Admitted::default()),
        }
    })
}
