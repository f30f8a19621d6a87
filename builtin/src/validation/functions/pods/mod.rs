//! Pods and their templates.

mod container;
mod probe;
mod resources;
mod scheduling;
mod security;
mod status;
mod update;
mod volume;

use std::collections::BTreeSet;

use fieldmanager_structural::internal::qualified_name;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use self::container::Pod;
use crate::place::{Errors, Place, faults};
use crate::shown;
use crate::validation::operation::Operation;
use crate::validation::syntax;

pub(super) use self::status::pod_status;
pub(super) use self::update::ephemeral_containers;

/// Checks a pod.
pub(super) fn pod(path: &FieldPath, pod: &Value, operation: Operation<'_>, errors: &mut Errors) {
    let pod = Place::new(path, pod);
    let Some(spec) = pod.child("spec") else { return };
    let metadata = pod.child("metadata");
    if let Some(metadata) = &metadata {
        annotations(&metadata.at("annotations"), metadata.get("annotations"), &spec, errors);
    }
    pod_spec(&spec, metadata.as_ref().map(|metadata| metadata.text("name")).unwrap_or_default(), errors);
    if spec.text("serviceAccountName").is_empty() {
        for volume in spec.items("volumes") {
            let Some(projected) = volume.child("projected") else { continue };
            for source in projected.items("sources") {
                if source.get("serviceAccountToken").is_some() {
                    let detail = "must not be specified when serviceAccountName is not set";
                    source.forbid("serviceAccountToken", detail, errors);
                }
            }
        }
    }
    spec.non_negative("terminationGracePeriodSeconds", errors);
    for container in spec.items("containers").chain(spec.items("initContainers")) {
        container::image_without_space(&container, errors);
    }
    match operation {
        Operation::Create => {
            if spec.len("ephemeralContainers") > 0 {
                spec.forbid("ephemeralContainers", "cannot be set on create", errors);
            }
            if !spec.text("nodeName").is_empty() && spec.len("schedulingGates") > 0 {
                spec.forbid("nodeName", "cannot be set until all schedulingGates have been cleared", errors);
            }
        }
        Operation::Update(live) => {
            if let Some(live) = live.and_then(|live| live.get("spec")) {
                update::spec(&spec, &Place::new(&spec.path, live), errors);
            }
        }
    }
}

/// Checks the template of pods.
pub(super) fn template(path: &FieldPath, template: &Value, _: Operation<'_>, errors: &mut Errors) {
    let template = Place::new(path, template);
    let metadata = template.child("metadata");
    let annotated = metadata.as_ref().and_then(|metadata| metadata.get("annotations"));
    if let Some(metadata) = &metadata {
        crate::place::labels(&template.at("labels"), metadata.get("labels"), errors);
        for (key, _) in annotated.and_then(Value::as_map).into_iter().flatten() {
            faults(&template.at("annotations"), key, qualified_name(&key.to_lowercase()), errors);
        }
    }
    let empty = Value::Map(Default::default());
    let spec = Place { path: template.at("spec"), value: template.get("spec").unwrap_or(&empty) };
    annotations(&template.at("annotations"), annotated, &spec, errors);
    pod_spec(&spec, "", errors);
    if spec.len("ephemeralContainers") > 0 {
        spec.forbid("ephemeralContainers", "ephemeral containers not allowed in pod template", errors);
    }
}

fn annotations(path: &FieldPath, annotations: Option<&Value>, spec: &Place<'_>, errors: &mut Errors) {
    const MIRROR: &str = "kubernetes.io/config.mirror";
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    let text = |key: &str| annotations.and_then(|annotations| annotations.get(key)).and_then(Value::as_str);
    if let Some(value) = text(MIRROR).filter(|_| spec.text("nodeName").is_empty()) {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(FieldError::invalid(path.key(MIRROR), value, detail));
    }
    let is_number = |cost: &str| {
        !cost.starts_with('+') && (cost == "0" || !cost.starts_with('0')) && cost.parse::<i32>().is_ok()
    };
    if let Some(cost) = text(COST).filter(|cost| !is_number(cost)) {
        errors.push(FieldError::invalid(path.key(COST), cost, "must be a 32bit integer"));
    }
}

