//! Configurations of admission webhooks, and the rules that they share with policies.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::{NameSyntax, label_1035, webhook};
use fieldmanager_value::Value;

use super::field::Field;
use crate::place::Errors;

pub(super) const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
pub(super) const MATCH_POLICIES: [&str; 2] = ["Equivalent", "Exact"];
pub(super) const REINVOCATION_POLICIES: [&str; 2] = ["IfNeeded", "Never"];
const NO_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
/// The versions of `AdmissionReview` that the server sends.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];
/// The largest number of match conditions.
const MOST_CONDITIONS: usize = 64;

/// What an update may keep of a live configuration that breaks newer rules.
struct Tolerance {
    conditions: bool,
    side_effects: bool,
    unknown_reviews: bool,
    equal_names: bool,
}

impl Tolerance {
    fn of(webhooks: &Field<'_>) -> Self {
        let live = webhooks.before();
        let conditions = |webhooks: &Field<'_>| -> Vec<Value> {
            let all = webhooks.items();
            all.map(|hook| hook.get("matchConditions").shown())
                .collect()
        };
        let mut names = BTreeSet::new();

        Tolerance {
            conditions: webhooks.is_update() && conditions(webhooks) == conditions(&live),
            side_effects: live
                .items()
                .any(|hook| !NO_EFFECTS.contains(&hook.get("sideEffects").text())),
            unknown_reviews: live.items().any(|hook| {
                let versions = hook.get("admissionReviewVersions");
                !versions.is_empty() && !has_known_review(&versions)
            }),
            equal_names: live
                .items()
                .any(|hook| !names.insert(hook.get("name").text())),
        }
    }
}

fn has_known_review(versions: &Field<'_>) -> bool {
    versions.texts().any(|version| REVIEWS.contains(&version))
}

pub(crate) fn configuration(configuration: &Field<'_>, errors: &mut Errors) {
    let webhooks = configuration.get("webhooks");
    let tolerance = Tolerance::of(&webhooks);
    let mut names = BTreeSet::new();
    for hook in webhooks.items() {
        check_webhook(&hook, &tolerance, errors);
        review_versions(
            &hook.get("admissionReviewVersions"),
            tolerance.unknown_reviews,
            errors,
        );
        let name = hook.get("name");
        if !tolerance.equal_names && !name.is_empty() {
            name.unique(&mut names, errors);
        }
    }
}

fn check_webhook(hook: &Field<'_>, tolerance: &Tolerance, errors: &mut Errors) {
    qualified_domain(&hook.get("name"), errors);
    for rule in hook.get("rules").items() {
        rule_with_operations(&rule, errors);
    }
    hook.get("failurePolicy")
        .optional_one_of(&FAILURE_POLICIES, errors);
    hook.get("matchPolicy")
        .optional_one_of(&MATCH_POLICIES, errors);
    side_effects(&hook.get("sideEffects"), tolerance.side_effects, errors);

    let timeout = hook.get("timeoutSeconds");
    timeout.invalid_if(
        timeout.is_set() && !(1..=30).contains(&timeout.number()),
        "the timeout value must be between 1 and 30 seconds",
        errors,
    );
    for selector in ["namespaceSelector", "objectSelector"] {
        hook.get(selector).selector(errors);
    }
    // Only mutating webhooks have this field.
    hook.get("reinvocationPolicy")
        .optional_one_of(&REINVOCATION_POLICIES, errors);

    client(&hook.get("clientConfig"), errors);
    if !tolerance.conditions {
        match_conditions(&hook.get("matchConditions"), errors);
    }
}

/// Requires a domain of at least three labels.
fn qualified_domain(name: &Field<'_>, errors: &mut Errors) {
    let faults = NameSyntax::Subdomain.faults(name.text(), false);
    if name.is_empty() {
        name.missing("", errors);
    } else if !faults.is_empty() {
        name.invalid(faults.join(","), errors);
    } else if name.text().split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        name.invalid(detail, errors);
    }
}

fn side_effects(effects: &Field<'_>, tolerates_all: bool, errors: &mut Errors) {
    let accepted: &[&str] = if tolerates_all {
        &["None", "NoneOnDryRun", "Some", "Unknown"]
    } else {
        &NO_EFFECTS
    };
    if effects.is_set() {
        effects.one_of(accepted, errors);
    } else {
        let detail = format!("must specify one of {}", accepted.join(", "));
        effects.missing(&detail, errors);
    }
}

