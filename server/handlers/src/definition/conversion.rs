//! The conversion between versions.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::{label_1035, webhook as address};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Map, Value};

use super::certificates;
use super::members::{member, text};
use super::ratchet::Ratchet;
use super::webhook::{REVIEWS, client, reviews};

/// Adds the faults of a conversion.
pub(super) fn check(
    conversion: Option<&Map>,
    prunes: bool,
    ratchet: &Ratchet,
    errors: &mut Vec<FieldError>,
) {
    let Some(conversion) = conversion else { return };
    let path = FieldPath::root("spec").child("conversion");
    let strategy = text(conversion, "strategy");
    if strategy != "None" && !prunes {
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid(
            path.child("strategy"),
            strategy,
            detail,
        ));
    }

    match strategy {
        "" => errors.push(FieldError::required(path.child("strategy"), "")),
        "None" | "Webhook" => {}
        other => {
            errors.push(FieldError::not_supported(
                path.child("strategy"),
                other,
                &["None", "Webhook"],
            ));
        }
    }

    // Errors name the fields of the internal version, in which the parts of `webhook` are members of the conversion.
    let client = client(conversion);
    let (client_path, versions_path) = (
        path.child("webhookClientConfig"),
        path.child("conversionReviewVersions"),
    );

    if strategy == "Webhook" {
        match client {
            None => {
                errors.push(FieldError::required(
                    client_path,
                    "required when strategy is set to Webhook",
                ));
            }
            Some(client) => check_client(client, &client_path, ratchet, errors),
        }
        review_versions(conversion, ratchet, &versions_path, errors);
        return;
    }

    // Without the strategy `Webhook`, the settings of one have no effect.
    let detail = "should not be set when strategy is not set to Webhook";
    if client.is_some() {
        errors.push(FieldError::forbidden(client_path, detail));
    }
    if !reviews(conversion).is_empty() {
        errors.push(FieldError::forbidden(versions_path, detail));
    }
}

fn check_client(client: &Map, path: &FieldPath, ratchet: &Ratchet, errors: &mut Vec<FieldError>) {
    match (member(client, "url"), member(client, "service")) {
        (Some(url), None) => {
            address::url(url.as_str().unwrap_or_default(), &path.child("url"), errors)
        }
        (None, Some(Value::Map(service))) => {
            address::service(service, &path.child("service"), errors)
        }
        _ => errors.push(FieldError::required(
            path.clone(),
            "exactly one of url or service is required",
        )),
    }

    // A served definition cannot get an unreadable bundle, but may keep one.
    let bundle = text(client, "caBundle");
    if !bundle.is_empty()
        && !ratchet.allows_invalid_bundle
        && let Err(fault) = certificates::check(bundle)
    {
        errors.push(FieldError::invalid(path.child("caBundle"), bundle, fault));
    }
}

fn review_versions(
    conversion: &Map,
    ratchet: &Ratchet,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let found = reviews(conversion);
    if found.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
        return;
    }
    let mut known = BTreeSet::new();

    for (at, version) in found.iter().enumerate() {
        if !known.insert(version) {
            errors.push(FieldError::invalid(
                path.index(at),
                *version,
                "duplicate version",
            ));
            continue;
        }

        for fault in label_1035(version) {
            errors.push(FieldError::invalid(path.index(at), *version, fault));
        }
    }

    if ratchet.review_versions && !found.iter().any(|version| REVIEWS.contains(version)) {
        let detail = format!("must include at least one of {}", REVIEWS.join(", "));
        errors.push(FieldError::invalid(
            path.clone(),
            Value::from(found),
            detail,
        ));
    }
}
