//! Volumes and their sources.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_value::Value;

use super::resources;
use super::variables::field_selector;
use crate::place::{Errors, Place};
use crate::validation::functions::field::Field;
use crate::validation::functions::{certificates, claim, pod_certificates, volume_source};
use crate::validation::syntax;

const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// A source of a volume.
struct Source {
    name: &'static str,
    /// The strings that it requires, besides those that all volumes require.
    required: &'static [&'static str],
    check: fn(&Place<'_>, &mut Errors),
}

const fn source(name: &'static str, required: &'static [&'static str]) -> Source {
    Source {
        name,
        required,
        check: |_, _| {},
    }
}

/// A source that persistent volumes have too.
const fn shared(name: &'static str) -> Source {
    source(name, &[])
}

const fn checked(
    name: &'static str,
    required: &'static [&'static str],
    check: fn(&Place<'_>, &mut Errors),
) -> Source {
    Source {
        name,
        required,
        check,
    }
}

/// The sources in the order of Kubernetes.
const SOURCES: &[Source] = &[
    checked("emptyDir", &[], empty_dir),
    shared("hostPath"),
    checked("gitRepo", &["repository"], |source, errors| {
        source.faults("directory", syntax::descending_path, errors);
    }),
    shared("gcePersistentDisk"),
    shared("awsElasticBlockStore"),
    checked("secret", &["secretName"], files),
    shared("nfs"),
    shared("iscsi"),
    shared("glusterfs"),
    shared("flocker"),
    source("persistentVolumeClaim", &["claimName"]),
    shared("rbd"),
    checked("cinder", &[], volume_source::secret_name),
    shared("cephfs"),
    shared("quobyte"),
    checked("downwardAPI", &[], |source, errors| {
        mode(source, "defaultMode", errors);
        for file in source.values("items") {
            // The paths of these errors lack the index, as in Kubernetes.
            downward_file(&Place::new(&source.path, file), errors);
        }
    }),
    shared("fc"),
    shared("flexVolume"),
    checked("configMap", &["name"], files),
    shared("azureFile"),
    shared("vsphereVolume"),
    shared("photonPersistentDisk"),
    shared("portworxVolume"),
    shared("azureDisk"),
    checked("storageos", &[], volume_source::secret_name),
    checked("projected", &[], projected),
    shared("scaleIO"),
    checked("csi", &["driver"], csi),
    checked("ephemeral", &[], |source, errors| {
        match source.child("volumeClaimTemplate") {
            None => source.missing("volumeClaimTemplate", "", errors),
            Some(template) => claim::template(&template, errors),
        }
    }),
    checked("image", &["reference"], |source, errors| {
        source.require_one_of("pullPolicy", &["Always", "IfNotPresent", "Never"], errors);
    }),
];

/// Checks the volumes of a pod, whose name is known unless it is a template, and returns the valid ones by name.
pub(super) fn volumes<'v>(
    spec: &Place<'v>,
    pod: &str,
    errors: &mut Errors,
) -> BTreeMap<&'v str, &'v Value> {
    let mut found = BTreeMap::new();
    let is_ephemeral = |volume: &&Value| {
        volume
            .get("ephemeral")
            .is_some_and(|source| !source.is_null())
    };
    // The claim of an ephemeral volume gets this name. A template does not know the name of its pods.
    let created: BTreeSet<String> = match pod {
        "" => BTreeSet::new(),
        _ => spec
            .values("volumes")
            .filter(is_ephemeral)
            .map(|volume| format!("{pod}-{}", name_of(volume)))
            .collect(),
    };

    for volume in spec.items("volumes") {
        let before = errors.len();
        let name = volume.text("name");
        sources(&volume, pod, errors);
        volume.require("name", "", errors);
        volume.label("name", errors);
        if found.contains_key(name) {
            errors.push(FieldError::duplicate(volume.at("name"), name));
        }
        // Mounts of a volume with faults are reported as not found, so only the others are returned.
        if errors.len() == before {
            found.insert(name, volume.value);
        }

        // The claim of an ephemeral volume belongs to that volume alone.
        if let Some(claim) = volume.child("persistentVolumeClaim")
            && created.contains(claim.text("claimName"))
        {
            let detail = "must not reference a PVC that gets created for an ephemeral volume";
            claim.invalid("claimName", detail, errors);
        }
    }

    found
}

