//! The spec of pods.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::{NameSyntax, qualified_name};
use fieldmanager_value::Value;

use super::super::formats;
use super::annotations::{self, Annotations};
use super::container::Pod;
use super::{
    container, containers_of, resources, scheduling, security, variables, volume, windows,
};
use crate::place::{Errors, Place, faults};
use crate::shown;
use crate::validation::functions::field::Field;

/// Checks the spec of a pod with a name, or that of a template.
pub(super) fn pod_spec(spec: &Place<'_>, name: &str, errors: &mut Errors) {
    spec.require("terminationGracePeriodSeconds", "", errors);
    // Containers refer to volumes and claims by name, so both are collected first.
    let pod = Pod {
        volumes: volume::volumes(spec, name, errors),
        claims: claims(spec, errors),
        spec: spec.clone(),
    };
    container::containers(&pod, errors);
    container::init_containers(&pod, errors);
    container::ephemeral_containers(&pod, errors);
    if let Some(own) = spec.child("resources") {
        resources::of_pod(&own, spec, &pod.claims, errors);
    }
    if spec.flag("hostNetwork") {
        host_network(spec, !name.is_empty(), errors);
    }

    spec.require_one_of("restartPolicy", &["Always", "OnFailure", "Never"], errors);
    spec.require_one_of(
        "dnsPolicy",
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
        errors,
    );
    spec.labels("nodeSelector", errors);
    if let Some(context) = spec.child("securityContext") {
        security::of_pod(&context, spec, errors);
    }
    // A container is in one process namespace, either that of the pod or that of the host.
    if spec.flag("shareProcessNamespace") && spec.flag("hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        spec.invalid("shareProcessNamespace", detail, errors);
    }

    spec.check("affinity", scheduling::affinity, errors);
    dns(spec, errors);
    for gate in spec.items("readinessGates") {
        gate.faults("conditionType", qualified_name, errors);
    }
    scheduling::gates(spec, errors);
    scheduling::spread(spec, errors);
    windows::host_processes(spec, errors);
    host_users(spec, errors);
    names(spec, errors);
    scheduling::tolerations(spec, errors);

    host_aliases(spec, errors);
    classes(spec, errors);
    if let Some(amounts) = spec.get("overhead") {
        resources::overhead(&spec.at("overhead"), amounts.clone(), errors);
    }
    system(spec, errors);
    variables::file_volumes(spec, errors);
}

fn host_aliases(spec: &Place<'_>, errors: &mut Errors) {
    for alias in spec.items("hostAliases") {
        alias.faults("ip", formats::ip_faults, errors);
        for name in alias.items("hostnames") {
            let text = name.value.as_str().unwrap_or_default();
            let found = NameSyntax::Subdomain.faults(text, false);
            faults(&name.path, text, found, errors);
        }
    }
}

/// The classes that decide about the priority and the runtime of the pod.
fn classes(spec: &Place<'_>, errors: &mut Errors) {
    spec.subdomain("priorityClassName", errors);
    if spec.get("runtimeClassName").is_some() {
        spec.faults(
            "runtimeClassName",
            |text| NameSyntax::Subdomain.faults(text, false),
            errors,
        );
    }

    if spec.get("preemptionPolicy").is_some() {
        spec.require_one_of(
            "preemptionPolicy",
            &["PreemptLowerPriority", "Never"],
            errors,
        );
    }
}

/// The operating system, which decides about other fields.
fn system(spec: &Place<'_>, errors: &mut Errors) {
    if let Some(os) = spec.child("os")
        && os.require("name", "", errors)
    {
        let (name, accepted) = (os.text("name"), ["linux", "windows"]);
        if accepted.contains(&name) {
            windows::of_system(spec, name, errors);
        } else {
            // The error has the path of the struct, as in Kubernetes.
            errors.push(FieldError::not_supported(os.path, name, &accepted));
        }
    }
}

/// Checks the claims of resources, and returns their names.
fn claims<'v>(spec: &Place<'v>, errors: &mut Errors) -> BTreeSet<&'v str> {
    let mut names = BTreeSet::new();
    for claim in spec.items("resourceClaims") {
        let name = claim.text("name");
        if claim.require("name", "", errors) {
            if names.contains(name) {
                errors.push(FieldError::duplicate(claim.at("name"), name));
            } else {
                claim.label("name", errors);
                names.insert(name);
            }
        }

        // A claim exists already or is created from a template, so exactly one of the two is set.
        let (by_name, by_template) = (
            claim.get("resourceClaimName").is_some(),
            claim.get("resourceClaimTemplateName").is_some(),
        );
        if by_name == by_template {
            let detail = if by_name {
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            } else {
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            };
            let shown = shown::json("PodResourceClaim", Some(claim.value));
            errors.push(shown::invalid(claim.path.clone(), &shown, detail));
        }
        for name in ["resourceClaimName", "resourceClaimTemplateName"] {
            // Fields without a value are checked too.
            if claim.get(name).is_some() {
                claim.faults(
                    name,
                    |text| NameSyntax::Subdomain.faults(text, false),
                    errors,
                );
            }
        }
    }

    names
}

