//! The volumes of a pod that containers mount as files or use as devices.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::FieldError;
use fieldmanager_value::Value;

use crate::place::{Errors, Place};
use crate::validation::syntax;

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

/// Checks the mounts of a container. `volumes` are the valid volumes of the pod by name.
pub(super) fn mounts(volumes: &BTreeMap<&str, &Value>, container: &Place<'_>, errors: &mut Errors) {
    if container.len("volumeMounts") == 0 {
        return;
    }
    // A container gets a volume either as files or as a device.
    let (device_names, device_paths) = mounted(container, "volumeDevices", "devicePath");
    let is_privileged = container
        .child("securityContext")
        .is_some_and(|context| context.flag("privileged"));
    let list = container.at("volumeMounts");
    let mut paths = BTreeSet::new();

    for mount in container.items("volumeMounts") {
        let (name, path) = (mount.text("name"), mount.text("mountPath"));
        mount.require("name", "", errors);
        if !volumes.contains_key(name) {
            errors.push(FieldError::not_found(mount.at("name"), name));
        }
        mount.require("mountPath", "", errors);
        if !paths.insert(path) {
            let at = mount.at("mountPath");
            errors.push(FieldError::invalid(at, path, "must be unique"));
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
        sub_paths(&mount, &in_list, errors);
        propagation(&in_list, is_privileged, errors);
        recursive_read_only(&in_list, errors);

        let volume = volumes.get(name).copied();
        bind_options(&mount, volume, errors);
    }
}

fn sub_paths(mount: &Place<'_>, in_list: &Place<'_>, errors: &mut Errors) {
    in_list.faults("subPath", syntax::descending_path, errors);
    if !mount.text("subPathExpr").is_empty() && !mount.text("subPath").is_empty() {
        mount.invalid(
            "subPathExpr",
            "subPathExpr and subPath are mutually exclusive",
            errors,
        );
    }
    in_list.faults("subPathExpr", syntax::descending_path, errors);
}

/// Mounts that propagate to the host need the rights of a privileged container.
fn propagation(mount: &Place<'_>, is_privileged: bool, errors: &mut Errors) {
    mount.one_of(
        "mountPropagation",
        &["Bidirectional", "HostToContainer", "None"],
        errors,
    );
    if mount.text("mountPropagation") == "Bidirectional" && !is_privileged {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        mount.forbid("mountPropagation", detail, errors);
    }
}

fn bind_options(mount: &Place<'_>, volume: Option<&Value>, errors: &mut Errors) {
    const OPTIONS: &[&str] = &["nodev", "noexec", "nosuid"];
    let mut options = BTreeSet::new();
    for option in mount.items("bindMountOptions") {
        let text = option.value.as_str().unwrap_or_default();
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

    let is_image = |volume: &Value| volume.get("image").is_some_and(|image| !image.is_null());
    if !options.is_empty() && volume.is_some_and(is_image) {
        mount.invalid(
            "bindMountOptions",
            "bindMountOptions may not be used with image volumes",
            errors,
        );
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

/// Checks the devices of a container.
pub(super) fn devices(
    volumes: &BTreeMap<&str, &Value>,
    container: &Place<'_>,
    errors: &mut Errors,
) {
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
        match volumes.get(name) {
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
