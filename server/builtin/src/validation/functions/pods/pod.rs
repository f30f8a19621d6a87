//! Pods and templates as wholes.

use fieldmanager_structural::internal::qualified_name;
use fieldmanager_value::Value;

use super::annotations::{self, Annotations};
use super::spec::{metadata_and_spec, pod_spec};
use super::update;
use crate::place::{Errors, Place, faults};
use crate::validation::functions::field::Field;

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

pub(crate) fn pod_template(object: &Field<'_>, errors: &mut Errors) {
    if let Some(pods) = object.get("template").place() {
        template(&pods, errors);
    }
}

/// Checks the template of pods.
pub(in crate::validation::functions) fn template(template: &Place<'_>, errors: &mut Errors) {
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
