//! Volumes, claims, their classes and drivers, and nodes.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::internal::{NameSyntax, qualified_name};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::field::Field;
use super::pods::scheduling::node_fields;
use super::{claim, selector, volume_source};
use crate::amount::Amount;
use crate::functions::edit::with_value_of;
use crate::place::{Errors, IMMUTABLE, faults};
use crate::table::{Edit, Path};
use crate::{diff, shown};

const MOST_PARAMETERS: usize = 512;
const MOST_PARAMETER_BYTES: usize = 256 * 1024;
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

fn is_positive(quantity: &str) -> bool {
    Amount::parse(quantity).is_none_or(|amount| amount > Amount::default())
}

pub(crate) fn volume(object: &Field<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    spec.get("accessModes").require("", errors);
    if let Some(spec) = spec.place() {
        claim::access_modes(&spec, errors);
    }
    capacity(&spec.get("capacity"), errors);
    let policy = spec.get("persistentVolumeReclaimPolicy");
    if !policy.is_empty() {
        policy.one_of(&["Delete", "Recycle", "Retain"], errors);
    }

    let affinity = spec.get("nodeAffinity");
    if affinity.is_set() {
        node_affinity(&affinity.get("required"), errors);
    }
    let name = object.get("metadata").get("name");
    sources(&spec, name.text(), errors);
    spec.get("storageClassName")
        .name_or_empty(NameSyntax::Subdomain, errors);
    let mode = spec.get("volumeMode");
    mode.optional_one_of(&["Block", "Filesystem"], errors);
    let attributes = spec.get("volumeAttributesClassName");

    // An absent class means none, so an empty name is an error and not another way to write it.
    if attributes.is_set() {
        attributes.require("an empty string is disallowed", errors);
        attributes.name_or_empty(NameSyntax::Subdomain, errors);
        if !spec.get("csi").is_set() {
            spec.get("csi").missing(
                "has to be specified when using volumeAttributesClassName",
                errors,
            );
        }
    }

    let live = spec.before();
    if live.is_set() {
        changed_volume(&spec, &live, errors);
    }
}

pub(crate) fn volume_status(volume: &Field<'_>, errors: &mut Errors) {
    volume.require_version(errors);
}

/// Checks the sources of a volume with a name, of which it has one.
pub(super) fn sources(spec: &Field<'_>, volume: &str, errors: &mut Errors) {
    let affinity = spec.get("nodeAffinity");
    // The first source is checked, and each further one is forbidden.
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
                if let Some(source) = source.place() {
                    volume_source::persistent(name, &source, volume, errors);
                }
                if name == "local" && !affinity.is_set() {
                    affinity.missing("Local volume requires node affinity", errors);
                }
            }
            _ if name == "cephfs" => {
                let path = spec.path.child("cephFS");
                errors.push(FieldError::forbidden(
                    path,
                    "may not specify more than 1 volume type",
                ));
            }
            _ => source.forbid("may not specify more than 1 volume type", errors),
        }
    }

    if count == 0 {
        spec.missing("must specify a volume type", errors);
    }
}

fn capacity(capacity: &Field<'_>, errors: &mut Errors) {
    capacity.require("", errors);
    // Storage is the only resource of a volume, and it must be there.
    if !capacity.get("storage").is_set() || capacity.entries().count() > 1 {
        errors.push(FieldError::not_supported(
            capacity.path.clone(),
            capacity.shown(),
            &["storage"],
        ));
    }

    for (_, value) in capacity.entries() {
        value.valid_amount(errors);
        value.invalid_if(!is_positive(value.text()), NOT_POSITIVE, errors);
    }
}

