//! Volumes, claims, their classes and drivers, and nodes.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::internal::{NameSyntax, label_value, qualified_name};
use fieldmanager_structural::{FieldError, FieldErrorKind, FieldPath};
use fieldmanager_value::Value;

use super::field::{Field, duplicate_struct};
use super::formats;
use super::volume_source;
use crate::address;
use crate::amount::Amount;
use crate::place::{IMMUTABLE, Place};
use crate::table::{Edit, Path};
use crate::validation::operation::Operation;
use crate::{diff, shown};

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const NOT_POSITIVE: &str = "must be greater than zero";

/// The sources of volumes in the order in which Kubernetes looks for them.
const SOURCES: [&str; 22] = [
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

/// The modes must be known, and one of them excludes the others.
fn access_modes(spec: &Field<'_>, errors: &mut Vec<FieldError>) {
    let modes = spec.get("accessModes");
    for mode in modes.items().filter(|mode| !ACCESS_MODES.contains(&mode.text())) {
        errors.push(FieldError::not_supported(modes.path.clone(), mode.text(), &ACCESS_MODES));
    }
    let has = |is_pod: bool| {
        modes
            .items()
            .any(|mode| ACCESS_MODES.contains(&mode.text()) && (mode.text() == "ReadWriteOncePod") == is_pod)
    };
    if has(true) && has(false) {
        errors.push(modes.forbidden("may not use ReadWriteOncePod with other access modes"));
    }
}

fn class_name(name: &Field<'_>, errors: &mut Vec<FieldError>) {
    if !name.is_empty() {
        errors.extend(name.faults(NameSyntax::Subdomain.faults(name.text(), false)));
    }
}

fn is_positive(quantity: &str) -> bool {
    Amount::parse(quantity).is_none_or(|amount| amount > Amount::default())
}

pub(super) fn volume(
    path: &FieldPath,
    object: &Value,
    operation: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    let spec = Field::new(path, object).get("spec");
    if spec.get("accessModes").is_empty() {
        errors.push(spec.get("accessModes").required(""));
    }
    access_modes(&spec, errors);
    capacity(&spec.get("capacity"), errors);
    let policy = spec.get("persistentVolumeReclaimPolicy");
    if !policy.is_empty() {
        errors.extend(policy.one_of(&["Delete", "Recycle", "Retain"]));
    }
    let affinity = spec.get("nodeAffinity");
    if affinity.is_set() {
        node_affinity(&affinity.get("required"), errors);
    }
    let mut count = 0;
    for name in SOURCES {
        let source = spec.get(name);
        if !source.is_set() {
            continue;
        }
        count += 1;
        match count {
            // A flexible volume may follow another one.
            _ if count == 1 || name == "flexVolume" => {
                if let Some(value) = source.value {
                    volume_source::persistent(name, &Place::new(&source.path, value), errors);
                }
                if name == "local" && !affinity.is_set() {
                    errors.push(affinity.required("Local volume requires node affinity"));
                }
            }
            _ if name == "cephfs" => {
                let path = spec.path.child("cephFS");
                errors.push(FieldError::forbidden(path, "may not specify more than 1 volume type"));
            }
            _ => errors.push(source.forbidden("may not specify more than 1 volume type")),
        }
    }
    if count == 0 {
        errors.push(spec.required("must specify a volume type"));
    }
    class_name(&spec.get("storageClassName"), errors);
    let mode = spec.get("volumeMode");
    if mode.is_set() {
        errors.extend(mode.one_of(&["Block", "Filesystem"]));
    }
    let attributes = spec.get("volumeAttributesClassName");
    if attributes.is_set() {
        if attributes.is_empty() {
            errors.push(attributes.required("an empty string is disallowed"));
        }
        class_name(&attributes, errors);
        if !spec.get("csi").is_set() {
            errors.push(spec.get("csi").required("has to be specified when using volumeAttributesClassName"));
        }
    }
    let live = Field::live(path, operation).get("spec");
    if live.is_set() {
        changed_volume(&spec, &live, errors);
    }
}

fn capacity(capacity: &Field<'_>, errors: &mut Vec<FieldError>) {
    if capacity.is_empty() {
        errors.push(capacity.required(""));
    }
    if !capacity.get("storage").is_set() || capacity.entries().count() > 1 {
        errors.push(FieldError::not_supported(capacity.path.clone(), capacity.shown(), &["storage"]));
    }
    for (_, value) in capacity.entries() {
        if !is_positive(value.text()) {
            errors.push(value.invalid(NOT_POSITIVE));
        }
    }
}

fn changed_volume(spec: &Field<'_>, live: &Field<'_>, errors: &mut Vec<FieldError>) {
    let source = |spec: &Value| shown::pretty_json("PersistentVolumeSource", Some(spec));
    // A secret for expansion may be added to a driver.
    let mut new = spec.shown();
    let secret = "csi.controllerExpandSecretRef";
    let has_secret = |spec: &Field<'_>| spec.get("csi").get("controllerExpandSecretRef").is_set();
    if live.get("csi").is_set() && !has_secret(live) && has_secret(spec) {
        new = Path::parse(secret).edit(&new, false, &mut |_| Edit::Remove).unwrap_or(new);
    }
    let (old, new) = (source(&live.shown()), source(&new));
    if old != new {
        let diff = diff::unified(&old, &new);
        let detail = format!("spec.persistentvolumesource is immutable after creation\n{diff}");
        errors.push(FieldError::forbidden(spec.path.child("persistentvolumesource"), detail));
    }
    let mode = spec.get("volumeMode");
    if mode.value != live.get("volumeMode").value {
        errors.push(FieldError::invalid(FieldPath::root("volumeMode"), mode.shown(), IMMUTABLE));
    }
    let (new, old) = (spec.get("nodeAffinity"), live.get("nodeAffinity"));
    if old.is_set() && !same_affinity(new.value, old.value) {
        let detail = "field is immutable, except for updating from beta label to GA";
        let json = shown::json("VolumeNodeAffinity", new.value);
        errors.push(shown::invalid(FieldPath::root("nodeAffinity"), &json, detail));
    }
    let class = spec.get("volumeAttributesClassName");
    if live.get("volumeAttributesClassName").is_set() && !class.is_set() {
        errors.push(class.forbidden("update from non-nil value to nil is forbidden"));
    }
}

/// Whether two affinities are equal, apart from labels that got their later names.
fn same_affinity(new: Option<&Value>, old: Option<&Value>) -> bool {
    const NAMES: [(&str, &str); 5] = [
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
        ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
        ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ];
    let path = Path::parse("required.nodeSelectorTerms[].matchExpressions[].key");
    let mut keys: Vec<String> = Vec::new();
    let mut read = |key: Option<&Value>| {
        keys.push(key.and_then(Value::as_str).unwrap_or_default().to_owned());
        Edit::Keep
    };
    if let Some(new) = new {
        path.edit(new, false, &mut read);
    }
    // Requirements are compared in their order. A label without a later name may get the empty one.
    let mut keys = keys.into_iter();
    let renamed = old.map(|old| {
        let changed = path.edit(old, false, &mut |key| {
            let name = key.and_then(Value::as_str).unwrap_or_default();
            let later = NAMES.iter().find(|(old, _)| *old == name).map_or("", |(_, later)| later);
            match keys.next() {
                Some(new) if new == later => Edit::Set(later.into()),
                _ => Edit::Keep,
            }
        });
        changed.unwrap_or_else(|| old.clone())
    });
    new == renamed.as_ref()
}

fn node_affinity(required: &Field<'_>, errors: &mut Vec<FieldError>) {
    if !required.is_set() {
        errors.push(required.required("must specify required node constraints"));
        return;
    }
    let terms = required.get("nodeSelectorTerms");
    if terms.is_empty() {
        errors.push(terms.required("must have at least one node selector term"));
    }
    for requirement in terms.items().flat_map(|term| term.get("matchExpressions").items()) {
        let (operator, values) = (requirement.get("operator"), requirement.get("values"));
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(values.forbidden(detail));
            }
            "Gt" | "Lt" if values.items().count() != 1 => {
                errors
                    .push(values.required("must be specified single value when `operator` is 'Lt' or 'Gt'"));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            _ => errors.push(operator.invalid_text("not a valid selector operator")),
        }
        let key = requirement.get("key");
        errors.extend(key.faults(qualified_name(key.text())));
        for value in values.items() {
            errors.extend(value.faults(label_value(value.text())));
        }
    }
}

