//! Requests and limits of resources.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::qualified_name;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Map, Value};

use crate::amount::Amount;
use crate::functions::pod_resources::of_containers;
use crate::place::{Errors, NOT_NEGATIVE, Place, faults};
use crate::validation::functions::resource_names::is_standard;

pub(super) fn of_container(requirements: &Place<'_>, claims: &BTreeSet<&str>, errors: &mut Errors) {
    check(requirements, container_resource, errors);
    claimed(requirements, claims, errors);
}

pub(super) fn of_pod(
    requirements: &Place<'_>,
    spec: &Place<'_>,
    claims: &BTreeSet<&str>,
    errors: &mut Errors,
) {
    if spec
        .child("os")
        .is_some_and(|os| os.text("name") == "windows")
    {
        spec.forbid("resources", "may not be set for a windows pod", errors);
        return;
    }
    if requirements.get("claims").is_some() {
        requirements.forbid(
            "claims",
            "claims may not be set for Resources at pod-level",
            errors,
        );
    }
    check(requirements, pod_resource, errors);
    claimed(requirements, claims, errors);
    containers_of_pod(requirements, spec, errors);
}

/// Checks that the containers of a pod get by with its resources.
fn containers_of_pod(requirements: &Place<'_>, spec: &Place<'_>, errors: &mut Errors) {
    let mut compare = |member: &str, is_checked: fn(&str) -> bool| {
        for (name, total) in of_containers(spec.value, member) {
            let own = requirements.map(member).and_then(|own| own.get(&name));
            let own = own.filter(|_| is_checked(&name));
            if let Some(own) = own.filter(|own| total.amount > amount(own)) {
                let path = requirements.at(member).key(name);
                let detail = format!(
                    "must be greater than or equal to aggregate container {member} of {}",
                    total.text()
                );
                errors.push(FieldError::invalid(path, own.clone(), detail));
            }
        }
    };
    compare("requests", |_| true);
    compare("limits", is_huge_page);

    // The path of the error is not that of the container, as in Kubernetes.
    for (index, container) in spec.items("containers").enumerate() {
        let limits = container.child("resources");
        let limits = limits.as_ref().and_then(|own| own.map("limits"));
        for (name, limit) in limits.into_iter().flatten() {
            let own = requirements.map("limits").and_then(|own| own.get(name));
            if let Some(own) = own.filter(|own| amount(limit) > amount(own)) {
                let path = requirements.at("containers").index(index).key(name.clone());
                let own = own.as_str().unwrap_or_default();
                let detail = format!("must be less than or equal to pod limits of {own}");
                let path = path.child("limits");
                errors.push(FieldError::invalid(path, limit.clone(), detail));
            }
        }
    }
}

/// Checks the overhead of a Pod. Kubernetes checks it as the limits of a container, and the paths of errors say so.
pub(in super::super) fn overhead(path: &FieldPath, amounts: Value, errors: &mut Errors) {
    let limits = Value::Map(Map::single("limits", amounts));
    of_container(&Place::new(path, &limits), &BTreeSet::new(), errors);
}

pub(super) fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether limits may be higher than requests: huge pages and extended resources cannot be overcommitted.
pub(in super::super) fn may_exceed(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && qualified_name(&format!("requests.{name}")).is_empty()
}

/// Checks the name of a resource and returns whether it has the syntax of names.
pub(in super::super) fn resource(name: &str, path: &FieldPath, errors: &mut Errors) -> bool {
    let found = qualified_name(name);
    let is_valid = found.is_empty();
    faults(path, name, found, errors);
    let is_quota = is_huge_page(name) || name.starts_with("requests.hugepages-");
    if is_valid && !name.contains('/') && !is_standard(name) && !is_quota {
        let detail = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid(path.clone(), name, detail));
        return false;
    }
    is_valid
}

