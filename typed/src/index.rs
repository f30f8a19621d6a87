//! An index of an associative list, which maps the elements to positions.
//!
//! It is built once per list and, for large lists, stored as the memo of the list. A list derived from another one by
//! appending inherits the index of the other one with the appended items.

use std::sync::Arc;

use fieldmanager_fieldpath::PathElement;
use fieldmanager_schema::internal::{KeyField, ListType};
use fieldmanager_value::internal::sorted::SortedMap;
use fieldmanager_value::internal::{keeps_memo, memo_or_else, set_memo};
use fieldmanager_value::{List, Value};

use crate::items::{ItemFault, element_of, has_element, same_element};

/// The position of the item of an element in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexSlot {
    /// A single item at this index.
    One(usize),
    /// Several items.
    Many,
}

/// The items of one list by element, for a given set of keys.
pub(crate) struct Index {
    keys: Vec<KeyField>,
    slots: SortedMap<PathElement, IndexSlot>,
    /// Whether all elements are unique.
    unique: bool,
}

/// Finds items by their element. Short lists are scanned without an index.
pub(crate) enum Finder<'v> {
    Few(&'v List, &'v ListType),
    Many(&'v List, &'v ListType, Arc<Index>),
}

impl<'v> Finder<'v> {
    /// Returns `None` for a list that has an item without an element.
    pub(crate) fn new(list: &'v List, ty: &'v ListType) -> Option<Self> {
        if !keeps_memo(list) {
            return list
                .iter()
                .all(|item| has_element(ty, item))
                .then_some(Finder::Few(list, ty));
        }
        Some(Finder::Many(list, ty, Index::of(list, ty).ok()?))
    }

    /// Returns the item with the same element as another item, which must have one, and its position. Returns `None` if
    /// several items have that element.
    pub(crate) fn find(&self, other: &Value) -> Option<(usize, &'v Value)> {
        match self {
            Finder::Few(list, ty) => {
                // An item whose key is not unique has no counterpart.
                let mut same = list
                    .iter()
                    .enumerate()
                    .filter(|(_, item)| same_element(ty, item, other));
                let first = same.next()?;
                same.next().is_none().then_some(first)
            }
            Finder::Many(list, ty, index) => match index.get(&element_of(ty, other).ok()?)? {
                IndexSlot::One(at) => Some((at, list.get(at)?)),
                IndexSlot::Many => None,
            },
        }
    }
}

fn same_keys(a: &[KeyField], b: &[KeyField]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| a.name == b.name && a.default == b.default)
}

/// The position of the first item without an element, and the reason.
pub(crate) type Broken = (usize, ItemFault);

impl Index {
    /// Returns the stored index of a list, or builds one.
    pub(crate) fn of(list: &List, ty: &ListType) -> Result<Arc<Index>, Broken> {
        memo_or_else(
            list,
            |index: &Index| same_keys(&index.keys, &ty.keys),
            || Index::make(list, ty),
        )
    }

    fn make(list: &List, ty: &ListType) -> Result<Index, Broken> {
        let mut found = Vec::with_capacity(list.len());
        for (at, item) in list.iter().enumerate() {
            let element = element_of(ty, item).map_err(|fault| (at, fault))?;
            found.push((element, IndexSlot::One(at)));
        }
        // Items with one element stay in the index as one slot, which tells that none of them can be merged.
        let mut unique = true;
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.dedup_by(|later, kept| {
            let equal = later.0 == kept.0;
            if equal {
                kept.1 = IndexSlot::Many;
                unique = false;
            }
            equal
        });

        Ok(Index {
            keys: ty.keys.clone(),
            slots: SortedMap::from_sorted(found),
            unique,
        })
    }

    pub(crate) fn get(&self, element: &PathElement) -> Option<IndexSlot> {
        self.slots.get(element).copied()
    }

    pub(crate) fn is_unique(&self) -> bool {
        self.unique
    }

    /// Stores the extended index with a list derived from this index's list by appending items.
    pub(crate) fn extend_to(&self, list: &List, appended: Vec<(PathElement, usize)>) {
        if !keeps_memo(list) {
            return;
        }

        // Appending changes no position, so the index is edited instead of built again.
        let mut edits: Vec<(PathElement, Option<IndexSlot>)> = appended
            .into_iter()
            .map(|(element, at)| (element, Some(IndexSlot::One(at))))
            .collect();
        edits.sort_by(|a, b| a.0.cmp(&b.0));
        set_memo(
            list,
            Arc::new(Index {
                keys: self.keys.clone(),
                slots: self.slots.with_edits(edits),
                unique: self.unique,
            }),
        );
    }
}