fn changed_volume(spec: &Field<'_>, live: &Field<'_>, errors: &mut Errors) {
    let source = |spec: &Value| shown::pretty_json("PersistentVolumeSource", Some(spec));
    // A secret for expansion may be added to a driver.
    let mut new = spec.shown();
    let secret = "csi.controllerExpandSecretRef";
    let has_secret = |spec: &Field<'_>| spec.get("csi").get("controllerExpandSecretRef").is_set();

    if live.get("csi").is_set() && !has_secret(live) && has_secret(spec) {
        new = Path::parse(secret)
            .edit(&new, false, &mut |_| Edit::Remove)
            .unwrap_or(new);
    }

    // The error shows a difference of the printed sources, so the printed form is compared as well.
    let (old, new) = (source(&live.shown()), source(&new));
    if old != new {
        let diff = diff::unified(&old, &new);
        let detail = format!("spec.persistentvolumesource is immutable after creation\n{diff}");
        errors.push(FieldError::forbidden(
            spec.path.child("persistentvolumesource"),
            detail,
        ));
    }

    // The paths of these two errors lack `spec`, as in Kubernetes.
    let mode = spec.get("volumeMode");
    mode.moved(FieldPath::root("volumeMode")).immutable(errors);
    let (new, old) = (spec.get("nodeAffinity"), live.get("nodeAffinity"));
    if old.is_set() && !same_affinity(new.value, old.value) {
        let detail = "field is immutable, except for updating from beta label to GA";
        new.moved(FieldPath::root("nodeAffinity"))
            .invalid_as("VolumeNodeAffinity", detail, errors);
    }

    let class = spec.get("volumeAttributesClassName");
    let is_removed = class.before().is_set() && !class.is_set();
    class.forbid_if(
        is_removed,
        "update from non-nil value to nil is forbidden",
        errors,
    );
}

/// Whether two affinities are equal, apart from labels that got their later names.
fn same_affinity(new: Option<&Value>, old: Option<&Value>) -> bool {
    const NAMES: [(&str, &str); 5] = [
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        (
            "beta.kubernetes.io/instance-type",
            "node.kubernetes.io/instance-type",
        ),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
        (
            "failure-domain.beta.kubernetes.io/region",
            "topology.kubernetes.io/region",
        ),
        (
            "failure-domain.beta.kubernetes.io/zone",
            "topology.kubernetes.io/zone",
        ),
    ];

    // The keys of both affinities are read by the same path, so they correspond by position.
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
            let later = NAMES
                .iter()
                .find(|(old, _)| *old == name)
                .map_or("", |(_, later)| later);
            match keys.next() {
                Some(new) if new == later => Edit::Set(later.into()),
                _ => Edit::Keep,
            }
        });

        changed.unwrap_or_else(|| old.clone())
    });

    new == renamed.as_ref()
}

fn node_affinity(required: &Field<'_>, errors: &mut Errors) {
    if !required.is_set() {
        required.missing("must specify required node constraints", errors);
        return;
    }
    node_selector(required, errors);
}

/// Requires a term that selects nodes.
pub(super) fn node_selector(selector: &Field<'_>, errors: &mut Errors) {
    let terms = selector.get("nodeSelectorTerms");
    terms.require("must have at least one node selector term", errors);

    for term in terms.items() {
        for requirement in term.get("matchExpressions").items() {
            if let Some(requirement) = requirement.place() {
                selector::operator(&requirement, true, errors);
                selector::key_and_values(&requirement, errors);
            }
        }
        if let Some(term) = term.place() {
            node_fields(&term, errors);
        }
    }
}

pub(crate) fn volume_claim(claim: &Field<'_>, errors: &mut Errors) {
    let spec = claim.get("spec");
    if let Some(spec) = spec.place() {
        claim::spec(&spec, errors);
    }
    let live = claim.before();
    if live.is_set() {
        changed_claim(claim, &live, errors);
    }
}

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The size that a claim requests.
fn size<'v>(spec: &Field<'v>) -> Field<'v> {
    spec.get("resources").get("requests").get("storage")
}

