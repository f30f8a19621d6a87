//! Members of the objects in a definition.

use fieldmanager_value::{List, Map, Value};

use crate::metadata;

/// The value of a member unless it is null.
pub(super) fn member<'v>(map: &'v Map, name: &str) -> Option<&'v Value> {
    map.get(name).filter(|value| !value.is_null())
}

/// The string of a member; empty if there is none.
pub(super) fn text<'v>(map: &'v Map, name: &str) -> &'v str {
    map.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a member is true.
pub(super) fn flag(map: &Map, name: &str) -> bool {
    map.get(name) == Some(&Value::Bool(true))
}

/// The items of a member that are maps.
pub(super) fn maps(value: Option<&Value>) -> impl Iterator<Item = &Map> {
    value
        .and_then(Value::as_list)
        .into_iter()
        .flat_map(List::iter)
        .filter_map(Value::as_map)
}

/// The schema of a version.
pub(super) fn open_api(validation: &Value) -> Option<&Value> {
    validation
        .get("openAPIV3Schema")
        .filter(|schema| !schema.is_null())
}

/// The annotation of a definition.
pub(super) fn annotation<'v>(object: &'v Value, name: &str) -> &'v str {
    let annotations = metadata::field(object, "annotations");
    annotations
        .and_then(|all| all.get(name))
        .and_then(Value::as_str)
        .unwrap_or_default()
}
