//! Edits of a tree: a sorted batch is distributed down the tree, and every node that it touches is copied
//! once.

use std::iter::Peekable;
use std::vec::IntoIter;

use triomphe::ThinArc;

use super::{Head, INNER, Inner, LEAF, Node, child_of, parts, pile};

impl<K: Ord + Clone, V: Clone> Inner<K, V> {
    /// The root of the tree with each of the given keys set to its value, or removed where that is none.
    ///
    /// The keys must be sorted and free of duplicates. The result is none if no entry is left, and this very
    /// node if nothing had to be done.
    pub(crate) fn with_edits(&self, edits: Vec<(K, Option<V>)>) -> Option<Node<K, V>> {
        let mut editor =
            Editor { edits: edits.into_iter().peekable(), entries: Vec::new(), nodes: Vec::new() };
        editor.inner(self, None);
        let mut root = pile(editor.nodes)?;
        while let Node::Inner(inner) = &root
            && let [only] = inner.children()
        {
            root = only.clone();
        }
        Some(root)
    }
}

impl<K, V> Node<K, V> {
    /// Whether the node has less than half of what it can have.
    fn is_weak(&self) -> bool {
        match self {
            Node::Leaf(leaf) => leaf.slice.len() < LEAF / 2,
            Node::Inner(inner) => inner.children().len() < INNER / 2,
        }
    }
}

/// A walk along edits that makes new nodes.
///
/// Nodes that were made, or stay, are put onto a stack; those that become the children of one node are the
/// last on it. A level of them has no weak node, unless it has no other.
struct Editor<K, V> {
    /// What is still to be done.
    edits: Peekable<IntoIter<(K, Option<V>)>>,
    /// The entries of the leaf that is being made; otherwise empty.
    entries: Vec<(K, V)>,
    nodes: Vec<Node<K, V>>,
}

impl<K: Ord + Clone, V: Clone> Editor<K, V> {
    /// Puts what a node becomes by the edits before `end` onto the stack, and says whether it is another.
    fn node(&mut self, node: &Node<K, V>, end: Option<&K>) -> bool {
        match node {
            Node::Inner(inner) => self.inner(inner, end),
            Node::Leaf(leaf) => {
                let changed = self.merge(&leaf.slice, end);
                if changed {
                    self.close_leaf();
                } else {
                    self.entries.clear();
                    self.nodes.push(node.clone());
                }
                changed
            }
        }
    }

    /// Merges the entries of a leaf with the edits before `end`, and says whether that changed anything.
    fn merge(&mut self, mut rest: &[(K, V)], end: Option<&K>) -> bool {
        let mut changed = false;
        self.entries.reserve(LEAF + 1);
        while let Some((key, value)) = self.edits.next_if(|(key, _)| end.is_none_or(|end| key < end)) {
            let (before, after) = rest.split_at(rest.partition_point(|(known, _)| *known < key));
            self.entries.extend_from_slice(before);
            rest = after;
            if let Some((old, after)) = rest.split_first()
                && old.0 == key
            {
                rest = after;
                changed = true;
            }
            if let Some(value) = value {
                self.entries.push((key, value));
                changed = true;
            }
        }
        self.entries.extend_from_slice(rest);
        changed
    }

    fn inner(&mut self, node: &Inner<K, V>, end: Option<&K>) -> bool {
        let start = self.nodes.len();
        let mut rest = node.children();
        let (mut changed, mut weak) = (false, false);
        self.nodes.reserve(INNER + 1);
        while let Some((key, _)) = self.edits.peek()
            && end.is_none_or(|end| key < end)
        {
            let (before, from) = rest.split_at(child_of(rest, key));
            let Some((child, after)) = from.split_first() else { break };
            self.nodes.extend_from_slice(before);
            let made = self.nodes.len();
            changed |= self.node(child, after.first().and_then(Node::first_key).or(end));
            weak |= self.nodes.get(made..).is_some_and(|made| made.iter().any(Node::is_weak));
            rest = after;
        }
        if !changed {
            self.nodes.truncate(start);
            self.nodes.push(Node::Inner(node.clone()));
            return false;
        }
        self.nodes.extend_from_slice(rest);
        if weak {
            self.balance(start);
        }
        self.close_inner(start);
        true
    }

    /// Makes leaves of the entries.
    fn close_leaf(&mut self) {
        let sizes = parts(self.entries.len(), LEAF);
        let mut entries = self.entries.drain(..);
        for size in sizes {
            self.nodes.push(Node::Leaf(ThinArc::from_header_and_iter((), entries.by_ref().take(size))));
        }
    }

    /// Makes inner nodes of the nodes from a position on.
    fn close_inner(&mut self, start: usize) {
        let level = self.nodes.get(start..).unwrap_or_default();
        if level.len() <= INNER {
            let head = Head::of(level);
            let made = Inner::above(self.nodes.drain(start..), head);
            self.nodes.extend(made);
            return;
        }
        let mut level = self.nodes.split_off(start).into_iter();
        for size in parts(level.len(), INNER) {
            let head = Head::of(level.as_slice().get(..size).unwrap_or_default());
            self.nodes.extend(Inner::above(level.by_ref().take(size), head));
        }
    }

    /// Joins the weak ones among the nodes from a position on with their neighbours.
    fn balance(&mut self, start: usize) {
        for node in self.nodes.split_off(start) {
            if self.nodes.len() > start
                && let Some(last) = self.nodes.pop_if(|last| last.is_weak() || node.is_weak())
            {
                self.join(&last, &node);
            } else {
                self.nodes.push(node);
            }
        }
    }

    /// Makes one node or two of two neighbours.
    fn join(&mut self, left: &Node<K, V>, right: &Node<K, V>) {
        match (left, right) {
            (Node::Leaf(left), Node::Leaf(right)) => {
                self.entries.extend_from_slice(&left.slice);
                self.entries.extend_from_slice(&right.slice);
                self.close_leaf();
            }
            (Node::Inner(left), Node::Inner(right)) => {
                let start = self.nodes.len();
                self.nodes.extend_from_slice(left.children());
                self.nodes.extend_from_slice(right.children());
                // A child that was alone may be weak.
                if left.children().len() == 1 || right.children().len() == 1 {
                    self.balance(start);
                }
                self.close_inner(start);
            }
            // Nodes of one level are of one kind.
            _ => self.nodes.extend([left.clone(), right.clone()]),
        }
    }
}
