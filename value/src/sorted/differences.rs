//! Iteration over the differences of two sorted maps.

use im::OrdMap;
use im::ordmap::{DiffItem, DiffIter};
use im::shared_ptr::DefaultSharedPtr;

use super::{Join, Joined};

/// The iterator returned by [`SortedMap::differences`](super::SortedMap::differences).
pub struct Differences<'a, K, V>(DifferencesForm<'a, K, V>);

enum DifferencesForm<'a, K, V> {
    None,
    Join(Join<'a, K, V>),
    Trees(Box<DiffIter<'a, 'a, K, V, DefaultSharedPtr>>),
}

impl<'a, K: Ord, V> Differences<'a, K, V> {
    pub(super) fn none() -> Self {
        Differences(DifferencesForm::None)
    }

    pub(super) fn of_join(join: Join<'a, K, V>) -> Self {
        Differences(DifferencesForm::Join(join))
    }

    pub(super) fn of_trees(left: &'a OrdMap<K, V>, right: &'a OrdMap<K, V>) -> Self {
        Differences(DifferencesForm::Trees(Box::new(left.diff(right))))
    }
}

impl<'a, K: Ord, V: PartialEq> Iterator for Differences<'a, K, V> {
    type Item = Joined<'a, K, V>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            DifferencesForm::None => None,
            DifferencesForm::Join(join) => join.next(),
            DifferencesForm::Trees(trees) => trees.next().map(|difference| match difference {
                DiffItem::Add(key, new) => (key, None, Some(new)),
                DiffItem::Update {
                    old: (key, old),
                    new: (_, new),
                } => (key, Some(old), Some(new)),
                DiffItem::Remove(key, old) => (key, Some(old), None),
            }),
        }
    }
}
