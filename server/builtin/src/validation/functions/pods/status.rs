//! The status of pods.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::{address, qualified_name};
use fieldmanager_value::Value;

use super::super::formats;
use super::annotations::{self, Annotations};
use super::{container_status, reports};
use crate::place::{Errors, IMMUTABLE, Place, faults};
use crate::shown;
use crate::validation::functions::field::Field;

/// Checks the status of a pod.
pub(crate) fn pod_status(pod: &Field<'_>, errors: &mut Errors) {
    annotations::changes(pod, errors);
    if let Some(spec) = pod.get("spec").place() {
        annotations::check(&Annotations::of(pod), &spec, errors);
    }
    let Some(status) = pod.get("status").place() else {
        return;
    };
    let empty = Value::Map(Default::default());
    let live = pod
        .get("status")
        .before()
        .place()
        .unwrap_or(Place::new(&status.path, &empty));

    conditions(&status, errors);
    // Only a new name is checked, so that a status with a faulty one stays updatable.
    let nominated = status.text("nominatedNodeName");
    if nominated != live.text("nominatedNodeName") {
        status.subdomain("nominatedNodeName", errors);
        let is_bound = !pod.before().get("spec").get("nodeName").is_empty();
        let detail = "may not be set on pods that are already bound to a node";
        let is_fault = is_bound && !nominated.is_empty();
        status.forbid_if(is_fault, "nominatedNodeName", detail, errors);
    }
    generation(&status, errors);
    // The class is fixed when the pod is created.
    if status.text("qosClass") != live.text("qosClass") {
        let class = status.text("qosClass");
        errors.push(FieldError::invalid(status.at("qosClass"), class, IMMUTABLE));
    }

    container_status::transitions(pod, errors);
    let Some(spec) = pod.get("spec").place() else {
        return;
    };
    container_status::claims(&status, &spec, errors);
    reports::allocatable(&pod.get("status"), &pod.get("spec"), errors);
    reports::volume_health(&pod.get("status"), &pod.get("spec"), errors);
    addresses(&status, &live, errors);
    container_status::users(&status, &spec, errors);
    container_status::allocated(&status, &spec, errors);
}

fn conditions(status: &Place<'_>, errors: &mut Errors) {
    for condition in status.items("conditions") {
        generation(&condition, errors);
        let name = condition.text("type");
        // The path of this error has the Go name of the field, as in Kubernetes.
        if !matches!(name, "PodScheduled" | "Ready" | "Initialized") {
            faults(&condition.at("Type"), name, qualified_name(name), errors);
        }
    }
}

fn generation(of: &Place<'_>, errors: &mut Errors) {
    let is_negative = of.int("observedGeneration").is_some_and(|found| found < 0);
    let detail = "must be a non-negative integer";
    of.invalid_if(is_negative, "observedGeneration", detail, errors);
}

fn addresses(status: &Place<'_>, live: &Place<'_>, errors: &mut Errors) {
    added_addresses(status, live, "podIPs", errors);
    families(status, "podIPs", errors);

    // The single address repeats the first of the list for older clients.
    let first = status.items("podIPs").next();
    match (status.text("podIP"), first) {
        ("", None) => {}
        ("", Some(_)) | (_, None) => {
            let detail = "podIP and podIPs must either both be set or both be unset";
            errors.push(shown::invalid(
                status.at("podIPs"),
                &shown(status, "podIPs"),
                detail,
            ));
        }
        (ip, Some(first)) if first.text("ip") != ip => {
            first.invalid("ip", "must be equal to `podIP`", errors);
        }
        _ => {}
    }

    let first = status.items("hostIPs").next();
    if let Some(first) = first.filter(|first| first.text("ip") != status.text("hostIP")) {
        first.invalid("ip", "must be equal to `hostIP`", errors);
    }
    added_addresses(status, live, "hostIPs", errors);
    families(status, "hostIPs", errors);
}

/// Several addresses must be of two families.
fn families(status: &Place<'_>, name: &str, errors: &mut Errors) {
    let addresses: Vec<&str> = status.values(name).map(ip).collect();
    if addresses.len() < 2 {
        return;
    }

    let parsed: Vec<_> = addresses.iter().map(|text| address::ip(text)).collect();
    let mut numbered = parsed.iter().zip(&addresses).enumerate();
    let invalid = numbered.find(|(_, (parsed, _))| parsed.is_none());
    if let Some((at, (_, text))) = invalid {
        let detail = format!("failed to check for dual stack with error:invalid IP[{at}]: {text}");
        errors.push(FieldError::internal(status.at(name), detail));
    }

    let has = |is_v6: bool| parsed.iter().flatten().any(|ip| ip.is_ipv6() == is_v6);
    if invalid.is_some() || addresses.len() > 2 || !(has(true) && has(false)) {
        let detail = "may specify no more than one IP for each IP family";
        errors.push(shown::invalid(
            status.at(name),
            &shown(status, name),
            detail,
        ));
    }
}

/// The addresses as Go shows them.
fn shown(status: &Place<'_>, name: &str) -> String {
    shown::json("PodIPs", status.get(name))
}

fn ip(address: &Value) -> &str {
    address
        .get("ip")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Checks the addresses that the live status does not have.
fn added_addresses(status: &Place<'_>, live: &Place<'_>, name: &str, errors: &mut Errors) {
    let old: BTreeSet<&str> = live.values(name).map(ip).collect();
    for address in status
        .items(name)
        .filter(|address| !old.contains(ip(address.value)))
    {
        faults(
            &address.path,
            ip(address.value),
            formats::ip_faults(ip(address.value)),
            errors,
        );
    }
}
