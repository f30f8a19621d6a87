//! JSON merge patch, RFC 7386.
//!
//! Where the RFC is open, the behaviour is that of `gopkg.in/evanphx/json-patch.v4`, which an API server uses, and of
//! `k8s.io/apimachinery/pkg/util/jsonmergepatch`.

use fieldmanager_value::internal::{differences, join};
use fieldmanager_value::{Kind, Map, Value};

use crate::error::{Under, deeper};
use crate::{Error, Fault};

/// Applies a merge patch to any value. The result shares unchanged parts with it.
///
/// Nulls in new content are omitted. As in an API server and unlike in the RFC, nulls of maps in a list are omitted too,
/// unless the list replaces a map.
///
/// # Errors
///
/// [`Fault::TooDeep`].
///
/// ```
/// use fieldmanager_patch::json_merge;
/// use fieldmanager_value::Value;
/// let live = Value::from_json(r#"{"a": "b", "c": {"d": "e", "f": "g"}}"#)?;
/// let patch = Value::from_json(r#"{"a": "z", "c": {"f": null}}"#)?;
/// assert_eq!(json_merge::apply(&live, &patch)?.to_json(), r#"{"a":"z","c":{"d":"e"}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn apply(original: &Value, patch: &Value) -> Result<Value, Error> {
    match (original, patch) {
        (Value::Map(old), Value::Map(patch)) => merge(old, patch, 0).map(Value::Map),
        _ => pruned(patch, 0),
    }
}

/// Applies the merge patch of a request, which must be an object.
///
/// # Errors
///
/// [`Fault::MergePatch`], 400, if the patch is not an object; [`Fault::TooDeep`].
///
/// Behaviour: `applyJSPatch` in `endpoints/handlers/patch.go` of `k8s.io/apiserver`.
///
/// ```
/// use fieldmanager_patch::json_merge;
/// use fieldmanager_value::Value;
/// let error = json_merge::apply_to_object(&Value::from_json("{}")?, &Value::from_json("[1]")?).unwrap_err();
/// assert_eq!(error.response().code, 400);
/// assert_eq!(error.response().message, "Invalid JSON Patch");
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[doc(hidden)]
pub fn apply_to_object(original: &Value, patch: &Value) -> Result<Value, Error> {
    if patch.as_map().is_none() {
        return Err(Fault::MergePatch {
            found: patch.kind(),
        }
        .into());
    }
    apply(original, patch)
}

fn merge(original: &Map, patch: &Map, depth: usize) -> Result<Map, Error> {
    let depth = deeper(depth)?;
    let mut edits = Vec::new();
    for (name, value) in patch {
        // As in RFC 7396, null removes a field and a map merges into a map; everything else replaces.
        let old = original.get(name).filter(|old| !old.is_null());
        let new = match (old, value) {
            (_, Value::Null) => {
                if original.contains(name) {
                    edits.push((name.clone(), None));
                }
                continue;
            }
            (Some(Value::Map(old)), Value::Map(patch)) => merge(old, patch, depth).map(Value::Map),
            (Some(Value::Map(_)), other) => bounded(other, depth),
            _ => pruned(value, depth),
        }
        .under_field(name)?;

        // An equal value is not an edit, so that the object stays shared.
        if !original.get(name).is_some_and(|old| old.strict_eq(&new)) {
            edits.push((name.clone(), Some(new)));
        }
    }

    Ok(if edits.is_empty() {
        original.clone()
    } else {
        original.with_edits(edits)
    })
}

/// The same value, after a check that it does not nest too deeply.
fn bounded(value: &Value, depth: usize) -> Result<Value, Error> {
    fn check(value: &Value, depth: usize) -> Result<(), Error> {
        match value {
            Value::Map(map) => {
                let depth = deeper(depth)?;
                map.iter()
                    .try_for_each(|(name, value)| check(value, depth).under_field(name))
            }
            Value::List(list) => {
                let depth = deeper(depth)?;
                list.iter()
                    .enumerate()
                    .try_for_each(|(at, item)| check(item, depth).under_index(at))
            }
            _ => Ok(()),
        }
    }

    check(value, depth).map(|()| value.clone())
}

/// A value without the nulls of its maps. A value without nulls is shared.
fn pruned(value: &Value, depth: usize) -> Result<Value, Error> {
    // In a new value, nulls of maps have nothing to remove. Nulls that are items of a list stay.
    match value {
        Value::Map(map) => {
            let depth = deeper(depth)?;
            let mut edits = Vec::new();
            for (name, value) in map {
                let new = pruned(value, depth).under_field(name)?;
                if new.is_null() {
                    edits.push((name.clone(), None));
                } else if !new.ptr_eq(value) {
                    edits.push((name.clone(), Some(new)));
                }
            }

            Ok(if edits.is_empty() {
                value.clone()
            } else {
                Value::Map(map.with_edits(edits))
            })
        }
        Value::List(list) => {
            let depth = deeper(depth)?;
            let mut same = true;
            let mut items = Vec::with_capacity(list.len());
            for (at, item) in list.iter().enumerate() {
                let new = pruned(item, depth).under_index(at)?;
                same = same && new.ptr_eq(item);
                items.push(new);
            }

            Ok(if same {
                value.clone()
            } else {
                Value::from(items)
            })
        }
        _ => Ok(value.clone()),
    }
}

