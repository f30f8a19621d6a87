//! The sources of volumes that pods and persistent volumes have.

use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_structural::{FieldError, FieldPath};

use super::formats::{is_host_port, is_iscsi_name};
use crate::place::{Errors, Place};
use crate::validation::syntax;

/// The fields that sources require.
const REQUIRED: &[(&str, &[&str])] = &[
    ("nfs", &["server", "path"]),
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("glusterfs", &["endpoints", "path"]),
    ("rbd", &["monitors", "image"]),
    ("cephfs", &["monitors"]),
    ("cinder", &["volumeID"]),
    ("flexVolume", &["driver"]),
    ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]),
    ("azureDisk", &["diskName", "diskURI"]),
    ("scaleIO", &["gateway", "system", "volumeName"]),
    ("storageos", &["volumeName"]),
];

/// Checks what a source with a name has in pods, and in persistent volumes, whose names are given.
pub(super) fn check(name: &str, source: &Place<'_>, volume: Option<&str>, errors: &mut Errors) {
    let required = REQUIRED.iter().find(|(source, _)| *source == name);
    for field in required.into_iter().flat_map(|(_, fields)| *fields) {
        source.require(field, "", errors);
    }
    match name {
        "hostPath" => host_path(source, errors),
        "nfs" => {
            let path = source.text("path");
            if !path.starts_with('/') {
                errors.push(FieldError::invalid(
                    source.at("path"),
                    path,
                    "must be an absolute path",
                ));
            }
        }
        "flocker" => flocker(source, errors),
        "quobyte" => quobyte(source, errors),
        "gcePersistentDisk" | "awsElasticBlockStore" => partition(source, errors),
        "iscsi" => iscsi(source, volume, errors),
        "fc" => fibre_channel(source, errors),
        "azureDisk" => azure_disk(source, errors),
        "storageos" => {
            source.label("volumeName", errors);
            source.label("volumeNamespace", errors);
        }
        _ => {}
    }
}

fn host_path(source: &Place<'_>, errors: &mut Errors) {
    const TYPES: &[&str] = &[
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];

    // The type is checked only if there is a path, as in Kubernetes.
    if source.require("path", "", errors) {
        source.faults("path", syntax::no_backsteps, errors);
        source.one_of("type", TYPES, errors);
    }
}

fn flocker(source: &Place<'_>, errors: &mut Errors) {
    match (source.text("datasetName"), source.text("datasetUUID")) {
        ("", "") => {
            let detail = "one of datasetName and datasetUUID is required";
            errors.push(FieldError::required(source.path.clone(), detail));
        }
        ("", _) | (_, "") => {}
        _ => {
            let detail = "datasetName and datasetUUID can not be specified simultaneously";
            errors.push(FieldError::invalid(source.path.clone(), "resource", detail));
        }
    }

    if source.text("datasetName").contains('/') {
        source.invalid("datasetName", "must not contain '/'", errors);
    }
}

fn quobyte(source: &Place<'_>, errors: &mut Errors) {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    let has_registry = source.require("registry", PAIRS, errors);
    // Kubernetes reports a tenant that is too long as missing.
    if has_registry && source.text("tenant").len() >= 65 {
        let detail = "must be a UUID and may not exceed a length of 64 characters";
        source.missing("tenant", detail, errors);
    } else if has_registry {
        let pairs = source.text("registry").split(',');
        for _ in pairs.filter(|pair| !is_host_port(pair)) {
            source.invalid("registry", PAIRS, errors);
        }
    }
    source.require("volume", "", errors);
}

/// Checks the partition of a disk. The message names a range without 0, which means the whole disk.
fn partition(source: &Place<'_>, errors: &mut Errors) {
    let is_fault = source
        .int("partition")
        .is_some_and(|number| !(0..=255).contains(&number));
    let detail = "must be between 1 and 255, inclusive";
    source.invalid_if(is_fault, "partition", detail, errors);
}

/// Checks a source of iSCSI, with more checks if it is in a persistent volume, whose name is given.
fn iscsi(source: &Place<'_>, volume: Option<&str>, errors: &mut Errors) {
    source.require("targetPortal", "", errors);
    let (portal, has_initiator) = (
        source.text("targetPortal"),
        source.get("initiatorName").is_some(),
    );
    // The name and the portal, with a colon between, are the name of an interface.
    if volume.is_some_and(|volume| has_initiator && volume.len() + 1 + portal.len() > 64) {
        let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
                      iscsi.initiatorName is specified.";
        errors.push(FieldError::invalid(
            source.at("targetportal"),
            portal,
            detail,
        ));
    }
    let is_persistent = volume.is_some();
    if source.require("iqn", "", errors) {
        iscsi_name(source.at("iqn"), source.text("iqn"), is_persistent, errors);
    }

    source.in_range("lun", 0, 255, errors);
    // CHAP authenticates with the credentials of a secret.
    let needs_secret = source.flag("chapAuthDiscovery") || source.flag("chapAuthSession");
    if needs_secret && source.get("secretRef").is_none() {
        source.missing("secretRef", "", errors);
    }
    if is_persistent {
        secret_name(source, errors);
    }
    // The path of these errors is in lower case, as in Kubernetes.
    if has_initiator {
        let (path, name) = (source.at("initiatorname"), source.text("initiatorName"));
        iscsi_name(path, name, is_persistent, errors);
    }
}