fn changed_claim(claim: &Field<'_>, live: &Field<'_>, errors: &mut Errors) {
    let (spec, old_spec) = (claim.get("spec"), live.get("spec"));
    // Both specs are copied without the changes that are allowed; what then differs is forbidden.
    let (mut new, mut old) = (spec.shown(), old_spec.shown());
    // The controller binds a claim by setting the name of its volume once.
    if old_spec.get("volumeName").is_empty() {
        old = with_value_of(&old, "volumeName", spec.get("volumeName").value);
    }
    let class = |object: &Field<'_>| {
        object
            .get("metadata")
            .get("annotations")
            .value
            .and_then(|all| all.get(CLASS))
            .cloned()
    };

    let (new_class, old_class) = (class(claim), class(live));
    let names = (
        spec.get("storageClassName"),
        old_spec.get("storageClassName"),
    );
    // A class may move from the annotation of early versions to its field, if the name stays the same.
    let moves = old_class.is_some()
        && !names.1.is_set()
        && names.0.value == old_class.as_ref()
        && (new_class.is_none() || new_class == old_class);

    if moves {
        new = with_value_of(&new, "storageClassName", None);
    } else {
        // An annotation without a value is like none.
        let text = |class: &Option<Value>| class.clone().unwrap_or_else(|| "".into());
        if text(&new_class) != text(&old_class) {
            let path = FieldPath::root("metadata")
                .child("annotations")
                .child(CLASS);
            errors.push(FieldError::invalid(path, text(&new_class), IMMUTABLE));
        }

        // A claim without a class may get one later.
        if old_class.is_none() && !names.1.is_set() && names.0.is_set() {
            new = with_value_of(&new, "storageClassName", None);
        }
    }

    // A bound claim may request more storage and other attributes.
    if claim.get("status").get("phase").text() == "Bound" {
        if spec.get("resources").get("requests").is_set() {
            new = with_value_of(&new, "resources.requests.storage", size(&old_spec).value);
        }
        new = with_value_of(
            &new,
            "volumeAttributesClassName",
            old_spec.get("volumeAttributesClassName").value,
        );
    }

    let pretty = |spec: &Value| shown::pretty_json("PersistentVolumeClaimSpec", Some(spec));
    let (old, new) = (pretty(&old), pretty(&new));
    if old != new {
        let words = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
                     claims";
        spec.forbid(&format!("{words}\n{}", diff::unified(&old, &new)), errors);
    }

    // A smaller request is accepted above the capacity, so that users can recover from a failed expansion.
    let amount = |size: Field<'_>| size.amount();
    let capacity = live.get("status").get("capacity").get("storage");
    let requested = size(&spec);
    let new_size = amount(requested.clone());
    let shrinks = new_size < amount(size(&old_spec)) && new_size <= amount(capacity);
    requested.forbid_if(
        shrinks,
        "field can not be less than status.capacity",
        errors,
    );
    let mode = spec.get("volumeMode");
    mode.moved(FieldPath::root("volumeMode")).immutable(errors);

    // Attributes that the volume has may be replaced, but not taken away.
    let class = spec.get("volumeAttributesClassName");
    let current = live.get("status").get("currentVolumeAttributesClassName");
    if class.value != old_spec.get("volumeAttributesClassName").value && current.is_set() {
        let detail = "is forbidden when status.currentVolumeAttributesClassName is not nil";
        if !class.is_set() {
            class.forbid(&format!("update to nil {detail}"), errors);
        } else if class.is_empty() {
            class.forbid(&format!("update to empty string {detail}"), errors);
        }
    }
}

pub(crate) fn storage_class(class: &Field<'_>, errors: &mut Errors) {
    let [provisioner, policy, mode] =
        ["provisioner", "reclaimPolicy", "volumeBindingMode"].map(|name| class.get(name));
    // Messages show the name in lower case.
    let name = provisioner.text().to_lowercase();
    if !name.is_empty() {
        faults(&provisioner.path, &name, qualified_name(&name), errors);
    }
    parameters(&class.get("parameters"), errors);
    if !policy.is_empty() {
        policy.one_of(&["Delete", "Retain"], errors);
    }

    mode.optional_one_of(&["Immediate", "WaitForFirstConsumer"], errors);
    topologies(&class.get("allowedTopologies"), errors);
    provisioner.require("", errors);
    class.get("parameters").immutable_hidden(errors);
    for field in [provisioner, policy, mode] {
        field.immutable_hidden(errors);
    }
}

