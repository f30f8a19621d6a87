//! Claims of devices, their classes, and taints of devices. Expressions are not compiled.

mod capacity;
mod slices;
mod status;

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::internal::{NameSyntax, label_value, qualified_name};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

pub(crate) use self::slices::slice;
pub(crate) use self::status::claim_status;
use super::field::{Field, duplicate_struct};
use super::{attachments, conditions, names};
use crate::place::{Errors, faults};
use crate::shown;
use crate::validation::syntax;

/// The largest numbers of requests, constraints, configurations and selectors, of alternatives of a request, of conditions
/// of a rule or a device, and of conditions under which a claim is bound.
const MOST_ITEMS: usize = 32;
const MOST_ALTERNATIVES: usize = 8;
const MOST_CONDITIONS: usize = 8;
const MOST_CONDITIONS_TO_BIND: usize = 4;
/// The largest size of expressions and of parameters.
const MOST_BYTES: usize = 10 * 1024;
const MOST_POOL_BYTES: usize = 253;
const MOST_ANNOTATION_BYTES: usize = 256 * 1024;
const MOST_DOMAIN_BYTES: usize = 63;
const MOST_ID_BYTES: usize = 32;

const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];

pub(crate) fn claim(claim: &Field<'_>, errors: &mut Errors) {
    let spec = claim.get("spec");
    if claim.is_update() {
        spec.immutable_hidden(errors);
    } else {
        let claim = spec.get("devices");
        devices(&claim, errors);
        declared(&claim, errors);
    }
}

/// The metadata that a template may not have, and the names of fields in paths, which are those of Go.
const UNTEMPLATED: [(&str, &str); 13] = [
    ("name", "name"),
    ("generateName", "generateName"),
    ("namespace", "namespace"),
    ("selfLink", "selfLink"),
    ("uid", "uID"),
    ("resourceVersion", "resourceVersion"),
    ("generation", "generation"),
    ("creationTimestamp", "creationTimestamp"),
    ("deletionTimestamp", "deletionTimestamp"),
    ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
    ("ownerReferences", "ownerReferences"),
    ("finalizers", "finalizers"),
    ("managedFields", "managedFields"),
];

fn template_metadata(metadata: &Field<'_>, errors: &mut Errors) {
    let annotations = metadata.get("annotations");
    let mut size = 0;
    for (key, value) in annotations.entries() {
        size += key.len() + value.text().len();
        let found = qualified_name(&key.to_lowercase());
        faults(&annotations.path, key, found, errors);
    }
    if size > MOST_ANNOTATION_BYTES {
        errors.push(FieldError::too_long(
            annotations.path,
            MOST_ANNOTATION_BYTES,
        ));
    }

    metadata.get("labels").labels(errors);
    for (name, shown) in UNTEMPLATED {
        let field = metadata.get(name);
        if !field.is_empty() && (name != "generation" || field.number() != 0) {
            let path = metadata.path.child(shown);
            errors.push(FieldError::forbidden(path, "cannot be set"));
        }
    }
}

pub(crate) fn claim_template(template: &Field<'_>, errors: &mut Errors) {
    let spec = template.get("spec");
    template_metadata(&spec.get("metadata"), errors);
    let claim = spec.get("spec").get("devices");
    devices(&claim, errors);
    if template.is_update() {
        spec.immutable_as("ResourceClaimTemplateSpec", errors);
    }
    declared(&claim, errors);
}

/// The requests of a claim, and the alternatives of each.
type RequestNames<'v> = BTreeMap<&'v str, BTreeSet<&'v str>>;

fn request_names<'v>(claim: &Field<'v>) -> RequestNames<'v> {
    let names = claim.get("requests").items().map(|request| {
        let alternatives = request.get("firstAvailable");
        let names = alternatives.items().map(|item| item.get("name").text());
        (request.get("name").text(), names.collect())
    });
    names.collect()
}

fn devices(claim: &Field<'_>, errors: &mut Errors) {
    let [requests, constraints, configurations] =
        ["requests", "constraints", "config"].map(|name| claim.get(name));
    let names = request_names(claim);

    // A list that is too long is not checked further.
    let few = |list: &Field<'_>| list.len() <= MOST_ITEMS;
    for request in requests.items().filter(|_| few(&requests)) {
        check_request(&request, errors);
    }
    for constraint in constraints.items().filter(|_| few(&constraints)) {
        requests_exist(&constraint, &names, errors);
        let attributes = ["matchAttribute", "distinctAttribute"];
        if !attributes.iter().any(|name| constraint.get(name).is_set()) {
            let detail = "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields \
                          are set";
            constraint.missing(detail, errors);
        }
    }
    for configuration in configurations.items().filter(|_| few(&configurations)) {
        requests_exist(&configuration, &names, errors);
        check_configuration(&configuration, errors);
    }
}

