//! Checks that need more than a table.

mod access;
mod autoscaling;
mod claim;
mod classes;
mod config;
mod field;
mod formats;
mod jobs;
mod labels;
mod network;
mod pods;
mod resource_names;
mod selector;
mod service;
mod storage;
mod volume_source;
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
    ("job_status", jobs::job_status),
    ("job_template", jobs::job_template),
    ("pod", pods::pod),
    ("pod_status", pods::pod_status),
    ("pod_template", pods::template),
    ("progress_deadline", workloads::progress_deadline),
    ("replicas", workloads::replicas),
    ("revision_data", workloads::revision_data),
    ("schedule_name", jobs::schedule_name),
    ("stateful", workloads::stateful),
    ("budget", classes::budget),
    ("overhead", classes::overhead),
    ("tolerations", classes::tolerations),
    ("above_zero", config::above_zero),
    ("autoscaler", autoscaling::autoscaler),
    ("autoscaler_v1", autoscaling::autoscaler_v1),
    ("claim", storage::claim),
    ("cluster_subject", access::cluster_subject),
    ("config_map", config::config_map),
    ("core_event", config::core_event),
    ("domain_path", network::domain_path),
    ("driver", storage::driver),
    ("endpoint_slice", network::endpoint_slice),
    ("endpoints", network::endpoints),
    ("event", config::event),
    ("ingress", network::ingress),
    ("ingress_class", network::ingress_class),
    ("label_map", labels::label_map),
    ("label_selector", labels::label_selector),
    ("limits", config::limits),
    ("namespace", config::namespace),
    ("namespaced_rule", access::namespaced_rule),
    ("network_policy", network::network_policy),
    ("priority_class", classes::priority_class),
    ("priority_level", classes::priority_level),
    ("priority_level_status", classes::priority_level_status),
    ("node", storage::node),
    ("qualified_name", labels::qualified),
    ("quota", config::quota),
    ("rule", access::rule),
    ("secret", config::secret),
    ("service", service::service),
    ("short_name", labels::short_name),
    ("subject", access::subject),
    ("topologies", storage::topologies),
    ("volume", storage::volume),
];
