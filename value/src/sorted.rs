//! A persistent sorted map that is small when it holds little.
//!
//! A Kubernetes object is hundreds of tiny maps and a few large ones, and a node of a persistent tree is
//! dear for a tiny map. So a [`SortedMap`] is one shared sorted slice up to [`SMALL`] entries and a
//! persistent B-tree above; the change of representation cannot be seen from outside. Field sets are
//! built on the same map.
//!
//! ```
//! use fieldmanager_value::sorted::SortedMap;
//!
//! let mut map: SortedMap<&str, i32> = [("b", 2), ("a", 1)].into_iter().collect();
//! let before = map.clone();                       // O(1)
//! map.insert("c", 3);
//! assert_eq!(map.iter().map(|(k, _)| *k).collect::<Vec<_>>(), ["a", "b", "c"]);
//! assert_eq!(before.len(), 2);
//! ```

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::iter::Peekable;

use im::OrdMap;
use im::ordmap::DiffItem;
use triomphe::ThinArc;

/// The number of entries up to which a map is one sorted slice.
///
/// Chosen by measurement: an edit of a slice copies it, which at this size costs about what an edit of a
/// B-tree does, while reading and memory stay several times cheaper.
///
/// ```
/// use fieldmanager_value::sorted::{SMALL, SortedMap};
/// let map = |n: usize| (0..n).map(|i| (i, i)).collect::<SortedMap<usize, usize>>();
/// assert!(map(SMALL).as_slice().is_some());
/// assert!(map(SMALL + 1).as_slice().is_none());
/// ```
pub const SMALL: usize = 48;

/// A slice of entries; `tree` is set, and the slice empty, when the map is large.
type Node<K, V> = ThinArc<Option<Box<OrdMap<K, V>>>, (K, V)>;

/// A persistent map in key order.
///
/// Invariant: the slice is sorted and free of duplicates; a tree holds more than [`SMALL`] entries; the
/// empty map has no node at all.
///
/// ```
/// use fieldmanager_value::sorted::SortedMap;
/// let mut map = SortedMap::single("b", 1);
/// assert_eq!(map.insert("a", 2), None);
/// assert_eq!(map.get("b"), Some(&1));
/// assert_eq!(map.remove("b"), Some(1));
/// assert_eq!((map.len(), map.contains_key("a")), (1, true));
/// ```
pub struct SortedMap<K, V>(Option<Node<K, V>>);

enum Repr<'a, K, V> {
    Slice(&'a [(K, V)]),
    Tree(&'a OrdMap<K, V>),
}

impl<K, V> Clone for SortedMap<K, V> {
    fn clone(&self) -> Self {
        SortedMap(self.0.clone())
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        SortedMap::new()
    }
}

impl<K, V> SortedMap<K, V> {
    /// The empty map. It allocates nothing.
    pub const fn new() -> Self {
        SortedMap(None)
    }

    /// Whether both are the same allocation, and therefore equal.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// let map = SortedMap::single("a", 1);
    /// assert!(map.ptr_eq(&map.clone()));
    /// assert!(map == SortedMap::single("a", 1) && !map.ptr_eq(&SortedMap::single("a", 1)));
    /// ```
    pub fn ptr_eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => std::ptr::eq(a.as_ptr(), b.as_ptr()),
            _ => false,
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn repr(&self) -> Repr<'_, K, V> {
        match &self.0 {
            None => Repr::Slice(&[]),
            Some(node) => match &node.header.header {
                Some(tree) => Repr::Tree(tree),
                None => Repr::Slice(&node.slice),
            },
        }
    }

    /// The entries as a slice, where the map is small.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// assert_eq!(SortedMap::single("a", 1).as_slice(), Some(&[("a", 1)][..]));
    /// ```
    pub fn as_slice(&self) -> Option<&[(K, V)]> {
        match self.repr() {
            Repr::Slice(entries) => Some(entries),
            Repr::Tree(_) => None,
        }
    }
}

