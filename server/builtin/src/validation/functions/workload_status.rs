//! The status of workloads.

use fieldmanager_structural::FieldError;

use super::field::Field;
use crate::place::{Errors, Place};

/// Checks that no number of pods is greater than the number of all, and no more are available than ready.
fn counts(status: &Place<'_>, names: &[&str], errors: &mut Errors) {
    let number = |name: &str| status.int(name).unwrap_or_default();
    for name in names
        .iter()
        .filter(|name| number(name) > number("replicas"))
    {
        let detail = "cannot be greater than status.replicas";
        errors.push(FieldError::invalid(status.at(name), number(name), detail));
    }

    if number("availableReplicas") > number("readyReplicas") {
        // The detail names the field by its full path for a StatefulSet alone, as in Kubernetes.
        let of_set = names.contains(&"currentReplicas");
        let detail = format!(
            "cannot be greater than {}readyReplicas",
            if of_set { "status." } else { "" }
        );
        let available = number("availableReplicas");
        errors.push(FieldError::invalid(
            status.at("availableReplicas"),
            available,
            detail,
        ));
    }
}

/// The counts of a status that are not less than 0. Kinds without one of them have no value there.
const COUNTS: [&str; 17] = [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "replicas",
    "fullyLabeledReplicas",
    "updatedReplicas",
    "readyReplicas",
    "currentReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
];

/// Checks the counts of a status, of which some are at most the number of replicas.
fn check(workload: &Field<'_>, names: &[&str], errors: &mut Errors) {
    let status = workload.get("status");
    COUNTS
        .iter()
        .for_each(|name| status.get(name).non_negative(errors));
    if let Some(status) = status.place() {
        counts(&status, names, errors);
    }
}

/// A number of collisions does not fall.
fn collisions(workload: &Field<'_>, errors: &mut Errors) {
    let collisions = workload.get("status").get("collisionCount");
    let (new, old) = (collisions.number(), collisions.before());
    // The count keeps names of revisions apart: from a lower count, the controller would use a taken name again.
    if old.is_set() && (!collisions.is_set() || new < old.number()) {
        errors.push(FieldError::invalid(
            collisions.path,
            new,
            "cannot be decremented",
        ));
    }
}

pub(crate) fn deployment(deployment: &Field<'_>, errors: &mut Errors) {
    check(
        deployment,
        &["updatedReplicas", "readyReplicas", "availableReplicas"],
        errors,
    );
    collisions(deployment, errors);
}

pub(crate) fn daemon_set(set: &Field<'_>, errors: &mut Errors) {
    check(set, &[], errors);
    collisions(set, errors);
}

/// Checks the status of a `ReplicaSet` or a `ReplicationController`.
pub(crate) fn controller(controller: &Field<'_>, errors: &mut Errors) {
    check(
        controller,
        &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
        errors,
    );
}

pub(crate) fn stateful_set(set: &Field<'_>, errors: &mut Errors) {
    let names = [
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ];
    check(set, &names, errors);
    collisions(set, errors);
}
