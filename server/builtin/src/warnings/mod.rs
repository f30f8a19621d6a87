//! Warnings about objects of built-in kinds, which the API server sends in `Warning` headers.

mod bounded;
pub(crate) mod config;
mod fields;
pub(crate) mod network;
mod paths;
pub(crate) mod pods;
mod ports;
mod profiles;
pub(crate) mod storage;
pub(crate) mod workloads;

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::kinds::KindDescription;

/// The warnings about a new object, or about a change of the live one or of its part (`status`), in the order of
/// kube-apiserver.
pub fn warnings(
    kind: &GroupVersionKind,
    part: &str,
    object: &Value,
    live: Option<&Value>,
) -> Vec<String> {
    match (part, live) {
        ("status", Some(_)) => network::status(object),
        // A request to the status that creates the object has the warnings of a creation.
        _ => (KindDescription::find(kind).warnings)(object, live),
    }
}
