//! Attached volumes, drivers of nodes, and what drivers offer.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::internal::{NameSyntax, qualified_name};
use fieldmanager_structural::{FieldError, FieldErrorKind};

use super::field::Field;
use super::{claim, storage};
use crate::amount::Amount;
use crate::place::{Errors, IMMUTABLE, NOT_NEGATIVE, faults};
use crate::shown;

const MOST_METADATA_BYTES: usize = 256 * 1024;
const MOST_MESSAGE_BYTES: usize = 1024;
const MOST_NODE_ID_BYTES: usize = 256;
const MOST_DRIVER_BYTES: usize = 63;

pub(crate) fn attachment(attachment: &Field<'_>, errors: &mut Errors) {
    let spec = attachment.get("spec");
    let (attacher, source) = (spec.get("attacher"), spec.get("source"));
    // The generated validation of Kubernetes, which does not allow capitals, checks what an update changes.
    if spec.is_changed() {
        attacher.require("", errors);
        attacher.name_or_empty(NameSyntax::Subdomain, errors);
    }
    attached_source(&source, errors);
    let node = spec.get("nodeName");
    let syntax = NameSyntax::Subdomain;
    node.faults(syntax.faults(node.text(), false), errors);
    attachment_status(attachment, errors);
    source
        .get("persistentVolumeName")
        .name(NameSyntax::Subdomain, errors);

    if !attachment.is_update() {
        declared_driver(&attacher, errors);
    }
    spec.immutable_hidden(errors);
}

pub(crate) fn attachment_status(attachment: &Field<'_>, errors: &mut Errors) {
    let status = attachment.get("status");
    let metadata = status.get("attachmentMetadata");
    if storage::text_bytes(&metadata) > MOST_METADATA_BYTES {
        errors.push(FieldError::too_long(metadata.path, MOST_METADATA_BYTES));
    }
    for error in ["attachError", "detachError"].map(|name| status.get(name)) {
        error.get("message").at_most(MOST_MESSAGE_BYTES, errors);
        let code = error.get("errorCode");
        let detail = "must be between 0 and 2147483647, inclusive";
        code.invalid_if(code.number() < 0, detail, errors);
    }
}

fn attached_source(source: &Field<'_>, errors: &mut Errors) {
    let (volume, spec) = (
        source.get("persistentVolumeName"),
        source.get("inlineVolumeSpec"),
    );
    let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (volume.is_set(), spec.is_set()) {
        (false, false) => source.missing(detail, errors),
        (true, true) => source.forbid(detail, errors),
        (true, false) => volume.require("must specify non empty persistentVolumeName", errors),
        (false, true) => inline_volume(&spec, errors),
    }
}

/// Checks a volume that is in the attachment itself: a volume of a CSI driver, with few other fields.
fn inline_volume(spec: &Field<'_>, errors: &mut Errors) {
    let detail = "may not be specified in the context of inline volumes";
    let forbid = |names: &[&str], errors: &mut Errors| {
        for field in names.iter().map(|name| spec.get(name)) {
            field.forbid_if(!field.is_empty(), detail, errors);
        }
    };
    forbid(&["claimRef", "capacity"], errors);
    let csi = spec.get("csi");
    if !csi.is_set() {
        csi.missing(
            "has to be specified in the context of inline volumes",
            errors,
        );
    }
    spec.get("accessModes").require("", errors);
    if let Some(spec) = spec.place() {
        claim::access_modes(&spec, errors);
    }

    let policy = spec.get("persistentVolumeReclaimPolicy");
    let is_kept = policy.is_empty() || policy.text() == "Retain";
    let detail = "may only be Retain in the context of inline volumes";
    policy.forbid_if(!is_kept, detail, errors);
    forbid(&["nodeAffinity"], errors);
    storage::sources(spec, "", errors);

    forbid(&["storageClassName"], errors);
    let mode = spec.get("volumeMode");
    let is_known = !mode.is_set() || mode.text() == "Filesystem";
    let detail =
        "may not specify volumeMode other than Filesystem in the context of inline volumes";
    mode.forbid_if(!is_known, detail, errors);
}

