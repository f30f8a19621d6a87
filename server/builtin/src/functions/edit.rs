//! Values at paths.

use fieldmanager_value::{Str, Value};

use crate::table::{Edit, Path};

/// The object with a value at a path.
pub(super) fn with(object: &Value, path: &str, value: impl Into<Value>) -> Option<Value> {
    let value = value.into();
    Path::parse(path).edit(object, true, &mut |_| Edit::Set(value.clone()))
}

/// The object with the value of another one at a path, without one if that has none.
pub(crate) fn with_value_of(object: &Value, path: &str, value: Option<&Value>) -> Value {
    let path = Path::parse(path);
    let changed = match value {
        Some(value) => path.edit(object, true, &mut |_| Edit::Set(value.clone())),
        None => path.edit(object, false, &mut |_| Edit::Remove),
    };
    changed.unwrap_or_else(|| object.clone())
}

/// The object without the values at a path, if it has any.
pub(super) fn without(object: &Value, path: &str) -> Option<Value> {
    Path::parse(path).edit(object, false, &mut |_| Edit::Remove)
}

/// The items of a list; none of another value.
pub(super) fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_list).into_iter().flatten()
}

/// The string at a path; empty if there is none.
pub(crate) fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The value at a path of field names.
pub(crate) fn at<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.')
        .try_fold(object, |value, name| value.get(name))
        .filter(|value| !value.is_null())
}

/// The name of the version of a definition that is stored.
pub(super) fn storage_version(object: &Value) -> Option<Str> {
    let versions = at(object, "spec.versions")?.as_list()?;
    let stored = versions
        .iter()
        .find(|version| at(version, "storage").and_then(Value::as_bool) == Some(true))?;
    Some(text(stored, "name").into())
}