pub(super) fn claim(
    path: &FieldPath,
    object: &Value,
    operation: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    let claim = Field::new(path, object);
    let spec = claim.get("spec");
    if let Some(value) = spec.value {
        super::claim::spec(&Place::new(&spec.path, value), errors);
    }
    let live = Field::live(path, operation);
    if live.is_set() {
        changed_claim(&claim, &live, errors);
    }
}

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The size that a claim requests.
fn size<'v>(spec: &Field<'v>) -> Field<'v> {
    spec.get("resources").get("requests").get("storage")
}

fn changed_claim(claim: &Field<'_>, live: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (spec, old_spec) = (claim.get("spec"), live.get("spec"));
    let (mut new, mut old) = (spec.shown(), old_spec.shown());
    let set = |object: &Value, path: &str, value: Option<&Value>| {
        let edit = value.map_or(Edit::Remove, |value| Edit::Set(value.clone()));
        let edited = Path::parse(path).edit(object, value.is_some(), &mut |_| edit.clone());
        edited.unwrap_or_else(|| object.clone())
    };
    if old_spec.get("volumeName").is_empty() {
        old = set(&old, "volumeName", spec.get("volumeName").value);
    }
    let class = |object: &Field<'_>| {
        object.get("metadata").get("annotations").value.and_then(|all| all.get(CLASS)).cloned()
    };
    let (new_class, old_class) = (class(claim), class(live));
    let names = (spec.get("storageClassName"), old_spec.get("storageClassName"));
    let moves = old_class.is_some()
        && !names.1.is_set()
        && names.0.value == old_class.as_ref()
        && (new_class.is_none() || new_class == old_class);
    if moves {
        new = set(&new, "storageClassName", None);
    } else {
        if new_class != old_class {
            let path = FieldPath::root("metadata").child("annotations").child(CLASS);
            errors.push(FieldError::invalid(path, new_class.unwrap_or_else(|| "".into()), IMMUTABLE));
        }
        if old_class.is_none() && !names.1.is_set() && names.0.is_set() {
            new = set(&new, "storageClassName", None);
        }
    }
    if claim.get("status").get("phase").text() == "Bound" {
        if spec.get("resources").get("requests").is_set() {
            new = set(&new, "resources.requests.storage", size(&old_spec).value);
        }
        new = set(&new, "volumeAttributesClassName", old_spec.get("volumeAttributesClassName").value);
    }
    let pretty = |spec: &Value| shown::pretty_json("PersistentVolumeClaimSpec", Some(spec));
    let (old, new) = (pretty(&old), pretty(&new));
    if old != new {
        let words = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
                     claims";
        errors.push(spec.forbidden(&format!("{words}\n{}", diff::unified(&old, &new))));
    }
    let amount = |size: Field<'_>| Amount::parse(size.text()).unwrap_or_default();
    let capacity = live.get("status").get("capacity").get("storage");
    let requested = size(&spec);
    let new_size = amount(requested.clone());
    if new_size < amount(size(&old_spec)) && new_size <= amount(capacity) {
        errors.push(requested.forbidden("field can not be less than status.capacity"));
    }
    let mode = spec.get("volumeMode");
    if mode.value != old_spec.get("volumeMode").value {
        errors.push(FieldError::invalid(FieldPath::root("volumeMode"), mode.shown(), IMMUTABLE));
    }
    let class = spec.get("volumeAttributesClassName");
    let current = live.get("status").get("currentVolumeAttributesClassName");
    if class.value != old_spec.get("volumeAttributesClassName").value && current.is_set() {
        let detail = "is forbidden when status.currentVolumeAttributesClassName is not nil";
        if !class.is_set() {
            errors.push(class.forbidden(&format!("update to nil {detail}")));
        } else if class.is_empty() {
            errors.push(class.forbidden(&format!("update to empty string {detail}")));
        }
    }
}