impl<K: Ord + Clone, V: Clone> SortedMap<K, V> {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        match self.repr() {
            Repr::Slice(entries) => entries.len(),
            Repr::Tree(tree) => tree.len(),
        }
    }

    /// The map of the given entries, which must be sorted by key and free of duplicates.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// let map = SortedMap::from_sorted(vec![("a", 1), ("b", 2)]);
    /// assert_eq!(map.get("b"), Some(&2));
    /// ```
    pub fn from_sorted(entries: Vec<(K, V)>) -> Self {
        debug_assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
        Self::from_sorted_iter(entries.into_iter())
    }

    /// The map of the entries that an iterator gives, which must be sorted by key and free of duplicates.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// let mut entries = vec![("x", 0), ("a", 1), ("b", 2)];
    /// let map = SortedMap::from_sorted_iter(entries.drain(1..));
    /// assert_eq!((map.len(), entries.len()), (2, 1));
    /// ```
    pub fn from_sorted_iter(entries: impl ExactSizeIterator<Item = (K, V)>) -> Self {
        if entries.len() == 0 {
            SortedMap(None)
        } else if entries.len() <= SMALL {
            SortedMap(Some(ThinArc::from_header_and_iter(None, entries)))
        } else {
            Self::from_tree(entries.collect())
        }
    }

    /// The map of one entry.
    pub fn single(key: K, value: V) -> Self {
        SortedMap(Some(ThinArc::from_header_and_iter(None, [(key, value)].into_iter())))
    }

    /// The map of the given entries in any order; of entries with one key, the last is kept.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// let map = SortedMap::from_unsorted(vec![("b", 1), ("a", 2), ("b", 3)]);
    /// assert_eq!(map.as_slice(), Some(&[("a", 2), ("b", 3)][..]));
    /// ```
    pub fn from_unsorted(mut entries: Vec<(K, V)>) -> Self {
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            // A stable sort keeps the order of duplicates, of which the last must stay.
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.reverse();
            entries.dedup_by(|a, b| a.0 == b.0);
            entries.reverse();
        }
        Self::from_sorted(entries)
    }

    fn from_tree(tree: OrdMap<K, V>) -> Self {
        if tree.len() <= SMALL {
            Self::from_sorted(tree.into_iter().collect())
        } else {
            SortedMap(Some(ThinArc::from_header_and_iter(Some(Box::new(tree)), std::iter::empty::<(K, V)>())))
        }
    }

    /// The value at a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    /// The entry at a key.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// let map = SortedMap::single(String::from("a"), 1);
    /// assert_eq!(map.get_key_value("a"), Some((&String::from("a"), &1)));
    /// ```
    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        match self.repr() {
            Repr::Slice(entries) => {
                let at = entries.binary_search_by(|entry| entry.0.borrow().cmp(key)).ok()?;
                entries.get(at).map(|(k, v)| (k, v))
            }
            Repr::Tree(tree) => tree.get_key_value(key),
        }
    }

    /// A way to look up keys that come in ascending order, at the cost of one walk of the map.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// let map: SortedMap<&str, i32> = [("a", 1), ("c", 3)].into_iter().collect();
    /// let mut seek = map.seek();
    /// assert_eq!(["a", "b", "c"].map(|key| seek.get(key).map(|(_, v)| *v)), [Some(1), None, Some(3)]);
    /// ```
    pub fn seek(&self) -> Seek<'_, K, V> {
        Seek(match self.repr() {
            Repr::Slice(entries) => SeekRepr::Slice(entries),
            Repr::Tree(tree) => SeekRepr::Tree(tree),
        })
    }

    /// Whether there is an entry at a key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).is_some()
    }

    /// The entries in key order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(match self.repr() {
            Repr::Slice(entries) => IterRepr::Slice(entries.iter()),
            Repr::Tree(tree) => IterRepr::Tree(Box::new(tree.iter())),
        })
    }

    /// Puts a value at a key and returns the one that was there.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.repr() {
            Repr::Tree(tree) => {
                let mut tree = tree.clone();
                let old = tree.insert(key, value);
                *self = Self::from_tree(tree);
                old
            }
            Repr::Slice(entries) => {
                let mut copy = Vec::with_capacity(entries.len() + 1);
                match entries.binary_search_by(|entry| entry.0.cmp(&key)) {
                    Ok(at) => {
                        let (before, rest) = entries.split_at(at);
                        let old = rest.first().map(|entry| entry.1.clone());
                        copy.extend_from_slice(before);
                        copy.push((key, value));
                        copy.extend_from_slice(rest.get(1..).unwrap_or_default());
                        *self = Self::from_sorted(copy);
                        old
                    }
                    Err(at) => {
                        let (before, rest) = entries.split_at(at);
                        copy.extend_from_slice(before);
                        copy.push((key, value));
                        copy.extend_from_slice(rest);
                        *self = Self::from_sorted(copy);
                        None
                    }
                }
            }
        }
    }

    /// Removes the entry at a key and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        match self.repr() {
            Repr::Tree(tree) => {
                let mut tree = tree.clone();
                let old = tree.remove(key)?;
                *self = Self::from_tree(tree);
                Some(old)
            }
            Repr::Slice(entries) => {
                let at = entries.binary_search_by(|entry| entry.0.borrow().cmp(key)).ok()?;
                let (before, rest) = entries.split_at(at);
                let (removed, after) = rest.split_first()?;
                let old = removed.1.clone();
                let copy = before.iter().chain(after).cloned().collect();
                *self = Self::from_sorted(copy);
                Some(old)
            }
        }
    }

    /// The map with each of the given keys set to its value, or removed where that is none.
    ///
    /// The keys must be sorted and free of duplicates. Without any the result is this very map.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// let map = SortedMap::from_sorted(vec![("a", 1), ("b", 2)]);
    /// let edited = map.with_edits(vec![("a", None), ("c", Some(3))]);
    /// assert_eq!(edited.as_slice(), Some(&[("b", 2), ("c", 3)][..]));
    /// assert!(map.with_edits(Vec::new()).ptr_eq(&map));
    /// ```
    #[must_use]
    pub fn with_edits(&self, edits: Vec<(K, Option<V>)>) -> Self {
        debug_assert!(edits.is_sorted_by(|a, b| a.0 < b.0));
        if edits.is_empty() {
            return self.clone();
        }
        match self.repr() {
            Repr::Tree(tree) if edits.len() < tree.len() / 4 => {
                let mut tree = tree.clone();
                for (key, value) in edits {
                    match value {
                        Some(value) => tree.insert(key, value),
                        None => tree.remove(&key),
                    };
                }
                Self::from_tree(tree)
            }
            _ => {
                let mut entries = Vec::with_capacity(self.len() + edits.len());
                let mut old = self.iter().peekable();
                for (key, value) in edits {
                    while let Some((k, v)) = old.next_if(|(k, _)| **k < key) {
                        entries.push((k.clone(), v.clone()));
                    }
                    old.next_if(|(k, _)| **k == key);
                    if let Some(value) = value {
                        entries.push((key, value));
                    }
                }
                entries.extend(old.map(|(k, v)| (k.clone(), v.clone())));
                Self::from_sorted(entries)
            }
        }
    }

    /// The entries of both maps in key order, those with one key together.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// let (old, new) = (SortedMap::single("a", 1), SortedMap::single("b", 2));
    /// let joined: Vec<_> = old.join(&new).collect();
    /// assert_eq!(joined, [(&"a", Some(&1), None), (&"b", None, Some(&2))]);
    /// ```
    pub fn join<'a>(&'a self, other: &'a Self) -> Join<'a, K, V> {
        Join { left: self.iter().peekable(), right: other.iter().peekable() }
    }

    /// The entries of both maps in key order, where two large maps leave out entries that are equal.
    ///
    /// Parts of two large maps that are shared are skipped without being looked at, so that the cost is
    /// what differs. Small maps are joined plainly: their equal entries are yielded too.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// let old: SortedMap<i32, i32> = (0..1000).map(|i| (i, i)).collect();
    /// let mut new = old.clone();
    /// new.insert(7, 70);
    /// assert_eq!(old.differences(&new).collect::<Vec<_>>(), [(&7, Some(&7), Some(&70))]);
    /// ```
    pub fn differences<'a>(&'a self, other: &'a Self) -> Differences<'a, K, V>
    where
        V: PartialEq,
    {
        if self.ptr_eq(other) {
            return Differences(DifferencesRepr::None);
        }
        match (self.repr(), other.repr()) {
            (Repr::Tree(a), Repr::Tree(b)) => Differences(DifferencesRepr::Trees(a.diff(b))),
            _ => Differences(DifferencesRepr::Join(self.join(other))),
        }
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self::from_unsorted(entries.into_iter().collect())
    }
}

