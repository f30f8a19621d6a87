//! The limit on the nesting of an object, so that it can be read again with its managed fields.

use fieldmanager_fieldpath::internal::path_longer_than;
use fieldmanager_fieldpath::{Path, PathElement};
use fieldmanager_value::{MAX_DEPTH, Value};

use crate::error::Error;
use crate::managed_fields::ManagedFields;
use crate::object::described;

/// The maximum number of elements in the path of an owned field.
///
/// A path of `n` elements takes `n + 1` nested objects in FieldsV1, which starts four levels below the root of the object,
/// at `metadata.managedFields[0].fieldsV1`. With this limit, managed fields never nest deeper than [`MAX_DEPTH`].
///
/// ```
/// use fieldmanager_managedfields::{ApplyRequest, FieldManager, MAX_OWNED_DEPTH};
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_value::{Map, Value};
/// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let apply = |levels: usize| {
///     let below = (1..levels).fold(Value::from(1), |below, _| Map::single("a", below).into());
///     let kind = [("apiVersion", Value::from("v1")), ("kind", "ConfigMap".into()), ("data", below)];
///     let config = Value::Map(kind.into_iter().collect());
///     manager.apply(ApplyRequest::new(&Value::Null, &config).manager("ci"))
/// };
/// let object = apply(MAX_OWNED_DEPTH)?.object;
/// assert_eq!(Value::from_json(&object.to_json())?, object);
/// let error = apply(MAX_OWNED_DEPTH + 1).unwrap_err();
/// assert!(error.to_string().ends_with(".a.a: nesting is deeper than 251 levels"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const MAX_OWNED_DEPTH: usize = MAX_DEPTH - 5;

/// Fails if the result of a request could not be read again. `checked` is a value of limited depth, which
/// need not be checked again.
pub(crate) fn check_depth(
    object: &Value,
    checked: Option<&Value>,
    managed: &ManagedFields,
) -> Result<(), Error> {
    let too_deep = |limit| {
        move |path| Error::TooDeep {
            object: described(object),
            callers: true,
            path: Box::new(path),
            limit,
        }
    };
    // An entry stores paths some levels below the root of the object, so they have a lower limit than the object.
    let mut owned = managed.owners.iter().map(|(_, owned)| owned.set());
    let longer = owned
        .find_map(|set| path_longer_than(set, MAX_OWNED_DEPTH))
        .map(too_deep(MAX_OWNED_DEPTH));

    // An object that was validated as it is has no excessive depth.
    let deeper = || match checked {
        Some(checked) if checked.ptr_eq(object) => None,
        _ => path_deeper_than(object, MAX_DEPTH).map(too_deep(MAX_DEPTH)),
    };
    longer.or_else(deeper).map_or(Ok(()), Err)
}

/// The path of the first list or map that nests deeper than a number of levels.
fn path_deeper_than(value: &Value, levels: usize) -> Option<Path> {
    let mut path = Vec::new();
    find(value, levels, &mut path).then(|| path.into_iter().rev().collect())
}

/// Finds such a list or map and collects its path from the end.
fn find(value: &Value, left: usize, path: &mut Vec<PathElement>) -> bool {
    let mut below = |element: PathElement, value: &Value, left: usize| {
        let found = find(value, left, path);
        if found {
            path.push(element);
        }
        found
    };

    match (value, left.checked_sub(1)) {
        (Value::List(_) | Value::Map(_), None) => true,
        (Value::List(list), Some(left)) => list.iter().enumerate().any(|(at, item)| {
            !item.is_scalar()
                && below(
                    PathElement::Index(i64::try_from(at).unwrap_or(i64::MAX)),
                    item,
                    left,
                )
        }),
        (Value::Map(map), Some(left)) => map.iter().any(|(name, value)| {
            !value.is_scalar() && below(PathElement::Field(name.clone()), value, left)
        }),
        _ => false,
    }
}
