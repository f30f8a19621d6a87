//! Warnings about objects of built-in kinds, which the API server sends in `Warning` headers.

mod bounded;
pub(crate) mod config;
mod fields;
pub(crate) mod network;
mod paths;
pub(crate) mod pods;
pub(crate) mod storage;
pub(crate) mod workloads;

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::kinds::KindDescription;

/// The warnings about a new object, or about a change of the live one, in the order of kube-apiserver.
pub fn warnings(kind: &GroupVersionKind, object: &Value, live: Option<&Value>) -> Vec<String> {
    (KindDescription::find(kind).warnings)(object, live)
}