/// The topologies of a class of volumes.
pub(super) fn topologies(
    path: &FieldPath,
    topologies: &Value,
    _: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    let topologies = Field::new(path, topologies);
    // Kubernetes compares each term with empty ones too.
    let mut seen = BTreeSet::from([BTreeMap::new()]);
    for term in topologies.items() {
        let expressions = term.get("matchLabelExpressions");
        let mut values_by_key: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for requirement in expressions.items() {
            let (key, values) = (requirement.get("key"), requirement.get("values"));
            if values.is_empty() {
                errors.push(values.required(""));
            }
            let mut set = BTreeSet::new();
            for value in values.items() {
                if !set.insert(value.text()) {
                    errors.push(value.duplicate());
                }
            }
            errors.extend(key.faults(qualified_name(key.text())));
            if values_by_key.insert(key.text(), set).is_some() {
                errors.push(key.duplicate());
            }
        }
        // It reports one error for each equal term, and drops all but the first.
        if !seen.insert(values_by_key) {
            errors.push(FieldError::duplicate(expressions.path.clone(), ""));
        }
    }
}

pub(super) fn driver(path: &FieldPath, object: &Value, _: Operation<'_>, errors: &mut Vec<FieldError>) {
    let spec = Field::new(path, object).get("spec");
    let policy = spec.get("fsGroupPolicy");
    if policy.is_set() {
        errors.extend(policy.one_of(&["File", "None", "ReadWriteOnceWithFSType"]));
    }
    let mut audiences = BTreeSet::new();
    for request in spec.get("tokenRequests").items() {
        let (audience, seconds) = (request.get("audience"), request.get("expirationSeconds"));
        if !audiences.insert(audience.text()) {
            errors.push(FieldError::duplicate(audience.path.clone(), audience.text()));
        } else if seconds.is_set() && seconds.number() < 600 {
            errors.push(seconds.invalid("may not specify a duration less than 10 minutes"));
        } else if seconds.number() > 1 << 32 {
            errors.push(seconds.invalid("may not specify a duration larger than 2^32 seconds"));
        }
    }
    let modes = spec.get("volumeLifecycleModes");
    for mode in modes.items().filter(|mode| !matches!(mode.text(), "Persistent" | "Ephemeral")) {
        let accepted = ["Persistent", "Ephemeral"];
        errors.push(FieldError::not_supported(modes.path.clone(), mode.text(), &accepted));
    }
    let period = spec.get("nodeAllocatableUpdatePeriodSeconds");
    if period.is_set() && period.number() < 10 {
        errors.push(period.invalid("must be greater than or equal to 10 seconds"));
    }
    let tokens = spec.get("serviceAccountTokenInSecrets");
    if tokens.is_set() && spec.get("tokenRequests").is_empty() {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.push(tokens.invalid(detail));
    }
}

