//! Checks that need more than a table.

mod claim;
mod jobs;
mod pods;
mod selector;
mod workloads;

use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::operation::Operation;
use crate::place::Place;

/// A check of the value at a path.
pub(super) type Function = fn(&FieldPath, &Value, Operation<'_>, &mut Vec<FieldError>);

/// The functions by the names that tables use.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("collisions", workloads::collisions),
    ("controller", workloads::controller),
    ("counts_of_controller", |path, status, _, errors| {
        let names = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
        workloads::counts(&Place::new(path, status), &names, errors);
    }),
    ("counts_of_deployment", |path, status, _, errors| {
        let names = ["updatedReplicas", "readyReplicas", "availableReplicas"];
        workloads::counts(&Place::new(path, status), &names, errors);
    }),
    ("counts_of_stateful_set", |path, status, _, errors| {
        let names = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
        workloads::counts(&Place::new(path, status), &names, errors);
    }),
    ("daemon_strategy", workloads::daemon_strategy),
    ("daemons", workloads::daemons),
    ("deployment_strategy", workloads::deployment_strategy),
    ("ephemeral_containers", pods::ephemeral_containers),
    ("job", jobs::job),
    ("job_template", jobs::job_template),
    ("pod", pods::pod),
    ("pod_status", pods::pod_status),
    ("pod_template", pods::template),
    ("progress_deadline", workloads::progress_deadline),
    ("replicas", workloads::replicas),
    ("schedule_name", jobs::schedule_name),
    ("stateful", workloads::stateful),
];
