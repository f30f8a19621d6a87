//! Iterators and cursors over sorted maps.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::iter::Peekable;
use std::ops::Bound;
use std::slice;

use im::OrdMap;
use im::ordmap::{self, RangedIter};
use im::shared_ptr::DefaultSharedPtr;

/// Iterates over the entries of a [`SortedMap`](super::SortedMap) in key order.
///
/// ```
/// use fieldmanager_value::internal::sorted::SortedMap;
/// let map = SortedMap::from_unsorted(vec![("b", 1), ("a", 2)]);
/// assert_eq!(map.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["a", "b"]);
/// ```
pub struct Iter<'a, K, V>(EntryCursor<'a, K, V>);

enum EntryCursor<'a, K, V> {
    Slice(slice::Iter<'a, (K, V)>),
    Tree(Box<ordmap::Iter<'a, K, V, DefaultSharedPtr>>),
}

impl<'a, K: Ord, V> Iter<'a, K, V> {
    pub(super) fn of_slice(entries: &'a [(K, V)]) -> Self {
        Iter(EntryCursor::Slice(entries.iter()))
    }

    pub(super) fn of_tree(tree: &'a OrdMap<K, V>) -> Self {
        Iter(EntryCursor::Tree(Box::new(tree.iter())))
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            EntryCursor::Slice(entries) => entries.next().map(|(k, v)| (k, v)),
            EntryCursor::Tree(entries) => entries.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            EntryCursor::Slice(entries) => entries.size_hint(),
            EntryCursor::Tree(entries) => entries.size_hint(),
        }
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

/// A cursor that looks up ascending keys, created by [`SortedMap::seek`](super::SortedMap::seek).
pub struct Seek<'a, K, V>(Rest<'a, K, V>);

/// The entries after the cursor.
enum Rest<'a, K, V> {
    Slice(&'a [(K, V)]),
    Tree(
        &'a OrdMap<K, V>,
        Box<Peekable<RangedIter<'a, K, V, DefaultSharedPtr>>>,
    ),
}

/// The number of entries examined one by one before a search. Two maps walked together usually have the same keys.
const STEPS: usize = 4;

impl<'a, K: Ord, V> Seek<'a, K, V> {
    pub(super) fn of_slice(rest: &'a [(K, V)]) -> Self {
        Seek(Rest::Slice(rest))
    }

    pub(super) fn of_tree(tree: &'a OrdMap<K, V>) -> Self {
        Seek(Rest::Tree(
            tree,
            Box::new(tree.range::<_, K>(..).peekable()),
        ))
    }

    /// The entry with a key, which must not be less than the previous one.
    pub fn get<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(&'a K, &'a V)>
    where
        K: Borrow<Q>,
    {
        for _ in 0..STEPS {
            let (known, _) = self.first()?;
            match known.borrow().cmp(key) {
                Ordering::Greater => return None,
                Ordering::Less => self.pass(),
                Ordering::Equal => return self.take(),
            }
        }

        match &mut self.0 {
            Rest::Slice(rest) => {
                let at = lower_bound_by(rest, |(known, _)| known.borrow() >= key);
                *rest = rest.get(at..).unwrap_or_default();
            }
            Rest::Tree(tree, rest) => {
                **rest = tree
                    .range::<_, Q>((Bound::Included(key), Bound::Unbounded))
                    .peekable();
            }
        }

        self.first()
            .filter(|(known, _)| (*known).borrow() == key)
            .and_then(|_| self.take())
    }

    fn first(&mut self) -> Option<(&'a K, &'a V)> {
        match &mut self.0 {
            Rest::Slice(rest) => rest.first().map(|(k, v)| (k, v)),
            Rest::Tree(_, rest) => rest.peek().copied(),
        }
    }

    fn take(&mut self) -> Option<(&'a K, &'a V)> {
        let first = self.first();
        self.pass();
        first
    }

    fn pass(&mut self) {
        match &mut self.0 {
            Rest::Slice(rest) => *rest = rest.get(1..).unwrap_or_default(),
            Rest::Tree(_, rest) => {
                rest.next();
            }
        }
    }
}

/// Index of the first item that satisfies a monotone predicate.
///
/// The standard library selects a half without a branch, which delays loading the next key until the previous
/// comparison is done. Keys are stored elsewhere in memory, so waiting for each of them costs more than a mispredicted
/// branch.
pub(super) fn lower_bound_by<T>(items: &[T], is_behind: impl Fn(&T) -> bool) -> usize {
    let mut from = 0;
    let mut to = items.len();
    while from < to {
        let middle = from + (to - from) / 2;
        match items.get(middle) {
            Some(item) if is_behind(item) => to = middle,
            _ => from = middle + 1,
        }
    }
    from
}

/// A key of two maps with the value from the left and from the right map, of which at least one is `Some`.
pub type Joined<'a, K, V> = (&'a K, Option<&'a V>, Option<&'a V>);

/// The iterator returned by [`SortedMap::join`](super::SortedMap::join).
pub struct Join<'a, K, V> {
    left: Peekable<Iter<'a, K, V>>,
    right: Peekable<Iter<'a, K, V>>,
}

pub(super) fn joined<'a, K, V>(left: Iter<'a, K, V>, right: Iter<'a, K, V>) -> Join<'a, K, V> {
    Join {
        left: left.peekable(),
        right: right.peekable(),
    }
}

impl<'a, K: Ord, V> Iterator for Join<'a, K, V> {
    type Item = Joined<'a, K, V>;

    fn next(&mut self) -> Option<Self::Item> {
        let order = match (self.left.peek(), self.right.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((a, _)), Some((b, _))) => a.cmp(b),
        };
        let left = if order.is_le() {
            self.left.next()
        } else {
            None
        };
        let right = if order.is_ge() {
            self.right.next()
        } else {
            None
        };
        let key = left.or(right)?.0;

        Some((key, left.map(|e| e.1), right.map(|e| e.1)))
    }
}
