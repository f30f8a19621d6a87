//! Roles and their bindings.

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_value::{Map, Value};

use super::field::Field;
use crate::place::{Errors, IMMUTABLE};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(crate) fn role(role: &Field<'_>, errors: &mut Errors) {
    rules(role, true, errors);
    verbs(role, errors);
}

pub(crate) fn cluster_role(role: &Field<'_>, errors: &mut Errors) {
    rules(role, false, errors);
    let aggregation = role.get("aggregationRule");
    if aggregation.is_set() {
        let selectors = aggregation.get("clusterRoleSelectors");
        selectors.require(
            "at least one clusterRoleSelector required if aggregationRule is non-nil",
            errors,
        );
        for selector in selectors.items() {
            let before = errors.len();
            selector.selector(errors);
            // Kubernetes also fails to make a selector of it, and shows what it has not got.
            if errors.len() > before {
                let detail = "invalid label selector.";
                errors.push(FieldError::invalid(selector.path, Value::Null, detail));
            }
        }
    }
    verbs(role, errors);
}

fn verbs(role: &Field<'_>, errors: &mut Errors) {
    role.get("rules")
        .items()
        .for_each(|rule| rule.get("verbs").require("", errors));
}

fn rules(role: &Field<'_>, is_namespaced: bool, errors: &mut Errors) {
    for rule in role.get("rules").items() {
        let urls = rule.get("nonResourceURLs");
        if urls.is_empty() {
            rule.get("apiGroups")
                .require("resource rules must supply at least one api group", errors);
            rule.get("resources")
                .require("resource rules must supply at least one resource", errors);
            continue;
        }

        urls.invalid_if(
            is_namespaced,
            "namespaced rules cannot apply to non-resource URLs",
            errors,
        );
        // A rule is about resources or about URLs, never about both.
        let has_resources = ["apiGroups", "resources", "resourceNames"]
            .iter()
            .any(|name| !rule.get(name).is_empty());
        let detail = "rules cannot apply to both regular resources and non-resource URLs";
        urls.invalid_if(has_resources, detail, errors);
    }
}

pub(crate) fn role_binding(binding: &Field<'_>, errors: &mut Errors) {
    bound(binding, &["Role", "ClusterRole"], true, errors);
}

pub(crate) fn cluster_role_binding(binding: &Field<'_>, errors: &mut Errors) {
    bound(binding, &["ClusterRole"], false, errors);
}

fn bound(binding: &Field<'_>, kinds: &[&str], is_namespaced: bool, errors: &mut Errors) {
    let role = binding.get("roleRef");
    role.get("apiGroup").optional_one_of(&[GROUP], errors);
    role.get("kind").optional_one_of(kinds, errors);
    role.get("name")
        .name_or_empty(NameSyntax::PathSegment, errors);
    for item in binding.get("subjects").items() {
        subject(&item, is_namespaced, errors);
    }

    if role.is_changed() {
        // Go shows the struct.
        let member = |shown: &'static str, name: &str| (shown, Value::from(role.get(name).text()));
        let members: Map = [
            member("APIGroup", "apiGroup"),
            member("Kind", "kind"),
            member("Name", "name"),
        ]
        .into_iter()
        .collect();
        errors.push(FieldError::invalid(
            role.path.clone(),
            Value::Map(members),
            IMMUTABLE,
        ));
    }

    binding
        .get("subjects")
        .items()
        .for_each(|subject| subject.get("name").require("", errors));
    if role.is_set() {
        role.get("name").require("", errors);
    }
}

fn subject(subject: &Field<'_>, is_namespaced: bool, errors: &mut Errors) {
    let group = subject.get("apiGroup");
    // Service accounts are objects of the core group; users and groups are only names.
    match subject.get("kind").text() {
        "ServiceAccount" => {
            subject
                .get("name")
                .name_or_empty(NameSyntax::Subdomain, errors);
            if !group.is_empty() {
                group.not_supported(&[""], errors);
            }
            if !is_namespaced {
                subject.get("namespace").require("", errors);
            }
        }
        "User" | "Group" => group.one_of(&[GROUP], errors),
        _ => subject
            .get("kind")
            .not_supported(&["ServiceAccount", "User", "Group"], errors),
    }
}
