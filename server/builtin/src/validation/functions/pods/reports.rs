//! What is reported about the claims and the volumes of a pod in its status. The feature gates of both lists are off, so
//! an update has them only if the live pod does.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldError;

use super::resources::is_huge_page;
use crate::amount::Amount;
use crate::place::Errors;
use crate::validation::functions::conditions;
use crate::validation::functions::field::Field;

/// Checks the resources of a node that claims of the pod use.
pub(super) fn allocatable(status: &Field<'_>, spec: &Field<'_>, errors: &mut Errors) {
    const CLAIM: &str = "resourceClaimName";
    let lists = [
        spec.get("resourceClaims"),
        status.get("resourceClaimStatuses"),
    ];
    let claims = lists.iter().flat_map(Field::items);
    let known: BTreeSet<&str> = claims.map(|claim| claim.get(CLAIM).text()).collect();
    let reports = status.get("nodeAllocatableResourceClaimStatuses");
    // Kubernetes checks nothing of a report without a claim.
    for report in reports.items().filter(|one| !one.get(CLAIM).is_empty()) {
        let claim = report.get(CLAIM);
        let is_known = known.contains(claim.text());
        claim.invalid_if(!is_known, "no mapping found in pod reference", errors);
        for resource in report.get("mapping").items() {
            node_resource(&resource.get("name"), errors);
            not_below_zero(&resource.get("quantity"), errors);
        }
        for resource in report.get("overhead").items() {
            node_resource(&resource.get("name"), errors);
            let amounts = ["perPod", "perContainer"].map(|name| resource.get(name));
            if amounts.iter().all(|amount| !amount.is_set()) {
                let detail = "at least one of perPod or perContainer must be set";
                errors.push(FieldError::invalid(resource.path, "", detail));
            }
            amounts.iter().for_each(|one| not_below_zero(one, errors));
        }
    }
}

fn node_resource(name: &Field<'_>, errors: &mut Errors) {
    if !matches!(name.text(), "cpu" | "memory") && !is_huge_page(name.text()) {
        name.invalid_text("must be a node allocatable resource name", errors);
    }
}

fn not_below_zero(amount: &Field<'_>, errors: &mut Errors) {
    let is_negative = amount.amount() < Amount::default();
    amount.invalid_if(is_negative, "must be non-negative", errors);
}

/// Checks the health of volumes.
pub(super) fn volume_health(status: &Field<'_>, spec: &Field<'_>, errors: &mut Errors) {
    let volumes = spec.get("volumes").items();
    let known: BTreeSet<&str> = volumes.map(|volume| volume.get("name").text()).collect();
    for volume in status.get("volumeHealth").items() {
        let name = volume.get("name");
        if !name.is_empty() && !known.contains(name.text()) {
            errors.push(FieldError::not_found(name.path.clone(), name.text()));
        }
        conditions::have_reasons(&volume.get("healthConditions"), errors);
    }
}