fn name_of(volume: &Value) -> &str {
    volume
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn sources(volume: &Place<'_>, pod: &str, errors: &mut Errors) {
    let mut has_source = false;
    for Source {
        name,
        required,
        check,
    } in SOURCES
    {
        let Some(source) = volume.child(name) else {
            continue;
        };
        // The first source in the order of Kubernetes is checked, and the others are forbidden. The spellings are those
        // of its messages.
        if has_source {
            let shown = match *name {
                "cephfs" => "cephFS",
                "downwardAPI" => "downwarAPI",
                other => other,
            };
            volume.forbid(shown, "may not specify more than 1 volume type", errors);
            continue;
        }

        has_source = true;
        // Kubernetes gives the errors of this source a path that is not that of the field.
        let source = match *name {
            "gcePersistentDisk" => Place {
                path: volume.at("persistentDisk"),
                ..source
            },
            _ => source,
        };
        for field in *required {
            source.require(field, "", errors);
        }

        volume_source::check(name, &source, None, errors);
        check(&source, errors);
        // The claim is named after the pod and the volume, so the two together must form a valid name.
        if *name == "ephemeral" && !pod.is_empty() && !volume.text("name").is_empty() {
            let claim = format!("{pod}-{}", volume.text("name"));
            for fault in NameSyntax::Subdomain.faults(&claim, false) {
                volume.invalid("name", &format!("PVC name \"{claim}\": {fault}"), errors);
            }
        }
    }

    if !has_source {
        errors.push(FieldError::required(
            volume.path.clone(),
            "must specify a volume type",
        ));
    }
}

fn mode(place: &Place<'_>, name: &str, errors: &mut Errors) {
    if place
        .int(name)
        .is_some_and(|mode| !(0..=0o777).contains(&mode))
    {
        place.invalid(name, FILE_MODE, errors);
    }
}

fn empty_dir(source: &Place<'_>, errors: &mut Errors) {
    if source.text("sizeLimit").starts_with('-') {
        source.forbid(
            "sizeLimit",
            "SizeLimit field must be a valid resource quantity",
            errors,
        );
    }
}

fn csi(source: &Place<'_>, errors: &mut Errors) {
    source.subdomain("driver", errors);
    if let Some(secret) = source.child("nodePublishSecretRef") {
        secret.require("name", "", errors);
    }
}

/// Checks the files that a source selects by key.
fn files(source: &Place<'_>, errors: &mut Errors) {
    mode(source, "defaultMode", errors);
    for file in source.items("items") {
        key_file(&file, errors);
    }
}

fn key_file(file: &Place<'_>, errors: &mut Errors) {
    file.require("key", "", errors);
    file.require("path", "", errors);
    file.faults("path", syntax::file_path, errors);
    mode(file, "mode", errors);
}

fn downward_file(file: &Place<'_>, errors: &mut Errors) {
    const FIELDS: &[&str] = &[
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
    ];
    file.require("path", "", errors);
    file.faults("path", syntax::file_path, errors);

    // If both are set, only the field is checked.
    match (file.child("fieldRef"), file.child("resourceFieldRef")) {
        (Some(field), resource) => {
            field_selector(&field, FIELDS, errors);
            if resource.is_some() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(file.path.clone(), "resource", detail));
            }
        }
        (None, Some(resource)) => resources::selector(&resource, true, errors),
        (None, None) => {
            let detail = "one of fieldRef and resourceFieldRef is required";
            errors.push(FieldError::required(file.path.clone(), detail));
        }
    }
    mode(file, "mode", errors);
}

