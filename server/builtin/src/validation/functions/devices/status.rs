//! The status of a claim of devices: what was allocated, for whom, and the states of the devices.

use std::collections::BTreeSet;
use std::net::IpAddr;

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::{NameSyntax, address};
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;
use fieldmanager_value::internal::{Escape, write_json};

use super::{
    MOST_CONDITIONS_TO_BIND, MOST_ITEMS, MOST_POOL_BYTES, RequestNames, distinct, pool_name,
    request_names, text_of,
};
use crate::place::Errors;
use crate::shown;
use crate::validation::functions::field::Field;
use crate::validation::functions::{attachments, conditions, storage};

const MOST_CONSUMERS: usize = 256;
/// The largest number of configurations, of a class and of a claim.
const MOST_CONFIGURATIONS: usize = 2 * MOST_ITEMS;
const MOST_ADDRESSES: usize = 16;
const MOST_INTERFACE_BYTES: usize = 256;
const MOST_HARDWARE_BYTES: usize = 128;

/// The driver, the pool and the name of a device, and the share of it that is allocated.
type DeviceId<'v> = ([&'v str; 3], Option<&'v str>);

fn device_id<'v>(device: &Field<'v>) -> DeviceId<'v> {
    let share = device.get("shareID");
    let names = ["driver", "pool", "device"].map(|name| device.get(name).text());
    (names, share.is_set().then(|| share.text()))
}

pub(crate) fn claim_status(claim: &Field<'_>, errors: &mut Errors) {
    let status = claim.get("status");
    let [consumers, allocation, devices] =
        ["reservedFor", "allocation", "devices"].map(|name| status.get(name));
    let few = |_: &Field<'_>| consumers.len() <= MOST_CONSUMERS;
    for consumer in consumers.items().filter(few) {
        for name in ["resource", "name", "uid"] {
            consumer.get(name).require("", errors);
        }
    }

    let results = allocation.get("devices").get("results");
    let allocated: BTreeSet<_> = results.items().map(|result| device_id(&result)).collect();
    for device in devices.items() {
        device_state(&device, &allocated, errors);
    }
    reserved(claim, errors);
    let is_new = !allocation.before().is_set();
    if is_new {
        let names = request_names(&claim.get("spec").get("devices"));
        check_allocation(&allocation, &names, errors);
        // The generated validation of Kubernetes has this error and those below at the end.
        declared_allocation(&allocation.get("devices"), errors);
    } else if allocation.is_set() && allocation.is_changed() {
        let detail = "field cannot be modified once set";
        errors.push(FieldError::invalid(allocation.path, Value::Null, detail));
    }

    if consumers.at_most_items(MOST_CONSUMERS, errors) {
        let ty = "ResourceClaimConsumerReference";
        distinct(&consumers, text_of("uid"), ty, errors);
    }
    declared_states(&devices, errors);
}

/// Requires an allocation for consumers. A claim that is deleted gets no more of them.
fn reserved(claim: &Field<'_>, errors: &mut Errors) {
    let status = claim.get("status");
    let consumers = status.get("reservedFor");
    if consumers.is_empty() {
        return;
    }
    if !status.get("allocation").is_set() {
        let detail = "may not be specified when `allocated` is not set";
        consumers.forbid(detail, errors);
        return;
    }
    let members = |consumer: Field<'_>| {
        ["apiGroup", "resource", "name", "uid"].map(|name| consumer.get(name).text().to_owned())
    };
    let live: BTreeSet<_> = consumers.before().items().map(members).collect();
    let is_deleted = claim.get("metadata").get("deletionTimestamp").is_set();
    let has_new = || consumers.items().any(|one| !live.contains(&members(one)));
    if is_deleted && has_new() {
        let detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
        consumers.forbid(detail, errors);
    }
}

fn label(name: &Field<'_>, errors: &mut Errors) {
    name.faults(NameSyntax::Label.faults(name.text(), false), errors);
}

fn device_state(device: &Field<'_>, allocated: &BTreeSet<DeviceId<'_>>, errors: &mut Errors) {
    attachments::driver(&device.get("driver"), errors);
    pool_name(&device.get("pool"), errors);
    label(&device.get("device"), errors);
    let id = device_id(device);
    if !allocated.contains(&id) {
        let detail = "must be an allocated device in the claim";
        errors.push(shown::invalid(device.path.clone(), &shown_id(id), detail));
    }

    let found = device.get("conditions");
    found.at_most_items(super::MOST_CONDITIONS, errors);
    conditions::check(&found, errors);
    let data = device.get("data");
    if data.is_set() {
        super::json_object(&data, errors);
    }
    let addresses = device.get("networkData").get("ips");
    for address in addresses
        .items()
        .filter(|_| addresses.len() <= MOST_ADDRESSES)
    {
        address.faults(interface_address(address.text()), errors);
    }
}