fn object<'v>(what: &'static str, value: &'v Value) -> Result<&'v Map, Error> {
    static EMPTY: Map = Map::new();
    match value {
        Value::Map(map) => Ok(map),
        Value::Null => Ok(&EMPTY),
        other => Err(Fault::NotAnObject {
            what,
            found: other.kind(),
        }
        .into()),
    }
}

/// Creates the merge patch from the original object to the modified one. A merge patch cannot set null, so a null that only
/// the modified object has is lost.
///
/// # Errors
///
/// [`Fault::NotAnObject`] and [`Fault::TooDeep`].
///
/// Behaviour: `CreateMergePatch` of `gopkg.in/evanphx/json-patch.v4`.
///
/// ```
/// use fieldmanager_patch::json_merge;
/// use fieldmanager_value::Value;
/// let original = Value::from_json(r#"{"a": 1, "b": {"c": 1, "d": 1}}"#)?;
/// let modified = Value::from_json(r#"{"b": {"c": 2, "d": 1}}"#)?;
/// assert_eq!(json_merge::create(&original, &modified)?.to_json(), r#"{"a":null,"b":{"c":2}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create(original: &Value, modified: &Value) -> Result<Value, Error> {
    diff(
        object("original", original)?,
        object("modified", modified)?,
        0,
    )
    .map(Value::Map)
}

fn diff(original: &Map, modified: &Map, depth: usize) -> Result<Map, Error> {
    let depth = deeper(depth)?;
    let mut patch = Vec::new();
    for (name, old, new) in differences(original, modified) {
        match (old, new) {
            (_, None) => patch.push((name.clone(), Value::Null)),
            (Some(Value::Map(old)), Some(Value::Map(new))) => {
                let changes = diff(old, new, depth).under_field(name)?;
                if !changes.is_empty() {
                    patch.push((name.clone(), Value::Map(changes)));
                }
            }
            (Some(old), Some(new)) if old == new => {}
            (_, Some(new)) => patch.push((name.clone(), bounded(new, depth).under_field(name)?)),
        }
    }

    Ok(Map::from_iter(patch))
}

/// Creates the merge patch of a client that applied the original object before and applies the modified one now, for the
/// current object, as `kubectl apply` does for custom resources.
///
/// # Errors
///
/// [`Fault::NotAnObject`]; [`Fault::Conflict`] if a field would be both deleted and set;
/// [`Fault::TooDeep`].
///
/// Behaviour: `CreateThreeWayJSONMergePatch` of `k8s.io/apimachinery/pkg/util/jsonmergepatch`.
///
/// ```
/// use fieldmanager_patch::json_merge;
/// use fieldmanager_value::Value;
/// let original = Value::from_json(r#"{"a": 1, "b": 1}"#)?;
/// let modified = Value::from_json(r#"{"a": 2}"#)?;
/// let current = Value::from_json(r#"{"a": 1, "b": 1, "c": 1}"#)?;
/// let patch = json_merge::create_three_way(&original, &modified, &current)?;
/// assert_eq!(patch.to_json(), r#"{"a":2,"b":null}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create_three_way(
    original: &Value,
    modified: &Value,
    current: &Value,
) -> Result<Value, Error> {
    let original = object("original", original)?;
    let (modified, current) = (object("modified", modified)?, object("current", current)?);
    // The changes lead to the modified object; deletions are only those of fields that the original had.
    let changes = part(&diff(current, modified, 0)?, false);
    let deletions = part(&diff(original, modified, 0)?, true);
    // A field that one side changes and the other deletes cannot be merged.
    if conflict(&changes, &deletions) {
        let (patch, changes) = (Value::Map(changes), Value::Map(deletions));
        return Err(Fault::Conflict { patch, changes }.into());
    }
    merge(&deletions, &changes, 0).map(Value::Map)
}

/// Only the nulls of a patch, or only its other values, which include empty maps.
fn part(patch: &Map, nulls: bool) -> Map {
    let mut out = Vec::new();
    for (name, value) in patch {
        match value {
            Value::Null if nulls => out.push((name.clone(), Value::Null)),
            Value::Null => {}
            Value::Map(map) if !map.is_empty() => {
                let map = part(map, nulls);
                if !map.is_empty() {
                    out.push((name.clone(), Value::Map(map)));
                }
            }
            _ if !nulls => out.push((name.clone(), value.clone())),
            _ => {}
        }
    }

    Map::from_iter(out)
}

/// Whether both patches have a field that is not a map in both.
fn conflict(changes: &Map, deletions: &Map) -> bool {
    join(changes, deletions).any(|(_, change, deletion)| match (change, deletion) {
        (Some(Value::Map(change)), Some(Value::Map(deletion))) => conflict(change, deletion),
        (Some(change), Some(deletion)) => change.kind() != Kind::Null || !deletion.is_null(),
        _ => false,
    })
}
