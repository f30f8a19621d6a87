//! A persistent sorted map that is compact while it is small.
//!
//! A Kubernetes object has hundreds of small maps and a few large ones, and a node of a persistent tree is expensive
//! for a small map. A [`SortedMap`] therefore starts as one shared sorted slice. Editing a small map copies the slice.
//! The first edit of a larger map converts it to a persistent tree, which is kept with the map, so every map derived
//! from it shares the tree. Field sets use the same type.
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
use crate::Str;

/// The maximum number of entries of a map whose slice is copied by an edit.
///
/// Measured: at this size a copy costs about as much as an edit of a tree, while reading and memory are several times
/// cheaper.
const SMALL: usize = 48;

/// A slice of entries. A map of more than [`SMALL`] entries also has a cell for its tree, which the first edit fills; a
/// map derived by editing a tree has only the tree and an empty slice.
type EntrySlice<K, V> = ThinArc<Option<Box<EntryTree<K, V>>>, (K, V)>;

type EntryTree<K, V> = OnceLock<OrdMap<K, V>>;

/// A persistent map sorted by key.
///
/// Invariants: the slice is sorted, without duplicates; a map without a slice has a tree of more than `SMALL` entries;
/// the empty map has no node.
///
/// ```
/// use fieldmanager_value::internal::sorted::SortedMap;
/// let mut map = SortedMap::single("b", 1);
/// assert_eq!(map.insert("a", 2), None);
/// assert_eq!(map.get("b"), Some(&1));
/// assert_eq!(map.remove("b"), Some(1));
/// assert_eq!((map.len(), map.contains_key("a")), (1, true));
/// ```
pub struct SortedMap<K, V>(Option<EntrySlice<K, V>>);

enum MapForm<'a, K, V> {
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
    /// Creates an empty map, without allocating.
    pub const fn new() -> Self {
        SortedMap(None)
    }

    /// Whether both maps are the same allocation, which implies that they are equal.
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

    /// Whether no other map shares the allocation.
    pub(crate) fn is_unique(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|node| ThinArc::strong_count(node) == 1)
    }

    /// Whether the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    #[inline]
    fn repr(&self) -> MapForm<'_, K, V> {
        match &self.0 {
            None => MapForm::Slice(&[]),
            Some(node) => match (&node.slice, self.tree()) {
                ([], Some(tree)) => MapForm::Tree(tree),
                (entries, _) => MapForm::Slice(entries),
            },
        }
    }

    /// The tree, if it has been built.
    fn tree(&self) -> Option<&OrdMap<K, V>> {
        self.0.as_ref()?.header.header.as_ref()?.get()
    }

    /// The entries as a slice, or `None` if the map was derived from a large one by an edit.
    ///
    /// ```
    /// use fieldmanager_value::internal::sorted::SortedMap;
    /// assert_eq!(SortedMap::single("a", 1).as_slice(), Some(&[("a", 1)][..]));
    /// ```
    #[inline]
    pub fn as_slice(&self) -> Option<&[(K, V)]> {
        match self.repr() {
            MapForm::Slice(entries) => Some(entries),
            MapForm::Tree(_) => None,
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        match self.repr() {
            MapForm::Slice(entries) => entries.len(),
            MapForm::Tree(tree) => tree.len(),
        }
    }
}

impl<K: Ord + Clone, V: Clone> SortedMap<K, V> {
    /// The entry with the smallest key.
    ///
    /// ```
    /// use fieldmanager_value::internal::sorted::SortedMap;
    /// let map: SortedMap<i32, &str> = [(2, "b"), (1, "a")].into_iter().collect();
    /// assert_eq!(map.first(), Some((&1, &"a")));
    /// assert_eq!(SortedMap::<i32, i32>::new().first(), None);
    /// ```
    pub fn first(&self) -> Option<(&K, &V)> {
        let entry = match self.repr() {
            MapForm::Slice(entries) => entries.first(),
            MapForm::Tree(tree) => tree.get_min(),
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
            MapForm::Slice(entries) => entries.last(),
            MapForm::Tree(tree) => tree.get_max(),
        };
        entry.map(|(key, value)| (key, value))
    }

    /// Creates a map from entries that are sorted by key, without duplicates.
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

