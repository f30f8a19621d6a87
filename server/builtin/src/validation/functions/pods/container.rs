//! Containers of all sorts.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::FieldError;
use fieldmanager_value::Value;

use super::mounts::{devices, mounts};
use super::variables::{variable_sources, variables};
use super::{probe, resources, security};
use crate::place::{Errors, Place};
use crate::validation::syntax;

/// What containers refer to.
#[derive(Debug)]
pub(super) struct Pod<'v> {
    pub(super) spec: Place<'v>,
    /// The valid volumes by name.
    pub(super) volumes: BTreeMap<&'v str, &'v Value>,
    pub(super) claims: BTreeSet<&'v str>,
}

const POLICIES: &[&str] = &["Always", "Never", "OnFailure"];

pub(super) fn containers<'v>(pod: &Pod<'v>, errors: &mut Errors) {
    if !pod.spec.require("containers", "", errors) {
        return;
    }
    let mut names = BTreeSet::new();
    for container in pod.spec.items("containers") {
        common(pod, &container, errors);
        container.unique("name", &mut names, errors);
        lifecycle_and_probes(pod, &container, errors);
        restart_policy(&container, errors);
    }

    // Containers run at the same time, so their host ports must differ.
    let mut taken = BTreeSet::new();
    for container in pod.spec.items("containers") {
        host_ports(&container, &mut taken, errors);
    }
}

pub(super) fn init_containers<'v>(pod: &Pod<'v>, errors: &mut Errors) {
    let mut names: BTreeSet<&str> = pod.spec.values("containers").filter_map(name_of).collect();
    for container in pod.spec.items("initContainers") {
        common(pod, &container, errors);
        restart_policy(&container, errors);
        let name = container.text("name");
        if names.contains(name) {
            errors.push(FieldError::duplicate(container.at("name"), name));
        } else if !name.is_empty() {
            names.insert(name);
        }

        // Init containers run one after the other, so several of them may use the same port.
        host_ports(&container, &mut BTreeSet::new(), errors);
        // A sidecar keeps running beside the other containers, so it may be probed like them.
        let is_sidecar = container.text("restartPolicy") == "Always";
        if is_sidecar {
            lifecycle_and_probes(pod, &container, errors);
        } else {
            for name in [
                "lifecycle",
                "livenessProbe",
                "readinessProbe",
                "startupProbe",
            ] {
                let detail = "may not be set for init containers without restartPolicy=Always";
                container.forbid_if(container.get(name).is_some(), name, detail, errors);
            }

            for policy in container.items("resizePolicy") {
                if policy.text("restartPolicy") == "RestartContainer" {
                    let detail =
                        "must not be set to 'RestartContainer' for non-sidecar initContainers";
                    policy.invalid("restartPolicy", detail, errors);
                }
            }
        }
    }
}

pub(super) fn ephemeral_containers<'v>(pod: &Pod<'v>, errors: &mut Errors) {
    const FORBIDDEN: &str = "cannot be set for an Ephemeral Container";
    let others: BTreeSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| pod.spec.values(list))
        .filter_map(name_of)
        .collect();
    let mut names = others.clone();

    for container in pod.spec.items("ephemeralContainers") {
        common(pod, &container, errors);
        image_without_space(&container, errors);
        container.unique("name", &mut names, errors);
        // Only containers of the spec can be a target, not earlier ephemeral ones.
        let target = container.text("targetContainerName");
        if !target.is_empty() && !others.contains(target) {
            errors.push(FieldError::not_found(
                container.at("targetContainerName"),
                target,
            ));
        }

        // An ephemeral container is for debugging and has no guarantees, so nothing can rely on it as on a service.
        for name in [
            "ports",
            "resources",
            "resizePolicy",
            "restartPolicy",
            "restartPolicyRules",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle",
        ] {
            let is_empty = |value: &Value| {
                value.as_map().is_some_and(|map| map.is_empty())
                    || value.as_list().is_some_and(|list| list.is_empty())
            };
            if container.get(name).is_some_and(|value| !is_empty(value)) {
                container.forbid(name, FORBIDDEN, errors);
            }
        }

        // Subpaths are set up with bind mounts that stay until the pod ends, so they are refused too.
        for mount in container.items("volumeMounts") {
            for name in ["subPath", "subPathExpr"] {
                mount.forbid_if(!mount.text(name).is_empty(), name, FORBIDDEN, errors);
            }
        }
    }
}

/// Images of pods, not of templates, have no space around them.
pub(super) fn image_without_space(container: &Place<'_>, errors: &mut Errors) {
    let image = container.text("image");
    if image.trim().len() != image.len() {
        container.invalid(
            "image",
            "must not have leading or trailing whitespace",
            errors,
        );
    }
}

fn name_of(container: &Value) -> Option<&str> {
    Some(
        container
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default(),
    )
}

