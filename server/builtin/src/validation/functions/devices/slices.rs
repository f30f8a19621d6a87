//! ResourceSlices: the devices that a driver offers, and on which nodes.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_value::Value;

use super::{
    EFFECTS, MOST_CONDITIONS_TO_BIND, capacity, distinct, identifier, not_empty, pool_name, text_of,
};
use crate::place::{Errors, Place, faults};
use crate::validation::functions::field::Field;
use crate::validation::functions::{attachments, storage};
use crate::validation::syntax;

const MOST_DEVICES: usize = 128;
/// The largest number of devices if one of them has taints or consumes counters.
const MOST_SPECIAL_DEVICES: usize = 64;
const MOST_COUNTER_SETS: usize = 8;
const MOST_COUNTERS: usize = 32;
const MOST_CONSUMED_SETS: usize = 2;
/// The largest numbers of attributes and capacities of a device, and of values of its attributes.
const MOST_PROPERTIES: usize = 32;
const MOST_VALUES: usize = 48;
const MOST_VALUE_BYTES: usize = 64;
const MOST_TAINTS: usize = 16;
/// The most bytes of keys that paths show.
const MOST_NAME_BYTES: usize = 96;

/// The members of an attribute, of which one is set.
const ATTRIBUTE: [&str; 8] = [
    "int", "bool", "string", "version", "ints", "bools", "strings", "versions",
];

pub(crate) fn slice(slice: &Field<'_>, errors: &mut Errors) {
    let spec = slice.get("spec");
    let (driver, pool) = (spec.get("driver"), spec.get("pool"));
    attachments::driver(&driver, errors);
    pool_name(&pool.get("name"), errors);
    let count = pool.get("resourceSliceCount");
    if count.number() <= 0 {
        count.invalid_number("must be greater than zero", errors);
    }
    let generation = pool.get("generation");
    let detail = "must be greater than or equal to zero";
    generation.invalid_if(generation.number() < 0, detail, errors);

    pool.get("name").immutable_text(errors);
    driver.immutable_text(errors);
    spec.get("nodeName").immutable(errors);
    selected_nodes(&spec, errors);
    let (devices, counters) = (spec.get("devices"), spec.get("sharedCounters"));
    if devices.is_set() && counters.is_set() {
        let detail = "only one of `sharedCounters` or `devices` is allowed";
        errors.push(FieldError::invalid(spec.path.clone(), "", detail));
    }

    check_devices(&spec, errors);
    let sets = counters
        .items()
        .filter(|_| counters.len() <= MOST_COUNTER_SETS);
    sets.for_each(|set| few_counters(&set, errors));
    declared(&devices, &counters, errors);
}

/// Requires one way to say on which nodes the devices are.
fn selected_nodes(spec: &Field<'_>, errors: &mut Errors) {
    let found = node_choices(spec, false, errors);
    let detail = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    match found.len() {
        0 => spec.missing(detail, errors),
        1 => {}
        _ => {
            let detail = format!("{detail}, but multiple fields are set");
            errors.push(choices_error(spec, &found, &detail));
        }
    }
}

fn choices_error(part: &Field<'_>, found: &[&str], detail: &str) -> FieldError {
    let found = format!("{{{}}}", found.join(", "));
    FieldError::invalid(part.path.clone(), found, detail)
}

/// The ways in which a slice or a device says on which nodes it is.
fn node_choices(part: &Field<'_>, is_device: bool, errors: &mut Errors) -> Vec<&'static str> {
    let (name, selector) = (part.get("nodeName"), part.get("nodeSelector"));
    let mut found = Vec::new();
    if !name.is_empty() {
        found.push("`nodeName`");
        name.name(NameSyntax::Subdomain, errors);
    } else if name.is_set() {
        let detail = if is_device {
            "must not be empty"
        } else {
            "must be either unset or set to a non-empty string"
        };
        name.invalid_text(detail, errors);
    }

    if selector.is_set() {
        found.push("`nodeSelector`");
        storage::node_selector(&selector, errors);
        let terms = selector.get("nodeSelectorTerms");
        // Selectors of several slices can then be merged.
        if !is_device && terms.len() != 1 {
            let detail = "must have exactly one node selector term";
            terms.invalid_as("NodeSelectorTerms", detail, errors);
        }
    }

    for (name, shown) in [
        ("allNodes", "`allNodes`"),
        ("perDeviceNodeSelection", "`perDeviceNodeSelection`"),
    ] {
        let flag = part.get(name);
        if flag.is_true() {
            found.push(shown);
        } else {
            flag.invalid_if(flag.is_set(), "must be either unset or set to true", errors);
        }
    }
    found
}

/// The fields of a device besides its name. In v1beta1, they are in a part of it.
fn content<'v>(device: &Field<'v>) -> Field<'v> {
    let basic = device.get("basic");
    if basic.is_set() {
        basic
    } else {
        device.clone()
    }
}