    /// Creates a map from an iterator over entries that are sorted by key, without duplicates.
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
        // Pass the iterator by reference: it is several words long, and moving it right after its construction stalls.
        SortedMap(Some(ThinArc::from_header_and_iter(tree, &mut entries)))
    }

    /// Creates a map with one entry.
    pub fn single(key: K, value: V) -> Self {
        SortedMap(Some(ThinArc::from_header_and_iter(
            None,
            [(key, value)].into_iter(),
        )))
    }

    /// Creates a map from entries in any order. The last entry with a given key wins.
    ///
    /// ```
    /// use fieldmanager_value::internal::sorted::SortedMap;
    /// let map = SortedMap::from_unsorted(vec![("b", 1), ("a", 2), ("b", 3)]);
    /// assert_eq!(map.as_slice(), Some(&[("a", 2), ("b", 3)][..]));
    /// ```
    pub fn from_unsorted(mut entries: Vec<(K, V)>) -> Self {
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            // A stable sort keeps the order of duplicates, the last of which wins.
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.reverse();
            entries.dedup_by(|a, b| a.0 == b.0);
            entries.reverse();
        }
        Self::from_sorted(entries)
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    /// The entry with a key.
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
            MapForm::Slice(entries) => {
                let at = entries
                    .binary_search_by(|entry| entry.0.borrow().cmp(key))
                    .ok()?;
                entries.get(at).map(|(k, v)| (k, v))
            }
            MapForm::Tree(tree) => tree.get_key_value(key),
        }
    }

    /// Returns a cursor for looking up ascending keys in a single walk of the map.
    ///
    /// ```
    /// use fieldmanager_value::internal::sorted::SortedMap;
    /// let map: SortedMap<&str, i32> = [("a", 1), ("c", 3)].into_iter().collect();
    /// let mut seek = map.seek();
    /// assert_eq!(["a", "b", "c"].map(|key| seek.get(key).map(|(_, v)| *v)), [Some(1), None, Some(3)]);
    /// ```
    pub fn seek(&self) -> Seek<'_, K, V> {
        match self.repr() {
            MapForm::Slice(entries) => Seek::of_slice(entries),
            MapForm::Tree(tree) => Seek::of_tree(tree),
        }
    }

    /// Whether the map has an entry with a key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).is_some()
    }

    /// Iterates over the entries in key order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        match self.repr() {
            MapForm::Slice(entries) => Iter::of_slice(entries),
            MapForm::Tree(tree) => Iter::of_tree(tree),
        }
    }

    /// Sets the value of a key and returns the old one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if self.is_empty() {
            *self = SortedMap::single(key, value);
            return None;
        }
        let old = self.get(&key).cloned();
        *self = self.with_edits(vec![(key, Some(value))]);
        old
    }

    /// Removes the entry with a key and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (key, old) = self
            .get_key_value(key)
            .map(|(key, old)| (key.clone(), old.clone()))?;
        *self = self.with_edits(vec![(key, None)]);
        Some(old)
    }

    /// Returns the map with each given key set to its value, or removed if the value is `None`.
    ///
    /// The keys must be sorted, without duplicates. Without edits, the result shares the allocation of this map.
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
        let large = self
            .0
            .as_ref()
            .and_then(|node| Some((node, node.header.header.as_ref()?)));

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
                // Removing an absent key would copy the nodes on the path to it.
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

        SortedMap(Some(ThinArc::from_header_and_iter(
            tree,
            std::iter::empty(),
        )))
    }

    fn with_slice_edits(&self, edits: Vec<(K, Option<V>)>) -> Self {
        let mut rest = self.as_slice().unwrap_or_default();
        let mut entries = Vec::with_capacity(rest.len() + edits.len());
        for (key, value) in edits {
            // Adjacent entries are often edited together.
            let at = match rest.first() {
                Some((known, _)) if *known < key => {
                    lower_bound_by(rest, |(known, _)| *known >= key)
                }
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

    /// Iterates over the union of the keys of both maps in order, with the value from each map.
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

    /// Like [`join`](Self::join), but may omit equal entries.
    ///
    /// For two large maps with a common origin, this skips shared nodes, so the cost is proportional to the
    /// differences. Other maps are joined, and their equal entries are yielded too.
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

/// The most entries among which a name is searched one by one.
const FEW: usize = 24;

impl<V: Clone> SortedMap<Str, V> {
    /// The entry with a name.
    ///
    /// ```
    /// use fieldmanager_value::Str;
    /// use fieldmanager_value::internal::sorted::SortedMap;
    /// let map = SortedMap::single(Str::from("a"), 1);
    /// assert_eq!(map.get_named("a"), Some((&Str::from("a"), &1)));
    /// assert_eq!(map.get_named("b"), None);
    /// ```
    pub fn get_named(&self, name: &str) -> Option<(&Str, &V)> {
        match self.as_slice() {
            // Most names of few fields differ in their length, which is compared sooner than an order.
            Some(entries) if entries.len() <= FEW => entries
                .iter()
                .find(|(known, _)| known.as_str() == name)
                .map(|(known, value)| (known, value)),
            _ => self.get_key_value(name),
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
