//! Roles and their bindings.

use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::field::Field;
use crate::validation::operation::Operation;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn rule(path: &FieldPath, rule: &Value, _: Operation<'_>, errors: &mut Vec<FieldError>) {
    policy_rule(&Field::new(path, rule), false, errors);
}

pub(super) fn namespaced_rule(
    path: &FieldPath,
    rule: &Value,
    _: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    policy_rule(&Field::new(path, rule), true, errors);
}

fn policy_rule(rule: &Field<'_>, is_namespaced: bool, errors: &mut Vec<FieldError>) {
    let urls = rule.get("nonResourceURLs");
    let has = |name: &str| !rule.get(name).is_empty();
    if !urls.is_empty() {
        if is_namespaced {
            errors.push(urls.invalid("namespaced rules cannot apply to non-resource URLs"));
        }
        if has("apiGroups") || has("resources") || has("resourceNames") {
            errors.push(urls.invalid("rules cannot apply to both regular resources and non-resource URLs"));
        }
        return;
    }
    if !has("apiGroups") {
        errors.push(rule.get("apiGroups").required("resource rules must supply at least one api group"));
    }
    if !has("resources") {
        errors.push(rule.get("resources").required("resource rules must supply at least one resource"));
    }
}

pub(super) fn subject(path: &FieldPath, subject: &Value, _: Operation<'_>, errors: &mut Vec<FieldError>) {
    bound_subject(&Field::new(path, subject), true, errors);
}

pub(super) fn cluster_subject(
    path: &FieldPath,
    subject: &Value,
    _: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    bound_subject(&Field::new(path, subject), false, errors);
}

fn bound_subject(subject: &Field<'_>, is_namespaced: bool, errors: &mut Vec<FieldError>) {
    let group = subject.get("apiGroup");
    match subject.get("kind").text() {
        "ServiceAccount" => {
            let name = subject.get("name");
            if !name.is_empty() {
                errors.extend(name.faults(NameSyntax::Subdomain.faults(name.text(), false)));
            }
            if !group.is_empty() {
                errors.push(group.not_supported(&[""]));
            }
            if !is_namespaced && subject.get("namespace").is_empty() {
                errors.push(subject.get("namespace").required(""));
            }
        }
        "User" | "Group" => errors.extend(group.one_of(&[GROUP])),
        _ => errors.push(subject.get("kind").not_supported(&["ServiceAccount", "User", "Group"])),
    }
}
