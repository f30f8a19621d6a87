//! Parts of objects.

use fieldmanager_value::{List, Str, Value};

use crate::request::field;

/// A value below another one; `null` if there is none.
pub(super) fn at<'v>(value: &'v Value, path: &[&str]) -> &'v Value {
    field(Some(value), path)
}

/// A string below a value; empty if there is none.
pub(super) fn text<'v>(value: &'v Value, path: &[&str]) -> &'v str {
    at(value, path).as_str().unwrap_or_default()
}

/// The name of an object.
pub(super) fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

/// The items of a list below a value.
pub(super) fn items<'v>(
    value: &'v Value,
    path: &[&str],
) -> impl Iterator<Item = &'v Value> + use<'v> {
    at(value, path).as_list().into_iter().flatten()
}

/// The entries of a map below a value.
pub(super) fn entries<'v>(
    value: &'v Value,
    path: &[&str],
) -> impl Iterator<Item = (&'v Str, &'v Value)> + use<'v> {
    at(value, path).as_map().into_iter().flatten()
}

/// The containers of a Pod: those that stay, then those that run before them.
pub(super) fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    items(pod, &["spec", "containers"]).chain(items(pod, &["spec", "initContainers"]))
}

/// The object with another value at a path.
pub(super) fn set(object: &Value, path: &[&str], value: impl Into<Value>) -> Value {
    let [name, rest @ ..] = path else {
        return value.into();
    };
    let inner = set(at(object, &[name]), rest, value.into());
    let mut fields = object.as_map().cloned().unwrap_or_default();
    fields.insert(*name, inner);
    fields.into()
}

/// The object with one more item in a list.
pub(super) fn push(object: &Value, path: &[&str], item: impl Into<Value>) -> Value {
    let mut list: List = items(object, path).cloned().collect();
    list.push(item.into());
    set(object, path, list)
}

/// The name of the newest class with an annotation that makes it the default, the first by name if there are several.
///
/// Behaviour: `GetDefaultClass` of `k8s.io/kubernetes/pkg/volume/util/storageclass.go`.
pub(super) fn default_class(classes: &[Value], annotations: &[&str]) -> Option<String> {
    let is_default = |class: &&Value| {
        let marked = |key: &&str| text(class, &["metadata", "annotations", key]) == "true";
        annotations.iter().any(marked)
    };
    let created = |class| text(class, &["metadata", "creationTimestamp"]);
    let defaults = classes.iter().filter(is_default);
    // The names are compared the other way round: the newest, but the first by name.
    let newest = defaults.max_by(|a, b| (created(a), name(b)).cmp(&(created(b), name(a))));
    newest.map(|class| name(class).to_owned())
}
