//! Admission policies and their bindings. What serves them compiles their expressions.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::{CEL_RESERVED, NameSyntax, label_1035, qualified_name};

use super::field::Field;
use super::webhooks::{
    FAILURE_POLICIES, MATCH_POLICIES, REINVOCATION_POLICIES, match_conditions, rule_with_operations,
};
use super::{conditions, json_path};
use crate::place::Errors;

/// The largest number of annotations, and the largest size of their expressions.
const MOST_ANNOTATIONS: usize = 20;
const MOST_EXPRESSION_BYTES: usize = 5 * 1024;

pub(crate) fn validating_policy(policy: &Field<'_>, errors: &mut Errors) {
    let spec = policy.get("spec");
    policy_start(&spec, false, errors);
    let (validations, annotations) = (spec.get("validations"), spec.get("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        for list in [&validations, &annotations] {
            list.missing(
                "validations or auditAnnotations must contain at least one item",
                errors,
            );
        }
        return;
    }

    for validation in validations.items() {
        check_validation(&validation, errors);
    }
    audit_annotations(policy, &annotations, errors);
}

/// Checks what validating and mutating policies share.
fn policy_start(spec: &Field<'_>, mutates: bool, errors: &mut Errors) {
    let policy = spec.get("failurePolicy");
    if policy.is_set() {
        policy.one_of(&FAILURE_POLICIES, errors);
    } else {
        policy.missing("", errors);
    }
    let params = spec.get("paramKind");
    if params.is_set() {
        param_kind(&params, errors);
    }

    let constraints = spec.get("matchConstraints");
    if constraints.is_set() {
        match_resources(&constraints, errors);
        constraints.get("resourceRules").require("", errors);
        if mutates {
            mutated_operations(&constraints, errors);
        }
    } else {
        constraints.missing("", errors);
    }

    // Conditions that an update keeps are not checked again, unless their parameters changed.
    let conditions = spec.get("matchConditions");
    if !conditions.is_update() || conditions.is_changed() || params.is_changed() {
        match_conditions(&conditions, errors);
    }
    for variable in spec.get("variables").items() {
        let (name, expression) = (variable.get("name"), variable.get("expression"));
        name.require_words("name is not specified", errors);
        let is_fault = !name.text().trim().is_empty() && !is_identifier(name.text());
        name.invalid_if(is_fault, "must be a valid CEL identifier", errors);
        expression.require_words("expression is not specified", errors);
    }
}

fn is_identifier(name: &str) -> bool {
    let is_known = |c: char| c == '_' || c.is_ascii_alphanumeric();
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(is_known)
        && !CEL_RESERVED.contains(&name)
}

fn param_kind(params: &Field<'_>, errors: &mut Errors) {
    let (version, kind) = (params.get("apiVersion"), params.get("kind"));
    let text = version.text();
    let (group, name) = text.split_once('/').unwrap_or(("", text));
    let mut part = |shown: &str, faults: Vec<String>| {
        if !faults.is_empty() {
            let path = version.path.clone();
            errors.push(FieldError::invalid(path, shown, faults.join(",")));
        }
    };

    // The faults of the group and of the version show only that part.
    if text.is_empty() {
        version.missing("", errors);
    } else if name.contains('/') {
        version.invalid(format!("unexpected GroupVersion string: {text}"), errors);
    } else {
        if !group.is_empty() {
            part(group, NameSyntax::Subdomain.faults(group, false));
        }
        if name.is_empty() {
            part(text, vec!["version must be specified".to_owned()]);
        } else {
            part(name, label_1035(name));
        }
    }

    let faults = label_1035(&kind.text().to_lowercase());
    if kind.is_empty() {
        kind.missing("", errors);
    } else if !faults.is_empty() {
        let detail = "may have mixed case, but should otherwise match: ";
        kind.invalid(format!("{detail}{}", faults.join(",")), errors);
    }
}

fn match_resources(resources: &Field<'_>, errors: &mut Errors) {
    let policy = resources.get("matchPolicy");
    if policy.is_set() {
        policy.one_of(&MATCH_POLICIES, errors);
    } else {
        policy.missing("", errors);
    }
    // The server sets empty selectors, so they are absent only if it does not know the kind.
    for selector in ["namespaceSelector", "objectSelector"] {
        let selector = resources.get(selector);
        if selector.is_set() {
            selector.selector(errors);
        } else {
            selector.missing("", errors);
        }
    }

    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in resources.get(rules).items() {
            let mut names = BTreeSet::new();
            for name in rule.get("resourceNames").items() {
                name.name(NameSyntax::PathSegment, errors);
                name.unique(&mut names, errors);
            }
            rule_with_operations(&rule, errors);
        }
    }
}

/// Only requests that write an object can be changed. Kubernetes gives these errors the path of all rules.
fn mutated_operations(resources: &Field<'_>, errors: &mut Errors) {
    let rules = resources.get("resourceRules");
    for operation in rules
        .items()
        .flat_map(|rule| rule.get("operations").items())
    {
        operation
            .moved(rules.path.child("operations"))
            .one_of(&["*", "CONNECT", "CREATE", "UPDATE"], errors);
    }
}

fn check_validation(validation: &Field<'_>, errors: &mut Errors) {
    validation
        .get("expression")
        .require_words("expression is not specified", errors);
    let message = validation.get("message");
    for text in [&validation.get("messageExpression"), &message] {
        let is_blank = !text.is_empty() && text.text().trim().is_empty();
        text.invalid_if(is_blank, "must be non-empty if specified", errors);
    }
    let is_long = message.text().trim().contains(['\n', '\r']);
    message.invalid_if(is_long, "must not contain line breaks", errors);
    validation
        .get("reason")
        .optional_one_of(&["Forbidden", "Invalid", "RequestEntityTooLarge"], errors);
}