pub(super) fn node(path: &FieldPath, object: &Value, operation: Operation<'_>, errors: &mut Vec<FieldError>) {
    let node = Field::new(path, object);
    let (spec, live) = (node.get("spec"), Field::live(path, operation).get("spec"));
    taints(&spec.get("taints"), errors);
    let ranges = spec.get("podCIDRs");
    for range in ranges.items() {
        errors.extend(range.faults(formats::cidr_faults(range.text())));
    }
    if ranges.items().count() > 1 {
        pair_of_ranges(&ranges, errors);
    }
    let mut seen = BTreeSet::new();
    for address in node.get("status").get("addresses").items() {
        if !seen.insert((address.get("type").text(), address.get("address").text())) {
            errors.push(duplicate_struct(&address, &shown::json("NodeAddress", address.value)));
        }
    }
    let old: Vec<&str> = live.get("podCIDRs").items().map(|range| range.text()).collect();
    let new: Vec<&str> = ranges.items().map(|range| range.text()).collect();
    let detail = "node updates may not change podCIDR except from \"\" to valid";
    if old.len() == new.len() {
        let changed = old.iter().zip(&new).filter(|(old, new)| old != new);
        errors.extend(changed.map(|_| ranges.forbidden(detail)));
    } else if !old.is_empty() {
        errors.push(ranges.forbidden(detail));
    }
    let (new, old) = (spec.get("providerID"), live.get("providerID"));
    if !old.is_empty() && old.text() != new.text() {
        let words = if new.is_empty() { "cleared" } else { "modified" };
        let detail = format!("field cannot be {words} once set");
        errors.push(FieldError::invalid(new.path, Value::Null, detail));
    }
    if live.is_set() && spec.get("externalID").text() != live.get("externalID").text() {
        errors.push(spec.get("externalID").forbidden("may not be updated"));
    }
}

/// Several ranges of a node are one of each family.
fn pair_of_ranges(ranges: &Field<'_>, errors: &mut Vec<FieldError>) {
    let parsed: Vec<_> = ranges.items().map(|range| (address::cidr(range.text()), range.text())).collect();
    if let Some(at) = parsed.iter().position(|(range, _)| range.is_none()) {
        let text = parsed.get(at).map(|(_, text)| *text).unwrap_or_default();
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{at}]: <nil> (invalid CIDR \
             address: {text})"
        );
        let kind = FieldErrorKind::Internal;
        errors.push(FieldError { path: ranges.path.clone(), kind, value: None, detail });
    }
    let families: BTreeSet<bool> =
        parsed.iter().filter_map(|(range, _)| range.map(|(address, _)| address.is_ipv4())).collect();
    if parsed.len() > 2 || families.len() < 2 || parsed.iter().any(|(range, _)| range.is_none()) {
        errors.push(ranges.invalid("may specify no more than one CIDR for each IP family"));
    }
}

/// The taints of a node, whose path in Kubernetes is one of the metadata.
fn taints(taints: &Field<'_>, errors: &mut Vec<FieldError>) {
    let taints = Field { path: FieldPath::root("metadata").child("taints"), value: taints.value };
    let mut seen = BTreeSet::new();
    for taint in taints.items() {
        let (key, value, effect) = (taint.get("key"), taint.get("value"), taint.get("effect"));
        errors.extend(key.faults(qualified_name(key.text())));
        let faults = label_value(value.text());
        if !faults.is_empty() {
            errors.push(value.invalid_text(faults.join(";")));
        }
        match effect.text() {
            "" => errors.push(effect.required("")),
            _ => errors.extend(effect.one_of(&["NoSchedule", "PreferNoSchedule", "NoExecute"])),
        }
        if !seen.insert((effect.text(), key.text())) {
            let mut error = duplicate_struct(&taint, &shown::json("Taint", taint.value));
            error.detail += ": taints must be unique by key and effect pair";
            errors.push(error);
        }
    }
}
