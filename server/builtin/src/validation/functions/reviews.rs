//! Reviews of access.
//!
//! Behaviour: `pkg/apis/authorization/validation` of Kubernetes.

use super::field::Field;
use super::selector::{key_and_values, operator};
use crate::place::{Errors, Place};

const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];

pub(crate) fn access(review: &Field<'_>, errors: &mut Errors) {
    spec(review, true, errors);
    metadata(review, &["managedFields"], "must be empty", errors);
}

pub(crate) fn own_access(review: &Field<'_>, errors: &mut Errors) {
    spec(review, false, errors);
    metadata(review, &["managedFields"], "must be empty", errors);
}

pub(crate) fn local_access(review: &Field<'_>, errors: &mut Errors) {
    spec(review, true, errors);
    let detail = "must be empty except for namespace";
    metadata(review, &["managedFields", "namespace"], detail, errors);

    let resource = review.get("spec").get("resourceAttributes");
    let asked = resource.get("namespace");
    if resource.is_set() && asked.text() != review.get("metadata").get("namespace").text() {
        asked.invalid_text("must match metadata.namespace", errors);
    }
    let other = review.get("spec").get("nonResourceAttributes");
    if other.is_set() {
        let detail = "disallowed on this kind of request";
        other.invalid_as("NonResourceAttributes", detail, errors);
    }
}

fn spec(review: &Field<'_>, has_subject: bool, errors: &mut Errors) {
    let spec = review.get("spec");
    let resource = spec.get("resourceAttributes");
    let other = spec.get("nonResourceAttributes").moved(spec.path.clone());
    if resource.is_set() == other.is_set() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        other.invalid_as("NonResourceAttributes", detail, errors);
    }
    let user = spec.get("user");
    if has_subject && user.is_empty() && spec.get("groups").is_empty() {
        user.invalid_text("at least one of user or group must be specified", errors);
    }
    if let Some(of_fields) = resource.get("fieldSelector").place() {
        selector(&of_fields, false, errors);
    }
    if let Some(of_labels) = resource.get("labelSelector").place() {
        selector(&of_labels, true, errors);
    }
}

fn selector(selector: &Place<'_>, is_of_labels: bool, errors: &mut Errors) {
    let has_raw = !selector.text("rawSelector").is_empty();
    if has_raw == (selector.len("requirements") > 0) {
        if has_raw {
            let detail = "may not specified at the same time as requirements";
            selector.invalid("rawSelector", detail, errors);
        } else {
            let path = &selector.path;
            let detail =
                format!("when {path} is specified, requirements or rawSelector is required");
            selector.missing("requirements", &detail, errors);
        }
    }

    for requirement in selector.items("requirements") {
        if !is_of_labels {
            requirement.require("key", "must be specified", errors);
        }
        // Newer clients may know other operators, which authorizers ignore.
        if OPERATORS.contains(&requirement.text("operator")) {
            operator(&requirement, false, errors);
        }
        if is_of_labels {
            key_and_values(&requirement, errors);
        }
    }
}

/// Metadata has no meaning in a review.
fn metadata(review: &Field<'_>, allowed: &[&str], detail: &str, errors: &mut Errors) {
    let metadata = review.get("metadata");
    if !metadata.entries().all(|(name, _)| allowed.contains(&name)) {
        metadata.invalid_as("ObjectMeta", detail, errors);
    }
}