pub(in super::super) fn container_resource(name: &str, path: &FieldPath, errors: &mut Errors) {
    resource(name, path, errors);
    let detail = if !name.contains('/') {
        if matches!(name, "cpu" | "memory" | "ephemeral-storage") || is_huge_page(name) {
            return;
        }
        "must be a standard resource for containers"
    } else if is_native(name) || is_extended(name) {
        return;
    } else {
        "doesn't follow extended resource name standard"
    };
    errors.push(FieldError::invalid(path.clone(), name, detail));
}

fn pod_resource(name: &str, path: &FieldPath, errors: &mut Errors) {
    if resource(name, path, errors) && !matches!(name, "cpu" | "memory") && !is_huge_page(name) {
        errors.push(FieldError::not_supported(
            path.clone(),
            name,
            &["cpu", "hugepages-", "memory"],
        ));
    }
}

fn amount(quantity: &Value) -> Amount {
    quantity
        .as_str()
        .and_then(Amount::parse)
        .unwrap_or_default()
}

pub(in super::super) fn quantity_of(
    name: &str,
    quantity: &Value,
    path: FieldPath,
    errors: &mut Errors,
) {
    if amount(quantity) < Amount::default() {
        errors.push(FieldError::invalid(
            path.clone(),
            quantity.clone(),
            NOT_NEGATIVE,
        ));
    }

    // Extended resources are counted in whole units.
    if is_extended(name) && !amount(quantity).is_whole() {
        errors.push(FieldError::invalid(
            path,
            quantity.clone(),
            "must be an integer",
        ));
    }
}

fn check(
    requirements: &Place<'_>,
    check_name: fn(&str, &FieldPath, &mut Errors),
    errors: &mut Errors,
) {
    let (limits, requests) = (requirements.map("limits"), requirements.map("requests"));
    let (mut has_compute, mut has_huge_pages) = (false, false);
    for (list, is_request) in [(limits, false), (requests, true)] {
        let list_path = || requirements.at(if is_request { "requests" } else { "limits" });
        for (name, quantity) in list.into_iter().flatten() {
            let path = list_path().key(name.clone());
            check_name(name, &path, errors);
            quantity_of(name, quantity, path, errors);
            if is_request {
                request(requirements, name, quantity, errors);
            }
            if is_huge_page(name) {
                pages(name, quantity, &list_path().key(name.clone()), errors);
            }
            has_huge_pages |= is_huge_page(name);
            has_compute |= matches!(name.as_str(), "cpu" | "memory");
        }
    }

    if has_huge_pages && !has_compute {
        errors.push(FieldError::forbidden(
            requirements.path.clone(),
            "HugePages require cpu or memory",
        ));
    }
}

/// Compares a request with the limit of its resource.
fn request(requirements: &Place<'_>, name: &str, quantity: &Value, errors: &mut Errors) {
    let limit = requirements
        .map("limits")
        .and_then(|limits| limits.get(name));
    let Some(limit) = limit else {
        if !may_exceed(name) {
            let detail = "Limit must be set for non overcommitable resources";
            requirements.missing("limits", detail, errors);
        }
        return;
    };

    let words = if amount(quantity) != amount(limit) && !may_exceed(name) {
        "must be equal to"
    } else if amount(quantity) > amount(limit) {
        "must be less than or equal to"
    } else {
        return;
    };
    let limit = limit.as_str().unwrap_or_default();
    let detail = format!("{words} {name} limit of {limit}");
    // The path is that of the list without the name, as in Kubernetes.
    let path = requirements.at("requests");
    errors.push(FieldError::invalid(path, quantity.clone(), detail));
}

/// Checks that huge pages are whole ones of the size in the name of the resource.
fn pages(name: &str, quantity: &Value, path: &FieldPath, errors: &mut Errors) {
    let size = name.strip_prefix("hugepages-").and_then(Amount::parse);
    let size = size.filter(|size| size.thousandths() % 1000 == 0);
    let bytes = size.map(Amount::whole).filter(|bytes| *bytes > 0);
    if bytes.is_none_or(|bytes| amount(quantity).whole() % bytes != 0) {
        let quantity = quantity.as_str().unwrap_or_default();
        let detail = format!("{quantity} is not positive integer multiple of {name}");
        errors.push(FieldError::invalid(path.clone(), quantity, detail));
    }
}

