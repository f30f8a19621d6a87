//! The states of the containers of a pod, and what they were given.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_value::{Map, Value};

use crate::amount::Amount;
use crate::place::{Errors, Place, faults};
use crate::validation::functions::field::Field;

/// The lists of statuses and the containers that they are about.
const LISTS: [(&str, &str); 3] = [
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
];
const MOST_USER: i64 = u32::MAX as i64;
const MOST_GROUP: i64 = i32::MAX as i64;
const MOST_MESSAGE_BYTES: usize = 1024;

/// Checks that a container that has ended runs again only if it may be restarted.
pub(super) fn transitions(pod: &Field<'_>, errors: &mut Errors) {
    let live = pod.before();
    let Some(spec) = live.get("spec").place() else {
        return;
    };
    // With such a rule, the end of one container restarts all.
    let mut rules = ["initContainers", "containers"]
        .into_iter()
        .flat_map(|list| spec.items(list))
        .flat_map(|container| container.items("restartPolicyRules"));
    let restarts_all = rules.any(|rule| rule.text("action") == "RestartAllContainers");

    for (list, of) in LISTS {
        let is_ephemeral = of == "ephemeralContainers";
        if restarts_all && !is_ephemeral {
            continue;
        }
        let (new, old) = (pod.get("status").get(list), live.get("status").get(list));
        let running: BTreeSet<&str> = new
            .items()
            .filter(|status| !status.get("state").get("terminated").is_set())
            .map(|status| status.get("name").text())
            .collect();
        let containers = by_name(&spec, of);
        for status in old.items() {
            let (name, end) = (
                status.get("name").text(),
                status.get("state").get("terminated"),
            );
            let code = end.get("exitCode").number();
            let may_restart = !is_ephemeral
                && containers
                    .get(name)
                    .is_some_and(|container| is_restarted(container, &spec, code));
            if end.is_set() && running.contains(name) && !may_restart {
                let detail = "may not be transitioned to non-terminated state";
                status.get("state").forbid(detail, errors);
            }
        }
    }
}

/// The containers of a list by their names.
fn by_name<'v>(spec: &Place<'v>, list: &str) -> BTreeMap<&'v str, Place<'v>> {
    let containers = spec.items(list);
    containers
        .map(|container| (container.text("name"), container))
        .collect()
}

/// Whether a container starts again after an exit.
fn is_restarted(container: &Place<'_>, spec: &Place<'_>, code: i64) -> bool {
    let follows = |policy: &str| match policy {
        "Always" => Some(true),
        "OnFailure" => Some(code != 0),
        "Never" => Some(false),
        _ => None,
    };
    // Without a policy of its own, a container has that of the pod. Only a container with a policy has rules.
    let of_container = container.get("restartPolicy").and_then(|_| {
        let mut rules = container.items("restartPolicyRules");
        let rule = rules.find(|rule| selects(rule, code));
        let is_restart = rule.is_some_and(|rule| rule.text("action") == "Restart");
        is_restart
            .then_some(true)
            .or_else(|| follows(container.text("restartPolicy")))
    });
    of_container
        .or_else(|| follows(spec.text("restartPolicy")))
        .unwrap_or(true)
}

fn selects(rule: &Place<'_>, code: i64) -> bool {
    let Some(codes) = rule.child("exitCodes") else {
        return false;
    };
    let is_listed = codes.values("values").any(|one| one.as_i64() == Some(code));
    match codes.text("operator") {
        "In" => is_listed,
        "NotIn" => !is_listed,
        _ => false,
    }
}

/// Checks the claims that were made for a pod.
pub(super) fn claims(status: &Place<'_>, spec: &Place<'_>, errors: &mut Errors) {
    let names = spec
        .values("resourceClaims")
        .filter_map(|claim| claim.get("name")?.as_str());
    let known: BTreeSet<&str> = names.collect();
    let mut found = BTreeSet::new();
    for claim in status.items("resourceClaimStatuses") {
        if !known.contains(claim.text("name")) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            let path = claim.at("name");
            errors.push(FieldError::invalid(path, claim.text("name"), detail));
        }
        claim.unique("name", &mut found, errors);
        if claim.get("resourceClaimName").is_some() {
            let is_name = |name: &str| NameSyntax::Subdomain.faults(name, false);
            claim.faults("resourceClaimName", is_name, errors);
        }
    }
    if let Some(extended) = status.child("extendedResourceClaimStatus") {
        extended_claim(&extended, spec, errors);
    }
}

/// Checks the claim that was made for the extended resources of a pod.
fn extended_claim(claim: &Place<'_>, spec: &Place<'_>, errors: &mut Errors) {
    let detail = "at least one request mapping is required";
    claim.require("requestMappings", detail, errors);
    let mut containers = by_name(spec, "initContainers");
    containers.extend(by_name(spec, "containers"));

    let mut seen = BTreeSet::new();
    for mapping in claim.items("requestMappings") {
        let [container, resource, request] =
            ["containerName", "resourceName", "requestName"].map(|name| mapping.text(name));
        let invalid = |name: &str, detail: &str| {
            FieldError::invalid(mapping.at(name), mapping.text(name), detail)
        };
        match containers.get(container) {
            None => {
                let detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name";
                errors.push(invalid("containerName", detail));
            }
            Some(container) if requests(container).is_none_or(|all| !all.contains(resource)) => {
                let detail = "must match the extended resource name of an entry in \
                              spec.initContainers.resources.requests or spec.containers.resources.requests";
                errors.push(invalid("resourceName", detail));
            }
            Some(_) => {}
        }

        // The path is not that of the mapping, as in Kubernetes.
        let found = NameSyntax::Label.faults(request, false);
        faults(&claim.at("requestName"), request, found, errors);
        if !seen.insert((container, resource, request)) {
            for name in ["containerName", "resourceName", "requestName"] {
                let text = mapping.text(name);
                errors.push(FieldError::duplicate(mapping.at(name), text));
            }
        }
    }
    if claim.require("resourceClaimName", "", errors) {
        claim.subdomain("resourceClaimName", errors);
    }
}