fn check_devices(spec: &Field<'_>, errors: &mut Errors) {
    let devices = spec.get("devices");
    let is_special = |device: Field<'_>| {
        let device = content(&device);
        !device.get("taints").is_empty() || !device.get("consumesCounters").is_empty()
    };
    // Devices with taints or counters are larger, so fewer of them fit into an object.
    let most = if devices.items().any(is_special) {
        MOST_SPECIAL_DEVICES
    } else {
        MOST_DEVICES
    };
    if !devices.at_most_items(most, errors) {
        return;
    }

    let mut live: BTreeMap<&str, Field<'_>> = BTreeMap::new();
    for device in devices.before().items() {
        live.entry(device.get("name").text()).or_insert(device);
    }
    let is_selected = spec.get("perDeviceNodeSelection").is_true();
    for device in devices.items() {
        let name = device.get("name");
        name.faults(NameSyntax::Label.faults(name.text(), false), errors);
        let live = live.get(name.text()).map(content);
        let device = content(&device).moved(device.path.clone());
        check_device(&device, live.as_ref(), errors);
        device_nodes(&device, is_selected, errors);
        super::binding(&device, errors);
    }

    let mut names = BTreeSet::new();
    for device in devices.items() {
        let name = device.get("name").moved(device.path.clone());
        name.unique(&mut names, errors);
    }
}

fn check_device(device: &Field<'_>, live: Option<&Field<'_>>, errors: &mut Errors) {
    let [attributes, capacity, taints] =
        ["attributes", "capacity", "taints"].map(|name| device.get(name));
    let values = attributes.entries().count();
    let properties = values + capacity.entries().count();
    for (count, most, of) in [
        (properties, MOST_PROPERTIES, "attributes and capacities"),
        (values, MOST_VALUES, "attribute values"),
    ] {
        if count > most {
            let detail = format!("the total number of {of} must not exceed {most}");
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            errors.push(FieldError::invalid(device.path.clone(), count, detail));
        }
    }

    check_attributes(&attributes, errors);
    // What the live device has already is not checked again.
    let is_same =
        |field: &Field<'_>, name| live.is_some_and(|live| live.get(name).value == field.value);
    if !is_same(&capacity, "capacity") {
        let is_shared = device.get("allowMultipleAllocations").is_true();
        check_capacity(&capacity, is_shared, errors);
    }
    if !is_same(&taints, "taints") && taints.at_most_items(MOST_TAINTS, errors) {
        taints
            .items()
            .for_each(|taint| super::taint(&taint, errors));
    }
    let consumed = device.get("consumesCounters");
    let sets = consumed
        .items()
        .filter(|_| consumed.len() <= MOST_CONSUMED_SETS);
    sets.for_each(|set| few_counters(&set, errors));
}

/// An entry of a map with its path, which shows the ends of a long key.
fn shortened<'v>(map: &Field<'_>, key: &str, entry: &Field<'v>) -> Field<'v> {
    const DOTS: &str = "...";
    let shown = MOST_NAME_BYTES - DOTS.len();
    if key.len() <= MOST_NAME_BYTES {
        return entry.clone();
    }
    let text = |part: Option<&[u8]>| String::from_utf8_lossy(part.unwrap_or_default()).into_owned();
    let start = text(key.as_bytes().get(..shown.div_ceil(2)));
    let end = text(key.as_bytes().get(key.len() - shown / 2..));
    entry.moved(map.path.key(format!("{start}{DOTS}{end}")))
}

fn check_attributes(attributes: &Field<'_>, errors: &mut Errors) {
    for (key, attribute) in attributes.entries() {
        property_name(attributes, key, errors);
        let attribute = shortened(attributes, key, &attribute);
        attribute.get("string").at_most(MOST_VALUE_BYTES, errors);
        let version = attribute.get("version");
        if version.is_set() && !syntax::is_semantic_version(version.text()) {
            let detail = "must be a string compatible with semver.org spec 2.0.0";
            version.invalid_text(detail, errors);
        }
        version.at_most(MOST_VALUE_BYTES, errors);

        // The generated validation of Kubernetes has this error, too, in place of this one if the path is the same.
        if key.len() > MOST_NAME_BYTES {
            let detail = "exactly one value must be specified";
            match values_of(&attribute).len() {
                0 => errors.push(FieldError::invalid(attribute.path, "", detail)),
                1 => {}
                _ => attribute.invalid_as("DeviceAttribute", detail, errors),
            }
        }
    }
}