impl<K: Ord + Clone, V: Clone + PartialEq> PartialEq for SortedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other)
            || (self.len() == other.len()
                && match (self.repr(), other.repr()) {
                    (Repr::Tree(a), Repr::Tree(b)) => a.diff(b).next().is_none(),
                    _ => self.iter().zip(other.iter()).all(|(a, b)| a.0 == b.0 && a.1 == b.1),
                })
    }
}

impl<K: Ord + Clone, V: Clone + Eq> Eq for SortedMap<K, V> {}

/// The entries of a [`SortedMap`] in key order.
///
/// ```
/// use fieldmanager_value::sorted::SortedMap;
/// let map = SortedMap::from_unsorted(vec![("b", 1), ("a", 2)]);
/// assert_eq!(map.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["a", "b"]);
/// ```
pub struct Iter<'a, K, V>(IterRepr<'a, K, V>);

enum IterRepr<'a, K, V> {
    Slice(std::slice::Iter<'a, (K, V)>),
    /// Not in place: most maps are small, and an iterator is moved before it is used.
    Tree(Box<im::ordmap::Iter<'a, K, V, im::shared_ptr::DefaultSharedPtr>>),
}

impl<'a, K: Ord, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            IterRepr::Slice(entries) => entries.next().map(|(k, v)| (k, v)),
            IterRepr::Tree(entries) => entries.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            IterRepr::Slice(entries) => entries.size_hint(),
            IterRepr::Tree(entries) => entries.size_hint(),
        }
    }
}

/// Looks up keys that come in ascending order; made by [`SortedMap::seek`].
pub struct Seek<'a, K, V>(SeekRepr<'a, K, V>);