fn host_network(spec: &Place<'_>, is_pod: bool, errors: &mut Errors) {
    for container in spec.items("containers") {
        for port in container.items("ports") {
            let host = port.int("hostPort").unwrap_or_default();
            // In a template the host port may be absent, because defaults set it when a pod is created.
            if (is_pod || host != 0) && host != port.int("containerPort").unwrap_or_default() {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(port.at("hostPort"), host, detail));
            }
        }
    }
}

fn dns(spec: &Place<'_>, errors: &mut Errors) {
    let config = spec.child("dnsConfig");
    // With this policy, the pod gets its name servers from the configuration alone.
    if spec.text("dnsPolicy") == "None" {
        let Some(config) = &config else {
            let detail = "must provide `dnsConfig` when `dnsPolicy` is None";
            spec.missing("dnsConfig", detail, errors);
            return;
        };
        let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        if !config.require("nameservers", detail, errors) {
            return;
        }
    }

    // Resolvers read a limited number of servers and search paths.
    let Some(config) = config else { return };
    if config.len("nameservers") > 3 {
        config.invalid(
            "nameservers",
            "must not have more than 3 nameservers",
            errors,
        );
    }

    for server in config.items("nameservers") {
        let text = server.value.as_str().unwrap_or_default();
        faults(&server.path, text, formats::ip_faults(text), errors);
    }
    searches(&config, errors);

    for option in config.items("options") {
        if option.text("name").is_empty() {
            errors.push(FieldError::required(option.path, "must not be empty"));
        }
    }
}

fn searches(config: &Place<'_>, errors: &mut Errors) {
    if config.len("searches") > 32 {
        config.invalid(
            "searches",
            "must not have more than 32 search paths",
            errors,
        );
    }

    let searches: Vec<&str> = config
        .values("searches")
        .filter_map(Value::as_str)
        .collect();
    // The limit is for the list with a space between its paths.
    if searches.join(" ").len() > 2048 {
        let detail =
            "must not have more than 2048 characters (including spaces) in the search list";
        config.invalid("searches", detail, errors);
    }
    for search in config.items("searches") {
        let text = search.value.as_str().unwrap_or_default();
        if text != "." {
            let text = text.strip_suffix('.').unwrap_or(text);
            faults(&search.path, text, formats::search_path(text), errors);
        }
    }
}

fn host_users(spec: &Place<'_>, errors: &mut Errors) {
    if spec.get("hostUsers").is_none() || spec.flag("hostUsers") {
        return;
    }
    const DETAIL: &str = "when `hostUsers` is false";

    // These names are not those of JSON, as in Kubernetes.
    for (name, shown) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        spec.forbid_if(spec.flag(name), shown, DETAIL, errors);
    }

    for container in containers_of(spec) {
        let has_devices = container.len("volumeDevices") > 0;
        container.forbid_if(has_devices, "volumeDevices", DETAIL, errors);
    }
}

/// Checks names of the host, and of objects that the pod uses.
fn names(spec: &Place<'_>, errors: &mut Errors) {
    if spec.get("hostnameOverride").is_some() {
        for (is_set, detail) in [
            (
                spec.flag("setHostnameAsFQDN"),
                "may not be specified when setHostnameAsFQDN is true",
            ),
            (
                spec.flag("hostNetwork"),
                "may not be specified when hostNetwork is true",
            ),
        ] {
            if is_set {
                spec.forbid("hostnameOverride", detail, errors);
            }
        }

        // The name becomes the host name in the kernel, which has at most 64 characters.
        if spec.text("hostnameOverride").len() > 64 {
            errors.push(FieldError::too_long(spec.at("hostnameOverride"), 64));
        }
        spec.faults(
            "hostnameOverride",
            |text| NameSyntax::Subdomain.faults(text, false),
            errors,
        );
    }

    spec.subdomain("serviceAccountName", errors);
    spec.subdomain("nodeName", errors);
    spec.in_range("activeDeadlineSeconds", 1, i64::from(i32::MAX), errors);
    spec.label("hostname", errors);
    spec.label("subdomain", errors);
}

/// Checks what every pod has, new or changed.
pub(super) fn metadata_and_spec(pod: &Field<'_>, spec: &Place<'_>, errors: &mut Errors) {
    annotations::check(&Annotations::of(pod), spec, errors);
    pod_spec(spec, pod.get("metadata").get("name").text(), errors);

    // A token is issued for a service account, so a pod without one cannot project it.
    if spec.text("serviceAccountName").is_empty() {
        for volume in spec.items("volumes") {
            let Some(projected) = volume.child("projected") else {
                continue;
            };
            for source in projected.items("sources") {
                if source.get("serviceAccountToken").is_some() {
                    let detail = "must not be specified when serviceAccountName is not set";
                    source.forbid("serviceAccountToken", detail, errors);
                }
            }
        }
    }

    // These checks are not made for templates, so that stored workloads with such values stay valid.
    spec.non_negative("terminationGracePeriodSeconds", errors);
    for container in spec.items("containers").chain(spec.items("initContainers")) {
        container::image_without_space(&container, errors);
    }
}
