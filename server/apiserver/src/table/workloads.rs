//! Cells of workloads.

use fieldmanager_value::Value;

use super::duration::human_duration;
use super::object::Object;
use super::selector::{containers, labels, requirements, selector};

const CONTAINERS: &str = "spec.template.spec.containers";

pub(super) fn pod_template(object: &Object<'_>) -> Vec<Value> {
    let [names, images] = containers(object, "template.spec.containers");
    vec![
        names,
        images,
        labels(object.map("template.metadata.labels")).into(),
    ]
}

/// Containers, images and the selector, which is a map of labels.
pub(super) fn controller_template(object: &Object<'_>) -> Vec<Value> {
    let [names, images] = containers(object, CONTAINERS);
    vec![names, images, labels(object.map("spec.selector")).into()]
}

/// Containers, images and the selector.
pub(super) fn template(object: &Object<'_>) -> Vec<Value> {
    let [names, images] = containers(object, CONTAINERS);
    vec![names, images, selector(object, "spec.selector").into()]
}

pub(super) fn controller(object: &Object<'_>) -> Value {
    let owner = object
        .items("metadata.ownerReferences")
        .find(|owner| owner.flag("controller", false));
    let Some(owner) = owner else {
        return "<none>".into();
    };

    let (group, kind) = (
        owner
            .text("apiVersion")
            .split_once('/')
            .map(|(group, _)| group),
        owner.text("kind"),
    );
    let kind = group.map_or_else(|| kind.to_owned(), |group| format!("{kind}.{group}"));

    format!("{}/{}", kind.to_lowercase(), owner.text("name")).into()
}

pub(super) fn daemon_set(object: &Object<'_>) -> Vec<Value> {
    let numbers = [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    ];
    let mut out: Vec<Value> = numbers
        .map(|name| object.number(&format!("status.{name}")).into())
        .into_iter()
        .collect();
    out.push(labels(object.map("spec.template.spec.nodeSelector")).into());
    out.push(object.age().into());
    out.extend(template(object));

    out
}

/// The numbers of ready and of desired replicas.
fn ready(object: &Object<'_>) -> Value {
    format!(
        "{}/{}",
        object.number("status.readyReplicas"),
        object.number("spec.replicas")
    )
    .into()
}

pub(super) fn deployment(object: &Object<'_>) -> Vec<Value> {
    let [names, images] = containers(object, CONTAINERS);
    vec![
        ready(object),
        object.number("status.updatedReplicas").into(),
        object.number("status.availableReplicas").into(),
        object.age().into(),
        names,
        images,
        requirements(object, "spec.selector")
            .unwrap_or_else(|| "<invalid>".to_owned())
            .into(),
    ]
}

pub(super) fn stateful_set(object: &Object<'_>) -> Vec<Value> {
    let [names, images] = containers(object, CONTAINERS);
    vec![ready(object), object.age().into(), names, images]
}

pub(super) fn cron_job(object: &Object<'_>) -> Vec<Value> {
    let last = object.time("status.lastScheduleTime");
    let suspended = object.get("spec.suspend").and_then(Value::as_bool);
    let suspended = suspended.map_or(
        "<unset>",
        |suspended| if suspended { "True" } else { "False" },
    );
    let zone = object
        .get("spec.timeZone")
        .and_then(Value::as_str)
        .unwrap_or("<none>");
    let [names, images] = containers(object, "spec.jobTemplate.spec.template.spec.containers");

    vec![
        object.text("spec.schedule").into(),
        zone.into(),
        suspended.into(),
        super::cell::count(object, "status.active"),
        last.map_or_else(|| "<none>".to_owned(), |time| object.elapsed(time))
            .into(),
        object.age().into(),
        names,
        images,
        selector(object, "spec.jobTemplate.spec.selector").into(),
    ]
}

pub(super) fn job(object: &Object<'_>) -> Vec<Value> {
    let succeeded = object.number("status.succeeded");
    // Without a number of completions, the first success completes the job, however many pods run at once.
    let completions = match (
        object.get("spec.completions"),
        object.number("spec.parallelism"),
    ) {
        (Some(completions), _) => format!("{succeeded}/{}", completions.to_json()),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let duration = match (
        object.time("status.startTime"),
        object.time("status.completionTime"),
    ) {
        (None, _) => String::new(),
        (Some(start), None) => object.elapsed(start),
        (Some(start), Some(end)) => human_duration(end.duration_since(start)),
    };

    let is = |kind: &str| {
        object
            .condition("status.conditions", kind)
            .is_some_and(|condition| condition.text("status") == "True")
    };
    // A condition that ends the job precedes its deletion, and one that only changes its course follows it.
    let status = if is("Complete") {
        "Complete"
    } else if is("Failed") {
        "Failed"
    } else if object.is_deleted() {
        "Terminating"
    } else {
        ["Suspended", "FailureTarget", "SuccessCriteriaMet"]
            .into_iter()
            .find(|kind| is(kind))
            .unwrap_or("Running")
    };

    let mut out: Vec<Value> = vec![
        status.into(),
        completions.into(),
        duration.into(),
        object.age().into(),
    ];
    out.extend(template(object));

    out
}

pub(super) fn min_available(object: &Object<'_>) -> Value {
    number_or_text(object, "spec.minAvailable")
}

pub(super) fn max_unavailable(object: &Object<'_>) -> Value {
    number_or_text(object, "spec.maxUnavailable")
}

fn number_or_text(object: &Object<'_>, path: &str) -> Value {
    match object.get(path) {
        None => "N/A".into(),
        Some(Value::String(text)) => text.clone().into(),
        Some(number) => number.to_json().into(),
    }
}
