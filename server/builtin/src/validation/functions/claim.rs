//! Claims in other objects, and the status of claims.

use fieldmanager_structural::internal::qualified_name;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Map, Value};

use super::field::Field;
use super::{conditions, selector};
use crate::amount::Amount;
use crate::place::{Errors, NOT_NEGATIVE, Place, faults};

/// Checks the template of a claim, whose metadata has labels and annotations alone.
pub(super) fn template(template: &Place<'_>, errors: &mut Errors) {
    template.check("spec", spec, errors);
}

/// The modes of access are known, and one of them excludes the others.
pub(super) fn access_modes(spec: &Place<'_>, errors: &mut Errors) {
    const MODES: &[&str] = &[
        "ReadOnlyMany",
        "ReadWriteMany",
        "ReadWriteOnce",
        "ReadWriteOncePod",
    ];
    let modes = || spec.values("accessModes").filter_map(|mode| mode.as_str());

    for mode in modes().filter(|mode| !MODES.contains(mode)) {
        errors.push(FieldError::not_supported(
            spec.at("accessModes"),
            mode,
            MODES,
        ));
    }

    // Access for one pod alone contradicts every other mode.
    let is_single = |mode: &str| mode == "ReadWriteOncePod";
    if modes().any(is_single) && modes().any(|mode| !is_single(mode) && MODES.contains(&mode)) {
        spec.forbid(
            "accessModes",
            "may not use ReadWriteOncePod with other access modes",
            errors,
        );
    }
}

pub(super) fn spec(claim: &Place<'_>, errors: &mut Errors) {
    claim.require("accessModes", "at least 1 access mode is required", errors);
    claim.check("selector", selector::check, errors);
    access_modes(claim, errors);
    let requests = claim
        .child("resources")
        .and_then(|resources| resources.child("requests"));
    let storage = requests.and_then(|requests| requests.get("storage"));
    // Kubernetes leaves `requests` out of this path.
    let path = || claim.at("resources").key("storage");

    match storage {
        None => errors.push(FieldError::required(path(), "")),
        Some(storage) => {
            let amount = storage.as_str().and_then(Amount::parse).unwrap_or_default();
            if amount <= Amount::default() {
                errors.push(FieldError::invalid(
                    path(),
                    storage.clone(),
                    "must be greater than zero",
                ));
            }
        }
    }

    claim.subdomain("storageClassName", errors);
    claim.one_of("volumeMode", &["Block", "Filesystem"], errors);
    for name in ["dataSource", "dataSourceRef"] {
        claim.check(name, data_source, errors);
    }
    same_source(claim, errors);
    claim.subdomain("volumeAttributesClassName", errors);
}

/// Checks a reference to the object that a volume gets its data from.
fn data_source(source: &Place<'_>, errors: &mut Errors) {
    source.require("name", "", errors);
    source.require("kind", "", errors);
    let kind = source.text("kind");
    // Of the core group, only claims can be a source of data.
    if source.text("apiGroup").is_empty() && kind != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(FieldError::invalid(source.path.clone(), kind, detail));
    }
    source.subdomain("apiGroup", errors);
    source.label("namespace", errors);
}

/// Checks that both references, of which only one can have a namespace, are to the same object.
fn same_source(claim: &Place<'_>, errors: &mut Errors) {
    let (source, reference) = (claim.child("dataSource"), claim.child("dataSourceRef"));
    let (Some(source), Some(reference)) = (source, reference) else {
        return;
    };
    let has_same_group = source.get("apiGroup") == reference.get("apiGroup");
    let is_same = |name: &&str| source.text(name) == reference.text(name);
    let detail = if !reference.text("namespace").is_empty() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if has_same_group && ["kind", "name"].iter().all(is_same) {
        return;
    } else {
        "must match dataSourceRef"
    };
    // Kubernetes shows a path of Go, which has nothing that is written.
    let path = claim.path.clone();
    errors.push(FieldError::invalid(
        path,
        Value::Map(Map::default()),
        detail,
    ));
}

/// The states of the resize of a claim.
const RESIZE_STATES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

/// Checks the status of a claim.
pub(crate) fn claim_status(claim: &Field<'_>, errors: &mut Errors) {
    let (spec, status) = (claim.get("spec"), claim.get("status"));
    claim.require_version(errors);
    // The path of this error has the Go name of the field, as in Kubernetes.
    let path = FieldPath::root("Spec").child("accessModes");
    spec.get("accessModes").moved(path).require("", errors);
    for (_, amount) in status.get("capacity").entries() {
        amount.valid_amount(errors);
    }

    let health = status.get("healthStatus");
    conditions::have_reasons(&health.get("healthConditions"), errors);
    let states = status.get("allocatedResourceStatuses");
    for (name, state) in states.entries() {
        claim_resource(name, &states.path, errors);
        if !RESIZE_STATES.contains(&state.text()) {
            let path = states.path.clone();
            errors.push(FieldError::not_supported(path, name, &RESIZE_STATES));
        }
    }

    let allocated = status.get("allocatedResources");
    for (name, amount) in allocated.entries() {
        let before = errors.len();
        claim_resource(name, &allocated.path, errors);
        if errors.len() == before {
            amount.valid_amount(errors);
        }
        if errors.len() == before {
            let is_negative = amount.amount() < Amount::default();
            amount.invalid_if(is_negative, NOT_NEGATIVE, errors);
        }
    }
}

/// Checks the name of a resource of a claim: of those of Kubernetes, storage alone.
fn claim_resource(name: &str, path: &FieldPath, errors: &mut Errors) {
    let found = qualified_name(name);
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    if found.is_empty() && is_native && name != "storage" {
        errors.push(FieldError::not_supported(path.clone(), name, &["storage"]));
    }
    faults(path, name, found, errors);
}
