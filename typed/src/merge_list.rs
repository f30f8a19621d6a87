//! Merging of associative lists, and the order of the merged items.

use std::collections::BTreeMap;

use fieldmanager_fieldpath::PathElement;
use fieldmanager_schema::internal::ListType;
use fieldmanager_value::internal::keeps_memo;
use fieldmanager_value::{List, Value};

use crate::error::Fault;
use crate::index::{Index, IndexSlot};
use crate::items::{element_of, same_element};
use crate::merge::{Merge, MergedPart};
use crate::typed_value::KnownProperties;
use crate::validate::position;

/// An item of the configuration's list.
struct ConfigItem<'v> {
    element: PathElement,
    value: &'v Value,
    /// The item's position in the object, if any.
    live: Option<IndexSlot>,
}

impl Merge<'_> {
    /// Merges two non-empty lists. Returns `None` only after a fault.
    pub(crate) fn lists(&mut self, list: &ListType, live: &List, config: &List) -> Option<List> {
        if self.is_aligned(list, live, config) {
            return self.aligned(list, live, config);
        }

        // New items, moved items and duplicates are found by the index of the live list.
        let index = match Index::of(live, list) {
            Ok(index) => index,
            Err((at, fault)) => {
                self.faults.push_at(position(at), Fault::Item(fault));
                return None;
            }
        };
        let mark = self.faults.mark();
        if !self.live.keyed {
            self.check_items(list, live, false);
        }

        let items = self.config_items(list, config, &index);
        if self.faults.mark() > mark {
            return None;
        }
        if in_order(&items) {
            self.in_place(list, live, &items, &index)
        } else {
            self.reordered(list, live, &items)
        }
    }

    /// Whether all items of the configuration are items of the object in the same order, as far as can be determined
    /// without an index.
    fn is_aligned(&self, list: &ListType, live: &List, config: &List) -> bool {
        let known = |known: KnownProperties| known.keyed && known.unique;
        if keeps_memo(live) || keeps_memo(config) || !known(self.live) || !known(self.config) {
            return false;
        }
        let mut rest = live.iter();
        config
            .iter()
            .all(|item| rest.any(|old| same_element(list, old, item)))
    }

    /// Merges the items of an [aligned](Self::is_aligned) configuration.
    fn aligned(&mut self, list: &ListType, live: &List, config: &List) -> Option<List> {
        let mut replaced = Vec::new();
        let mut rest = live.iter().enumerate();
        for item in config {
            let (at, old) = rest.find(|(_, old)| same_element(list, old, item))?;
            let mark = self.faults.mark();
            let merged = self.values(list.element, Some(old), item);
            self.faults.prefix(mark, || {
                element_of(list, item).unwrap_or_else(|_| position(at))
            });
            if let MergedPart::Other(merged) = merged? {
                replaced.push((at, merged));
            }
        }

        Some(if replaced.is_empty() {
            live.clone()
        } else {
            live.with_edits(replaced, Vec::new())
        })
    }

    fn config_items<'v>(
        &mut self,
        list: &ListType,
        config: &'v List,
        index: &Index,
    ) -> Vec<ConfigItem<'v>> {
        let mut items: Vec<ConfigItem<'v>> = Vec::with_capacity(config.len());
        for (at, value) in config.iter().enumerate() {
            match element_of(list, value) {
                Ok(element) => items.push(ConfigItem {
                    live: index.get(&element),
                    element,
                    value,
                }),
                Err(fault) => self.faults.push_at(position(at), Fault::Item(fault)),
            }
        }

        // Duplicates are searched only if validation has not excluded them.
        if !self.config.unique {
            let mut seen = std::collections::BTreeSet::new();
            for item in &items {
                if !seen.insert(&item.element) {
                    self.faults.push_at(item.element.clone(), Fault::Duplicate);
                }
            }
        }

        items
    }

    fn item(
        &mut self,
        list: &ListType,
        live: Option<&Value>,
        item: &ConfigItem<'_>,
    ) -> Option<MergedPart> {
        let mark = self.faults.mark();
        let merged = self.values(list.element, live, item.value);
        self.faults.prefix(mark, || item.element.clone());
        merged
    }

    /// Edits the list of the object in place. The common items have the same order in both lists.
    fn in_place(
        &mut self,
        list: &ListType,
        live: &List,
        items: &[ConfigItem<'_>],
        index: &Index,
    ) -> Option<List> {
        let mut replaced = Vec::new();
        // New items are inserted before the next common item.
        let mut waiting: Vec<(PathElement, Value)> = Vec::new();
        let mut inserted: Vec<(usize, Value)> = Vec::new();
        for item in items {
            match item.live {
                Some(IndexSlot::One(at)) => {
                    let old = live.get(at)?;
                    if let MergedPart::Other(merged) = self.item(list, Some(old), item)? {
                        replaced.push((at, merged));
                    }
                    inserted.extend(waiting.drain(..).map(|(_, value)| (at, value)));
                }
                _ => {
                    if let MergedPart::Other(new) = self.item(list, None, item)? {
                        waiting.push((item.element.clone(), new));
                    }
                }
            }
        }

        // Without an insertion the live list is edited, so that it stays shared and its index is extended.
        if inserted.is_empty() {
            if replaced.is_empty() && waiting.is_empty() {
                return Some(live.clone());
            }
            let (elements, values): (Vec<_>, Vec<_>) = waiting.into_iter().unzip();
            let merged = live.with_edits(replaced, values);
            let positions = elements.into_iter().zip(live.len()..).collect();
            index.extend_to(&merged, positions);
            return Some(merged);
        }

        let mut merged = Vec::with_capacity(live.len() + inserted.len() + waiting.len());
        let mut replaced = replaced.into_iter().peekable();
        let mut inserted = inserted.into_iter().peekable();
        for (at, old) in live.iter().enumerate() {
            while let Some((_, new)) = inserted.next_if(|(before, _)| *before == at) {
                merged.push(new);
            }
            match replaced.next_if(|(place, _)| *place == at) {
                Some((_, new)) => merged.push(new),
                None => merged.push(old.clone()),
            }
        }
        merged.extend(waiting.into_iter().map(|(_, new)| new));

        Some(List::from_iter(merged))
    }

    /// The general case, which orders items like the Go package: in the order of the object, except that common items
    /// follow the configuration, and of duplicate items in the object one is kept.
    fn reordered(
        &mut self,
        list: &ListType,
        live: &List,
        items: &[ConfigItem<'_>],
    ) -> Option<List> {
        let by_element: BTreeMap<&PathElement, usize> = items
            .iter()
            .enumerate()
            .map(|(i, item)| (&item.element, i))
            .collect();

        // For each item of the object, its position in the configuration.
        let mut places = Vec::with_capacity(live.len());
        for value in live {
            let element = element_of(list, value).ok()?;
            places.push((value, by_element.get(&element).copied()));
        }
        let mut shared =
            (0..items.len()).filter(|i| items.get(*i).is_some_and(|item| item.live.is_some()));
        let mut next_shared = shared.next();
        let mut done = vec![false; items.len()];
        let mut merged = Vec::with_capacity(live.len() + items.len());

        let (mut l, mut r) = (0, 0);
        while l < places.len() || r < items.len() {
            let old = places.get(l).copied();
            match old {
                Some((_, Some(place))) if place == r => {
                    self.emit(list, live, items, r, &mut merged, &mut done)?;
                    l += 1;
                    r += 1;
                    next_shared = shared.next();
                    continue;
                }
                // The item is common, and another common item precedes it in the configuration.
                Some((_, Some(place)))
                    if r < items.len() && next_shared.is_some_and(|n| n != place) =>
                {
                    l += 1;
                    continue;
                }
                Some((value, None)) => {
                    merged.push(value.clone());
                    l += 1;
                    continue;
                }
                Some((_, Some(place))) if done.get(place) == Some(&true) => l += 1,
                _ => {}
            }

            if r < items.len() {
                self.emit(list, live, items, r, &mut merged, &mut done)?;
                if next_shared == Some(r) {
                    next_shared = shared.next();
                }
                r += 1;
            }
        }

        Some(List::from_iter(merged))
    }

    /// Adds an item of the configuration, merged with the object's if that is unique.
    fn emit(
        &mut self,
        list: &ListType,
        live: &List,
        items: &[ConfigItem<'_>],
        place: usize,
        merged: &mut Vec<Value>,
        done: &mut [bool],
    ) -> Option<()> {
        let item = items.get(place)?;
        let old = match item.live {
            Some(IndexSlot::One(at)) => live.get(at),
            // Duplicate items have no item to merge with.
            Some(IndexSlot::Many) => Some(&Value::Null),
            None => None,
        };
        merged.push(match self.item(list, old, item)? {
            MergedPart::Live => old.cloned().unwrap_or_default(),
            MergedPart::Other(value) => value,
        });
        if let Some(done) = done.get_mut(place) {
            *done = true;
        }

        Some(())
    }
}

/// Whether the common items are unique and have the same order in both lists.
fn in_order(items: &[ConfigItem<'_>]) -> bool {
    let mut last = None;
    items.iter().all(|item| match item.live {
        None => true,
        Some(IndexSlot::Many) => false,
        Some(IndexSlot::One(at)) => last.replace(at).is_none_or(|before| before < at),
    })
}
