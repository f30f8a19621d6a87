//! Warnings about objects of built-in kinds, which the API server sends in `Warning` headers.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::table::name_of;

/// The warnings about the objects of a kind, from a new object and the live one.
type Function = fn(&Value, Option<&Value>) -> Vec<String>;

/// The functions by kind.
const FUNCTIONS: &[(&str, Function)] = &[];

/// The warnings about a new object, or about a change of the live one, in the order of kube-apiserver.
pub fn warnings(kind: &GroupVersionKind, object: &Value, live: Option<&Value>) -> Vec<String> {
    let name = name_of(kind);
    let found = FUNCTIONS.iter().find(|(kind, _)| *kind == name);
    found.map(|(_, function)| function(object, live)).unwrap_or_default()
}
