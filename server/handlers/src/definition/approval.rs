//! The approval that definitions in the groups of Kubernetes need.

use fieldmanager_cel::internal::parse_url;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::members::annotation;
use crate::status::quoted;

const ANNOTATION: &str = "api-approved.kubernetes.io";
const MORE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

#[derive(Clone, Copy, PartialEq)]
enum State {
    Missing,
    Bypassed,
    Approved,
    Invalid,
}

/// Adds the fault of a missing approval. A state that does not change is no fault.
pub(super) fn check(
    group: &str,
    object: &Value,
    live: Option<&Value>,
    errors: &mut Vec<FieldError>,
) {
    if !is_protected(group) {
        return;
    }

    // A definition that lacked a valid approval before may stay in that state.
    let found = annotation(object, ANNOTATION);
    let state = state(found);
    if live.is_some_and(|live| self::state(annotation(live, ANNOTATION)) == state) {
        return;
    }
    let path = FieldPath::root("metadata")
        .child("annotations")
        .key(ANNOTATION);

    let detail = message(state, found);
    match state {
        State::Approved | State::Bypassed => {}
        State::Missing => errors.push(FieldError::required(path, detail)),
        State::Invalid => errors.push(FieldError::invalid(path, found, detail)),
    }
}

/// The status, the reason and the message of the condition `KubernetesAPIApprovalPolicyConformant`, which definitions in the
/// groups of Kubernetes have.
///
/// Behaviour: `calculateCondition` of `k8s.io/apiextensions-apiserver/pkg/controller/apiapproval`.
pub fn approval(definition: &Value) -> Option<(&'static str, &'static str, String)> {
    let group = definition.get("spec")?.get("group")?.as_str()?;
    if !is_protected(group) {
        return None;
    }
    let found = annotation(definition, ANNOTATION);
    let state = state(found);
    let (status, reason) = match state {
        State::Missing => ("False", "MissingAnnotation"),
        State::Bypassed => ("False", "UnapprovedAnnotation"),
        State::Approved => ("True", "ApprovedAnnotation"),
        State::Invalid => ("False", "InvalidAnnotation"),
    };
    Some((status, reason, message(state, found)))
}

/// Whether a group belongs to Kubernetes. Protection covers a group and all groups below it.
fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].into_iter().any(|name| {
        let rest = group.strip_suffix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

fn message(state: State, annotation: &str) -> String {
    match state {
        State::Approved => format!("approved in {annotation}"),
        State::Bypassed => format!("not approved: {}", quoted(annotation)),
        State::Missing => {
            format!("protected groups must have approval annotation \"{ANNOTATION}\", {MORE}")
        }
        State::Invalid => format!(
            "protected groups must have approval annotation \"{ANNOTATION}\" with either a URL or a reason starting with \
             \"unapproved\", {MORE}"
        ),
    }
}

fn state(annotation: &str) -> State {
    match annotation {
        "" => State::Missing,
        text if text.starts_with("unapproved") => State::Bypassed,
        text if parse_url(text).is_ok_and(|url| !url.host.is_empty() && !url.scheme.is_empty()) => {
            State::Approved
        }
        _ => State::Invalid,
    }
}