/// The number of errors of an object after which an error does not list the names of all claims. The cost would grow with
/// the product of the names of containers and of the pod.
const MAX_LISTED: usize = 100;

fn claimed(requirements: &Place<'_>, known: &BTreeSet<&str>, errors: &mut Errors) {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for claim in requirements.items("claims") {
        let (name, request) = (claim.text("name"), claim.text("request"));
        if name.is_empty() {
            errors.push(FieldError::required(claim.path, ""));
            continue;
        }

        if names.contains(name) {
            errors.push(FieldError::duplicate(claim.path.clone(), name));
        } else {
            claim.label("request", errors);
            let key = if request.is_empty() {
                name.to_owned()
            } else {
                format!("{name}/{request}")
            };
            // A whole claim overlaps with each of its requests, whose keys follow `name/` in the sorted set.
            let start = format!("{name}/");
            let follows = names.range(start.clone()..).next();
            // Kubernetes takes the part of a key before the first slash for the name.
            let overlaps = request.is_empty()
                && !name.contains('/')
                && follows.is_some_and(|other: &String| other.starts_with(&start));
            if names.contains(&key) || overlaps {
                errors.push(FieldError::duplicate(claim.path.clone(), key.clone()));
            }
            names.insert(key);
        }

        if !known.contains(name) {
            let mut error = FieldError::not_found(claim.path.clone(), name);
            error.detail = "must be one of the names in pod.spec.resourceClaims".to_owned();
            if known.is_empty() {
                error.detail += " which is empty";
            } else if errors.len() < MAX_LISTED {
                let names: Vec<_> = known.iter().copied().collect();
                error.detail += &format!(": {}", names.join(", "));
            }
            errors.push(error);
        }
    }
}

/// Checks a reference to a resource of a container.
pub(super) fn selector(selector: &Place<'_>, of_volume: bool, errors: &mut Errors) {
    const RESOURCES: &[&str] = &[
        "limits.cpu",
        "limits.ephemeral-storage",
        "limits.memory",
        "requests.cpu",
        "requests.ephemeral-storage",
        "requests.memory",
    ];
    let resource = selector.text("resource");
    let is_huge_page = ["requests.hugepages-", "limits.hugepages-"]
        .iter()
        .any(|start| resource.starts_with(start));

    // A variable is about its own container; a volume belongs to none and has to name one.
    if (!of_volume || selector.require("containerName", "", errors))
        && selector.require("resource", "", errors)
        && !RESOURCES.contains(&resource)
        && !is_huge_page
    {
        errors.push(FieldError::not_supported(
            selector.at("resource"),
            resource,
            RESOURCES,
        ));
    }

    // An absent divisor and 0 are replaced by 1, which every resource accepts.
    let divisor = selector.text("divisor");
    if divisor.is_empty() || divisor == "0" {
        return;
    }
    const UNITS: &[&str] = &[
        "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
    ];
    // Processors are divided into thousandths, bytes into powers of 1000 or 1024.
    let named = match resource {
        "limits.cpu" | "requests.cpu" => {
            if !matches!(divisor, "1m" | "1") {
                let detail = "only divisor's values 1m and 1 are supported with the cpu resource";
                errors.push(FieldError::invalid(
                    selector.at("divisor"),
                    resource,
                    detail,
                ));
            }
            return;
        }
        "limits.memory" | "requests.memory" => "memory",
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => "local ephemeral storage",
        _ if is_huge_page => "hugepages",
        _ => return,
    };

    if !UNITS.contains(&divisor) {
        let detail = format!(
            "only divisor's values {} are supported with the {named} resource",
            UNITS.join(", ")
        );
        errors.push(FieldError::invalid(
            selector.at("divisor"),
            resource,
            detail,
        ));
    }
}
