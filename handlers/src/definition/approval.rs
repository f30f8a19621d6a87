//! The approval that definitions in the groups of Kubernetes need.

use fieldmanager_rules::internal::parse_url;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::members::annotation;

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
pub(super) fn check(group: &str, object: &Value, live: Option<&Value>, errors: &mut Vec<FieldError>) {
    let of_group =
        |name: &str| group == name || group.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    if !of_group("k8s.io") && !of_group("kubernetes.io") {
        return;
    }
    let found = annotation(object, ANNOTATION);
    let state = state(found);
    if live.is_some_and(|live| self::state(annotation(live, ANNOTATION)) == state) {
        return;
    }
    let path = FieldPath::root("metadata").child("annotations").key(ANNOTATION);
    match state {
        State::Approved | State::Bypassed => {}
        State::Missing => {
            let detail = format!("protected groups must have approval annotation \"{ANNOTATION}\", {MORE}");
            errors.push(FieldError::required(path, detail));
        }
        State::Invalid => {
            let detail = format!(
                "protected groups must have approval annotation \"{ANNOTATION}\" with either a URL or a reason starting \
                 with \"unapproved\", {MORE}"
            );
            errors.push(FieldError::invalid(path, found, detail));
        }
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