fn projected(source: &Place<'_>, errors: &mut Errors) {
    mode(source, "defaultMode", errors);
    // The files of all parts are in one volume, so their paths must differ.
    let mut paths = BTreeSet::new();
    for part in source.items("sources") {
        let mut sources = 0;
        for name in ["secret", "configMap"] {
            let Some(selected) = part.child(name) else {
                continue;
            };
            sources += 1;
            selected.require("name", "", errors);

            for file in selected.items("items") {
                key_file(&file, errors);
                let path = file.text("path");
                if !path.is_empty() && !paths.insert(path) {
                    // This error shows the name of the object instead of the path, as in Kubernetes.
                    let name = selected.text("name");
                    errors.push(FieldError::invalid(
                        source.path.clone(),
                        name,
                        "conflicting duplicate paths",
                    ));
                }
            }
        }

        if let Some(downward) = part.child("downwardAPI") {
            sources += 1;
            // The paths of these errors lack the index, as in Kubernetes.
            for file in downward.values("items") {
                let file = Place::new(&downward.path, file);
                downward_file(&file, errors);
                duplicate_path(source, file.text("path"), &mut paths, errors);
            }
        }

        if let Some(token) = part.child("serviceAccountToken") {
            sources += 1;
            service_account_token(source, &token, errors);
        }
        if let Some(bundle) = part.child("clusterTrustBundle") {
            sources += 1;
            trust_bundle(&Field::at(&bundle), errors);
            duplicate_path(source, bundle.text("path"), &mut paths, errors);
        }

        if let Some(certificate) = part.child("podCertificate") {
            sources += 1;
            pod_certificates::projected(&Field::at(&certificate), errors);
            let names = ["credentialBundlePath", "keyPath", "certificateChainPath"];
            for name in names {
                certificate.faults(name, syntax::file_path, errors);
                duplicate_path(source, certificate.text(name), &mut paths, errors);
            }
            if names.iter().all(|name| certificate.text(name).is_empty()) {
                let detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
                errors.push(FieldError::required(certificate.path, detail));
            }
        }

        // A part without a source is accepted; only several are an error.
        if sources > 1 {
            errors.push(FieldError::forbidden(
                part.path,
                "may not specify more than 1 volume type per source",
            ));
        }
    }
}

fn duplicate_path<'v>(
    source: &Place<'v>,
    path: &'v str,
    paths: &mut BTreeSet<&'v str>,
    errors: &mut Errors,
) {
    if !path.is_empty() && !paths.insert(path) {
        errors.push(FieldError::invalid(
            source.path.clone(),
            path,
            "conflicting duplicate paths",
        ));
    }
}

fn service_account_token(source: &Place<'_>, token: &Place<'_>, errors: &mut Errors) {
    match token.int("expirationSeconds") {
        None => token.missing("expirationSeconds", "", errors),
        Some(..600) => token.invalid(
            "expirationSeconds",
            "may not specify a duration less than 10 minutes",
            errors,
        ),
        Some(4_294_967_297..) => {
            token.invalid(
                "expirationSeconds",
                "may not specify a duration larger than 2^32 seconds",
                errors,
            );
        }
        Some(_) => {}
    }

    // The path of these errors is below the volume source, as in Kubernetes.
    let in_source = Place {
        path: source.path.clone(),
        value: token.value,
    };
    if in_source.require("path", "", errors) {
        in_source.faults("path", syntax::file_path, errors);
    }
}

fn trust_bundle(bundle: &Field<'_>, errors: &mut Errors) {
    let [name, signer, selector] =
        ["name", "signerName", "labelSelector"].map(|name| bundle.get(name));
    match (name.is_set(), signer.is_set()) {
        (true, true) => {
            let detail = "only one of name and signerName may be used";
            bundle.invalid_as("ClusterTrustBundleProjection", detail, errors);
        }
        (true, false) => {
            name.require("must be a valid object name", errors);
            for fault in certificates::bundle_name(name.text()) {
                let detail = format!("not a valid clustertrustbundlename: {fault}");
                name.invalid(detail, errors);
            }
            if selector.is_set() {
                let detail = "labelSelector must be unset if name is specified";
                selector.invalid_as("LabelSelector", detail, errors);
            }
        }
        (false, true) => {
            signer.require("must be a valid signer name", errors);
            certificates::signer_name(&signer, errors);
            selector.selector(errors);
        }
        (false, false) => bundle.missing("either name or signerName must be specified", errors),
    }

    let path = bundle.get("path");
    path.require("", errors);
    path.faults(syntax::file_path(path.text()), errors);
}
