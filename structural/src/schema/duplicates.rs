//! Equality of list items, which determines uniqueness in sets and of keys.
//!
//! The API server puts scalars into a Go map, and lists and maps into another one by their JSON. The integer 1 and the
//! float 1.0 are therefore distinct items, but the lists `[1]` and `[1.0]`, which have equal JSON, are duplicates.

use std::cmp::Ordering;

use fieldmanager_value::{Map, Str, Value};

/// The number of items from which they are sorted. Shorter lists are compared pairwise, which allocates nothing.
const SORT_FROM: usize = 17;

/// The positions of the items that equal exactly one earlier item: each repeated item once, at its second occurrence,
/// in ascending order.
pub(super) fn positions(len: usize, order: impl Fn(usize, usize) -> Ordering) -> Vec<usize> {
    if len < SORT_FROM {
        let is_repeated =
            |&at: &usize| (0..at).filter(|&before| order(before, at).is_eq()).count() == 1;
        return (0..len).filter(is_repeated).collect();
    }

    let mut sorted: Vec<usize> = (0..len).collect();
    // The sort is stable, so equal items stay in the order of their positions.
    sorted.sort_by(|&a, &b| order(a, b));
    let groups = sorted.chunk_by(|&a, &b| order(a, b).is_eq());
    let mut out: Vec<usize> = groups.filter_map(|group| group.get(1).copied()).collect();
    out.sort_unstable();
    out
}

/// The order of items; equal items compare as equal.
pub(super) fn item_order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        // Zero equals negative zero here, although their JSON differs.
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or_else(|| a.total_cmp(b)),
        (Value::Int(_), Value::Float(_)) => Ordering::Less,
        (Value::Float(_), Value::Int(_)) => Ordering::Greater,
        _ => json_order(a, b),
    }
}

/// The order of values; values with equal JSON compare as equal.
fn json_order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::List(a), Value::List(b)) if !a.ptr_eq(b) => {
            let lengths = a.len().cmp(&b.len());
            lengths.then_with(|| first(a.iter().zip(b.iter()).map(|(a, b)| json_order(a, b))))
        }
        (Value::Map(a), Value::Map(b)) if !a.ptr_eq(b) => {
            let lengths = a.len().cmp(&b.len());
            let entries = || {
                first(
                    a.iter()
                        .zip(b.iter())
                        .map(|(a, b)| a.0.cmp(b.0).then_with(|| json_order(a.1, b.1))),
                )
            };
            lengths.then_with(entries)
        }
        _ => a
            .cmp(b)
            .then_with(|| is_negative_zero(a).cmp(&is_negative_zero(b))),
    }
}

fn first(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The JSON of negative zero differs from the JSON of zero.
fn is_negative_zero(value: &Value) -> bool {
    matches!(value, Value::Float(number) if *number == 0.0 && number.is_sign_negative())
}

/// The order of items of a list of type map, by their keys. A missing key differs from a null key.
///
/// A single key is compared like an item, several keys are compared by their JSON.
pub(super) fn key_order(a: &Value, b: &Value, keys: &[Str]) -> Ordering {
    let compare: fn(&Value, &Value) -> Ordering = if keys.len() == 1 {
        item_order
    } else {
        json_order
    };
    first(keys.iter().map(|key| match (a.get(key), b.get(key)) {
        (Some(a), Some(b)) => compare(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }))
}

/// The keys of an item, for messages.
pub(super) fn keys_of(item: &Value, keys: &[Str]) -> Map {
    keys.iter()
        .filter_map(|key| Some((key, item.get(key)?.clone())))
        .collect()
}
