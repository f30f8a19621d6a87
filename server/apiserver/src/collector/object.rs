//! The fields of objects that the collector reads and changes.

use fieldmanager_value::Value;

use crate::object::{FOREGROUND, edit_list, has_finalizer, is_terminating, metadata};
use crate::store::Key;

/// The finalizer in the spec of a namespace.
pub(super) const KUBERNETES: &str = "kubernetes";

/// An entry of `metadata.ownerReferences`.
pub(super) struct Owner<'v> {
    pub(super) group: &'v str,
    pub(super) kind: &'v str,
    pub(super) name: &'v str,
    pub(super) uid: &'v str,
    /// `blockOwnerDeletion`.
    pub(super) blocks: bool,
}

pub(super) fn uid(object: &Value) -> &str {
    metadata(object, "uid")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Whether an object is terminating and waits for its dependents.
pub(super) fn is_waiting(object: &Value) -> bool {
    is_terminating(object) && has_finalizer(object, FOREGROUND)
}

pub(super) fn owners(object: &Value) -> impl Iterator<Item = Owner<'_>> {
    fn string<'v>(reference: &'v Value, name: &str) -> &'v str {
        reference
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
    let references = metadata(object, "ownerReferences").and_then(Value::as_list);

    references.into_iter().flatten().map(|reference| Owner {
        group: string(reference, "apiVersion")
            .split_once('/')
            .map_or("", |(group, _)| group),
        kind: string(reference, "kind"),
        name: string(reference, "name"),
        uid: string(reference, "uid"),
        blocks: blocks(reference),
    })
}

fn blocks(reference: &Value) -> bool {
    reference.get("blockOwnerDeletion").and_then(Value::as_bool) == Some(true)
}

/// Whether a key is that of a namespace.
pub(super) fn is_namespace(key: &Key) -> bool {
    let parts = key.parts();
    parts.group.is_empty() && parts.plural == "namespaces"
}

/// Whether an object is a terminating namespace that waits for the deletion of its objects.
pub(super) fn holds_namespace(key: &Key, object: &Value) -> bool {
    let finalizers = object
        .get("spec")
        .and_then(|spec| spec.get("finalizers"))
        .and_then(Value::as_list);
    let is_kubernetes = |finalizer: &Value| finalizer.as_str() == Some(KUBERNETES);
    is_namespace(key)
        && is_terminating(object)
        && finalizers.into_iter().flatten().any(is_kubernetes)
}

pub(super) fn without_namespace_finalizer(namespace: &Value) -> Value {
    edit_list(namespace, "spec", "finalizers", |item| {
        (item.as_str() != Some(KUBERNETES)).then(|| item.clone())
    })
}

pub(super) fn without_owners(object: &Value, uids: &[&str]) -> Value {
    edit_list(object, "metadata", "ownerReferences", |reference| {
        let uid = reference
            .get("uid")
            .and_then(Value::as_str)
            .unwrap_or_default();
        (!uids.contains(&uid)).then(|| reference.clone())
    })
}

/// The object with owner references that block no deletion, or `None` if it has no other.
pub(super) fn unblocked(object: &Value) -> Option<Value> {
    owners(object).any(|owner| owner.blocks).then(|| {
        edit_list(object, "metadata", "ownerReferences", |reference| {
            let mut reference = reference.clone();
            if blocks(&reference)
                && let Value::Map(fields) = &mut reference
            {
                fields.insert("blockOwnerDeletion", false);
            }
            Some(reference)
        })
    })
}