/// Checks the spec of a pod with a name, or that of a template.
fn pod_spec(spec: &Place<'_>, name: &str, errors: &mut Errors) {
    spec.require("terminationGracePeriodSeconds", "", errors);
    let pod = Pod {
        volumes: volume::volumes(spec, name, errors),
        claims: claims(spec, errors),
        spec: spec.clone(),
    };
    container::containers(&pod, errors);
    container::init_containers(&pod, errors);
    container::ephemeral_containers(&pod, errors);
    if let Some(requirements) = spec.child("resources") {
        resources::of_pod(&requirements, errors);
    }
    if spec.flag("hostNetwork") {
        host_network(spec, !name.is_empty(), errors);
    }
    spec.require_one_of("restartPolicy", &["Always", "OnFailure", "Never"], errors);
    spec.require_one_of("dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], errors);
    spec.labels("nodeSelector", errors);
    if let Some(context) = spec.child("securityContext") {
        security::of_pod(&context, spec, errors);
    }
    if spec.flag("shareProcessNamespace") && spec.flag("hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        spec.invalid("shareProcessNamespace", detail, errors);
    }
    if let Some(affinity) = spec.child("affinity") {
        scheduling::affinity(&affinity, errors);
    }
    dns(spec, errors);
    for gate in spec.items("readinessGates") {
        gate.faults("conditionType", qualified_name, errors);
    }
    scheduling::gates(spec, errors);
    scheduling::spread(spec, errors);
    host_users(spec, errors);
    names(spec, errors);
    scheduling::tolerations(spec, errors);
    for alias in spec.items("hostAliases") {
        alias.faults("ip", syntax::ip, errors);
        for name in alias.items("hostnames") {
            let text = name.value.as_str().unwrap_or_default();
            let found = fieldmanager_structural::internal::NameSyntax::Subdomain.faults(text, false);
            faults(&name.path, text, found, errors);
        }
    }
    spec.subdomain("priorityClassName", errors);
    if spec.get("runtimeClassName").is_some() {
        spec.faults(
            "runtimeClassName",
            |text| fieldmanager_structural::internal::NameSyntax::Subdomain.faults(text, false),
            errors,
        );
    }
    if spec.get("preemptionPolicy").is_some() {
        spec.require_one_of("preemptionPolicy", &["PreemptLowerPriority", "Never"], errors);
    }
    if let Some(overhead) = spec.child("overhead") {
        resources::amounts(&overhead, errors);
    }
    if let Some(os) = spec.child("os")
        && os.require("name", "", errors)
    {
        os.one_of("name", &["linux", "windows"], errors);
    }
    container::file_volumes(spec, errors);
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
        let (by_name, by_template) =
            (claim.get("resourceClaimName").is_some(), claim.get("resourceClaimTemplateName").is_some());
        if by_name == by_template {
            let detail = match by_name {
                true => "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
                false => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            };
            let shown = shown::json("PodResourceClaim", Some(claim.value));
            errors.push(shown::invalid(claim.path.clone(), &shown, detail));
        }
        claim.subdomain("resourceClaimName", errors);
        claim.subdomain("resourceClaimTemplateName", errors);
    }
    names
}

fn host_network(spec: &Place<'_>, is_pod: bool, errors: &mut Errors) {
    for container in spec.items("containers") {
        for port in container.items("ports") {
            let host = port.int("hostPort").unwrap_or_default();
            if (is_pod || host != 0) && host != port.int("containerPort").unwrap_or_default() {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(port.at("hostPort"), host, detail));
            }
        }
    }
}

fn dns(spec: &Place<'_>, errors: &mut Errors) {
    let config = spec.child("dnsConfig");
    if spec.text("dnsPolicy") == "None" {
        let Some(config) = &config else {
            let detail = "must provide `dnsConfig` when `dnsPolicy` is None";
            errors.push(FieldError::required(spec.at("dnsConfig"), detail));
            return;
        };
        let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        if !config.require("nameservers", detail, errors) {
            return;
        }
    }
    let Some(config) = config else { return };
    if config.len("nameservers") > 3 {
        config.invalid("nameservers", "must not have more than 3 nameservers", errors);
    }
    for server in config.items("nameservers") {
        let text = server.value.as_str().unwrap_or_default();
        faults(&server.path, text, syntax::ip(text), errors);
    }
    if config.len("searches") > 32 {
        config.invalid("searches", "must not have more than 32 search paths", errors);
    }
    for option in config.items("options") {
        if option.text("name").is_empty() {
            errors.push(FieldError::required(option.path, "must not be empty"));
        }
    }
}

fn host_users(spec: &Place<'_>, errors: &mut Errors) {
    if spec.get("hostUsers").is_none() || spec.flag("hostUsers") {
        return;
    }
    const DETAIL: &str = "when `hostUsers` is false";
    // These names are not those of JSON, as in Kubernetes.
    for (name, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.flag(name) {
            spec.forbid(shown, DETAIL, errors);
        }
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec.items(list).filter(|container| container.len("volumeDevices") > 0) {
            container.forbid("volumeDevices", DETAIL, errors);
        }
    }
}

/// Checks names of the host, and of objects that the pod uses.
fn names(spec: &Place<'_>, errors: &mut Errors) {
    if spec.get("hostnameOverride").is_some() {
        for (is_set, detail) in [
            (spec.flag("setHostnameAsFQDN"), "may not be specified when setHostnameAsFQDN is true"),
            (spec.flag("hostNetwork"), "may not be specified when hostNetwork is true"),
        ] {
            if is_set {
                spec.forbid("hostnameOverride", detail, errors);
            }
        }
        if spec.text("hostnameOverride").len() > 64 {
            errors.push(FieldError::too_long(spec.at("hostnameOverride"), 64));
        }
        spec.faults(
            "hostnameOverride",
            |text| fieldmanager_structural::internal::NameSyntax::Subdomain.faults(text, false),
            errors,
        );
    }
    spec.subdomain("serviceAccountName", errors);
    spec.subdomain("nodeName", errors);
    spec.in_range("activeDeadlineSeconds", 1, i64::from(i32::MAX), errors);
    spec.label("hostname", errors);
    spec.label("subdomain", errors);
}