/// The topologies of a class of volumes.
fn topologies(topologies: &Field<'_>, errors: &mut Errors) {
    // Kubernetes compares each term with empty ones too.
    let mut seen = BTreeSet::from([BTreeMap::new()]);
    for term in topologies.items() {
        let expressions = term.get("matchLabelExpressions");
        let mut values_by_key: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for requirement in expressions.items() {
            let (key, values) = (requirement.get("key"), requirement.get("values"));
            values.require("", errors);
            let mut set = BTreeSet::new();
            for value in values.items() {
                value.unique(&mut set, errors);
            }
            key.qualified(errors);
            if values_by_key.insert(key.text(), set).is_some() {
                key.duplicate(errors);
            }
        }

        // It reports one error for each equal term, and drops all but the first.
        if !seen.insert(values_by_key) {
            errors.push(FieldError::duplicate(expressions.path.clone(), ""));
        }
    }
}

pub(crate) fn driver(object: &Field<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    let policy = spec.get("fsGroupPolicy");
    policy.optional_one_of(&["File", "None", "ReadWriteOnceWithFSType"], errors);
    let mut audiences = BTreeSet::new();
    for request in spec.get("tokenRequests").items() {
        let (audience, seconds) = (request.get("audience"), request.get("expirationSeconds"));
        // An audience that occurs again has no other errors.
        if !audiences.insert(audience.text()) {
            errors.push(FieldError::duplicate(
                audience.path.clone(),
                audience.text(),
            ));
        } else if seconds.is_set() && seconds.number() < 600 {
            seconds.invalid("may not specify a duration less than 10 minutes", errors);
        } else if seconds.number() > 1 << 32 {
            seconds.invalid(
                "may not specify a duration larger than 2^32 seconds",
                errors,
            );
        }
    }

    // Kubernetes gives these errors the path of the list, not of the item.
    let modes = spec.get("volumeLifecycleModes");
    for mode in modes
        .items()
        .filter(|mode| !matches!(mode.text(), "Persistent" | "Ephemeral"))
    {
        let accepted = ["Persistent", "Ephemeral"];
        errors.push(FieldError::not_supported(
            modes.path.clone(),
            mode.text(),
            &accepted,
        ));
    }

    let period = spec.get("nodeAllocatableUpdatePeriodSeconds");
    let is_short = period.is_set() && period.number() < 10;
    period.invalid_if(
        is_short,
        "must be greater than or equal to 10 seconds",
        errors,
    );
    // Without requests there is no token that could be among the secrets.
    let tokens = spec.get("serviceAccountTokenInSecrets");
    let has_none = tokens.is_set() && spec.get("tokenRequests").is_empty();
    let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
    tokens.invalid_if(has_none, detail, errors);
    // Kubernetes spells the path of this error differently from the field.
    let attach = spec.get("attachRequired");

    attach
        .moved(spec.path.child("attachedRequired"))
        .immutable(errors);
    modes.immutable(errors);
}

/// Checks the parameters of a class, and returns whether their number is in bounds.
pub(super) fn parameters(parameters: &Field<'_>, errors: &mut Errors) -> bool {
    if parameters.entries().count() > MOST_PARAMETERS {
        errors.push(FieldError::too_long(
            parameters.path.clone(),
            MOST_PARAMETERS,
        ));
        return false;
    }
    if parameters.entries().any(|(key, _)| key.is_empty()) {
        let path = parameters.path.clone();
        errors.push(FieldError::invalid(path, "", "field can not be empty."));
    }
    if text_bytes(parameters) > MOST_PARAMETER_BYTES {
        let path = parameters.path.clone();
        errors.push(FieldError::too_long(path, MOST_PARAMETER_BYTES));
    }
    true
}

/// The bytes of the keys and values of a map.
pub(super) fn text_bytes(map: &Field<'_>) -> usize {
    let entries = map.entries();
    entries
        .map(|(key, value)| key.len() + value.text().len())
        .sum()
}
