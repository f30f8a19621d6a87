//! Creates patches for lists that are merged.

use std::cmp::Ordering;

use fieldmanager_value::{Kind, List, Map, Value};

use super::diff::Diff;
use super::directive::PATCH;
use super::scalar::{
    Positions, ScalarKey, go_text, identities, item_kind, key_of, positions, sort_by_text,
};
use crate::error::{Under, deeper};
use crate::types::PatchRule;
use crate::{Error, Fault, PatchSchema};

/// The maximum number of deleted scalars that are put into the order of Go, which takes a quadratic number of steps.
const DEDUPLICATED: usize = 1000;

/// The parts of a patch for a list.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) patch: List,
    pub(super) deleted: List,
    pub(super) order: List,
}

impl Diff {
    /// The differences of two lists with the strategy `merge`.
    ///
    /// Behaviour: `diffLists` in `k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`.
    pub(super) fn lists(
        self,
        original: &List,
        modified: &List,
        rule: PatchRule<'_>,
        schema: PatchSchema<'_>,
        depth: usize,
    ) -> Result<Lists, Error> {
        let depth = deeper(depth)?;
        if original.is_empty() {
            let patch = if self.changes() {
                modified.clone()
            } else {
                List::new()
            };
            return Ok(Lists {
                patch,
                ..Lists::default()
            });
        }

        match item_kind(&[original, modified])? {
            Kind::Map => self.lists_of_maps(original, modified, rule, schema, depth),
            _ => Ok(self.lists_of_scalars(original, modified)),
        }
    }

    fn lists_of_maps(
        self,
        original: &List,
        modified: &List,
        rule: PatchRule<'_>,
        schema: PatchSchema<'_>,
        depth: usize,
    ) -> Result<Lists, Error> {
        let key = rule.merge_key;
        if key.is_empty() {
            return Err(Fault::NoDeclaredKey.into());
        }
        let (before, after) = (identities(original, key)?, identities(modified, key)?);
        // As in Go, both lists are sorted by the text of the key, so that one pass finds the pairs.
        let sorted = |list: &List| {
            let mut items: Vec<Value> = list.iter().cloned().collect();
            sort_by_text(&mut items, |item| key_text(item, key));
            items
        };
        let (old, new) = (sorted(original), sorted(modified));
        let mut patch = Vec::new();

        let mut deleted = Vec::new();
        let (mut left, mut right) = (old.iter().peekable(), new.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => key_text(old, key).cmp(&key_text(new, key)),
            };
            // The smaller key has no counterpart; with equal keys, both items are taken.
            let old = if order.is_le() { left.next() } else { None };
            let new = if order.is_ge() { right.next() } else { None };

            match (old, new) {
                (Some(Value::Map(old)), Some(Value::Map(new))) => {
                    let name = new.get(key).cloned().unwrap_or_default();
                    let mut changes = self
                        .maps(old, new, schema, rule.retain_keys, depth)
                        .under_key(key, &name)?;
                    if !changes.is_empty() {
                        changes.insert(key, name);
                        patch.push(Value::Map(changes));
                    }
                }
                (None, Some(new)) if self.changes() => patch.push(new.clone()),
                (Some(Value::Map(old)), None) if self.deletions() => {
                    let name = old.get(key).cloned().unwrap_or_default();
                    let mut item = Map::single(key, name);
                    item.insert(PATCH, "delete");
                    deleted.push(Value::Map(item));
                }
                _ => {}
            }
        }

        // The items are in the order of the modified list. Deletions follow, since their place means nothing.
        let places = positions(after.iter().copied());
        let mut patch = in_order(patch, key, &places)?;
        patch.extend(deleted);
        // A patch that adds, changes or deletes an item has the order of all, and so has one that only moves items.
        let changed = self.changes() && (!patch.is_empty() || before != after);
        let lost = self.deletions() && !patch.is_empty();
        let order = if self.order && (changed || lost) {
            let name = |item: &Value| {
                Value::Map(Map::single(key, item.get(key).cloned().unwrap_or_default()))
            };
            modified.iter().map(name).collect()
        } else {
            List::new()
        };

        Ok(Lists {
            patch: patch.into_iter().collect(),
            deleted: List::new(),
            order,
        })
    }

    fn lists_of_scalars(self, original: &List, modified: &List) -> Lists {
        // As for maps, one pass over sorted lists finds the pairs.
        let sorted = |list: &List| {
            let mut items: Vec<Value> = list.iter().cloned().collect();
            sort_by_text(&mut items, go_text);
            items
        };
        let (old, new) = (sorted(original), sorted(modified));
        let (mut added, mut deleted) = (Vec::new(), Vec::new());
        let (mut left, mut right) = (old.iter().peekable(), new.iter().peekable());

        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => go_text(old).cmp(&go_text(new)),
            };
            let old = if order.is_le() { left.next() } else { None };
            let new = if order.is_ge() { right.next() } else { None };

            match (old, new) {
                (Some(old), None) if self.deletions() => deleted.push(old.clone()),
                (None, Some(new)) if self.changes() => added.push(new.clone()),
                _ => {}
            }
        }

        // One deletion removes all equal values.
        let deleted = deduplicated(deleted);
        let places = positions(modified.iter().filter_map(ScalarKey::of));
        added.sort_by_key(|item| {
            ScalarKey::of(item)
                .and_then(|item| places.get(&item))
                .copied()
        });

        // Go compares the sorted original, so an unsorted list counts as changed.
        let unchanged =
            old.len() == modified.len() && old.iter().zip(modified).all(|(a, b)| a.strict_eq(b));
        let order = self.order
            && ((self.deletions() && !deleted.is_empty()) || (self.changes() && !unchanged));
        Lists {
            patch: added.into_iter().collect(),
            deleted: deleted.into_iter().collect(),
            order: if order { modified.clone() } else { List::new() },
        }
    }
}

fn key_text<'v>(item: &'v Value, key: &str) -> std::borrow::Cow<'v, str> {
    go_text(item.get(key).unwrap_or(&Value::Null))
}

/// The items of a patch in the order of the modified list. Items that look like deletions are last.
fn in_order(items: Vec<Value>, key: &str, places: &Positions<'_>) -> Result<Vec<Value>, Error> {
    let is_delete = |item: &Value| item.get(PATCH).and_then(Value::as_str) == Some("delete");
    let mut placed = Vec::with_capacity(items.len());
    for item in items {
        let place = places.get(&key_of(&item, key)?).copied();
        placed.push(((is_delete(&item), place), item));
    }
    placed.sort_by_key(|((deletes, place), _)| (*deletes, if *deletes { None } else { *place }));
    Ok(placed.into_iter().map(|(_, item)| item).collect())
}

/// Each scalar once. As in Go, the last scalar moves into the place of a duplicate.
fn deduplicated(mut items: Vec<Value>) -> Vec<Value> {
    if items.len() > DEDUPLICATED {
        items.dedup_by(|a, b| a.strict_eq(b));
        return items;
    }
    let mut at = 0;

    while at < items.len() {
        let mut other = at + 1;
        while other < items.len() {
            let same =
                matches!((items.get(at), items.get(other)), (Some(a), Some(b)) if a.strict_eq(b));
            if same {
                items.swap_remove(other);
            } else {
                other += 1;
            }
        }
        at += 1;
    }

    items
}
