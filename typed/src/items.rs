//! Identification of the items of associative lists.

use std::fmt;

use fieldmanager_fieldpath::PathElement;
use fieldmanager_schema::internal::{KeyField, ListType};
use fieldmanager_value::{Map, Value};

/// A reason why an item of an associative list cannot be identified.
///
/// ```
/// use fieldmanager_typed::ItemFault;
/// let fault = ItemFault::NoKeys { keys: vec!["name".into()] };
/// assert_eq!(fault.to_string(), "an item of an associative list must have one of its keys `name`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ItemFault {
    /// The item of a list with keys is not a map.
    NotMap {
        /// The kind that was found.
        found: &'static str,
    },
    /// The item of a list with keys has none of them, and no key has a default.
    NoKeys {
        /// The names of the keys.
        keys: Vec<String>,
    },
    /// The item of a set is not a scalar.
    NotScalar {
        /// The kind that was found.
        found: &'static str,
    },
}

impl fmt::Display for ItemFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemFault::NotMap { found } => {
                write!(
                    f,
                    "expected map as an item of an associative list with keys, got {found}"
                )
            }
            ItemFault::NoKeys { keys } => {
                f.write_str("an item of an associative list must have one of its keys ")?;
                for (i, key) in keys.iter().enumerate() {
                    write!(f, "{}`{key}`", if i > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
            ItemFault::NotScalar { found } => {
                write!(f, "expected scalar as an item of a set, got {found}")
            }
        }
    }
}

/// The number of fields of an item that are compared by address before its map is searched. Most names are interned,
/// and the keys of most lists are among the first fields of an item.
const NEAR: usize = 8;

/// The value that an item has for a key of its list.
fn key_field<'v>(item: &'v Value, key: &KeyField) -> Option<&'v Value> {
    let fields = item.as_map()?;
    let near = fields
        .iter()
        .take(NEAR)
        .find(|(name, _)| name.ptr_eq(&key.name));
    near.map(|(_, value)| value)
        .or_else(|| fields.get(&key.name))
}

/// Whether an item of an associative list has an element.
pub(crate) fn has_element(list: &ListType, item: &Value) -> bool {
    if list.keys.is_empty() {
        return item.is_scalar();
    }
    item.as_map().is_some()
        && list
            .keys
            .iter()
            .any(|key| key.default.is_some() || key_field(item, key).is_some())
}

/// Whether two items, which must have their keys, have the same element.
pub(crate) fn same_element(list: &ListType, a: &Value, b: &Value) -> bool {
    if list.keys.is_empty() {
        return a == b;
    }
    list.keys.iter().all(|key| {
        let default = key.default.as_ref();
        key_field(a, key).or(default) == key_field(b, key).or(default)
    })
}

/// Whether an item, which must have its keys, has a given element with the same number types: `1` does not match `1.0`.
pub(crate) fn is_element(list: &ListType, element: &PathElement, item: &Value) -> bool {
    match element {
        PathElement::Value(value) => list.keys.is_empty() && value.strict_eq(item),
        PathElement::Key(fields) => {
            // A key field is part of the element if the item has it or the key has a default.
            let mut expected = 0;
            let same = list.keys.iter().all(|key| {
                let known = fields.get(&key.name);
                expected += usize::from(known.is_some());
                match (known, key_field(item, key).or(key.default.as_ref())) {
                    (Some(known), Some(value)) => known.strict_eq(value),
                    (known, value) => known.is_none() && value.is_none(),
                }
            });
            same && expected == fields.len() && !list.keys.is_empty()
        }
        _ => false,
    }
}

/// Returns the element that identifies an item of an associative list.
///
/// Missing key fields are replaced by their defaults; without a default they are omitted, so the item differs from all
/// items that have the field.
pub(crate) fn element_of(list: &ListType, item: &Value) -> Result<PathElement, ItemFault> {
    if list.keys.is_empty() {
        return if item.is_scalar() {
            Ok(PathElement::Value(item.clone()))
        } else {
            Err(ItemFault::NotScalar {
                found: item.kind().name(),
            })
        };
    }

    if item.as_map().is_none() {
        return Err(ItemFault::NotMap {
            found: item.kind().name(),
        });
    }

    let no_keys = || ItemFault::NoKeys {
        keys: list.keys.iter().map(|key| key.name.to_string()).collect(),
    };
    // A key field that is absent has its default, so a port without a protocol is the port with TCP.
    let field = |key: &KeyField| {
        let value = key_field(item, key).or(key.default.as_ref())?;
        Some((key.name.clone(), value.clone()))
    };
    if let [key] = list.keys.as_slice() {
        let (name, value) = field(key).ok_or_else(no_keys)?;
        return Ok(PathElement::Key(Map::single(name, value)));
    }
    let found: Map = list.keys.iter().filter_map(field).collect();

    if found.is_empty() {
        return Err(no_keys());
    }
    Ok(PathElement::Key(found))
}
