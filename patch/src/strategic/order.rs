//! The order of a merged list.

use std::borrow::Cow;

use fieldmanager_value::{List, Value};

use super::scalar::{Positions, ScalarKey};

/// Go sorts lists up to this length by insertion, which is observable if an item has no position in the order.
const INSERTION: usize = 20;

/// An item of a merged list.
pub(super) struct MergedItem<'v> {
    /// Its merge key, or the item itself.
    pub(super) identity: ScalarKey<'v>,
    /// Borrowed from the original list, or new.
    pub(super) value: Cow<'v, Value>,
    /// Its position in the original list.
    pub(super) from: Option<usize>,
    /// Whether it is a deletion, as in patches that are merged.
    pub(super) deletes: bool,
}

/// Sorts the items of the patch in its order and the others in the order of the object, and merges both sequences: an item
/// of the object is first only if it precedes the item of the patch in the object.
///
/// Behaviour: `normalizeElementOrder` in `k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`.
pub(super) fn arrange<'v>(
    items: Vec<MergedItem<'v>>,
    wanted: &Positions<'_>,
    server: &Positions<'_>,
) -> Vec<MergedItem<'v>> {
    let size = items.len();
    // The items of the order and the others are sorted separately. Where they meet, the order of the object decides.
    let (named, others): (Vec<_>, Vec<_>) = items
        .into_iter()
        .partition(|item| wanted.contains_key(&item.identity));
    let mut named = sorted(named, wanted).into_iter().peekable();
    let mut others = sorted(others, server).into_iter().peekable();
    let mut out = Vec::with_capacity(size);

    loop {
        let other_first = match (others.peek(), named.peek()) {
            (None, None) => return out,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(other), Some(named)) => {
                match (server.get(&other.identity), server.get(&named.identity)) {
                    (Some(other), Some(named)) => other < named,
                    _ => false,
                }
            }
        };
        out.extend(if other_first {
            others.next()
        } else {
            named.next()
        });
    }
}

/// Items by their positions in an order. Deletions are last.
fn sorted<'v>(items: Vec<MergedItem<'v>>, order: &Positions<'_>) -> Vec<MergedItem<'v>> {
    let (deleting, mut items): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| item.deletes);
    let place = |item: &MergedItem<'_>| order.get(&item.identity).copied();
    if items.len() > INSERTION || items.iter().all(|item| place(item).is_some()) {
        items.sort_by_key(|item| place(item).unwrap_or(usize::MAX));
    } else {
        // An item without a position is inserted before all items, one with a position before those without.
        let mut out: Vec<MergedItem<'v>> = Vec::with_capacity(items.len());
        for item in items {
            let at = out
                .iter()
                .rposition(|before| match (place(&item), place(before)) {
                    (Some(item), Some(before)) => item >= before,
                    _ => false,
                });
            out.insert(at.map_or(0, |at| at + 1), item);
        }
        items = out;
    }
    items.extend(deleting);

    items
}

/// The list of the items. It shares unchanged parts with the original.
pub(super) fn build(original: &List, items: Vec<MergedItem<'_>>) -> List {
    // A list that keeps the items of the object at their positions is edited, so that it shares them.
    let in_place = items.len() >= original.len()
        && items
            .iter()
            .take(original.len())
            .enumerate()
            .all(|(at, item)| item.from == Some(at));

    if !in_place {
        return items
            .into_iter()
            .map(|item| item.value.into_owned())
            .collect();
    }

    let mut replaced = Vec::new();
    let mut appended = Vec::new();
    for (at, item) in items.into_iter().enumerate() {
        match item.value {
            Cow::Owned(new) if at < original.len() => replaced.push((at, new)),
            new if at >= original.len() => appended.push(new.into_owned()),
            _ => {}
        }
    }

    original.with_edits(replaced, appended)
}
