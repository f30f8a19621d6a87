//! Conflicts between two patches.

use ahash::{AHashMap, AHashSet};
use fieldmanager_value::internal::{join, level};
use fieldmanager_value::{Kind, List, Map, Value};

use super::directive::{DELETE_FROM_LIST, PATCH, RETAIN_KEYS, SET_ORDER};
use super::scalar::{go_text, item_kind, sort_by_text};
use crate::error::{Under, deeper};
use crate::types::Strategy;
use crate::{Error, Fault, PatchSchema};

/// Whether two maps of patches set the same field to different values.
///
/// Behaviour: `mergingMapFieldsHaveConflicts` in `k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`.
pub(super) fn maps(
    left: &Map,
    right: &Map,
    schema: PatchSchema<'_>,
    depth: usize,
) -> Result<bool, Error> {
    maps_by(left, right, schema, Strategy::Default, depth)
}

fn maps_by(
    left: &Map,
    right: &Map,
    schema: PatchSchema<'_>,
    strategy: Strategy,
    depth: usize,
) -> Result<bool, Error> {
    let depth = deeper(depth)?;
    level(|| {
        // A directive on one side conflicts with anything on the other; only equal directives do not.
        let directives = (left.get(PATCH), right.get(PATCH));
        match directives {
            (None, None) => {}
            (Some(a), Some(b)) if a.is_scalar() && a.strict_eq(b) => {}
            _ => return Ok(true),
        }

        // A map that is replaced as a whole is not compared further.
        if strategy == Strategy::Replace {
            return Ok(false);
        }
        for (name, a, b) in join(left, right) {
            if name == PATCH || name == RETAIN_KEYS {
                continue;
            }
            if let (Some(a), Some(b)) = (a, b)
                && field(name, a, b, schema, depth).under_field(name)?
            {
                return Ok(true);
            }
        }

        Ok(false)
    })
}

fn field(
    name: &str,
    left: &Value,
    right: &Value,
    schema: PatchSchema<'_>,
    depth: usize,
) -> Result<bool, Error> {
    match (left, right) {
        _ if name.starts_with(SET_ORDER) => Ok(!left.strict_eq(right)),
        // Two deletions of values never conflict. A value that is not a list of values is ignored.
        (Value::List(_), Value::List(_)) if name.starts_with(DELETE_FROM_LIST) => Ok(false),
        _ if name.starts_with(DELETE_FROM_LIST) => Ok(!left.strict_eq(right)),
        (Value::Map(_), _) => {
            let (rule, below) = schema.map_field(name)?;
            values(left, right, below, rule.strategy, "", depth)
        }
        (Value::List(_), _) => {
            let (rule, below) = schema.list_field(name)?;
            values(left, right, below, rule.strategy, rule.merge_key, depth)
        }
        _ => Ok(!left.strict_eq(right)),
    }
}

fn values(
    left: &Value,
    right: &Value,
    schema: PatchSchema<'_>,
    strategy: Strategy,
    merge_key: &str,
    depth: usize,
) -> Result<bool, Error> {
    match (left, right) {
        (Value::Map(left), Value::Map(right)) => maps_by(left, right, schema, strategy, depth),
        (Value::List(left), Value::List(right)) => {
            lists(left, right, schema, strategy, merge_key, depth)
        }
        _ => Ok(!left.strict_eq(right)),
    }
}

fn lists(
    left: &List,
    right: &List,
    schema: PatchSchema<'_>,
    strategy: Strategy,
    merge_key: &str,
    depth: usize,
) -> Result<bool, Error> {
    let depth = deeper(depth)?;
    let kind = item_kind(&[left, right])?;
    // Merged scalars are added to a set, so they never conflict. Merged maps conflict if items with the same key do.
    if strategy == Strategy::Merge {
        if kind != Kind::Map {
            return Ok(false);
        }
        let right = by_key(right, merge_key)?;
        for (key, (name, item)) in by_key(left, merge_key)? {
            if let Some((_, other)) = right.get(&key)
                && values(item, other, schema, Strategy::Default, "", depth)
                    .under_key(merge_key, name)?
            {
                return Ok(true);
            }
        }
        return Ok(false);
    }

    // Without a merge, the lists replace each other, so they must be the same.
    if left.len() != right.len() {
        return Ok(true);
    }
    if kind != Kind::Map {
        let (left, right) = (sorted_set(left), sorted_set(right));
        // As in Go, only as many values are compared as the list with fewer distinct values has.
        return Ok(
            left.len() > right.len() || left.iter().zip(&right).any(|(a, b)| !a.strict_eq(b))
        );
    }

    for (at, (a, b)) in left.iter().zip(right).enumerate() {
        if values(a, b, schema, Strategy::Default, "", depth).under_index(at)? {
            return Ok(true);
        }
    }
    Ok(false)
}

type ByKey<'v> = AHashMap<(Kind, String), (&'v Value, &'v Value)>;

/// The items by their merge keys; of several with one key the last.
fn by_key<'v>(list: &'v List, merge_key: &str) -> Result<ByKey<'v>, Error> {
    let mut out = AHashMap::with_capacity(list.len());
    for (at, item) in list.iter().enumerate() {
        let name = item
            .get(merge_key)
            .ok_or_else(|| Fault::NoMergeKey {
                key: merge_key.to_owned(),
            })
            .under_index(at)?;
        if matches!(name, Value::List(_) | Value::Map(_)) {
            let (key, found) = (merge_key.to_owned(), name.kind());
            return Err(Fault::MergeKeyType { key, found }).under_index(at);
        }
        out.insert((name.kind(), go_text(name).into_owned()), (name, item));
    }

    Ok(out)
}

fn sorted_set(list: &List) -> Vec<&Value> {
    let mut seen = AHashSet::new();
    let mut items: Vec<&Value> = list
        .iter()
        .filter(|item| super::scalar::ScalarKey::of(item).is_some_and(|item| seen.insert(item)))
        .collect();
    sort_by_text(&mut items, |item| go_text(item));
    items
}
