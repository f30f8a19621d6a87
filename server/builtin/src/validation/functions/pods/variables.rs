//! The environment variables of containers.

use std::collections::BTreeMap;

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::{NameSyntax, qualified_name};
use fieldmanager_value::Value;

use super::{containers_of, resources};
use crate::place::{Errors, Place, faults};
use crate::validation::syntax;

/// Checks the variables of a container.
pub(super) fn variables(container: &Place<'_>, errors: &mut Errors) {
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

/// Checks what variables are read from as a whole.
pub(super) fn variable_sources(container: &Place<'_>, errors: &mut Errors) {
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

/// The names of ephemeral volumes that environment variables read files of.
pub(super) fn file_volumes<'v>(spec: &Place<'v>, errors: &mut Errors) {
    let name_of = |volume: &'v Value| {
        let name = volume.get("name").and_then(Value::as_str);
        name.unwrap_or_default()
    };
    let by_name: BTreeMap<&'v str, &'v Value> = spec
        .values("volumes")
        .map(|volume| (name_of(volume), volume))
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