/// The checks of all sorts of containers.
fn common(pod: &Pod<'_>, container: &Place<'_>, errors: &mut Errors) {
    container.require("name", "", errors);
    container.label("name", errors);
    container.require("image", "", errors);
    container.require_one_of(
        "terminationMessagePolicy",
        &["File", "FallbackToLogsOnError"],
        errors,
    );
    ports(container, errors);
    variables(container, errors);
    variable_sources(container, errors);
    mounts(&pod.volumes, container, errors);

    devices(&pod.volumes, container, errors);
    container.require_one_of(
        "imagePullPolicy",
        &["Always", "IfNotPresent", "Never"],
        errors,
    );
    if let Some(requirements) = container.child("resources") {
        resources::of_container(&requirements, &pod.claims, errors);
    }
    resize_policies(pod, container, errors);

    if let Some(context) = container.child("securityContext") {
        security::of_container(&context, &pod.spec, errors);
    }
}

fn ports(container: &Place<'_>, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for port in container.items("ports") {
        let name = port.text("name");
        if !name.is_empty() {
            // A faulty name is not compared with others.
            let faults = errors.len();
            port.faults("name", syntax::port_name, errors);
            if errors.len() == faults && !names.insert(name) {
                errors.push(FieldError::duplicate(port.at("name"), name));
            }
        }

        // 0 is the value of an absent number in Go, so it counts as missing.
        match port.int("containerPort").unwrap_or_default() {
            0 => port.missing("containerPort", "", errors),
            _ => port.in_range("containerPort", 1, 65535, errors),
        }
        if port.int("hostPort") != Some(0) {
            port.in_range("hostPort", 1, 65535, errors);
        }
        port.require_one_of("protocol", &["SCTP", "TCP", "UDP"], errors);
    }
}

fn host_ports(container: &Place<'_>, taken: &mut BTreeSet<String>, errors: &mut Errors) {
    for port in container.items("ports") {
        if let Some(number) = port.int("hostPort").filter(|number| *number != 0) {
            // Another protocol or another address of the host may use the same port.
            let key = format!("{}/{}/{number}", port.text("protocol"), port.text("hostIP"));
            if !taken.insert(key.clone()) {
                errors.push(FieldError::duplicate(port.at("hostPort"), key));
            }
        }
    }
}

fn resize_policies(pod: &Pod<'_>, container: &Place<'_>, errors: &mut Errors) {
    let mut resources = BTreeSet::new();
    for policy in container.items("resizePolicy") {
        let (resource, restart) = (policy.text("resourceName"), policy.text("restartPolicy"));
        if !resources.insert(resource) {
            errors.push(FieldError::duplicate(policy.path.clone(), resource));
        }

        // The paths of these errors are those of the list, as in Kubernetes.
        let path = || container.at("resizePolicy");
        for (text, accepted) in [
            (resource, ["cpu", "memory"]),
            (restart, ["NotRequired", "RestartContainer"]),
        ] {
            match text {
                "" => errors.push(FieldError::required(path(), "")),
                _ if accepted.contains(&text) => {}
                _ => errors.push(FieldError::not_supported(path(), text, &accepted)),
            }
        }

        // A pod that never restarts cannot restart a container for its new resources.
        if pod.spec.text("restartPolicy") == "Never" && restart != "NotRequired" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(FieldError::invalid(path(), restart, detail));
        }
    }
}

fn restart_policy(container: &Place<'_>, errors: &mut Errors) {
    let rules = container.len("restartPolicyRules");
    // Rules refine the policy, which applies to every exit that no rule matches.
    if container.get("restartPolicy").is_none() {
        if rules > 0 {
            let detail = "must specify restartPolicy when restart rules are used";
            container.missing("restartPolicy", detail, errors);
        }
    } else {
        container.one_of("restartPolicy", POLICIES, errors);
    }

    for rule in container.items("restartPolicyRules") {
        let accepted = &["Restart", "RestartAllContainers"];
        rule.text_one_of("action", accepted, errors);
        match rule.child("exitCodes") {
            None => rule.missing("exitCodes", "must be specified", errors),
            Some(codes) => {
                let accepted = &["In", "NotIn"];
                if !accepted.contains(&codes.text("operator")) {
                    errors.push(FieldError::not_supported(
                        codes.at("operator"),
                        codes.text("operator"),
                        accepted,
                    ));
                }
            }
        }
    }
}

fn lifecycle_and_probes(pod: &Pod<'_>, container: &Place<'_>, errors: &mut Errors) {
    let grace_period = pod.spec.int("terminationGracePeriodSeconds");
    if let Some(lifecycle) = container.child("lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = lifecycle.child(name) {
                probe::handler(&handler, probe::OF_LIFECYCLES, grace_period, errors);
            }
        }
        // Signals depend on the operating system, so the pod has to name it.
        if lifecycle.get("stopSignal").is_some() && pod.spec.get("os").is_none() {
            let detail = "may not be set for containers with empty `spec.os.name`";
            lifecycle.forbid("stopSignal", detail, errors);
        }
    }

    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.child(name) {
            probe::probe(&probe, name, grace_period, errors);
        }
    }
}
