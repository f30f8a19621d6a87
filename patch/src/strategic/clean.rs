//! Removes the directives from new content.

use fieldmanager_value::internal::level;
use fieldmanager_value::{Map, Value};

use super::directive::{self, DELETE_FROM_LIST, DirectiveValue, PATCH, RETAIN_KEYS, SET_ORDER};
use crate::Error;
use crate::error::{Under, deeper};

/// The treatment of nulls in maps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    Keep,
    /// For a field that the object does not have yet.
    Drop,
}

/// A value of a patch as data. Directives are checked and omitted, maps with `$patch` as a whole; `None` if the value itself
/// is such a map. Parts without directives are shared.
pub(super) fn clean(value: &Value, nulls: Nulls, depth: usize) -> Result<Option<Value>, Error> {
    // A map with `$patch` is dropped: it has nothing to act on in a new value. The directive must be valid all the
    // same.
    match value {
        Value::Map(map) => {
            if let Some(directive) = map.get(PATCH) {
                directive::patch_directive(
                    directive,
                    &[
                        DirectiveValue::Replace,
                        DirectiveValue::Delete,
                        DirectiveValue::Merge,
                    ],
                )?;
                return Ok(None);
            }
            level(|| fields(map, nulls, depth)).map(|map| Some(Value::Map(map)))
        }
        Value::List(list) => {
            let depth = deeper(depth)?;
            let mut same = true;
            let mut items = Vec::with_capacity(list.len());
            for (at, item) in list.iter().enumerate() {
                match level(|| clean(item, nulls, depth)).under_index(at)? {
                    Some(new) => {
                        same = same && new.ptr_eq(item);
                        items.push(new);
                    }
                    None => same = false,
                }
            }

            Ok(Some(if same {
                value.clone()
            } else {
                Value::from(items)
            }))
        }
        _ => Ok(Some(value.clone())),
    }
}

/// The fields of a map as data; the map itself is kept.
pub(super) fn fields(map: &Map, nulls: Nulls, depth: usize) -> Result<Map, Error> {
    let depth = deeper(depth)?;
    if let Some(list) = map.get(RETAIN_KEYS) {
        directive::retained(list, map)?;
    }
    let mut edits = Vec::new();

    // Directives are checked before they are dropped, so that an invalid one is refused wherever it is.
    for (name, value) in map {
        let new = if name == RETAIN_KEYS || (value.is_null() && nulls == Nulls::Drop) {
            None
        } else if name.starts_with(DELETE_FROM_LIST) {
            directive::deletion(name, value)?;
            None
        } else if name.starts_with(SET_ORDER) {
            // The items of the patch are already in this order.
            directive::order(name, value)?;
            None
        } else {
            clean(value, nulls, depth).under_field(name)?
        };

        if !new.as_ref().is_some_and(|new| new.ptr_eq(value)) {
            edits.push((name.clone(), new));
        }
    }

    Ok(if edits.is_empty() {
        map.clone()
    } else {
        map.with_edits(edits)
    })
}

/// A value of a patch that becomes part of another patch. As in Go, maps with `$patch` are omitted.
pub(super) fn without_patch_maps(value: &Value, depth: usize) -> Result<Option<Value>, Error> {
    // Only changed lists and maps are copied; the others stay shared with the patch.
    match value {
        Value::Map(map) if map.contains(PATCH) => Ok(None),
        Value::Map(map) => {
            let depth = deeper(depth)?;
            let mut edits = Vec::new();
            for (name, value) in map {
                let new = level(|| without_patch_maps(value, depth)).under_field(name)?;
                if !new.as_ref().is_some_and(|new| new.ptr_eq(value)) {
                    edits.push((name.clone(), new));
                }
            }

            Ok(Some(Value::Map(if edits.is_empty() {
                map.clone()
            } else {
                map.with_edits(edits)
            })))
        }
        Value::List(list) => {
            let depth = deeper(depth)?;
            let mut same = true;
            let mut items = Vec::with_capacity(list.len());
            for (at, item) in list.iter().enumerate() {
                match level(|| without_patch_maps(item, depth)).under_index(at)? {
                    Some(new) => {
                        same = same && new.ptr_eq(item);
                        items.push(new);
                    }
                    None => same = false,
                }
            }

            Ok(Some(if same {
                value.clone()
            } else {
                Value::from(items)
            }))
        }
        _ => Ok(Some(value.clone())),
    }
}