/// The errors of the generated validation of Kubernetes, which are the last ones.
fn declared(claim: &Field<'_>, errors: &mut Errors) {
    let [requests, constraints, configurations] =
        ["requests", "constraints", "config"].map(|name| claim.get(name));
    if requests.at_most_items(MOST_ITEMS, errors) {
        distinct(&requests, text_of("name"), "DeviceRequest", errors);
        for request in requests.items() {
            if let Some(exact) = exact_request(&request) {
                declared_request(&exact, errors);
            }

            // A request has alternatives in place of one exact form.
            let alternatives = request.get("firstAvailable");
            if alternatives.at_most_items(MOST_ALTERNATIVES, errors) {
                distinct(&alternatives, text_of("name"), "DeviceSubRequest", errors);
                for alternative in alternatives.items() {
                    class_name(&alternative.get("deviceClassName"), errors);
                    declared_request(&alternative, errors);
                }
            }
        }
    }

    if constraints.at_most_items(MOST_ITEMS, errors) {
        for constraint in constraints.items() {
            unique_texts(&constraint.get("requests"), MOST_ITEMS, errors);
            for attribute in ["matchAttribute", "distinctAttribute"] {
                full_name(&constraint.get(attribute), errors);
            }
        }
    }
    if configurations.at_most_items(MOST_ITEMS, errors) {
        for configuration in configurations.items() {
            unique_texts(&configuration.get("requests"), MOST_ITEMS, errors);
            declared_configuration(&configuration, errors);
        }
    }
}

/// The part of a request that asks for one kind of devices. In v1beta1, the request is that part.
fn exact_request<'v>(request: &Field<'v>) -> Option<Field<'v>> {
    let exact = request.get("exactly");
    let is_flat = ["deviceClassName", "allocationMode", "selectors"]
        .iter()
        .any(|name| request.get(name).is_set());
    if is_flat {
        Some(request.clone())
    } else {
        exact.is_set().then_some(exact)
    }
}

fn check_request(request: &Field<'_>, errors: &mut Errors) {
    request_name(&request.get("name"), errors);
    let alternatives = request.get("firstAvailable");
    let detail = "exactly one of `exactly` or `firstAvailable` is required";
    match (exact_request(request), alternatives.is_empty()) {
        (None, true) => request.missing(detail, errors),
        (Some(_), false) => {
            let detail = format!("{detail}, but multiple fields are set");
            errors.push(FieldError::invalid(
                request.path.clone(),
                Value::Null,
                detail,
            ));
        }
        (Some(exact), true) => {
            let exact = exact.moved(request.get("exactly").path);
            class_name(&exact.get("deviceClassName"), errors);
            requested(&exact, errors);
        }
        (None, false) if alternatives.len() > MOST_ALTERNATIVES => {}
        (None, false) => {
            for alternative in alternatives.items() {
                request_name(&alternative.get("name"), errors);
                requested(&alternative, errors);
            }
        }
    }
}

fn request_name(name: &Field<'_>, errors: &mut Errors) {
    name.faults(NameSyntax::Label.faults(name.text(), false), errors);
}

fn class_name(name: &Field<'_>, errors: &mut Errors) {
    name.require_name(NameSyntax::Subdomain, "", errors);
}

fn requested(request: &Field<'_>, errors: &mut Errors) {
    selectors(&request.get("selectors"), errors);
    let (mode, count) = (request.get("allocationMode"), request.get("count"));
    match mode.text() {
        "All" => {
            let detail = "must not be specified when allocationMode is 'All'";
            count.invalid_if(count.number() != 0, detail, errors);
        }
        "ExactCount" if count.number() <= 0 => {
            count.invalid_number("must be greater than zero", errors);
        }
        _ => {}
    }

    for each in request.get("tolerations").items() {
        toleration(&each, errors);
    }
}

fn toleration(toleration: &Field<'_>, errors: &mut Errors) {
    let value = toleration.get("value");
    match toleration.get("operator").text() {
        "Exists" => {
            let detail = "must be empty for operator `Exists`";
            value.invalid_if(!value.is_empty(), detail, errors);
        }
        "Equal" => value.faults(label_value(value.text()), errors),
        _ => {}
    }
}

fn declared_request(request: &Field<'_>, errors: &mut Errors) {
    request.get("selectors").at_most_items(MOST_ITEMS, errors);
    request
        .get("allocationMode")
        .optional_one_of(&["All", "ExactCount"], errors);
    for toleration in request.get("tolerations").items() {
        declared_toleration(&toleration, errors);
    }
}

