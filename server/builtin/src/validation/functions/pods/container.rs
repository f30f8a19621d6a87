//! Containers of all sorts.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::{NameSyntax, qualified_name};
use fieldmanager_value::{Str, Value};

use super::{containers_of, probe, resources, security};
use crate::place::{Errors, Place, faults};
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
    mounts(pod, container, errors);

    devices(pod, container, errors);
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

fn variables(container: &Place<'_>, errors: &mut Errors) {
    for variable in container.items("env") {
        variable.require("name", "", errors);
        variable.faults("name", syntax::variable_name, errors);
        let Some(source) = variable.child("valueFrom") else {
            continue;
        };
        // Each source is checked, and their number decides about the error at the end.
        let mut sources = 0;
        if let Some(field) = source.child("fieldRef") {
            sources += 1;
            field_selector(&field, VARIABLE_FIELDS, errors);
        }
        if let Some(resource) = source.child("resourceFieldRef") {
            sources += 1;
            resources::selector(&resource, false, errors);
        }

        for name in ["configMapKeyRef", "secretKeyRef"] {
            if let Some(selector) = source.child(name) {
                sources += 1;
                selector.faults(
                    "name",
                    |name| NameSyntax::Subdomain.faults(name, false),
                    errors,
                );
                if selector.require("key", "", errors) {
                    selector.faults("key", syntax::config_key, errors);
                }
            }
        }

        if let Some(selector) = source.child("fileKeyRef") {
            sources += 1;
            selector.require("key", "", errors);
            selector.require("volumeName", "", errors);
            selector.label("volumeName", errors);
            if selector.require("path", "", errors) {
                selector.faults("path", syntax::no_backsteps, errors);
            }
        }

        // A value excludes a source, which is reported before a second source.
        let detail = match sources {
            0 => {
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
            }
            _ if !variable.text("value").is_empty() => {
                "may not be specified when `value` is not empty"
            }
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        errors.push(FieldError::invalid(source.path, "", detail));
    }
}

const VARIABLE_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Checks a reference to a field of the pod.
pub(super) fn field_selector(selector: &Place<'_>, accepted: &[&str], errors: &mut Errors) {
    const LABELS: &[&str] = &[
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "status.phase",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
        "spec.host",
    ];

    if !selector.require("apiVersion", "", errors) || !selector.require("fieldPath", "", errors) {
        return;
    }
    // The subscript selects one label or annotation; other fields have none.
    let path = selector.text("fieldPath");
    let subscript = path
        .strip_suffix("']")
        .and_then(|path| path.split_once("['"));
    // Kubernetes converts the path to the internal version first. A path it does not know is an error of this
    // conversion, and a known one may still not be accepted here.
    let converting = match (selector.text("apiVersion"), subscript) {
        ("v1", Some(("metadata.annotations" | "metadata.labels", key))) => {
            // Keys of annotations may have upper case, so their syntax is checked in lower case.
            let key = if path.starts_with("metadata.annotations") {
                key.to_lowercase()
            } else {
                key.to_owned()
            };
            faults(&selector.path, &key, qualified_name(&key), errors);
            return;
        }
        ("v1", Some(_)) => format!("field label does not support subscript: {path}"),
        ("v1", None) if !LABELS.contains(&path) => format!("field label not supported: {path}"),
        ("v1", None) => {
            // `spec.host` is the name of the field in earlier versions.
            let path = if path == "spec.host" {
                "spec.nodeName"
            } else {
                path
            };

            if !accepted.contains(&path) {
                errors.push(FieldError::not_supported(
                    selector.at("fieldPath"),
                    path,
                    accepted,
                ));
            }
            return;
        }
        (version, _) => format!("unsupported pod version: {version}"),
    };

    selector.invalid(
        "fieldPath",
        &format!("error converting fieldPath: {converting}"),
        errors,
    );
}

fn variable_sources(container: &Place<'_>, errors: &mut Errors) {
    for source in container.items("envFrom") {
        source.faults("prefix", syntax::variable_name, errors);
        let mut sources = 0;
        for name in ["configMapRef", "secretRef"] {
            if let Some(reference) = source.child(name) {
                sources += 1;
                reference.require("name", "", errors);
                reference.subdomain("name", errors);
            }
        }

        // The error has the path of the list, as in Kubernetes.
        let detail = match sources {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        errors.push(FieldError::invalid(container.at("envFrom"), "", detail));
    }
}

/// The names and paths of volume mounts or devices.
fn mounted<'v>(
    container: &Place<'v>,
    list: &str,
    path: &str,
) -> (BTreeSet<&'v str>, BTreeSet<&'v str>) {
    let text =
        |value: &'v Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    // Of mounts with one name, the last has the path.
    let by_name: BTreeMap<_, _> = container
        .values(list)
        .map(|value| (text(value, "name"), text(value, path)))
        .collect();

    (
        by_name.keys().copied().collect(),
        by_name.values().copied().collect(),
    )
}

fn mounts(pod: &Pod<'_>, container: &Place<'_>, errors: &mut Errors) {
    if container.len("volumeMounts") == 0 {
        return;
    }
    // A container gets a volume either as files or as a device.
    let (device_names, device_paths) = mounted(container, "volumeDevices", "devicePath");
    let list = container.at("volumeMounts");
    let mut paths = BTreeSet::new();

    for mount in container.items("volumeMounts") {
        let (name, path) = (mount.text("name"), mount.text("mountPath"));
        mount.require("name", "", errors);
        if !pod.volumes.contains_key(name) {
            errors.push(FieldError::not_found(mount.at("name"), name));
        }
        mount.require("mountPath", "", errors);

        if !paths.insert(path) {
            errors.push(FieldError::invalid(
                mount.at("mountPath"),
                path,
                "must be unique",
            ));
        }

        if device_names.contains(name) {
            mount.invalid("name", "must not already exist in volumeDevices", errors);
        }
        if device_paths.contains(path) {
            mount.invalid(
                "mountPath",
                "must not already exist as a path in volumeDevices",
                errors,
            );
        }

        // The paths of these errors lack the index, as in Kubernetes.
        let in_list = Place {
            path: list.clone(),
            value: mount.value,
        };
        in_list.faults("subPath", syntax::descending_path, errors);

        if !mount.text("subPathExpr").is_empty() && !mount.text("subPath").is_empty() {
            mount.invalid(
                "subPathExpr",
                "subPathExpr and subPath are mutually exclusive",
                errors,
            );
        }

        in_list.faults("subPathExpr", syntax::descending_path, errors);
        in_list.one_of(
            "mountPropagation",
            &["Bidirectional", "HostToContainer", "None"],
            errors,
        );
        let is_privileged = container
            .child("securityContext")
            .is_some_and(|context| context.flag("privileged"));

        // Mounts that propagate to the host need the rights of a privileged container.
        if mount.text("mountPropagation") == "Bidirectional" && !is_privileged {
            let detail =
                "Bidirectional mount propagation is available only to privileged containers";
            in_list.forbid("mountPropagation", detail, errors);
        }

        recursive_read_only(&in_list, errors);
        let mut options = BTreeSet::new();
        for option in mount.items("bindMountOptions") {
            let text = option.value.as_str().unwrap_or_default();
            const OPTIONS: &[&str] = &["nodev", "noexec", "nosuid"];
            if !OPTIONS.contains(&text) {
                errors.push(FieldError::not_supported(
                    option.path.clone(),
                    text,
                    OPTIONS,
                ));
            }

            if !options.insert(text) {
                errors.push(FieldError::duplicate(option.path, text));
            }
        }

        let is_image = |volume: &&Value| volume.get("image").is_some_and(|image| !image.is_null());
        if !options.is_empty() && pod.volumes.get(name).is_some_and(is_image) {
            mount.invalid(
                "bindMountOptions",
                "bindMountOptions may not be used with image volumes",
                errors,
            );
        }
    }
}

fn recursive_read_only(mount: &Place<'_>, errors: &mut Errors) {
    // The guarantee holds only for a read-only mount to which nothing is added later.
    match mount.text("recursiveReadOnly") {
        "Enabled" | "IfPossible" => {
            if !mount.flag("readOnly") {
                mount.forbid(
                    "recursiveReadOnly",
                    "may only be specified when readOnly is true",
                    errors,
                );
            }

            if !matches!(mount.text("mountPropagation"), "" | "None") {
                let detail = "may only be specified when mountPropagation is None or not specified";
                mount.forbid("recursiveReadOnly", detail, errors);
            }
        }
        _ => mount.one_of(
            "recursiveReadOnly",
            &["Disabled", "Enabled", "IfPossible"],
            errors,
        ),
    }
}

fn devices(pod: &Pod<'_>, container: &Place<'_>, errors: &mut Errors) {
    if container.len("volumeDevices") == 0 {
        return;
    }
    let (mount_names, mount_paths) = mounted(container, "volumeMounts", "mountPath");
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());

    for device in container.items("volumeDevices") {
        let (name, path) = (device.text("name"), device.text("devicePath"));
        device.require("name", "", errors);
        device.invalid_if(names.contains(name), "name", "must be unique", errors);
        let is_claim = |volume: &Value| {
            ["persistentVolumeClaim", "ephemeral"]
                .iter()
                .any(|source| volume.get(source).is_some_and(|s| !s.is_null()))
        };

        // Only a claim, also that of an ephemeral volume, can provide a block device.
        match pod.volumes.get(name) {
            Some(volume) if !is_claim(volume) => {
                let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                device.invalid("name", detail, errors);
            }
            Some(_) => {}
            None => errors.push(FieldError::not_found(device.at("name"), name)),
        }

        device.require("devicePath", "", errors);
        device.invalid_if(paths.contains(path), "devicePath", "must be unique", errors);
        // A path with a step up has its own error and is not compared with others.
        if syntax::no_backsteps(path).is_empty() {
            paths.insert(path);
        } else {
            device.invalid("devicePath", "can not contain backsteps ('..')", errors);
        }

        if mount_names.contains(name) {
            device.invalid("name", "must not already exist in volumeMounts", errors);
        }
        if mount_paths.contains(path) {
            device.invalid(
                "devicePath",
                "must not already exist as a path in volumeMounts",
                errors,
            );
        }

        if !name.is_empty() {
            names.insert(name);
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

/// The names of ephemeral volumes that environment variables read files of.
pub(super) fn file_volumes(spec: &Place<'_>, errors: &mut Errors) {
    let by_name: BTreeMap<Str, &Value> = spec
        .values("volumes")
        .map(|volume| (name_of(volume).unwrap_or_default().into(), volume))
        .collect();
    let variables = containers_of(spec).flat_map(|container| container.items("env"));
    let sources = variables.filter_map(|variable| variable.child("valueFrom"));
    for selector in sources.filter_map(|source| source.child("fileKeyRef")) {
        let name = selector.text("volumeName");
        // A container writes the file for the others, so the volume has to be one that they share.
        match by_name.get(name) {
            None => errors.push(FieldError::not_found(selector.at("volumeName"), name)),
            Some(volume) if volume.get("emptyDir").is_none() => {
                let detail = "referenced volume must be of type emptyDir";
                selector.invalid("volumeName", detail, errors);
            }
            Some(_) => {}
        }
    }
}