fn check_capacity(capacity: &Field<'_>, is_shared: bool, errors: &mut Errors) {
    for (key, entry) in capacity.entries() {
        property_name(capacity, key, errors);
        let entry = shortened(capacity, key, &entry);
        let policy = entry.get("requestPolicy");
        if !policy.is_set() {
            continue;
        }
        if is_shared {
            capacity::policy(&entry.get("value"), &policy, errors);
        } else {
            policy.forbid("allowMultipleAllocations must be true", errors);
        }
    }
}

/// Checks a key of a map of attributes or capacities: a name, with or without a domain. Kubernetes does not check names of
/// more parts.
fn property_name(map: &Field<'_>, key: &str, errors: &mut Errors) {
    let parts: Vec<&str> = key.split('/').collect();
    match parts.as_slice() {
        [id] => identifier(&map.path, id, errors),
        [domain, id] => {
            if not_empty(&map.path, domain, "the domain must not be empty", errors) {
                let domain = Value::from(*domain);
                let domain = Field::at(&Place::new(&map.path, &domain));
                attachments::driver(&domain, errors);
            }
            if not_empty(&map.path, id, "the name must not be empty", errors) {
                identifier(&map.path, id, errors);
            }
        }
        _ => {}
    }
}

fn few_counters(set: &Field<'_>, errors: &mut Errors) {
    let counters = set.get("counters");
    let count = counters.entries().count();
    if count > MOST_COUNTERS {
        errors.push(FieldError::too_many(counters.path, count, MOST_COUNTERS));
    }
}

/// Requires one way to say on which nodes a device is, if that is not said by the slice.
fn device_nodes(device: &Field<'_>, is_selected: bool, errors: &mut Errors) {
    if !is_selected {
        let names = ["nodeName", "nodeSelector", "allNodes"];
        if names.iter().any(|name| device.get(name).is_set()) {
            let detail = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set \
                          to true in the ResourceSlice spec";
            let path = device.path.clone();
            errors.push(FieldError::invalid(path, Value::Null, detail));
        }
        return;
    }

    let found = node_choices(device, true, errors);
    let detail = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is \
                  set to true in the ResourceSlice spec";
    match found.len() {
        0 => device.missing(detail, errors),
        1 => {}
        _ => errors.push(choices_error(device, &found, detail)),
    }
}

/// The errors of the generated validation of Kubernetes, which are the last ones.
fn declared(devices: &Field<'_>, counters: &Field<'_>, errors: &mut Errors) {
    for device in devices.items() {
        declared_device(&content(&device), errors);
    }
    if counters.at_most_items(MOST_COUNTER_SETS, errors) {
        distinct(counters, text_of("name"), "CounterSet", errors);
        for set in counters.items() {
            declared_counters(&set, "name", errors);
        }
    }
}

fn declared_device(device: &Field<'_>, errors: &mut Errors) {
    for (_, attribute) in device.get("attributes").entries() {
        one_value(&attribute, errors);
    }
    let consumed = device.get("consumesCounters");
    if consumed.at_most_items(MOST_CONSUMED_SETS, errors) {
        let ty = "DeviceCounterConsumption";
        distinct(&consumed, text_of("counterSet"), ty, errors);
        for set in consumed.items() {
            declared_counters(&set, "counterSet", errors);
        }
    }
    for taint in device.get("taints").items() {
        taint.get("effect").require_one_of(&EFFECTS, errors);
    }
    for name in ["bindingConditions", "bindingFailureConditions"] {
        let conditions = device.get(name);
        conditions.at_most_items(MOST_CONDITIONS_TO_BIND, errors);
    }
}

/// The members of an attribute that are set.
fn values_of(attribute: &Field<'_>) -> Vec<&'static str> {
    let is_set = |name: &&str| attribute.get(name).is_set();
    ATTRIBUTE.into_iter().filter(is_set).collect()
}

fn one_value(attribute: &Field<'_>, errors: &mut Errors) {
    let found = values_of(attribute);
    let all = ATTRIBUTE.map(|name| format!("`{name}`")).join(", ");
    match found.len() {
        0 => {
            let detail = format!("must specify one of: {all}");
            errors.push(FieldError::invalid(attribute.path.clone(), "", detail));
        }
        1 => {}
        _ => {
            let detail = format!("must specify exactly one of: {all}");
            errors.push(choices_error(attribute, &found, &detail));
        }
    }
}

/// Requires the name of a set of counters, and counters with names.
fn declared_counters(set: &Field<'_>, name: &str, errors: &mut Errors) {
    set.get(name).require_name(NameSyntax::Label, "", errors);
    let counters = set.get("counters");
    counters.require("", errors);
    for (key, _) in counters.entries() {
        let found = NameSyntax::Label.faults(key, false);
        faults(&counters.path, key, found, errors);
    }
}
