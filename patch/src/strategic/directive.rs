//! The names of directives, and their validation.

use ahash::AHashSet;
use fieldmanager_value::{Kind, List, Map, Value};

use super::scalar::ScalarKey;
use crate::error::Under;
use crate::{Error, Fault};

/// Replaces or deletes the map or item that contains it.
pub(super) const PATCH: &str = "$patch";
/// Lists the fields of its map that remain.
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
/// With a slash and a field: the scalars to delete from the list.
pub(super) const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
/// With a slash and a field: the order of the list.
pub(super) const SET_ORDER: &str = "$setElementOrder";

/// The field of a directive of the form `PREFIX/FIELD`.
fn target<'n>(name: &'n str, prefix: &str) -> Option<&'n str> {
    name.strip_prefix(prefix)?.strip_prefix('/')
}

/// Whether a field of a patch is a directive about a list of the same map.
pub(super) fn is_list_directive(name: &str) -> bool {
    name.starts_with(DELETE_FROM_LIST) || name.starts_with(SET_ORDER)
}

/// The values of `$patch`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectiveValue {
    Replace,
    Delete,
    Merge,
}

/// The value of `$patch`, which must be one of the accepted ones.
pub(super) fn patch_directive(
    value: &Value,
    accepted: &[DirectiveValue],
) -> Result<DirectiveValue, Error> {
    let found = match value.as_str() {
        Some("replace") => Some(DirectiveValue::Replace),
        Some("delete") => Some(DirectiveValue::Delete),
        Some("merge") => Some(DirectiveValue::Merge),
        _ => None,
    };
    let expected = if accepted.contains(&DirectiveValue::Merge) {
        "replace, delete or merge"
    } else {
        "replace or delete"
    };

    found
        .filter(|found| accepted.contains(found))
        .ok_or_else(|| Fault::PatchDirective {
            expected,
            found: value.clone(),
        })
        .under_field(PATCH)
}

/// The fields that a `$retainKeys` lists. Fails if the patch sets another field.
pub(super) fn retained<'v>(list: &'v Value, patch: &Map) -> Result<AHashSet<&'v str>, Error> {
    let format = |found: &Value| Fault::RetainKeys {
        found: found.kind(),
    };
    let names = list
        .as_list()
        .ok_or_else(|| format(list))
        .under_field(RETAIN_KEYS)?;
    let mut out = AHashSet::with_capacity(names.len());

    for (at, name) in names.iter().enumerate() {
        match name {
            Value::String(name) => {
                out.insert(name.as_str());
            }
            Value::List(_) | Value::Map(_) => {
                return Err(format(name)).under_index(at).under_field(RETAIN_KEYS);
            }
            // Field names are strings.
            _ => {}
        }
    }

    for (name, value) in patch {
        let exempt = value.is_null() || name == RETAIN_KEYS || is_list_directive(name);
        if !exempt && !out.contains(name.as_str()) {
            return Err(Fault::NotRetained {
                field: name.to_string(),
            }
            .into());
        }
    }

    Ok(out)
}

/// The field and the scalars of a `$deleteFromPrimitiveList`.
pub(super) fn deletion<'n, 'v>(
    name: &'n str,
    value: &'v Value,
) -> Result<(&'n str, &'v List), Error> {
    let scalars = |list: &&List| list.iter().all(Value::is_scalar);
    match (
        target(name, DELETE_FROM_LIST),
        value.as_list().filter(scalars),
    ) {
        (Some(field), Some(list)) if !field.is_empty() => Ok((field, list)),
        _ => Err(Fault::DeleteFromPrimitiveList {
            directive: name.to_owned(),
        })
        .under_field(name),
    }
}

/// The field and the items of a `$setElementOrder`.
pub(super) fn order<'n, 'v>(name: &'n str, value: &'v Value) -> Result<(&'n str, &'v List), Error> {
    match (target(name, SET_ORDER), value.as_list()) {
        (Some(field), Some(list)) => Ok((field, list)),
        _ => Err(Fault::SetElementOrder {
            directive: name.to_owned(),
        })
        .under_field(name),
    }
}

/// Checks that the items of a patch that have no directive are in an order.
pub(super) fn check_order(
    field: &str,
    patch: &List,
    order: &List,
    merge_key: &str,
) -> Result<(), Error> {
    // Without items or without an order, nothing can contradict.
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    let is_delete = |item: &&Value| item.get(PATCH).and_then(Value::as_str) == Some("delete");
    if !merge_key.is_empty()
        && let Some((at, item)) = patch
            .iter()
            .enumerate()
            .find(|(_, item)| item.kind() != Kind::Map)
    {
        return Err(Fault::WrongType {
            expected: "a map",
            found: item.kind(),
        })
        .under_index(at)
        .under_field(field);
    }

    // A scalar is identified by itself, a map by its merge key.
    let identity = |item: &Value| -> Result<(), Fault> {
        if merge_key.is_empty() {
            Ok(())
        } else {
            super::scalar::key_of(item, merge_key).map(|_| ())
        }
    };
    // A deleted item has no place in the order.
    let mut wanted = patch
        .iter()
        .filter(|item| merge_key.is_empty() || !is_delete(item))
        .peekable();
    let mut places = order.iter().enumerate().peekable();

    // The order may have more items than the patch, but it must have those of the patch in the same sequence.
    while let (Some(item), Some((at, place))) = (wanted.peek(), places.peek()) {
        if item.get(PATCH).is_some() {
            wanted.next();
            continue;
        }
        identity(item).under_field(field)?;
        let order_name = || format!("{SET_ORDER}/{field}");
        identity(place)
            .under_index(*at)
            .under_field(&order_name())?;
        if same(item, place, merge_key)? {
            wanted.next();
        }
        places.next();
    }

    // An item is left over if it is missing in the order or comes too early there.
    if wanted.peek().is_some() {
        return Err(Fault::OrderMismatch {
            field: field.to_owned(),
        }
        .into());
    }
    Ok(())
}

/// Whether two items have the same key or value.
fn same(left: &Value, right: &Value, merge_key: &str) -> Result<bool, Error> {
    if merge_key.is_empty() {
        let scalar = |value| {
            ScalarKey::of(value).ok_or(Fault::WrongType {
                expected: "a scalar",
                found: Value::kind(value),
            })
        };
        return Ok(scalar(left)? == scalar(right)?);
    }
    Ok(super::scalar::key_of(left, merge_key)? == super::scalar::key_of(right, merge_key)?)
}
