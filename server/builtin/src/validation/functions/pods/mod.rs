//! Pods and their templates.

mod annotations;
mod container;
mod container_status;
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
use fieldmanager_value::Value;

use self::annotations::Annotations;
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
        annotations::changes(pod, errors);
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
    annotations::match_fields(&Annotations::of(pod), &spec, errors);
}

/// Checks what every pod has, new or changed.
fn metadata_and_spec(pod: &Field<'_>, spec: &Place<'_>, errors: &mut Errors) {
    annotations::check(&Annotations::of(pod), spec, errors);
    pod_spec(spec, pod.get("metadata").get("name").text(), errors);

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
    let annotations = Annotations {
        path: template.at("annotations"),
        map: metadata.as_ref().and_then(|own| own.map("annotations")),
    };
    // The paths of the metadata of a template lack `metadata`, as in Kubernetes.
    if let Some(metadata) = &metadata {
        crate::place::labels(&template.at("labels"), metadata.get("labels"), errors);
        for (key, _) in annotations.map.into_iter().flatten() {
            let found = qualified_name(&key.to_lowercase());
            faults(&annotations.path, key, found, errors);
        }
    }

    // An absent spec is checked like an empty one, which lacks the required fields.
    let empty = Value::Map(Default::default());
    let spec = Place {
        path: template.at("spec"),
        value: template.get("spec").unwrap_or(&empty),
    };
    annotations::check(&annotations, &spec, errors);
    pod_spec(&spec, "", errors);
    annotations::match_fields(&annotations, &spec, errors);

    if spec.len("ephemeralContainers") > 0 {
        spec.forbid(
            "ephemeralContainers",
            "ephemeral containers not allowed in pod template",
            errors,
        );
    }
}

/// The containers of a pod in the order in which Kubernetes visits them.
pub(crate) fn containers_of<'v>(spec: &Place<'v>) -> impl Iterator<Item = Place<'v>> + use<'v> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let containers = lists.map(|list| spec.items(list));
    containers.into_iter().flatten()
}