enum SeekRepr<'a, K, V> {
    /// What has not been passed yet.
    Slice(&'a [(K, V)]),
    Tree(&'a OrdMap<K, V>),
}

/// How many entries are passed one by one before the rest is searched: two maps that are walked together
/// mostly have the same keys.
const STEPS: usize = 4;

impl<'a, K: Ord, V> Seek<'a, K, V> {
    /// The entry at a key, which must not be less than the one asked for before.
    pub fn get<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(&'a K, &'a V)>
    where
        K: Borrow<Q>,
    {
        let rest = match &mut self.0 {
            SeekRepr::Tree(tree) => return tree.get_key_value(key),
            SeekRepr::Slice(rest) => rest,
        };
        for _ in 0..STEPS {
            let ((k, v), after) = rest.split_first()?;
            match k.borrow().cmp(key) {
                Ordering::Greater => return None,
                Ordering::Less => *rest = after,
                Ordering::Equal => {
                    *rest = after;
                    return Some((k, v));
                }
            }
        }
        let at = rest.partition_point(|(k, _)| k.borrow() < key);
        *rest = rest.get(at..).unwrap_or_default();
        let ((k, v), after) = rest.split_first()?;
        if k.borrow() != key {
            return None;
        }
        *rest = after;
        Some((k, v))
    }
}

/// One key of two maps: the value in the left one and the one in the right one, at least one of them there.
pub type Joined<'a, K, V> = (&'a K, Option<&'a V>, Option<&'a V>);

/// The iterator of [`SortedMap::join`].
pub struct Join<'a, K: Ord, V> {
    left: Peekable<Iter<'a, K, V>>,
    right: Peekable<Iter<'a, K, V>>,
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
        let left = if order.is_le() { self.left.next() } else { None };
        let right = if order.is_ge() { self.right.next() } else { None };
        let key = left.or(right)?.0;
        Some((key, left.map(|e| e.1), right.map(|e| e.1)))
    }
}

/// The iterator of [`SortedMap::differences`].
pub struct Differences<'a, K: Ord, V: PartialEq>(DifferencesRepr<'a, K, V>);

enum DifferencesRepr<'a, K: Ord, V: PartialEq> {
    None,
    Join(Join<'a, K, V>),
    Trees(im::ordmap::DiffIter<'a, 'a, K, V, im::shared_ptr::DefaultSharedPtr>),
}

impl<'a, K: Ord, V: PartialEq> Iterator for Differences<'a, K, V> {
    type Item = Joined<'a, K, V>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            DifferencesRepr::None => None,
            DifferencesRepr::Join(join) => join.next(),
            DifferencesRepr::Trees(diff) => Some(match diff.next()? {
                DiffItem::Add(k, v) => (k, None, Some(v)),
                DiffItem::Remove(k, v) => (k, Some(v), None),
                DiffItem::Update { old, new } => (old.0, Some(old.1), Some(new.1)),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn check(map: &SortedMap<u8, u8>, model: &BTreeMap<u8, u8>) {
        assert_eq!(map.len(), model.len());
        assert_eq!(map.is_empty(), model.is_empty());
        assert!(map.iter().eq(model.iter()));
        assert_eq!(map.as_slice().is_some(), model.len() <= SMALL);
    }

    proptest! {
        #[test]
        fn edits_follow_a_standard_map(
            start in prop::collection::vec((any::<u8>(), any::<u8>()), 0..120),
            edits in prop::collection::vec((any::<u8>(), prop::option::of(any::<u8>())), 0..120),
        ) {
            let mut model: BTreeMap<u8, u8> = start.iter().copied().collect();
            let mut map: SortedMap<u8, u8> = start.into_iter().collect();
            check(&map, &model);
            let batch: BTreeMap<u8, Option<u8>> = edits.iter().copied().collect();
            let edited = map.with_edits(batch.into_iter().collect());
            for (key, value) in edits {
                match value {
                    Some(value) => prop_assert_eq!(map.insert(key, value), model.insert(key, value)),
                    None => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                }
                check(&map, &model);
            }
            prop_assert!(edited == map);
        }

        #[test]
        fn differences_are_what_the_join_says(
            common in prop::collection::vec((any::<u8>(), any::<u8>()), 0..150),
            edits in prop::collection::vec((any::<u8>(), prop::option::of(any::<u8>())), 0..10),
        ) {
            let a: SortedMap<u8, u8> = common.into_iter().collect();
            let mut b = a.clone();
            for (key, value) in edits {
                match value {
                    Some(value) => { b.insert(key, value); }
                    None => { b.remove(&key); }
                }
            }
            let joined: Vec<_> = a.join(&b).filter(|(_, l, r)| l != r).collect();
            let different: Vec<_> = a.differences(&b).filter(|(_, l, r)| l != r).collect();
            prop_assert_eq!(joined, different);
        }
    }
}