/// Requires the name of a driver, in any case, with the words of the declarative validation.
pub(super) fn declared_driver(driver: &Field<'_>, errors: &mut Errors) {
    driver.require("", errors);
    if driver.is_empty() {
        return;
    }
    let lower = driver.text().to_lowercase();
    if !NameSyntax::Subdomain.faults(&lower, false).is_empty() {
        let detail = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end \
                      with an alphanumeric character (e.g. 'Example.com', regex used for validation is \
                      '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        driver.invalid(detail, errors);
    }
    if driver.text().chars().count() > MOST_DRIVER_BYTES {
        errors.push(FieldError {
            path: driver.path.clone(),
            kind: FieldErrorKind::TooLong,
            value: None,
            detail: format!("may not be more than {MOST_DRIVER_BYTES} characters"),
        });
    }
}

/// Requires the name of a driver, in any case.
pub(super) fn driver(driver: &Field<'_>, errors: &mut Errors) {
    driver.require("", errors);
    driver.at_most(MOST_DRIVER_BYTES, errors);
    if !driver.is_empty() {
        let lower = driver.text().to_lowercase();
        driver.faults(NameSyntax::Subdomain.faults(&lower, false), errors);
    }
}

pub(crate) fn node(node: &Field<'_>, errors: &mut Errors) {
    let drivers = node.get("spec").get("drivers");
    let mut names = BTreeSet::new();
    for driver in drivers.items() {
        node_driver(&driver, &mut names, errors);
    }

    // A driver may be added and removed, and the number of its volumes may change.
    let live = drivers.before();
    let live: BTreeMap<&str, Field<'_>> = live
        .items()
        .map(|driver| (driver.get("name").text(), driver))
        .collect();
    for driver in drivers.items() {
        let Some(old) = live.get(driver.get("name").text()) else {
            continue;
        };
        let is_same = |name: &str| driver.get(name).value == old.get(name).value;
        if !is_same("nodeID") || !is_same("topologyKeys") {
            let without = driver.value.and_then(|driver| {
                let fields = driver.as_map()?.iter();
                Some(fields.filter(|(name, _)| *name != "allocatable"))
            });
            let without = without.map(|fields| {
                let fields = fields.map(|(name, value)| (name.clone(), value.clone()));
                fieldmanager_value::Value::Map(fields.collect())
            });
            let json = shown::json("CSINodeDriver", without.as_ref());
            errors.push(shown::invalid(drivers.path.clone(), &json, IMMUTABLE));
        }
    }
}

fn node_driver<'v>(of: &Field<'v>, names: &mut BTreeSet<&'v str>, errors: &mut Errors) {
    let (name, id, count) = (
        of.get("name"),
        of.get("nodeID"),
        of.get("allocatable").get("count"),
    );
    driver(&name, errors);
    id.require("", errors);
    if id.text().len() > MOST_NODE_ID_BYTES {
        id.invalid(
            format!("must be {MOST_NODE_ID_BYTES} characters or less"),
            errors,
        );
    }
    count.non_negative(errors);
    name.unique(names, errors);

    // The errors of keys have the path of the driver.
    let mut keys = BTreeSet::new();
    for key in of.get("topologyKeys").items() {
        let key = key.moved(of.path.clone());
        key.require("", errors);
        key.unique(&mut keys, errors);
        key.qualified(errors);
    }
}

pub(crate) fn capacity(capacity: &Field<'_>, errors: &mut Errors) {
    let (topology, class) = (
        capacity.get("nodeTopology"),
        capacity.get("storageClassName"),
    );
    topology.selector(errors);
    class.faults(NameSyntax::Subdomain.faults(class.text(), false), errors);
    let size = capacity.get("capacity");
    let amount = size.amount();
    size.invalid_if(amount < Amount::default(), NOT_NEGATIVE, errors);

    topology.immutable_as("LabelSelector", errors);
    class.immutable_text(errors);
}

pub(crate) fn attributes_class(class: &Field<'_>, errors: &mut Errors) {
    let (driver, parameters) = (class.get("driverName"), class.get("parameters"));
    for field in [&driver, &parameters] {
        let name = field.path.to_string();
        let detail = format!("updates to {name} are forbidden.");
        field.forbid_if(field.is_changed(), &detail, errors);
    }

    // Messages show the name in lower case.
    driver.require("", errors);
    let name = driver.text().to_lowercase();
    if !name.is_empty() {
        faults(&driver.path, &name, qualified_name(&name), errors);
    }
    // Too many of them are reported alone.
    if storage::parameters(&parameters, errors) {
        parameters.require("must contain at least one key/value pair", errors);
    }
}
