//! Fields of objects.

use fieldmanager_value::Value;

/// The value at a path of fields, which are separated by dots; null if there is none.
pub(super) fn at<'v>(object: &'v Value, path: &str) -> &'v Value {
    path.split('.')
        .try_fold(object, |value, name| value.get(name))
        .unwrap_or(&Value::Null)
}

/// The string at a path, empty if there is none.
pub(super) fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    at(object, path).as_str().unwrap_or_default()
}

/// The items of the list at a path.
pub(super) fn items<'v>(
    object: &'v Value,
    path: &str,
) -> impl Iterator<Item = &'v Value> + use<'v> {
    at(object, path).as_list().into_iter().flatten()
}

/// Whether the object has an annotation.
pub(super) fn has_annotation(object: &Value, name: &str) -> bool {
    at(object, "metadata.annotations").get(name).is_some()
}
