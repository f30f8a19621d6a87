//! A persistent sorted map that is small when it holds little.
//!
//! A Kubernetes object is hundreds of tiny maps and a few large ones, and a node of a persistent tree is
//! dear for a tiny map. So a [`SortedMap`] is one shared sorted slice up to [`SMALL`] entries and a
//! persistent B+tree above; the change of representation cannot be seen from outside. Field sets are
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

mod differences;
#[cfg(test)]
mod tests;
mod walk;

use std::borrow::Borrow;

use triomphe::{Arc, ThinArc};

pub use self::differences::Differences;
pub use self::walk::{Iter, Join, Joined, Seek};
use crate::tree::{self, LEAF, first_that};

/// The number of entries up to which a map is one sorted slice.
///
/// Chosen by measurement: an edit of a slice copies it, which at this size costs about what an edit of a
/// tree does, while reading and memory stay several times cheaper.
///
/// ```
/// use fieldmanager_value::sorted::{SMALL, SortedMap};
/// let map = |n: usize| (0..n).map(|i| (i, i)).collect::<SortedMap<usize, usize>>();
/// assert!(map(SMALL).as_slice().is_some());
/// assert!(map(SMALL + 1).as_slice().is_none());
/// ```
pub const SMALL: usize = 48;

/// What fits into a leaf is no tree.
const _: () = assert!(LEAF <= SMALL);

/// A slice of entries; the tree is set, and the slice empty, when the map is large.
type Node<K, V> = ThinArc<Option<Tree<K, V>>, (K, V)>;

/// The root of a tree.
type Tree<K, V> = tree::Inner<K, V>;

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
    Tree(&'a Tree<K, V>),
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

    /// The entry with the least key.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// let map: SortedMap<i32, &str> = [(2, "b"), (1, "a")].into_iter().collect();
    /// assert_eq!(map.first(), Some((&1, &"a")));
    /// assert_eq!(SortedMap::<i32, i32>::new().first(), None);
    /// ```
    pub fn first(&self) -> Option<(&K, &V)> {
        let entry = match self.repr() {
            Repr::Slice(entries) => entries.first(),
            Repr::Tree(tree) => tree.first(),
        };
        entry.map(|(key, value)| (key, value))
    }

    /// The entry with the greatest key.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// let map: SortedMap<i32, i32> = (0..1000).map(|i| (i, -i)).collect();
    /// assert_eq!(map.last(), Some((&999, &-999)));
    /// ```
    pub fn last(&self) -> Option<(&K, &V)> {
        let entry = match self.repr() {
            Repr::Slice(entries) => entries.last(),
            Repr::Tree(tree) => tree.last(),
        };
        entry.map(|(key, value)| (key, value))
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
    #[inline]
    pub fn from_sorted_iter(mut entries: impl ExactSizeIterator<Item = (K, V)>) -> Self {
        if entries.len() == 0 {
            SortedMap(None)
        } else if entries.len() <= SMALL {
            // An iterator is of several words; just made and then moved, these would be waited for.
            SortedMap(Some(ThinArc::from_header_and_iter(None, &mut entries)))
        } else {
            Self::from_tree(Tree::from_sorted_iter(entries))
        }
    }

    /// The map of one entry.
    pub fn single(key: K, value: V) -> Self {
        SortedMap(Some(ThinArc::from_header_and_iter(None, [(key, value)].into_iter())))
    }

    /// The map of one entry, which is made where it goes, and whose value is completed there.
    ///
    /// ```
    /// use fieldmanager_value::sorted::SortedMap;
    /// let map = SortedMap::single_then(|| ("a", String::new()), |text| text.push('x'));
    /// assert_eq!(map.get("a").map(String::as_str), Some("x"));
    /// ```
    #[inline(always)]
    pub fn single_then(entry: impl FnOnce() -> (K, V), complete: impl FnOnce(&mut V)) -> Self {
        let mut node: Node<K, V> = ThinArc::from_header_and_iter(None, &mut std::iter::once_with(entry));
        node.with_arc_mut(|node| {
            if let Some([(_, value)]) = Arc::get_mut(node).map(|node| node.slice_mut()) {
                complete(value);
            }
        });
        SortedMap(Some(node))
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

    /// The map of a tree, which holds more than [`SMALL`] entries.
    fn from_tree(tree: Option<Tree<K, V>>) -> Self {
        SortedMap(tree.map(|tree| ThinArc::from_header_and_iter(Some(tree), std::iter::empty::<(K, V)>())))
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
            Repr::Tree(tree) => tree.get(key).map(|(k, v)| (k, v)),
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
        match self.repr() {
            Repr::Slice(entries) => Seek::of_slice(entries),
            Repr::Tree(tree) => Seek::of_tree(tree),
        }
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
        match self.repr() {
            Repr::Slice(entries) => Iter::of_slice(entries),
            Repr::Tree(tree) => Iter::of_tree(tree),
        }
    }

    /// Puts a value at a key and returns the one that was there.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.repr() {
            Repr::Tree(tree) => {
                let old = tree.get(&key).map(|entry| entry.1.clone());
                *self = self.with_edits(vec![(key, Some(value))]);
                old
            }
            Repr::Slice([]) => {
                *self = Self::single(key, value);
                None
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
                let (key, old) = tree.get(key)?.clone();
                *self = self.with_edits(vec![(key, None)]);
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
        let entries = match self.repr() {
            Repr::Tree(tree) => match tree.with_edits(edits) {
                Some(tree::Node::Inner(edited)) if edited.ptr_eq(tree) => return self.clone(),
                Some(tree::Node::Inner(edited)) if edited.len() > SMALL => {
                    return Self::from_tree(Some(edited));
                }
                // What is left of the tree is little.
                Some(node) => Iter::of_node(&node).map(|(k, v)| (k.clone(), v.clone())).collect(),
                None => Vec::new(),
            },
            Repr::Slice(mut rest) => {
                let mut entries = Vec::with_capacity(rest.len() + edits.len());
                for (key, value) in edits {
                    // Edits are often of one entry after the other.
                    let at = match rest.first() {
                        Some((known, _)) if *known < key => first_that(rest, |(known, _)| *known >= key),
                        _ => 0,
                    };
                    let (before, after) = rest.split_at(at);
                    entries.extend_from_slice(before);
                    rest = after;
                    if let Some((_, behind)) = after.split_first().filter(|(old, _)| old.0 == key) {
                        rest = behind;
                    }
                    entries.extend(value.map(|value| (key, value)));
                }
                entries.extend_from_slice(rest);
                entries
            }
        };
        Self::from_sorted(entries)
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
        Join::of(self.iter(), other.iter())
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
        match (self.repr(), other.repr()) {
            _ if self.ptr_eq(other) => Differences::none(),
            (Repr::Tree(a), Repr::Tree(b)) => Differences::of_trees(a, b),
            _ => Differences::of_join(self.join(other)),
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
                    (Repr::Slice(a), Repr::Slice(b)) => a == b,
                    _ => self.differences(other).next().is_none(),
                })
    }
}

impl<K: Ord + Clone, V: Clone + Eq> Eq for SortedMap<K, V> {}
