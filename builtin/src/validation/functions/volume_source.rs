//! The sources of persistent volumes.

use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_structural::{FieldError, FieldPath};

use super::field::Field;

/// The sources in the order in which Kubernetes looks for them.
pub(super) const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// The fields that sources require.
const REQUIRED: &[(&str, &[&str])] = &[
    ("hostPath", &["path"]),
    ("local", &["path"]),
    ("nfs", &["server", "path"]),
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("glusterfs", &["endpoints", "path"]),
    ("rbd", &["monitors", "image"]),
    ("cephfs", &["monitors"]),
    ("iscsi", &["targetPortal", "iqn"]),
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

/// Checks the source with a name.
pub(super) fn check(name: &str, source: &Field<'_>, errors: &mut Vec<FieldError>) {
    let required = REQUIRED.iter().find(|(source, _)| *source == name);
    for field in required.into_iter().flat_map(|(_, fields)| *fields).map(|field| source.get(field)) {
        if field.is_empty() {
            let path = match name {
                "gcePersistentDisk" => FieldPath::root("spec").child("persistentDisk").child("pdName"),
                _ => field.path.clone(),
            };
            errors.push(FieldError::required(path, ""));
        }
    }
    match name {
        "hostPath" | "local" => local_path(name, source, errors),
        "nfs" => {
            let path = source.get("path");
            if !path.text().starts_with('/') {
                errors.push(path.invalid_text("must be an absolute path"));
            }
        }
        "glusterfs" => endpoints_namespace(&source.get("endpointsNamespace"), errors),
        "flocker" => flocker(source, errors),
        "quobyte" => quobyte(source, errors),
        "iscsi" => iscsi(source, errors),
        "fc" => fibre_channel(source, errors),
        "azureFile" => {
            let namespace = source.get("secretNamespace");
            if namespace.is_set() && namespace.is_empty() {
                errors.push(namespace.required(""));
            }
        }
        "azureDisk" => {
            for (name, accepted) in [
                ("cachingMode", ["None", "ReadOnly", "ReadWrite"]),
                ("kind", ["Dedicated", "Managed", "Shared"]),
            ] {
                let field = source.get(name);
                if field.is_set() {
                    errors.extend(field.one_of(&accepted));
                }
            }
        }
        "storageos" => {
            for name in ["volumeName", "volumeNamespace"] {
                let field = source.get(name);
                if !field.is_empty() {
                    errors.extend(field.faults(NameSyntax::Label.faults(field.text(), false)));
                }
            }
            named_secret(&source.get("secretRef"), errors);
        }
        "cinder" => named_secret(&source.get("secretRef"), errors),
        "csi" => csi(source, errors),
        _ => {}
    }
}

fn local_path(name: &str, source: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (path, ty) = (source.get("path"), source.get("type"));
    if path.text().split('/').any(|part| part == "..") {
        errors.push(path.invalid("must not contain '..'"));
    }
    if name == "hostPath" && ty.is_set() {
        errors.extend(ty.one_of(&[
            "",
            "BlockDevice",
            "CharDevice",
            "Directory",
            "DirectoryOrCreate",
            "File",
            "FileOrCreate",
            "Socket",
        ]));
    }
}

fn endpoints_namespace(namespace: &Field<'_>, errors: &mut Vec<FieldError>) {
    match namespace.text() {
        _ if !namespace.is_set() => {}
        "" => {
            let detail = "if the endpointnamespace is set, it must be a valid namespace name";
            errors.push(namespace.invalid(detail));
        }
        text => errors.extend(namespace.faults(NameSyntax::Label.faults(text, false))),
    }
}

fn flocker(source: &Field<'_>, errors: &mut Vec<FieldError>) {
    let name = source.get("datasetName");
    match (name.is_empty(), source.get("datasetUUID").is_empty()) {
        (true, true) => errors.push(source.required("one of datasetName and datasetUUID is required")),
        (false, false) => {
            let detail = "datasetName and datasetUUID can not be specified simultaneously";
            errors.push(FieldError::invalid(source.path.clone(), "resource", detail));
        }
        _ => {}
    }
    if name.text().contains('/') {
        errors.push(name.invalid("must not contain '/'"));
    }
}

fn quobyte(source: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (registry, tenant, volume) = (source.get("registry"), source.get("tenant"), source.get("volume"));
    if registry.is_empty() {
        errors.push(registry.required("must be a host:port pair or multiple pairs separated by commas"));
    } else if tenant.text().len() >= 65 {
        errors.push(tenant.required("must be a UUID and may not exceed a length of 64 characters"));
    }
    if volume.is_empty() {
        errors.push(volume.required(""));
    }
}

fn iscsi(source: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (iqn, lun, secret) = (source.get("iqn"), source.get("lun"), source.get("secretRef"));
    if !iqn.is_empty() && !["iqn", "eui", "naa"].iter().any(|start| iqn.text().starts_with(start)) {
        errors.push(iqn.invalid("must be valid format"));
    }
    if !(0..=255).contains(&lun.number()) {
        errors.push(lun.invalid("must be between 0 and 255, inclusive"));
    }
    let is_true = |name: &str| source.get(name).value.is_some_and(|value| value.as_bool() == Some(true));
    if (is_true("chapAuthDiscovery") || is_true("chapAuthSession")) && !secret.is_set() {
        errors.push(secret.required(""));
    }
    if secret.is_set() && secret.get("name").is_empty() {
        errors.push(secret.get("name").required(""));
    }
}

fn fibre_channel(source: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (names, ids, lun) = (source.get("targetWWNs"), source.get("wwids"), source.get("lun"));
    match (names.is_empty(), ids.is_empty()) {
        (true, true) => errors.push(names.required("must specify either targetWWNs or wwids, but not both")),
        (false, false) => {
            errors.push(names.invalid("targetWWNs and wwids can not be specified simultaneously"));
        }
        _ => {}
    }
    if !names.is_empty() && !lun.is_set() {
        errors.push(lun.required("lun is required if targetWWNs is specified"));
    } else if !names.is_empty() && !(0..=255).contains(&lun.number()) {
        errors.push(lun.invalid("must be between 0 and 255, inclusive"));
    }
}

/// Requires the name and the namespace of a secret, if there is one.
fn named_secret(secret: &Field<'_>, errors: &mut Vec<FieldError>) {
    if secret.is_set() {
        let fields = ["name", "namespace"].map(|name| secret.get(name));
        errors.extend(fields.iter().filter(|field| field.is_empty()).map(|field| field.required("")));
    }
}

fn csi(source: &Field<'_>, errors: &mut Vec<FieldError>) {
    driver_name(&source.get("driver"), errors);
    if source.get("volumeHandle").is_empty() {
        errors.push(source.get("volumeHandle").required(""));
    }
    for name in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        let reference = source.get(name);
        for (name, syntax) in [("name", NameSyntax::Subdomain), ("namespace", NameSyntax::Label)] {
            let field = reference.get(name);
            match field.text() {
                _ if !reference.is_set() => {}
                "" => errors.push(field.required("")),
                text => errors.extend(field.faults(syntax.faults(text, false))),
            }
        }
    }
}

fn driver_name(name: &Field<'_>, errors: &mut Vec<FieldError>) {
    if name.is_empty() {
        errors.push(name.required(""));
        return;
    }
    if name.text().len() > 63 {
        errors.push(FieldError::too_long(name.path.clone(), 63));
    }
    errors.extend(name.faults(NameSyntax::Subdomain.faults(&name.text().to_lowercase(), false)));
}
