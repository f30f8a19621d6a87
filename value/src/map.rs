//! Persistent maps from names to values.

use std::fmt;

use crate::sorted::{Differences, Iter, Join, Seek, SortedMap};
use crate::{Str, Value, deep};

/// A persistent map from names to values, sorted by name: cloning is O(1), and an edited copy shares its unchanged
/// entries.
///
/// ```
/// use fieldmanager_value::{Map, Value};
/// let mut labels = Map::new();
/// labels.insert("tier", "web");
/// labels.insert("app", "shop");
/// assert_eq!(labels.get("app"), Some(&Value::from("shop")));
/// assert_eq!(labels.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["app", "tier"]);
/// ```
#[derive(Clone, Default)]
pub struct Map(SortedMap<Str, Value>);

impl Drop for Map {
    fn drop(&mut self) {
        // Dropping a shared map only decrements its reference count.
        if self.0.is_unique() {
            deep::drop_level(std::mem::take(&mut self.0));
        }
    }
}

impl Map {
    /// Creates an empty map, without allocating.
    pub const fn new() -> Self {
        Map(SortedMap::new())
    }

    /// Creates a map with one entry.
    ///
    /// ```
    /// use fieldmanager_value::{Map, Value};
    /// let map = Map::single("app", "web");
    /// assert_eq!(Value::from(map).to_json(), r#"{"app":"web"}"#);
    /// ```
    #[doc(hidden)]
    pub fn single(name: impl Into<Str>, value: impl Into<Value>) -> Self {
        Map(SortedMap::single(name.into(), value.into()))
    }

    /// Whether both maps are the same allocation, which implies that they are equal.
    ///
    /// ```
    /// use fieldmanager_value::Map;
    /// let map = Map::single("app", "web");
    /// assert!(map.ptr_eq(&map.clone()));
    /// assert!(!map.ptr_eq(&Map::single("app", "web")));
    /// ```
    #[doc(hidden)]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// Creates a map from its entries; the last entry with a given name wins. `sorted` asserts that the names strictly
    /// ascend.
    #[inline]
    pub(crate) fn from_exact(
        entries: impl ExactSizeIterator<Item = (Str, Value)>,
        sorted: bool,
    ) -> Self {
        Map(if sorted {
            SortedMap::from_sorted_iter(entries)
        } else {
            SortedMap::from_unsorted(entries.collect())
        })
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.get_entry(name).map(|(_, value)| value)
    }

    /// The entry with a name: the shared name stored in the map, and the value.
    ///
    /// ```
    /// use fieldmanager_value::{Map, Value};
    /// let map = Map::single("app", "web");
    /// let (name, value) = map.get_entry("app").unwrap();
    /// assert_eq!((name.as_str(), value), ("app", &Value::from("web")));
    /// ```
    #[doc(hidden)]
    pub fn get_entry(&self, name: &str) -> Option<(&Str, &Value)> {
        self.0.get_named(name)
    }

    /// Whether the map has an entry with a name, even if its value is null.
    ///
    /// ```
    /// use fieldmanager_value::{Map, Value};
    /// let map = Map::single("app", Value::Null);
    /// assert!(map.contains("app") && !map.contains("tier"));
    /// ```
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Iterates over the entries, sorted bytewise by name.
    #[inline]
    pub fn iter(&self) -> Iter<'_, Str, Value> {
        self.0.iter()
    }

    /// Sets the value of a name and returns the old one.
    ///
    /// ```
    /// use fieldmanager_value::{Map, Value};
    /// let mut map = Map::single("replicas", 1);
    /// assert_eq!(map.insert("replicas", 2), Some(Value::from(1)));
    /// ```
    pub fn insert(&mut self, name: impl Into<Str>, value: impl Into<Value>) -> Option<Value> {
        self.0.insert(name.into(), value.into())
    }

    /// Removes the entry with a name and returns its value.
    ///
    /// ```
    /// use fieldmanager_value::{Map, Value};
    /// let mut map = Map::single("replicas", 1);
    /// assert_eq!(map.remove("replicas"), Some(Value::from(1)));
    /// assert!(map.is_empty());
    /// ```
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// Returns the map with each given name set to its value, or removed if the value is `None`. The names must be
    /// sorted, without duplicates.
    ///
    /// ```
    /// use fieldmanager_value::{Map, Value};
    /// let map = Map::from_iter([("a", 1), ("b", 2)]);
    /// let edited = map.with_edits(vec![("a".into(), None), ("c".into(), Some(Value::from(3)))]);
    /// assert_eq!(Value::from(edited).to_json(), r#"{"b":2,"c":3}"#);
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn with_edits(&self, edits: Vec<(Str, Option<Value>)>) -> Self {
        Map(self.0.with_edits(edits))
    }
}

/// Like [`join`], but may omit equal entries, so the cost is proportional to the differences.
///
/// ```
/// use fieldmanager_value::internal::differences;
/// use fieldmanager_value::{Map, Value};
/// let old = Map::from_iter((0..1000).map(|i| (format!("n{i}"), i)));
/// let mut new = old.clone();
/// new.insert("n7", "seven");
/// let changed: Vec<&str> = differences(&old, &new).map(|(name, _, _)| name.as_str()).collect();
/// assert_eq!(changed, ["n7"]);
/// ```
pub fn differences<'a>(map: &'a Map, other: &'a Map) -> Differences<'a, Str, Value> {
    map.0.differences(&other.0)
}

/// Iterates over the union of the names of both maps, with the value from each map.
///
/// ```
/// use fieldmanager_value::internal::join;
/// use fieldmanager_value::Map;
/// let (old, new) = (Map::from_iter([("a", 1), ("b", 2)]), Map::from_iter([("b", 2), ("c", 3)]));
/// let sides: Vec<(&str, bool, bool)> =
///     join(&old, &new).map(|(name, a, b)| (name.as_str(), a.is_some(), b.is_some())).collect();
/// assert_eq!(sides, [("a", true, false), ("b", true, true), ("c", false, true)]);
/// ```
pub fn join<'a>(map: &'a Map, other: &'a Map) -> Join<'a, Str, Value> {
    map.0.join(&other.0)
}

/// Returns a cursor for looking up ascending names in a single walk of the map.
///
/// ```
/// use fieldmanager_value::internal::seek;
/// use fieldmanager_value::{Map, Value};
/// let map = Map::from_iter([("a", 1), ("b", 2)]);
/// let mut seek = seek(&map);
/// assert_eq!(seek.get("b").map(|(_, value)| value), Some(&Value::from(2)));
/// assert_eq!(seek.get("c"), None);
/// ```
pub fn seek(map: &Map) -> Seek<'_, Str, Value> {
    map.0.seek()
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        deep::level(|| self.0 == other.0)
    }
}

impl Eq for Map {}

impl<K: Into<Str>, V: Into<Value>> FromIterator<(K, V)> for Map {
    /// The last entry with a given name wins.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Map(entries
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect())
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Str, &'a Value);
    type IntoIter = Iter<'a, Str, Value>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}
