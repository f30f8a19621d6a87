//! A persistent sorted map that is small when it holds little.
//!
//! A Kubernetes object has hundreds of small maps and a few large ones, and a node of a persistent tree is expensive
//! for a small map. So a [`SortedMap`] that was made at once is one shared sorted slice. An edit copies the
//! slice of a small map. The first edit of a larger one makes a persistent tree of it, which stays with the map,
//! so that all maps that are made from it share the tree. Field sets use the same map.
//!
//! ```
//! use fieldmanager_value::internal::sorted::SortedMap;
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
use std::sync::OnceLock;

use im::OrdMap;
use triomphe::ThinArc;

pub use self::differences::Differences;
pub use self::walk::{Iter, Join, Joined, Seek};
use self::walk::{joined, lower_bound_by};

/// The number of entries up to which an edit copies the slice.
///
/// Chosen by measurement: at this size a copy costs about what an edit of a tree does, while reading and memory stay
/// several times cheaper.
const SMALL: usize = 48;

/// A slice of entries. A map of more than [`SMALL`] entries has a place for its tree, which is set when it is first
/// needed; a map that was made by editing a tree has the tree alone, and an empty slice.
type Node<K, V> = ThinArc<Option<Box<Tree<K, V>>>, (K, V)>;

type Tree<K, V> = OnceLock<OrdMap<K, V>>;

/// A persistent map in key order.
///
/// Invariant: the slice is sorted and free of duplicates; a map without a slice has a tree of more than `SMALL`
/// entries; the empty map has no node at all.
///
/// ```
/// use fieldmanager_value::internal::sorted::SortedMap;
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
    /// use fieldmanager_value::internal::sorted::SortedMap;
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

    /// Whether no other map is the same allocation.
    pub(crate) fn is_unique(&self) -> bool {
        self.0.as_ref().is_some_and(|node| ThinArc::strong_count(node) == 1)
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    #[inline]
    fn repr(&self) -> Repr<'_, K, V> {
        match &self.0 {
            None => Repr::Slice(&[]),
            Some(node) => match (&node.slice, self.tree()) {
                ([], Some(tree)) => Repr::Tree(tree),
                (entries, _) => Repr::Slice(entries),
            },
        }
    }

    /// The tree, if there is one already.
    fn tree(&self) -> Option<&OrdMap<K, V>> {
        self.0.as_ref()?.header.header.as_ref()?.get()
    }

    /// The entries as a slice, unless the map was made by editing a large one.
    ///
    /// ```
    /// use fieldmanager_value::internal::sorted::SortedMap;
    /// assert_eq!(SortedMap::single("a", 1).as_slice(), Some(&[("a", 1)][..]));
    /// ```
    #[inline]
    pub fn as_slice(&self) -> Option<&[(K, V)]> {
        match self.repr() {
            Repr::Slice(entries) => Some(entries),
            Repr::Tree(_) => None,
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        match self.repr() {
            Repr::Slice(entries) => entries.len(),
            Repr::Tree(tree) => tree.len(),
        }
    }
}

impl<K: Ord + Clone, V: Clone> SortedMap<K, V> {
    /// The entry with the least key.
    ///
    /// ```
    /// use fieldmanager_value::internal::sorted::SortedMap;
    /// let map: SortedMap<i32, &str> = [(2, "b"), (1, "a")].into_iter().collect();
    /// assert_eq!(map.first(), Some((&1, &"a")));
    /// assert_eq!(SortedMap::<i32, i32>::new().first(), None);
    /// ```
    pub fn first(&self) -> Option<(&K, &V)> {
        let entry = match self.repr() {
            Repr::Slice(entries) => entries.first(),
            Repr::Tree(tree) => tree.get_min(),
        };
        entry.map(|(key, value)| (key, value))
    }

    /// The entry with the greatest key.
    ///
    /// ```
    /// use fieldmanager_value::internal::sorted::SortedMap;
    /// let map: SortedMap<i32, i32> = (0..1000).map(|i| (i, -i)).collect();
    /// assert_eq!(map.last(), Some((&999, &-999)));
    /// ```
    pub fn last(&self) -> Option<(&K, &V)> {
        let entry = match self.repr() {
            Repr::Slice(entries) => entries.last(),
            Repr::Tree(tree) => tree.get_max(),
        };
        entry.map(|(key, value)| (key, value))
    }

    /// The map of the given entries, which must be sorted by key and free of duplicates.
    ///
    /// ```
    /// use fieldmanager_value::internal::sorted::SortedMap;
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
    /// use fieldmanager_value::internal::sorted::SortedMap;
    /// let mut entries = vec![("x", 0), ("a", 1), ("b", 2)];
    /// let map = SortedMap::from_sorted_iter(entries.drain(1..));
    /// assert_eq!((map.len(), entries.len()), (2, 1));
    /// ```
    #[inline]
    pub fn from_sorted_iter(mut entries: impl ExactSizeIterator<Item = (K, V)>) -> Self {
        let tree = match entries.len() {
            0 => return SortedMap(None),
            n => (n > SMALL).then(Box::default),
        };
        // An iterator is of several words; moving it right after it was made stalls.
        SortedMap(Some(ThinArc::from_header_and_iter(tree, &mut entries)))
    }

