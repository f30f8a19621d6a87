//! Kinds that configure the API server: other servers, migrations of stored objects, and flows of requests.

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::{NameSyntax, label_1035};
use fieldmanager_value::{Map, Value};

use super::field::Field;
use super::names::api_service_name;
use super::webhooks::alone;
use super::{conditions, formats, mandatory};
use crate::place::Errors;

/// The highest number of a flow schema.
const MOST_PRECEDENCE: i64 = 10_000;

const VERBS: [&str; 9] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
];

pub(crate) fn api_service(service: &Field<'_>, errors: &mut Errors) {
    let spec = service.get("spec");
    let (group, version) = (spec.get("group"), spec.get("version"));
    // The name, which says what the other server serves, is compared with the spec again by an update.
    if service.is_update() {
        let name = service.get("metadata").get("name");
        let faults = api_service_name(version.text(), group.text(), name.text());
        name.faults(faults, errors);
    }

    let is_core = version.text() == "v1";
    if group.is_empty() && !is_core {
        let detail = "only v1 may have an empty group and it better be legacy kube";
        group.missing(detail, errors);
    }
    group.name_or_empty(NameSyntax::Subdomain, errors);
    version.faults(label_1035(version.text()), errors);
    for (name, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let number = spec.get(name);
        if !(1..=most).contains(&number.number()) {
            let detail = format!("must be positive and less than {most}");
            number.invalid_number(detail, errors);
        }
    }

    api_service_address(&spec, errors);
}

fn api_service_address(spec: &Field<'_>, errors: &mut Errors) {
    let (address, bundle) = (spec.get("service"), spec.get("caBundle"));
    let insecure = spec.get("insecureSkipTLSVerify");
    let skips = insecure.value == Some(&Value::Bool(true));
    if !address.is_set() {
        // Without an address, this server serves the version itself.
        if !bundle.is_empty() {
            let shown = format!("{} bytes", bundle.bytes().len());
            errors.push(FieldError::invalid(
                bundle.path,
                shown,
                "local APIServices may not have a caBundle",
            ));
        }
        let detail = "local APIServices may not have insecureSkipTLSVerify";
        insecure.invalid_if(skips, detail, errors);
        return;
    }

    address.get("namespace").require("", errors);
    address.get("name").require("", errors);
    let port = address.get("port");
    let faults = formats::port(port.number());
    if !faults.is_empty() {
        let detail = format!("port is not valid: {}", faults.join(", "));
        port.invalid_number(detail, errors);
    }
    let is_contradiction = skips && !bundle.is_empty();
    let detail = "may not be true if caBundle is present";
    insecure.invalid_if(is_contradiction, detail, errors);
}

pub(crate) fn api_service_status(service: &Field<'_>, errors: &mut Errors) {
    for condition in service.get("status").get("conditions").items() {
        condition
            .get("status")
            .one_of(&["True", "False", "Unknown"], errors);
    }
}

pub(crate) fn migration(migration: &Field<'_>, errors: &mut Errors) {
    let spec = migration.get("spec");
    let (group, resource) = (
        spec.get("resource").get("group"),
        spec.get("resource").get("resource"),
    );
    resource.require("resource is required to be set", errors);
    for (field, faults) in [
        (&resource, label_1035(resource.text())),
        (&group, NameSyntax::Subdomain.faults(group.text(), false)),
    ] {
        if !field.is_empty() && !faults.is_empty() {
            field.invalid(faults.join(","), errors);
        }
    }
    spec.immutable_as("StorageVersionMigrationSpec", errors);
}

pub(crate) fn migration_status(migration: &Field<'_>, errors: &mut Errors) {
    let status = migration.get("status");
    let (version, conditions) = (status.get("resourceVersion"), status.get("conditions"));
    let text = version.text();
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    if !version.is_empty() && !is_number {
        let detail = format!("resource version is not well formed: {text}");
        version.invalid(detail, errors);
    }
    conditions::check(&conditions, errors);
    if !version.before().is_empty() && version.is_changed() {
        version.invalid_text(crate::place::IMMUTABLE, errors);
    }

    // A migration ends once, and in one way.
    let ends = ["Succeeded", "Failed"].map(|ty| {
        let before = conditions.before();
        (
            conditions::is_true(&conditions, ty),
            conditions::is_true(&before, ty),
        )
    });
    if ends.iter().all(|(is_true, _)| *is_true) {
        let detail = "Both success and failed conditions cannot be true at the same time";
        conditions::contradict(&conditions, detail, errors);
    }
    for (name, (is_true, was_true)) in ["Success", "Failed"].iter().zip(ends) {
        if was_true && !is_true {
            let detail = format!("{name} condition cannot be set to false once it is true");
            conditions::contradict(&conditions, &detail, errors);
        }
    }
}

