//! The differences of two sorted maps.

use std::cmp::Ordering;

use super::{Join, Joined, Tree};
use crate::tree::Node;

/// The iterator of [`SortedMap::differences`](super::SortedMap::differences).
pub struct Differences<'a, K: Ord, V: PartialEq>(Repr<'a, K, V>);

enum Repr<'a, K: Ord, V: PartialEq> {
    None,
    Join(Join<'a, K, V>),
    Trees(Walk<'a, K, V>, Walk<'a, K, V>),
}

impl<'a, K: Ord, V: PartialEq> Differences<'a, K, V> {
    pub(super) fn none() -> Self {
        Differences(Repr::None)
    }

    pub(super) fn of_join(join: Join<'a, K, V>) -> Self {
        Differences(Repr::Join(join))
    }

    pub(super) fn of_trees(left: &'a Tree<K, V>, right: &'a Tree<K, V>) -> Self {
        Differences(Repr::Trees(Walk::of(left), Walk::of(right)))
    }
}

impl<'a, K: Ord, V: PartialEq> Iterator for Differences<'a, K, V> {
    type Item = Joined<'a, K, V>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Repr::None => None,
            Repr::Join(join) => join.next(),
            Repr::Trees(left, right) => next_difference(left, right),
        }
    }
}

/// A walk along a tree that enters a node only when it is told to.
struct Walk<'a, K, V> {
    /// What is left of the leaf that was entered.
    entries: &'a [(K, V)],
    /// What is left of the inner nodes that were entered, the highest first.
    levels: Vec<&'a [Node<K, V>]>,
    height: usize,
}

/// What a walk comes to next.
enum Next<'a, K, V> {
    Nothing,
    Entry(&'a (K, V)),
    Node(&'a Node<K, V>),
}

impl<'a, K, V> Walk<'a, K, V> {
    fn of(tree: &'a Tree<K, V>) -> Self {
        let height = tree.height();
        let mut levels = Vec::with_capacity(height);
        levels.push(tree.children());
        Walk { entries: &[], levels, height }
    }

    fn peek(&mut self) -> Next<'a, K, V> {
        if let Some(entry) = self.entries.first() {
            return Next::Entry(entry);
        }
        while let Some(level) = self.levels.last() {
            if let Some(node) = level.first() {
                return Next::Node(node);
            }
            self.levels.pop();
        }
        Next::Nothing
    }

    /// How far above the leaves the node is that is next.
    fn above_leaves(&self) -> usize {
        self.height - self.levels.len()
    }

    fn pass_entry(&mut self) {
        self.entries = self.entries.get(1..).unwrap_or_default();
    }

    /// Goes on to the first child or entry of the node that is next.
    fn enter(&mut self) {
        if let Some(level) = self.levels.last_mut()
            && let Some((node, after)) = level.split_first()
        {
            *level = after;
            match node {
                Node::Leaf(leaf) => self.entries = &leaf.slice,
                Node::Inner(inner) => self.levels.push(inner.children()),
            }
        }
    }

    /// Passes the nodes, from the next on, that two walks have in common, and says whether there were any.
    fn pass_shared(&mut self, other: &mut Self) -> bool {
        let (Some(mine), Some(theirs)) = (self.levels.last_mut(), other.levels.last_mut()) else {
            return false;
        };
        let shared = mine.iter().zip(theirs.iter()).take_while(|(a, b)| a.ptr_eq(b)).count();
        *mine = mine.get(shared..).unwrap_or_default();
        *theirs = theirs.get(shared..).unwrap_or_default();
        shared > 0
    }
}

impl<'a, K: PartialEq, V: PartialEq> Walk<'a, K, V> {
    /// Passes the entries, from the next on, that are equal, and says whether there were any.
    fn pass_equal(&mut self, other: &mut Self) -> bool {
        let equal = self.entries.iter().zip(other.entries).take_while(|(a, b)| a == b).count();
        self.entries = self.entries.get(equal..).unwrap_or_default();
        other.entries = other.entries.get(equal..).unwrap_or_default();
        equal > 0
    }
}

/// The next entry that differs.
///
/// Of two nodes the one that begins first is entered: should it have the other one, or a part of it, below
/// it, the walks meet there. So a shared node is found wherever the two trees have it.
fn next_difference<'a, K: Ord, V: PartialEq>(
    left: &mut Walk<'a, K, V>,
    right: &mut Walk<'a, K, V>,
) -> Option<Joined<'a, K, V>> {
    loop {
        let order = match (left.peek(), right.peek()) {
            (Next::Nothing, Next::Nothing) => return None,
            (Next::Entry(a), Next::Entry(b)) => {
                if left.pass_equal(right) {
                    continue;
                }
                let order = a.0.cmp(&b.0);
                if order.is_eq() {
                    left.pass_entry();
                    right.pass_entry();
                    return Some((&a.0, Some(&a.1), Some(&b.1)));
                }
                order
            }
            (_, Next::Nothing) => Ordering::Less,
            (Next::Nothing, _) => Ordering::Greater,
            (Next::Node(a), Next::Node(b)) => {
                if left.pass_shared(right) {
                    continue;
                }
                match a.bound().cmp(&b.bound()) {
                    Ordering::Equal => match left.above_leaves().cmp(&right.above_leaves()) {
                        Ordering::Equal => {
                            left.enter();
                            right.enter();
                            continue;
                        }
                        order => order.reverse(),
                    },
                    order => order,
                }
            }
            // The node is entered unless it begins behind the entry.
            (Next::Entry(a), Next::Node(b)) => match b.begins_by(&a.0) {
                true => Ordering::Greater,
                false => Ordering::Less,
            },
            (Next::Node(a), Next::Entry(b)) => match a.begins_by(&b.0) {
                true => Ordering::Less,
                false => Ordering::Greater,
            },
        };
        // What comes first is passed: a node by entering it, an entry as one that the other side has not.
        let (walk, is_left) = if order.is_lt() { (&mut *left, true) } else { (&mut *right, false) };
        match walk.peek() {
            Next::Entry((key, value)) => {
                walk.pass_entry();
                return Some(if is_left { (key, Some(value), None) } else { (key, None, Some(value)) });
            }
            _ => walk.enter(),
        }
    }
}