fn declared_toleration(toleration: &Field<'_>, errors: &mut Errors) {
    let key = toleration.get("key");
    if !key.is_empty() {
        key.qualified(errors);
    }
    toleration
        .get("operator")
        .require_one_of(&["Equal", "Exists"], errors);
    let effect = toleration.get("effect");
    if !effect.is_empty() {
        effect.one_of(&EFFECTS, errors);
    }
}

fn selectors(selectors: &Field<'_>, errors: &mut Errors) {
    for selector in selectors.items().filter(|_| selectors.len() <= MOST_ITEMS) {
        let cel = selector.get("cel");
        if cel.is_set() {
            cel.get("expression").at_most(MOST_BYTES, errors);
        } else {
            cel.missing("", errors);
        }
    }
}

/// Requires that the requests which an item names are requests of the claim, or alternatives of them.
fn requests_exist(item: &Field<'_>, names: &RequestNames<'_>, errors: &mut Errors) {
    let requests = item.get("requests");
    for request in requests.items().filter(|_| requests.len() <= MOST_ITEMS) {
        request_exists(&request, names, errors);
    }
}

fn request_exists(request: &Field<'_>, names: &RequestNames<'_>, errors: &mut Errors) {
    let detail = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
    let parts: Vec<&str> = request.text().split('/').collect();
    if parts.len() > 2 {
        request.invalid(detail, errors);
        return;
    }
    for part in &parts {
        let found = NameSyntax::Label.faults(part, false);
        faults(&request.path, part, found, errors);
    }

    let is_known = match parts.as_slice() {
        [name] => names.contains_key(name),
        [name, alternative] => names
            .get(name)
            .is_some_and(|names| names.contains(alternative)),
        _ => false,
    };
    if !is_known {
        request.invalid_text(detail, errors);
    }
}

fn check_configuration(configuration: &Field<'_>, errors: &mut Errors) {
    let opaque = configuration.get("opaque");
    if !opaque.is_set() {
        opaque.missing("", errors);
        return;
    }
    json_object(&opaque.get("parameters"), errors);
}

/// Requires a map that is not too long, of any form.
fn json_object(object: &Field<'_>, errors: &mut Errors) {
    let path = object.path.clone();
    match object.value {
        None => object.missing("", errors),
        Some(value) if value.to_json().len() > MOST_BYTES => {
            errors.push(FieldError::too_long(path, MOST_BYTES));
        }
        Some(Value::Map(_)) => {}
        Some(_) => {
            let detail = "must be a valid JSON object";
            errors.push(FieldError::invalid(path, "<value omitted>", detail));
        }
    }
}

fn declared_configuration(configuration: &Field<'_>, errors: &mut Errors) {
    let opaque = configuration.get("opaque");
    if opaque.is_set() {
        attachments::declared_driver(&opaque.get("driver"), errors);
    }
}

/// Requires that the items of a list, of a type, differ in what identifies them.
fn distinct<'v, K: Ord>(
    list: &Field<'v>,
    key: impl Fn(&Field<'v>) -> K,
    ty: &str,
    errors: &mut Errors,
) {
    let mut seen = BTreeSet::new();
    for item in list.items() {
        if !seen.insert(key(&item)) {
            errors.push(duplicate_struct(&item, &shown::json(ty, item.value)));
        }
    }
}

/// What reads a string of an item.
fn text_of<'v>(name: &str) -> impl Fn(&Field<'v>) -> &'v str {
    move |item| item.get(name).text()
}

fn unique_texts(list: &Field<'_>, most: usize, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    if list.at_most_items(most, errors) {
        list.items().for_each(|item| item.unique(&mut seen, errors));
    }
}

/// Requires a domain and a name, if there is a value.
fn full_name(name: &Field<'_>, errors: &mut Errors) {
    if !name.is_set() {
        return;
    }
    let (path, parts) = (&name.path, name.text().split('/').collect::<Vec<_>>());
    // Kubernetes does not check names of more parts.
    match parts.as_slice() {
        [only] => {
            identifier(path, only, errors);
            let detail = "a fully qualified name must be a domain and a name separated by a slash";
            name.invalid_text(detail, errors);
        }
        [domain, id] => {
            if not_empty(path, domain, "prefix must not be empty", errors) {
                if domain.len() > MOST_DOMAIN_BYTES {
                    errors.push(FieldError::too_long(path.clone(), MOST_DOMAIN_BYTES));
                }
                let found = NameSyntax::Subdomain.faults(domain, false).into_iter();
                let found = found.map(|fault| format!("prefix: {fault}"));
                faults(path, domain, found.collect(), errors);
            }
            if not_empty(path, id, "name must not be empty", errors) {
                identifier(path, id, errors);
            }
        }
        _ => {}
    }
}