/// A webhook has either a URL or a service of the cluster.
fn client(client: &Field<'_>, errors: &mut Errors) {
    let (url, service) = (client.get("url"), client.get("service"));
    match (url.value, service.value) {
        (Some(_), None) => webhook::url(url.text(), &url.path, errors),
        (None, Some(Value::Map(found))) => webhook::service(found, &service.path, errors),
        _ => client.missing("exactly one of url or service is required", errors),
    }
}

fn review_versions(versions: &Field<'_>, tolerates_unknown: bool, errors: &mut Errors) {
    if versions.is_empty() {
        let detail = format!("must specify one of {}", REVIEWS.join(", "));
        versions.missing(&detail, errors);
        return;
    }
    let mut seen = BTreeSet::new();
    for version in versions.items() {
        if seen.insert(version.text()) {
            version.faults(label_1035(version.text()), errors);
        } else {
            version.invalid("duplicate version", errors);
        }
    }

    if !tolerates_unknown && !has_known_review(versions) {
        let detail = format!("must include at least one of {}", REVIEWS.join(", "));
        versions.invalid(detail, errors);
    }
}

/// Checks the names of conditions, and that they have expressions, which are not compiled here.
pub(super) fn match_conditions(conditions: &Field<'_>, errors: &mut Errors) {
    if conditions.len() > MOST_CONDITIONS {
        errors.push(FieldError::too_many(
            conditions.path.clone(),
            conditions.len(),
            MOST_CONDITIONS,
        ));
    }
    let mut names = BTreeSet::new();
    for condition in conditions.items() {
        let (name, expression) = (condition.get("name"), condition.get("expression"));
        expression.require_words("", errors);
        if name.is_empty() {
            name.missing("", errors);
        } else {
            name.qualified(errors);
            name.unique(&mut names, errors);
        }
    }
}

/// Checks the operations and the resources of a rule.
pub(super) fn rule_with_operations(rule: &Field<'_>, errors: &mut Errors) {
    let operations = rule.get("operations");
    operations.require("", errors);
    alone(&operations, "operations", errors);
    for operation in operations.items() {
        operation.one_of(&["*", "CONNECT", "CREATE", "DELETE", "UPDATE"], errors);
    }

    let (groups, versions) = (rule.get("apiGroups"), rule.get("apiVersions"));
    groups.require("", errors);
    alone(&groups, "API groups", errors);
    versions.require("", errors);
    alone(&versions, "API versions", errors);
    for version in versions.items() {
        version.require("", errors);
    }

    resources(&rule.get("resources"), errors);
    rule.get("scope")
        .optional_one_of(&["*", "Cluster", "Namespaced"], errors);
}

/// Requires that a wildcard has no other items beside it.
pub(super) fn alone(list: &Field<'_>, what: &str, errors: &mut Errors) {
    let is_mixed = list.len() > 1 && list.texts().any(|text| text == "*");
    let detail = format!("if '*' is present, must not specify other {what}");
    list.invalid_if(is_mixed, &detail, errors);
}

fn resources(resources: &Field<'_>, errors: &mut Errors) {
    resources.require("", errors);
    // Names whose subresources are all selected, and subresources that are selected of all resources.
    let (mut whole, mut everywhere) = (BTreeSet::new(), BTreeSet::new());
    let mut has_plain = false;
    for item in resources.items() {
        let text = item.text();
        let Some((name, sub)) = text.split_once('/') else {
            if text.is_empty() {
                item.missing("", errors);
            } else {
                // As in Kubernetes, the last item without a subresource decides.
                has_plain = text != "*";
            }
            continue;
        };

        let covers =
            |pattern: String| format!("if '{pattern}' is present, must not specify {text}");
        if whole.contains(name) {
            item.invalid(covers(format!("{name}/*")), errors);
        }
        if everywhere.contains(sub) {
            item.invalid(covers(format!("*/{sub}")), errors);
        }
        if sub == "*" {
            whole.insert(name);
        }
        if name == "*" {
            everywhere.insert(sub);
        }
    }

    let has = |pattern: &str| resources.texts().any(|text| text == pattern);
    let is_mixed = resources.len() > 1 && has("*/*");
    let detail = "if '*/*' is present, must not specify other resources";
    resources.invalid_if(is_mixed, detail, errors);
    let detail = "if '*' is present, must not specify other resources without subresources";
    resources.invalid_if(has("*") && has_plain, detail, errors);
}
