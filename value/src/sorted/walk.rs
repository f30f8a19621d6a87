//! Ways through a sorted map.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::iter::Peekable;
use std::slice;

use super::Tree;
use crate::tree::{Node, child_of, first_that};

/// The entries of a [`SortedMap`](super::SortedMap) in key order.
///
/// ```
/// use fieldmanager_value::sorted::SortedMap;
/// let map = SortedMap::from_unsorted(vec![("b", 1), ("a", 2)]);
/// assert_eq!(map.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["a", "b"]);
/// ```
pub struct Iter<'a, K, V> {
    /// Those of the slice, or of the leaf.
    entries: slice::Iter<'a, (K, V)>,
    /// What comes behind the leaf, in a tree.
    behind: Option<Box<Behind<'a, K, V>>>,
}

/// The nodes that follow a leaf.
struct Behind<'a, K, V> {
    /// By level, the root's children first.
    levels: Vec<slice::Iter<'a, Node<K, V>>>,
    /// How many entries they have.
    len: usize,
}

impl<'a, K, V> Iter<'a, K, V> {
    pub(super) fn of_slice(entries: &'a [(K, V)]) -> Self {
        Iter { entries: entries.iter(), behind: None }
    }

    pub(super) fn of_tree(tree: &'a Tree<K, V>) -> Self {
        let levels = vec![tree.children().iter()];
        Iter { entries: [].iter(), behind: Some(Box::new(Behind { levels, len: tree.len() })) }
    }

    pub(super) fn of_node(node: &'a Node<K, V>) -> Self {
        match node {
            Node::Leaf(leaf) => Iter::of_slice(&leaf.slice),
            Node::Inner(inner) => Iter::of_tree(inner),
        }
    }

    /// Goes on to the leaf behind the one that is at its end.
    #[cold]
    fn next_leaf(&mut self) -> Option<(&'a K, &'a V)> {
        let behind = self.behind.as_mut()?;
        loop {
            match behind.levels.last_mut()?.next() {
                None => {
                    behind.levels.pop();
                }
                Some(Node::Inner(inner)) => behind.levels.push(inner.children().iter()),
                Some(Node::Leaf(leaf)) => {
                    self.entries = leaf.slice.iter();
                    behind.len = behind.len.saturating_sub(leaf.slice.len());
                    return self.entries.next().map(|(k, v)| (k, v));
                }
            }
        }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        match self.entries.next() {
            Some((k, v)) => Some((k, v)),
            None if self.behind.is_none() => None,
            None => self.next_leaf(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.entries.len() + self.behind.as_ref().map_or(0, |behind| behind.len);
        (len, Some(len))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

/// Looks up keys that come in ascending order; made by [`SortedMap::seek`](super::SortedMap::seek).
pub struct Seek<'a, K, V> {
    /// What has not been passed yet of the slice, or of the leaf.
    rest: &'a [(K, V)],
    /// In a tree, the nodes behind the leaf with their keys, by level, the root's children first.
    levels: Vec<Level<'a, K, V>>,
}

/// The children that are left of an inner node, and their keys.
type Level<'a, K, V> = (&'a [K], &'a [Node<K, V>]);

/// How many entries are passed one by one before the rest is searched: two maps that are walked together
/// mostly have the same keys.
const STEPS: usize = 4;

impl<'a, K: Ord, V> Seek<'a, K, V> {
    pub(super) fn of_slice(rest: &'a [(K, V)]) -> Self {
        Seek { rest, levels: Vec::new() }
    }

    pub(super) fn of_tree(tree: &'a Tree<K, V>) -> Self {
        Seek { rest: &[], levels: vec![(tree.keys(), tree.children())] }
    }

    /// The entry at a key, which must not be less than the one asked for before.
    pub fn get<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(&'a K, &'a V)>
    where
        K: Borrow<Q>,
    {
        for _ in 0..STEPS {
            let Some(((k, v), after)) = self.rest.split_first() else {
                return self.get_behind(key);
            };
            match k.borrow().cmp(key) {
                Ordering::Greater => return None,
                Ordering::Less => self.rest = after,
                Ordering::Equal => {
                    self.rest = after;
                    return Some((k, v));
                }
            }
        }
        self.search(key);
        match self.rest {
            [] => self.get_behind(key),
            _ => self.take(key),
        }
    }

    /// Passes the entries of the leaf with lesser keys.
    fn search<Q: Ord + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        let at = first_that(self.rest, |(k, _)| k.borrow() >= key);
        self.rest = self.rest.get(at..).unwrap_or_default();
    }

    /// The next entry if it is the one at a key.
    fn take<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(&'a K, &'a V)>
    where
        K: Borrow<Q>,
    {
        let ((k, v), after) = self.rest.split_first().filter(|(entry, _)| entry.0.borrow() == key)?;
        self.rest = after;
        Some((k, v))
    }

    /// The entry at a key that is not in this leaf.
    fn get_behind<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(&'a K, &'a V)>
    where
        K: Borrow<Q>,
    {
        // The highest level whose next node does not begin behind the key; levels below it have ended.
        let mut found = None;
        for (depth, (keys, _)) in self.levels.iter().enumerate().rev() {
            match keys.first() {
                None => {}
                Some(next) if next.borrow() <= key => found = Some(depth),
                Some(_) => break,
            }
        }
        self.levels.truncate(found? + 1);
        let (mut keys, mut nodes) = self.levels.pop()?;
        loop {
            let at = child_of(keys, key);
            self.levels
                .push((keys.get(at + 1..).unwrap_or_default(), nodes.get(at + 1..).unwrap_or_default()));
            match nodes.get(at)? {
                Node::Inner(inner) => (keys, nodes) = (inner.keys(), inner.children()),
                Node::Leaf(leaf) => {
                    self.rest = &leaf.slice;
                    self.search(key);
                    return self.take(key);
                }
            }
        }
    }
}

/// One key of two maps: the value in the left one and the one in the right one, at least one of them there.
pub type Joined<'a, K, V> = (&'a K, Option<&'a V>, Option<&'a V>);

/// The iterator of [`SortedMap::join`](super::SortedMap::join).
pub struct Join<'a, K: Ord, V> {
    left: Peekable<Iter<'a, K, V>>,
    right: Peekable<Iter<'a, K, V>>,
}

impl<'a, K: Ord, V> Join<'a, K, V> {
    pub(super) fn of(left: Iter<'a, K, V>, right: Iter<'a, K, V>) -> Self {
        Join { left: left.peekable(), right: right.peekable() }
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
        let left = if order.is_le() { self.left.next() } else { None };
        let right = if order.is_ge() { self.right.next() } else { None };
        let key = left.or(right)?.0;
        Some((key, left.map(|e| e.1), right.map(|e| e.1)))
    }
}