/// The resources that a container requests.
fn requests<'v>(container: &Place<'v>) -> Option<&'v Map> {
    container.child("resources")?.map("requests")
}

/// Checks the users as whom containers run.
pub(super) fn users(status: &Place<'_>, spec: &Place<'_>, errors: &mut Errors) {
    let os = spec.child("os");
    let os = os.as_ref().map_or("linux", |os| os.text("name"));
    let statuses = LISTS.iter().flat_map(|(list, _)| status.items(list));
    for user in statuses.filter_map(|status| status.child("user")) {
        if os == "windows" {
            let is_set = user.get("linux").is_some();
            user.forbid_if(is_set, "linux", "cannot be set for a windows pod", errors);
        }
        let Some(user) = user.child("linux").filter(|_| os == "linux") else {
            continue;
        };
        // A runtime may report any user, of which pods can ask for half.
        user.in_range("uid", 0, MOST_USER, errors);
        user.in_range("gid", 0, MOST_GROUP, errors);
        for group in user.items("supplementalGroups") {
            let number = group.value.as_i64().unwrap_or_default();
            if !(0..=MOST_GROUP).contains(&number) {
                let detail = format!("must be between 0 and {MOST_GROUP}, inclusive");
                errors.push(FieldError::invalid(group.path, number, detail));
            }
        }
    }
}

/// Checks the health of the resources that containers were given.
pub(super) fn allocated(status: &Place<'_>, spec: &Place<'_>, errors: &mut Errors) {
    const LIST: &str = "allocatedResourcesStatus";
    for (list, of) in LISTS {
        if of == "ephemeralContainers" {
            for status in status.items(list) {
                let has_some = status.len(LIST) > 0;
                let detail = "must not be specified in container status";
                status.forbid_if(has_some, LIST, detail, errors);
            }
            continue;
        }

        let containers = by_name(spec, of);
        let known = granted(&containers, status);
        for status in status.items(list) {
            let container = status.text("name");
            for resource in status.items(LIST) {
                let name = resource.text("name");
                // A status may be about a container that the pod does not have.
                let is_known = known.contains(&(container, name.to_owned()));
                if containers.contains_key(container) && !is_known {
                    let detail = if name.starts_with("claim:") {
                        "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when \
                         container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
                    } else {
                        "must match one of the container's resource requests"
                    };
                    resource.invalid("name", detail, errors);
                }
                devices(&resource, errors);
            }
        }
    }
}

/// The names that the resources of each container can have in its status.
fn granted<'v>(
    containers: &BTreeMap<&'v str, Place<'v>>,
    status: &Place<'v>,
) -> BTreeSet<(&'v str, String)> {
    let mut known = BTreeSet::new();
    for (name, container) in containers {
        let resources = requests(container).into_iter().flatten();
        known.extend(resources.map(|(resource, _)| (*name, resource.to_string())));
        let resources = container.child("resources");
        let claims = resources.iter().flat_map(|own| own.items("claims"));
        known.extend(
            claims.map(|claim| (*name, claim_name(claim.text("name"), claim.text("request")))),
        );
    }

    // Extended resources can be devices of a claim that was made for them.
    let extended = status.child("extendedResourceClaimStatus");
    for extended in extended.iter() {
        for mapping in extended.items("requestMappings") {
            let (request, resource) = (mapping.text("requestName"), mapping.text("resourceName"));
            let Some((name, container)) = containers.get_key_value(mapping.text("containerName"))
            else {
                continue;
            };
            let amount = requests(container).and_then(|all| all.get(resource)?.as_str());
            let amount = amount.and_then(Amount::parse).unwrap_or_default();
            if !amount.is_zero() && !request.is_empty() {
                known.insert((
                    name,
                    claim_name(extended.text("resourceClaimName"), request),
                ));
            }
        }
    }
    known
}

fn claim_name(claim: &str, request: &str) -> String {
    if request.is_empty() {
        format!("claim:{claim}")
    } else {
        format!("claim:{claim}/{request}")
    }
}

fn devices(resource: &Place<'_>, errors: &mut Errors) {
    let mut ids = BTreeSet::new();
    for device in resource.items("resources") {
        device.text_one_of("health", &["Healthy", "Unhealthy", "Unknown"], errors);
        let message = device.get("message").and_then(Value::as_str);
        match message.map(str::len) {
            Some(0) => device.missing("message", "must be non-empty if specified", errors),
            Some(length) if length > MOST_MESSAGE_BYTES => {
                let path = device.at("message");
                errors.push(FieldError::too_long(path, MOST_MESSAGE_BYTES));
            }
            _ => {}
        }
        device.unique("resourceID", &mut ids, errors);
    }
}
