//! Checks that need more than a table.

mod access;
mod field;
mod formats;
mod labels;
mod network;
mod service;

use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::operation::Operation;

/// A check of the value at a path.
pub(super) type Function = fn(&FieldPath, &Value, Operation<'_>, &mut Vec<FieldError>);

/// The functions by the names that tables use.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("cluster_subject", access::cluster_subject),
    ("domain_path", network::domain_path),
    ("endpoint_slice", network::endpoint_slice),
    ("endpoints", network::endpoints),
    ("ingress", network::ingress),
    ("ingress_class", network::ingress_class),
    ("label_map", labels::label_map),
    ("label_selector", labels::label_selector),
    ("namespaced_rule", access::namespaced_rule),
    ("network_policy", network::network_policy),
    ("rule", access::rule),
    ("service", service::service),
    ("subject", access::subject),
];