pub(crate) fn flow_schema(schema: &Field<'_>, errors: &mut Errors) {
    let spec = schema.get("spec");
    let precedence = spec.get("matchingPrecedence");
    let number = precedence.number();
    let mut refuse = |is_fault: bool, detail: &str| {
        if is_fault {
            precedence.invalid_number(detail, errors);
        }
    };
    refuse(number <= 0, "must be a positive value");
    let detail = format!("must not be greater than {MOST_PRECEDENCE}");
    refuse(number > MOST_PRECEDENCE, &detail);
    let is_exempt = schema.get("metadata").get("name").text() == "exempt";
    let detail = "only the schema named 'exempt' may have matchingPrecedence 1";
    refuse(number == 1 && !is_exempt, detail);

    let method = spec.get("distinguisherMethod");
    let (ty, accepted) = (method.get("type"), ["ByNamespace", "ByUser"]);
    if method.is_set() && !accepted.contains(&ty.text()) {
        // Kubernetes shows the whole method.
        let shown = Value::Map(Map::single("Type", ty.text()));
        errors.push(FieldError::not_supported(ty.path, shown, &accepted));
    }

    let name = spec.get("priorityLevelConfiguration").get("name");
    name.require("must reference a priority level", errors);
    name.name_or_empty(NameSyntax::Subdomain, errors);
    for rule in spec.get("rules").items() {
        flow_rule(&rule, errors);
    }
    mandatory::flow_schema(schema, errors);
}

pub(crate) fn flow_schema_status(schema: &Field<'_>, errors: &mut Errors) {
    conditions::have_types(&schema.get("status").get("conditions"), errors);
}

fn flow_rule(rule: &Field<'_>, errors: &mut Errors) {
    let subjects = rule.get("subjects");
    subjects.require("subjects must contain at least one value", errors);
    for subject in subjects.items() {
        flow_subject(&subject, errors);
    }
    let (resources, urls) = (rule.get("resourceRules"), rule.get("nonResourceRules"));
    if resources.is_empty() && urls.is_empty() {
        let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
        rule.missing(detail, errors);
    }
    for rule in resources.items() {
        flow_resources(&rule, errors);
    }
    for rule in urls.items() {
        verbs(&rule.get("verbs"), errors);
        flow_urls(&rule.get("nonResourceURLs"), errors);
    }
}

/// A subject has the member of its kind alone.
fn flow_subject(subject: &Field<'_>, errors: &mut Errors) {
    const MEMBERS: [(&str, &str); 3] = [
        ("ServiceAccount", "serviceAccount"),
        ("User", "user"),
        ("Group", "group"),
    ];
    let kind = subject.get("kind");
    let Some((_, own)) = MEMBERS.iter().find(|(name, _)| *name == kind.text()) else {
        kind.not_supported(&["Group", "ServiceAccount", "User"], errors);
        return;
    };

    let member = subject.get(own);
    let name = member.get("name");
    if member.is_set() {
        name.require("", errors);
    } else {
        let detail = format!("{own} is required when subject kind is '{}'", kind.text());
        member.missing(&detail, errors);
    }
    // A service account may stand for all of its namespace, and always has one.
    if member.is_set() && *own == "serviceAccount" {
        if name.text() != "*" {
            name.name_or_empty(NameSyntax::Subdomain, errors);
        }
        let detail = "must specify namespace for service account";
        let namespace = member.get("namespace");
        namespace.require_name(NameSyntax::Label, detail, errors);
    }

    for (kind, other) in MEMBERS.iter().filter(|(_, other)| other != own) {
        let detail = format!("{other} is forbidden when subject kind is not '{kind}'");
        let other = subject.get(other);
        other.forbid_if(other.is_set(), &detail, errors);
    }
}

fn has_wildcard(list: &Field<'_>) -> bool {
    list.texts().any(|text| text == "*")
}

fn verbs(verbs: &Field<'_>, errors: &mut Errors) {
    verbs.require("verbs must contain at least one value", errors);
    alone(verbs, "verbs", errors);
    if !has_wildcard(verbs) && verbs.texts().any(|verb| !VERBS.contains(&verb)) {
        // Kubernetes shows the whole list.
        let path = verbs.path.clone();
        errors.push(FieldError::not_supported(path, verbs.shown(), &VERBS));
    }
}

fn flow_resources(rule: &Field<'_>, errors: &mut Errors) {
    verbs(&rule.get("verbs"), errors);
    for (name, what, one) in [
        ("apiGroups", "api groups", "api group"),
        ("resources", "resources", "resource"),
    ] {
        let list = rule.get(name);
        let detail = format!("resource rules must supply at least one {one}");
        list.require(&detail, errors);
        alone(&list, what, errors);
    }

    let namespaces = rule.get("namespaces");
    if rule.get("clusterScope").value != Some(&Value::Bool(true)) {
        let detail =
            "resource rules that are not cluster scoped must supply at least one namespace";
        namespaces.require(detail, errors);
    }
    alone(&namespaces, "namespaces", errors);
    if !has_wildcard(&namespaces) {
        for namespace in namespaces.items() {
            for fault in NameSyntax::Label.faults(namespace.text(), false) {
                let intro = "each member of this list must be '*' or a DNS-1123 label; ";
                namespace.invalid(format!("{intro}{fault}"), errors);
            }
        }
    }
}

fn flow_urls(urls: &Field<'_>, errors: &mut Errors) {
    urls.require("nonResourceURLs must contain at least one value", errors);
    alone(urls, "non-resource URLs", errors);
    if has_wildcard(urls) {
        return;
    }
    for url in urls.items() {
        let text = url.text();
        let stars = text.matches('*').count();
        // Only the first fault is reported.
        let fault = match text {
            "/" => continue,
            "" => "must not be empty",
            _ if !text.starts_with('/') => "must start with slash",
            _ if text.contains(' ') => "must not contain white-space",
            _ if text.contains("//") => "must not contain double slash",
            _ if stars > 1 || stars == 1 && !text.ends_with("/*") => {
                "wildcard can only do suffix matching"
            }
            _ => continue,
        };
        url.invalid(fault, errors);
    }
}