fn audit_annotations(policy: &Field<'_>, annotations: &Field<'_>, errors: &mut Errors) {
    if annotations.len() > MOST_ANNOTATIONS {
        let detail = format!("must not have more than {MOST_ANNOTATIONS} auditAnnotations");
        annotations.invalid_as("AuditAnnotations", &detail, errors);
    }
    let policy = policy.get("metadata").get("name");
    let mut keys = BTreeSet::new();
    for annotation in annotations.items() {
        let (key, value) = (annotation.get("key"), annotation.get("valueExpression"));
        if policy.is_empty() {
            key.invalid_text("requires metadata.name be non-empty", errors);
        } else {
            // The name of the policy is the prefix of the annotation.
            let name = format!("{}/{}", policy.text(), key.text());
            for fault in qualified_name(&name) {
                errors.push(FieldError::invalid(key.path.clone(), name.clone(), fault));
            }
        }

        value.require_words("valueExpression is not specified", errors);
        if value.text().trim().len() > MOST_EXPRESSION_BYTES {
            let detail = format!("must not exceed {MOST_EXPRESSION_BYTES} bytes in length");
            value.missing(&detail, errors);
        }
        key.unique(&mut keys, errors);
    }
}

pub(crate) fn validating_policy_status(policy: &Field<'_>, errors: &mut Errors) {
    let status = policy.get("status");
    for warning in status.get("typeChecking").get("expressionWarnings").items() {
        warning.get("warning").require("", errors);
        let field = warning.get("fieldRef");
        field.require_words("", errors);
        let path = field.text().trim();
        if let Some(fault) = json_path::check(path).err().filter(|_| !path.is_empty()) {
            let detail = format!("invalid JSONPath: {fault}");
            errors.push(FieldError::invalid(field.path, path, detail));
        }
    }
    conditions::check(&status.get("conditions"), errors);
}

pub(crate) fn mutating_policy(policy: &Field<'_>, errors: &mut Errors) {
    let spec = policy.get("spec");
    policy_start(&spec, true, errors);
    let mutations = spec.get("mutations");
    mutations.require("mutations must contain at least one item", errors);
    for mutation in mutations.items() {
        check_mutation(&mutation, errors);
    }
    spec.get("reinvocationPolicy")
        .require_one_of(&REINVOCATION_POLICIES, errors);
}

/// A mutation has the member of its type, which has an expression.
fn check_mutation(mutation: &Field<'_>, errors: &mut Errors) {
    let ty = mutation.get("patchType");
    ty.require_one_of(&["ApplyConfiguration", "JSONPatch"], errors);
    let (member, other) = match ty.text() {
        "JSONPatch" => ("jsonPatch", "applyConfiguration"),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch"),
        _ => return,
    };

    let (member, other) = (mutation.get(member), mutation.get(other));
    if member.is_set() {
        member.get("expression").require_words("", errors);
    } else {
        let detail = format!("must be specified when patchType is {}", ty.text());
        member.missing(&detail, errors);
    }
    if other.is_set() {
        // Kubernetes shows the name of the member in place of its value.
        let name = other.path.to_string();
        let name = name.rsplit('.').next().unwrap_or_default();
        let detail = format!("must not be specified when patchType is {}", ty.text());
        errors.push(FieldError::invalid(
            other.path,
            format!("{{{name}}}"),
            detail,
        ));
    }
}

pub(crate) fn validating_binding(binding: &Field<'_>, errors: &mut Errors) {
    let spec = binding.get("spec");
    binding_start(&spec, errors);
    let actions = spec.get("validationActions");
    let mut seen = BTreeSet::new();
    for action in actions.items() {
        action.one_of(&["Audit", "Deny", "Warn"], errors);
        action.unique(&mut seen, errors);
    }
    let is_both = seen.contains("Deny") && seen.contains("Warn");
    let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                  response and headers serves no purpose)";
    actions.invalid_if(is_both, detail, errors);

    // The generated validation of Kubernetes has its errors at the end.
    spec.get("policyName").require("", errors);
    actions.require("", errors);
}

pub(crate) fn mutating_binding(binding: &Field<'_>, errors: &mut Errors) {
    let spec = binding.get("spec");
    spec.get("policyName").require("", errors);
    binding_start(&spec, errors);
    mutated_operations(&spec.get("matchResources"), errors);
}

/// Checks what both kinds of bindings share.
fn binding_start(spec: &Field<'_>, errors: &mut Errors) {
    spec.get("policyName")
        .name_or_empty(NameSyntax::Subdomain, errors);
    let (params, resources) = (spec.get("paramRef"), spec.get("matchResources"));
    if params.is_set() {
        param_ref(&params, errors);
    }
    if resources.is_set() {
        match_resources(&resources, errors);
    }
}

fn param_ref(params: &Field<'_>, errors: &mut Errors) {
    let (name, selector) = (params.get("name"), params.get("selector"));
    let is_both = !name.is_empty() && selector.is_set();
    let detail = "name and selector are mutually exclusive";
    name.name_or_empty(NameSyntax::PathSegment, errors);
    name.forbid_if(is_both, detail, errors);
    selector.selector(errors);
    selector.forbid_if(is_both, detail, errors);
    if name.is_empty() && !selector.is_set() {
        params.missing("one of name or selector must be specified", errors);
    }
    params
        .get("parameterNotFoundAction")
        .require_one_of(&["Deny", "Allow"], errors);
}
