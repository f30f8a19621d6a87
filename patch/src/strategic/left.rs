//! What Go leaves of a patch that it merged: it changes the maps of the patch while it merges them, and messages show the rest.

use ahash::AHashMap;
use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Map, Str, Value};

use super::directive::{DELETE_FROM_LIST, PATCH, RETAIN_KEYS, SET_ORDER};
use super::scalar::{ScalarKey, key_of};
use crate::PatchSchema;
use crate::types::Strategy;

/// The rest of a patch after Go applied it, which messages about the patched object show: without the directives that took
/// effect, and without nulls in new content.
///
/// ```
/// use fieldmanager_patch::PatchSchema;
/// use fieldmanager_patch::internal::left;
/// use fieldmanager_value::Value;
/// let live = Value::from_yaml("{spec: {a: 1}}")?;
/// let patch = Value::from_yaml("{spec: {$patch: replace, a: null}, labels: {b: null, c: x}}")?;
/// let left = left(&live, &patch, PatchSchema::free());
/// assert_eq!(left.to_json(), r#"{"labels":{"c":"x"},"spec":{"a":null}}"#);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn left(original: &Value, patch: &Value, schema: PatchSchema<'_>) -> Value {
    match (original, patch) {
        (Value::Map(original), Value::Map(patch)) => Value::Map(map(original, patch, schema)),
        _ => patch.clone(),
    }
}

/// The rest of a patch that was merged into an object.
///
/// Behaviour: `mergeMap`, `mergePatchIntoOriginal`, `discardNullValuesFromPatch` and `removeDirectives` in
/// `k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`.
pub(super) fn map(original: &Map, patch: &Map, schema: PatchSchema<'_>) -> Map {
    // A replacement leaves its own fields; another directive is no field.
    match patch.get(PATCH).map(Value::as_str) {
        Some(Some("replace")) => return patch.with_edits(vec![(PATCH.into(), None)]),
        Some(_) => return patch.clone(),
        None => {}
    }

    let mut edits: Vec<(Str, Option<Value>)> = Vec::new();
    for (name, value) in patch {
        let ordered = patch.contains(&format!("{SET_ORDER}/{name}"));
        let new = match value {
            _ if name == RETAIN_KEYS || name.starts_with(SET_ORDER) || ordered => None,
            Value::Map(_) | Value::List(_) if !name.starts_with(DELETE_FROM_LIST) => {
                Some(level(|| field(original.get(name), value, schema, name)))
            }
            _ => Some(value.clone()),
        };

        if !new.as_ref().is_some_and(|new| new.ptr_eq(value)) {
            edits.push((name.clone(), new));
        }
    }

    if edits.is_empty() {
        patch.clone()
    } else {
        patch.with_edits(edits)
    }
}

fn field(original: Option<&Value>, value: &Value, schema: PatchSchema<'_>, name: &str) -> Value {
    match (original, value) {
        (Some(Value::Map(old)), Value::Map(new)) => match schema.map_field(name) {
            Ok((rule, below)) if rule.strategy != Strategy::Replace => {
                Value::Map(map(old, new, below))
            }
            _ => value.clone(),
        },
        (Some(Value::List(old)), Value::List(new)) => match schema.list_field(name) {
            Ok((rule, below)) if rule.strategy == Strategy::Merge && !rule.merge_key.is_empty() => {
                Value::List(items(old, new, rule.merge_key, below))
            }
            _ => value.clone(),
        },
        _ => added(&without_nulls(value)),
    }
}

/// The items of a merged list: those that are in the object are merged.
fn items(original: &List, patch: &List, key: &str, schema: PatchSchema<'_>) -> List {
    // Of several items with one key, the first is the one that is merged.
    let mut known: AHashMap<ScalarKey<'_>, &Map> = AHashMap::with_capacity(original.len());
    for item in original {
        if let (Ok(key), Value::Map(item)) = (key_of(item, key), item) {
            known.entry(key).or_insert(item);
        }
    }

    let left = |item: &Value| match (key_of(item, key).ok().and_then(|key| known.get(&key)), item) {
        (Some(old), Value::Map(new)) if !new.contains(PATCH) => Value::Map(map(old, new, schema)),
        _ => item.clone(),
    };
    patch.iter().map(left).collect()
}

/// A value without the nulls of its maps.
fn without_nulls(value: &Value) -> Value {
    level(|| match value {
        Value::Map(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            Value::Map(
                kept.map(|(name, value)| (name.clone(), without_nulls(value)))
                    .collect(),
            )
        }
        Value::List(list) => Value::List(list.iter().map(without_nulls).collect()),
        _ => value.clone(),
    })
}

/// A value of the patch that becomes part of the object: its maps lose maps with `$patch`. A list that is the value of the
/// patch itself stays as it is, apart from the maps in it.
fn added(value: &Value) -> Value {
    level(|| match value {
        Value::Map(map) if !map.contains(PATCH) => {
            let kept = map.iter().filter(|(_, value)| !is_directive(value));
            Value::Map(
                kept.map(|(name, value)| (name.clone(), below(value)))
                    .collect(),
            )
        }
        Value::List(list) => Value::List(list.iter().map(added).collect()),
        _ => value.clone(),
    })
}

/// A value in a map that becomes part of the object.
fn below(value: &Value) -> Value {
    match value {
        Value::List(list) => {
            let kept = list.iter().filter(|item| !is_directive(item));
            level(|| Value::List(kept.map(below).collect()))
        }
        _ => added(value),
    }
}

fn is_directive(value: &Value) -> bool {
    value.as_map().is_some_and(|map| map.contains(PATCH))
}