/// Checks the name of a target or an initiator, which is of one of three forms.
fn iscsi_name(path: FieldPath, name: &str, is_persistent: bool, errors: &mut Errors) {
    let has_form = ["iqn", "eui", "naa"]
        .iter()
        .any(|start| name.starts_with(start));
    // The message for pods is longer than that for persistent volumes.
    let accepted = if has_form || is_persistent {
        ""
    } else {
        " starting with iqn, eui, or naa"
    };
    if !is_iscsi_name(name) {
        let detail = format!("must be valid format{accepted}");
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn fibre_channel(source: &Place<'_>, errors: &mut Errors) {
    let has_names = source.len("targetWWNs") > 0;
    match (has_names, source.len("wwids") > 0) {
        (false, false) => {
            let detail = "must specify either targetWWNs or wwids, but not both";
            source.missing("targetWWNs", detail, errors);
        }
        (true, true) => {
            source.invalid(
                "targetWWNs",
                "targetWWNs and wwids can not be specified simultaneously",
                errors,
            );
        }
        _ => {}
    }

    // World wide names find a target only together with a unit; a `wwid` needs none.
    if has_names && source.get("lun").is_none() {
        source.missing("lun", "lun is required if targetWWNs is specified", errors);
    } else if has_names {
        source.in_range("lun", 0, 255, errors);
    }
}

fn azure_disk(source: &Place<'_>, errors: &mut Errors) {
    source.one_of("cachingMode", &["None", "ReadOnly", "ReadWrite"], errors);
    source.one_of("kind", &["Dedicated", "Managed", "Shared"], errors);
    // The kind decides which URI is accepted: managed disks are resources of Azure, the others are blobs.
    let (start, form) = match source.text("kind") {
        _ if source.get("kind").is_none() => return,
        "Managed" => (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ),
        _ => (
            "https://",
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        ),
    };

    let uri = source.text("diskURI");
    if !uri.starts_with(start) {
        errors.push(FieldError::not_supported(
            source.at("diskURI"),
            uri,
            &[form],
        ));
    }
}

/// Requires the name of a secret, if there is one.
pub(super) fn secret_name(source: &Place<'_>, errors: &mut Errors) {
    if let Some(secret) = source.child("secretRef") {
        secret.require("name", "", errors);
    }
}

/// Checks the source of a persistent volume.
pub(super) fn persistent(name: &str, source: &Place<'_>, volume: &str, errors: &mut Errors) {
    // Kubernetes gives the errors of this source a path that is not that of the field.
    match name {
        "gcePersistentDisk" => {
            let path = FieldPath::root("spec").child("persistentDisk");
            check(name, &Place::new(&path, source.value), Some(volume), errors);
        }
        _ => check(name, source, Some(volume), errors),
    }

    // Persistent volumes are in no namespace, so their secrets need one of their own.
    match name {
        "local" if source.require("path", "", errors) => {
            source.faults("path", syntax::no_backsteps, errors);
        }
        "glusterfs" => {
            if source.get("endpointsNamespace").is_some()
                && source.text("endpointsNamespace").is_empty()
            {
                let detail = "if the endpointnamespace is set, it must be a valid namespace name";
                source.invalid("endpointsNamespace", detail, errors);
            }
            source.label("endpointsNamespace", errors);
        }
        "azureFile" if source.get("secretNamespace").is_some() => {
            source.require("secretNamespace", "", errors);
        }
        "cinder" | "storageos" => {
            secret_name(source, errors);
            if let Some(secret) = source.child("secretRef") {
                secret.require("namespace", "", errors);
            }
        }
        "csi" => csi(source, errors),
        _ => {}
    }
}

fn csi(source: &Place<'_>, errors: &mut Errors) {
    if source.require("driver", "", errors) {
        if source.text("driver").len() > 63 {
            errors.push(FieldError::too_long(source.at("driver"), 63));
        }
        // The syntax is checked in lower case, so upper case is accepted.
        source.faults(
            "driver",
            |name| NameSyntax::Subdomain.faults(&name.to_lowercase(), false),
            errors,
        );
    }

    source.require("volumeHandle", "", errors);
    for name in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        let Some(secret) = source.child(name) else {
            continue;
        };
        if secret.require("name", "", errors) {
            secret.subdomain("name", errors);
        }
        if secret.require("namespace", "", errors) {
            secret.label("namespace", errors);
        }
    }
}
