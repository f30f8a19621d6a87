//! Nodes: their ranges, their features and their taints.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::{address, label_value};
use fieldmanager_structural::{FieldError, FieldErrorKind, FieldPath};
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::field::{Field, duplicate_struct};
use super::formats;
use super::pods::resources::quantity_of;
use crate::place::Errors;
use crate::shown;

/// Checks the names of the features of a node, which ascend.
fn declared_features(features: &Field<'_>, errors: &mut Errors) {
    let mut before: Option<&str> = None;
    for feature in features.items() {
        let name = feature.text();
        match before {
            Some(before) if before == name => {
                errors.push(FieldError::duplicate(feature.path.clone(), name));
            }
            Some(before) if before > name => {
                feature.invalid_text("list must be sorted alphabetically", errors);
            }
            _ => {}
        }
        before = Some(name);

        let is_segment = |segment: &str| {
            segment.starts_with(|c: char| c.is_ascii_alphabetic())
                && segment.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let is_capital = name.starts_with(|c: char| c.is_ascii_uppercase());
        if !is_capital || !name.split('/').all(is_segment) {
            let quoted = quote(name);
            feature.invalid_text(
                format!(
                    "invalid feature name {quoted}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
                ),
                errors,
            );
        }
    }
}

pub(crate) fn node(node: &Field<'_>, errors: &mut Errors) {
    let spec = node.get("spec");
    let live = spec.before();
    taints(&spec.get("taints"), errors);
    for list in ["capacity", "allocatable"].map(|name| node.get("status").get(name)) {
        for (name, amount) in list.entries() {
            let amount = amount.value.cloned().unwrap_or_default();
            quantity_of(name, &amount, list.path.child(name), errors);
        }
    }
    let ranges = spec.get("podCIDRs");
    for range in ranges.items() {
        range.faults(formats::cidr_faults(range.text()), errors);
    }
    if ranges.len() > 1 {
        pair_of_ranges(&ranges, errors);
    }

    // One address may be listed with several types, so only equal pairs are duplicates.
    let mut seen = BTreeSet::new();
    for address in node.get("status").get("addresses").items() {
        if !seen.insert((address.get("type").text(), address.get("address").text())) {
            errors.push(duplicate_struct(
                &address,
                &shown::json("NodeAddress", address.value),
            ));
        }
    }

    declared_features(&node.get("status").get("declaredFeatures"), errors);

    // The controller may assign ranges to a node that has none; afterwards they stay.
    let (new, old): (Vec<&str>, Vec<&str>) =
        (ranges.texts().collect(), ranges.before().texts().collect());
    let detail = "node updates may not change podCIDR except from \"\" to valid";
    if old.len() == new.len() {
        let changed = old.iter().zip(&new).filter(|(old, new)| old != new);
        changed.for_each(|_| ranges.forbid(detail, errors));
    } else if !old.is_empty() {
        ranges.forbid(detail, errors);
    }

    // The identifier may be set later, but then names one machine of the provider for good.
    let (new, old) = (spec.get("providerID"), live.get("providerID"));
    if !old.is_empty() && old.text() != new.text() {
        let words = if new.is_empty() {
            "cleared"
        } else {
            "modified"
        };
        let detail = format!("field cannot be {words} once set");
        errors.push(FieldError::invalid(new.path, Value::Null, detail));
    }

    let id = spec.get("externalID");
    id.forbid_if(
        live.is_set() && id.text() != id.before().text(),
        "may not be updated",
        errors,
    );
}

/// Several ranges of a node are one of each family.
fn pair_of_ranges(ranges: &Field<'_>, errors: &mut Errors) {
    let parsed: Vec<_> = ranges
        .items()
        .map(|range| (address::cidr(range.text()), range.text()))
        .collect();
    // Kubernetes reports a malformed range as an internal error of its check for two families.
    if let Some(at) = parsed.iter().position(|(range, _)| range.is_none()) {
        let text = parsed.get(at).map(|(_, text)| *text).unwrap_or_default();
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{at}]: <nil> (invalid CIDR \
             address: {text})"
        );
        let kind = FieldErrorKind::Internal;
        errors.push(FieldError {
            path: ranges.path.clone(),
            kind,
            value: None,
            detail,
        });
    }

    let families: BTreeSet<bool> = parsed
        .iter()
        .filter_map(|(range, _)| range.map(|(address, _)| address.is_ipv4()))
        .collect();
    let is_pair =
        parsed.len() == 2 && families.len() == 2 && parsed.iter().all(|(range, _)| range.is_some());
    ranges.invalid_if(
        !is_pair,
        "may specify no more than one CIDR for each IP family",
        errors,
    );
}

/// The taints of a node, whose path in Kubernetes is one of the metadata.
fn taints(taints: &Field<'_>, errors: &mut Errors) {
    let taints = taints.moved(FieldPath::root("metadata").child("taints"));
    let mut seen = BTreeSet::new();
    for taint in taints.items() {
        let (key, value, effect) = (taint.get("key"), taint.get("value"), taint.get("effect"));
        key.qualified(errors);
        let faults = label_value(value.text());
        if !faults.is_empty() {
            value.invalid_text(faults.join(";"), errors);
        }

        effect.require_one_of(&["NoSchedule", "PreferNoSchedule", "NoExecute"], errors);
        // A key may occur with several effects, so only equal pairs are duplicates.
        if !seen.insert((effect.text(), key.text())) {
            let mut error = duplicate_struct(&taint, &shown::json("Taint", taint.value));
            error.detail += ": taints must be unique by key and effect pair";
            errors.push(error);
        }
    }
}