/// Requires a part of a name, and returns whether there is one.
fn not_empty(path: &FieldPath, part: &str, detail: &str, errors: &mut Errors) -> bool {
    if part.is_empty() {
        errors.push(FieldError::invalid(path.clone(), "", detail));
    }
    !part.is_empty()
}

/// Requires a short name in the language C.
fn identifier(path: &FieldPath, id: &str, errors: &mut Errors) {
    if id.len() > MOST_ID_BYTES {
        errors.push(FieldError::too_long(path.clone(), MOST_ID_BYTES));
    }
    faults(path, id, syntax::c_identifier(id), errors);
}

/// Checks the conditions of a device that decide whether a claim is bound: with those of success there are those of failure.
fn binding(device: &Field<'_>, errors: &mut Errors) {
    let [good, bad] =
        ["bindingConditions", "bindingFailureConditions"].map(|name| device.get(name));
    for list in [&good, &bad] {
        let few = |_: &Field<'_>| list.len() <= MOST_CONDITIONS_TO_BIND;
        for condition in list.items().filter(few) {
            condition.qualified(errors);
        }
    }

    let known: BTreeSet<&str> = good.texts().collect();
    for list in [&good, &bad] {
        let mut seen = BTreeSet::new();
        for condition in list.items() {
            condition.unique(&mut seen, errors);
            if list.path == bad.path && known.contains(condition.text()) {
                let detail = "bindingFailureConditions must not overlap with bindingConditions";
                condition.invalid_text(detail, errors);
            }
        }
    }
    if good.is_empty() != bad.is_empty() {
        let (missing, name, other) = if good.is_empty() {
            (good, "bindingConditions", "bindingFailureConditions")
        } else {
            (bad, "bindingFailureConditions", "bindingConditions")
        };
        missing.invalid(format!("{name} are required to use {other}"), errors);
    }
}

pub(crate) fn class(class: &Field<'_>, errors: &mut Errors) {
    let spec = class.get("spec");
    let [found, configurations, extended] =
        ["selectors", "config", "extendedResourceName"].map(|name| spec.get(name));
    selectors(&found, errors);
    for configuration in configurations
        .items()
        .filter(|_| configurations.len() <= MOST_ITEMS)
    {
        check_configuration(&configuration, errors);
    }

    // The generated validation of Kubernetes has these errors at the end.
    found.at_most_items(MOST_ITEMS, errors);
    if configurations.at_most_items(MOST_ITEMS, errors) {
        for configuration in configurations.items() {
            declared_configuration(&configuration, errors);
        }
    }
    if extended.is_set() {
        extended.faults(extended_resource(extended.text()), errors);
    }
    names::prefix_alone(class, errors);
}

/// The faults of the name of a resource that is not one of Kubernetes.
fn extended_resource(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !name.contains('/') {
        let detail = "a name must be a domain-prefixed path, such as 'example.com/my-prop'";
        found.push(detail.to_owned());
    } else if name.contains("kubernetes.io/") {
        found.push("must not have \"kubernetes.io/\" domain".to_owned());
    }
    if name.starts_with("requests.") {
        found.push("must not have \"requests.\" prefix".to_owned());
    }

    // A quota has the name with that prefix.
    found.extend(qualified_name(&format!("requests.{name}")));
    found
}

pub(crate) fn taint_rule(rule: &Field<'_>, errors: &mut Errors) {
    let spec = rule.get("spec");
    let (selector, tainted) = (spec.get("deviceSelector"), spec.get("taint"));
    let [driver, pool, device] = ["driver", "pool", "device"].map(|name| selector.get(name));
    if driver.is_set() {
        attachments::driver(&driver, errors);
    }
    if pool.is_set() {
        pool_name(&pool, errors);
    }
    device.name(NameSyntax::Label, errors);

    taint(&tainted, errors);
    let effect = tainted.get("effect");
    if effect.is_changed() || !rule.is_update() {
        effect.require_one_of(&EFFECTS, errors);
    }
}

fn taint(taint: &Field<'_>, errors: &mut Errors) {
    taint.get("key").qualified(errors);
    let value = taint.get("value");
    value.faults(label_value(value.text()), errors);
}

pub(crate) fn taint_rule_status(rule: &Field<'_>, errors: &mut Errors) {
    let found = rule.get("status").get("conditions");
    conditions::check(&found, errors);
    found.at_most_items(MOST_CONDITIONS, errors);
}

/// Requires subdomains between slashes.
fn pool_name(pool: &Field<'_>, errors: &mut Errors) {
    pool.require("", errors);
    if pool.is_empty() {
        return;
    }
    pool.at_most(MOST_POOL_BYTES, errors);
    for part in pool.text().split('/') {
        for fault in NameSyntax::Subdomain.faults(part, false) {
            errors.push(FieldError::invalid(pool.path.clone(), part, fault));
        }
    }
}