    /// The map of one entry.
    pub fn single(key: K, value: V) -> Self {
        SortedMap(Some(ThinArc::from_header_and_iter(None, [(key, value)].into_iter())))
    }

    /// The map of the given entries in any order; of entries with one key, the last is kept.
    ///
    /// ```
    /// use fieldmanager_value::internal::sorted::SortedMap;
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
    /// use fieldmanager_value::internal::sorted::SortedMap;
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
    /// use fieldmanager_value::internal::sorted::SortedMap;
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
        let old = self.get(&key).cloned();
        *self = self.with_edits(vec![(key, Some(value))]);
        old
    }

    /// Removes the entry at a key and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (key, old) = self.get_key_value(key).map(|(key, old)| (key.clone(), old.clone()))?;
        *self = self.with_edits(vec![(key, None)]);
        Some(old)
    }

    /// The map with each of the given keys set to its value, or removed where that is none.
    ///
    /// The keys must be sorted and free of duplicates. Without any the result is this very map.
    ///
    /// ```
    /// use fieldmanager_value::internal::sorted::SortedMap;
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
        let large = self.0.as_ref().and_then(|node| Some((node, node.header.header.as_ref()?)));
        match large {
            Some((node, tree)) => {
                let tree = tree.get_or_init(|| node.slice.iter().cloned().collect());
                self.with_tree_edits(tree.clone(), edits)
            }
            None => self.with_slice_edits(edits),
        }
    }

    fn with_tree_edits(&self, mut tree: OrdMap<K, V>, edits: Vec<(K, Option<V>)>) -> Self {
        let mut changed = false;
        for (key, value) in edits {
            match value {
                Some(value) => {
                    tree.insert(key, value);
                    changed = true;
                }
                // To remove what is not there would copy the nodes on the way to it.
                None if tree.contains_key(&key) => {
                    tree.remove(&key);
                    changed = true;
                }
                None => {}
            }
        }
        if !changed {
            return self.clone();
        }
        if tree.len() <= SMALL {
            return Self::from_sorted(tree.into_iter().collect());
        }
        let tree = Some(Box::new(OnceLock::from(tree)));
        SortedMap(Some(ThinArc::from_header_and_iter(tree, std::iter::empty())))
    }

    fn with_slice_edits(&self, edits: Vec<(K, Option<V>)>) -> Self {
        let mut rest = self.as_slice().unwrap_or_default();
        let mut entries = Vec::with_capacity(rest.len() + edits.len());
        for (key, value) in edits {
            // Edits are often of one entry after the other.
            let at = match rest.first() {
                Some((known, _)) if *known < key => lower_bound_by(rest, |(known, _)| *known >= key),
                _ => 0,
            };
            let (before, after) = rest.split_at(at);
            entries.extend_from_slice(before);
            rest = match after.split_first() {
                Some((old, behind)) if old.0 == key => behind,
                _ => after,
            };
            entries.extend(value.map(|value| (key, value)));
        }
        entries.extend_from_slice(rest);
        Self::from_sorted(entries)
    }

    /// The entries of both maps in key order, those with one key together.
    ///
    /// ```
    /// use fieldmanager_value::internal::sorted::SortedMap;
    /// let (old, new) = (SortedMap::single("a", 1), SortedMap::single("b", 2));
    /// let joined: Vec<_> = old.join(&new).collect();
    /// assert_eq!(joined, [(&"a", Some(&1), None), (&"b", None, Some(&2))]);
    /// ```
    pub fn join<'a>(&'a self, other: &'a Self) -> Join<'a, K, V> {
        joined(self.iter(), other.iter())
    }

    /// The entries of both maps in key order, where equal entries may be left out.
    ///
    /// Of two large maps that were made from each other, or both from a third, the nodes that they share are
    /// skipped, so that the cost is what differs. Other maps are joined: their equal entries are yielded too.
    ///
    /// ```
    /// use fieldmanager_value::internal::sorted::SortedMap;
    /// let old: SortedMap<i32, i32> = (0..1000).map(|i| (i, i)).collect();
    /// let mut new = old.clone();
    /// new.insert(7, 70);
    /// assert_eq!(old.differences(&new).collect::<Vec<_>>(), [(&7, Some(&7), Some(&70))]);
    /// ```
    pub fn differences<'a>(&'a self, other: &'a Self) -> Differences<'a, K, V>
    where
        V: PartialEq,
    {
        match (self.tree(), other.tree()) {
            _ if self.ptr_eq(other) => Differences::none(),
            (Some(a), Some(b)) => Differences::of_trees(a, b),
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
            || match (self.tree(), other.tree()) {
                (Some(a), Some(b)) => a == b,
                _ => match (self.as_slice(), other.as_slice()) {
                    (Some(a), Some(b)) => a == b,
                    _ => self.iter().eq(other.iter()),
                },
            }
    }
}

impl<K: Ord + Clone, V: Clone + Eq> Eq for SortedMap<K, V> {}
