//! Pods and their templates.

mod container;
mod probe;
mod resize;
pub(super) mod resources;
pub(super) mod scheduling;
mod security;
mod spec;
mod status;
mod update;
mod volume;
mod windows;

use fieldmanager_structural::internal::qualified_name;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use self::spec::pod_spec;
use super::field::Field;
use crate::place::{Errors, Place, faults};

pub(crate) use self::resize::resized_pod;
pub(crate) use self::status::pod_status;
pub(crate) use self::update::ephemeral_containers;

/// Checks a pod.
pub(crate) fn pod(pod: &Field<'_>, errors: &mut Errors) {
    let Some(spec) = pod.get("spec").place() else {
        return;
    };
    metadata_and_spec(pod, &spec, errors);
    if pod.is_update() {
        if let Some(live) = pod.get("spec").before().place() {
            update::spec(&spec, &live, errors);
        }
        return;
    }

    // Ephemeral containers are added to a running pod, by their subresource.
    if spec.len("ephemeralContainers") > 0 {
        spec.forbid("ephemeralContainers", "cannot be set on create", errors);
    }
    // Gates hold back the scheduler, and a pod with a node is already scheduled.
    if !spec.text("nodeName").is_empty() && spec.len("schedulingGates") > 0 {
        spec.forbid(
            "nodeName",
            "cannot be set until all schedulingGates have been cleared",
            errors,
        );
    }
}

/// Checks what every pod has, new or changed.
fn metadata_and_spec(pod: &Field<'_>, spec: &Place<'_>, errors: &mut Errors) {
    let metadata = pod.get("metadata").place();
    if let Some(metadata) = &metadata {
        annotations(
            &metadata.at("annotations"),
            metadata.get("annotations"),
            spec,
            errors,
        );
    }

    pod_spec(
        spec,
        metadata
            .as_ref()
            .map(|metadata| metadata.text("name"))
            .unwrap_or_default(),
        errors,
    );

    // A token is issued for a service account, so a pod without one cannot project it.
    if spec.text("serviceAccountName").is_empty() {
        for volume in spec.items("volumes") {
            let Some(projected) = volume.child("projected") else {
                continue;
            };
            for source in projected.items("sources") {
                if source.get("serviceAccountToken").is_some() {
                    let detail = "must not be specified when serviceAccountName is not set";
                    source.forbid("serviceAccountToken", detail, errors);
                }
            }
        }
    }

    // These checks are not made for templates, so that stored workloads with such values stay valid.
    spec.non_negative("terminationGracePeriodSeconds", errors);
    for container in spec.items("containers").chain(spec.items("initContainers")) {
        container::image_without_space(&container, errors);
    }
}

pub(crate) fn pod_template(object: &Field<'_>, errors: &mut Errors) {
    if let Some(pods) = object.get("template").place() {
        template(&pods, errors);
    }
}

/// Checks the template of pods.
pub(super) fn template(template: &Place<'_>, errors: &mut Errors) {
    let metadata = template.child("metadata");
    let annotated = metadata
        .as_ref()
        .and_then(|metadata| metadata.get("annotations"));
    // The paths of the metadata of a template lack `metadata`, as in Kubernetes.
    if let Some(metadata) = &metadata {
        crate::place::labels(&template.at("labels"), metadata.get("labels"), errors);
        for (key, _) in annotated.and_then(Value::as_map).into_iter().flatten() {
            faults(
                &template.at("annotations"),
                key,
                qualified_name(&key.to_lowercase()),
                errors,
            );
        }
    }

    // An absent spec is checked like an empty one, which lacks the required fields.
    let empty = Value::Map(Default::default());
    let spec = Place {
        path: template.at("spec"),
        value: template.get("spec").unwrap_or(&empty),
    };
    annotations(&template.at("annotations"), annotated, &spec, errors);
    pod_spec(&spec, "", errors);

    if spec.len("ephemeralContainers") > 0 {
        spec.forbid(
            "ephemeralContainers",
            "ephemeral containers not allowed in pod template",
            errors,
        );
    }
}

fn annotations(
    path: &FieldPath,
    annotations: Option<&Value>,
    spec: &Place<'_>,
    errors: &mut Errors,
) {
    const MIRROR: &str = "kubernetes.io/config.mirror";
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    let text = |key: &str| {
        annotations
            .and_then(|annotations| annotations.get(key))
            .and_then(Value::as_str)
    };
    // A mirror pod stands for one that a kubelet runs by itself, so its node is known.
    if let Some(value) = text(MIRROR).filter(|_| spec.text("nodeName").is_empty()) {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(FieldError::invalid(path.key(MIRROR), value, detail));
    }

    // The number has one spelling, without a plus sign and without leading zeros.
    let is_number = |cost: &str| {
        !cost.starts_with('+')
            && (cost == "0" || !cost.starts_with('0'))
            && cost.parse::<i32>().is_ok()
    };

    if let Some(cost) = text(COST).filter(|cost| !is_number(cost)) {
        errors.push(FieldError::invalid(
            path.key(COST),
            cost,
            "must be a 32bit integer",
        ));
    }
}
