//! Reads the keywords of a schema document.

use fieldmanager_value::{List, Map, Value};

/// The value of a keyword. A null value counts as absent.
pub(super) fn given<'v>(schema: &'v Map, name: &str) -> Option<&'v Value> {
    schema.get(name).filter(|value| !value.is_null())
}

/// The string value of a keyword, empty if it is absent or has another type.
pub(super) fn string<'v>(schema: &'v Map, name: &str) -> &'v str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The strings of a list. Items of other types are skipped.
pub(super) fn strings(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_list)
        .into_iter()
        .flat_map(List::iter)
        .filter_map(Value::as_str)
        .collect()
}

/// Whether the value of a keyword is `true`.
pub(super) fn is_true(schema: &Map, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}