/// The names of a device as Go writes them.
fn shown_id(([driver, pool, device], share): DeviceId<'_>) -> String {
    let members = [
        ("Driver", driver),
        ("Pool", pool),
        ("Device", device),
        ("ShareID", share.unwrap_or_default()),
    ];
    let members = members.map(|(name, text)| {
        let mut out = format!("\"{name}\":");
        write_json(&Value::from(text), &mut out, Escape::Go);
        out
    });
    format!("{{{}}}", members.join(","))
}

/// The fault of the address of an interface with the length of its network.
fn interface_address(text: &str) -> Vec<String> {
    let Some((address, length)) = address::cidr(text) else {
        let detail = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
        return vec![detail.to_owned()];
    };
    // An IPv4 address in one of IPv6 is written as itself.
    let canonical = address.to_canonical();
    let length = match canonical {
        IpAddr::V4(_) if length > 32 => i16::from(length) - 96,
        _ => i16::from(length),
    };
    let canonical = format!("{canonical}/{length}");
    if text == canonical {
        Vec::new()
    } else {
        vec![format!("must be in canonical form ({})", quote(&canonical))]
    }
}

fn check_allocation(allocation: &Field<'_>, names: &RequestNames<'_>, errors: &mut Errors) {
    let devices = allocation.get("devices");
    let (results, configurations) = (devices.get("results"), devices.get("config"));
    for result in results.items().filter(|_| results.len() <= MOST_ITEMS) {
        super::request_exists(&result.get("request"), names, errors);
        label(&result.get("device"), errors);
        super::binding(&result, errors);
        for toleration in result.get("tolerations").items() {
            super::toleration(&toleration, errors);
        }
    }
    for configuration in configurations
        .items()
        .filter(|_| configurations.len() <= MOST_CONFIGURATIONS)
    {
        super::requests_exist(&configuration, names, errors);
        super::check_configuration(&configuration, errors);
    }

    let selector = allocation.get("nodeSelector");
    if selector.is_set() {
        storage::node_selector(&selector, errors);
    }
}

fn declared_allocation(devices: &Field<'_>, errors: &mut Errors) {
    let (results, configurations) = (devices.get("results"), devices.get("config"));
    if results.at_most_items(MOST_ITEMS, errors) {
        results
            .items()
            .for_each(|result| declared_result(&result, errors));
    }
    if configurations.at_most_items(MOST_CONFIGURATIONS, errors) {
        for configuration in configurations.items() {
            let source = configuration.get("source");
            source.require_one_of(&["FromClaim", "FromClass"], errors);
            super::unique_texts(&configuration.get("requests"), MOST_ITEMS, errors);
            super::declared_configuration(&configuration, errors);
        }
    }
}

fn declared_result(result: &Field<'_>, errors: &mut Errors) {
    attachments::declared_driver(&result.get("driver"), errors);
    declared_pool(&result.get("pool"), errors);
    for toleration in result.get("tolerations").items() {
        super::declared_toleration(&toleration, errors);
    }
    for name in ["bindingConditions", "bindingFailureConditions"] {
        let conditions = result.get(name);
        conditions.at_most_items(MOST_CONDITIONS_TO_BIND, errors);
    }
    share(&result.get("shareID"), errors);
}

/// Requires the name of a pool with the words of the generated validation.
fn declared_pool(pool: &Field<'_>, errors: &mut Errors) {
    pool.require("", errors);
    pool.at_most(MOST_POOL_BYTES, errors);
    let parts = pool.text().split('/').enumerate();
    for (at, part) in parts.filter(|_| !pool.is_empty()) {
        if part.is_empty() {
            pool.invalid_text(format!("segment {at}: must not be empty"), errors);
            continue;
        }
        for fault in NameSyntax::Subdomain.faults(part, false) {
            let detail = format!("segment {at}: {fault}");
            errors.push(FieldError::invalid(pool.path.clone(), part, detail));
        }
    }
}

/// Requires that the identifier of a share, if there is one, is a UUID.
fn share(share: &Field<'_>, errors: &mut Errors) {
    let is_known = |(at, letter): (usize, u8)| match at {
        8 | 13 | 18 | 23 => letter == b'-',
        _ => matches!(letter, b'0'..=b'9' | b'a'..=b'f'),
    };
    let text = share.text();
    let is_uuid = text.len() == 36 && text.bytes().enumerate().all(is_known);
    if share.is_set() && !is_uuid {
        let detail = "must be a lowercase UUID in 8-4-4-4-12 format";
        share.invalid_text(detail, errors);
    }
}

fn declared_states(devices: &Field<'_>, errors: &mut Errors) {
    distinct(devices, device_id, "AllocatedDeviceStatus", errors);
    for device in devices.items() {
        share(&device.get("shareID"), errors);
        let network = device.get("networkData");
        let name = network.get("interfaceName");
        name.at_most(MOST_INTERFACE_BYTES, errors);
        super::unique_texts(&network.get("ips"), MOST_ADDRESSES, errors);
        let hardware = network.get("hardwareAddress");
        hardware.at_most(MOST_HARDWARE_BYTES, errors);
    }
}
