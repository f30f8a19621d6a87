//! Edits of a tree: a sorted batch is distributed down the tree, and every node that it touches is copied
//! once.

use std::vec::IntoIter;

use triomphe::ThinArc;

use super::{Head, INNER, Inner, LEAF, Node, child_of, first_that, parts, pile};

impl<K: Ord + Clone, V: Clone> Inner<K, V> {
    /// The root of the tree with each of the given keys set to its value, or removed where that is none.
    ///
    /// The keys must be sorted and free of duplicates. The result is none if no entry is left, and this very
    /// node if nothing had to be done.
    pub(crate) fn with_edits(&self, edits: Vec<(K, Option<V>)>) -> Option<Node<K, V>> {
        let n = edits.len();
        let mut editor = Editor {
            edits: edits.into_iter(),
            entries: Vec::with_capacity(LEAF + 1),
            nodes: Vec::with_capacity(4 * INNER),
            added: 0,
            removed: 0,
        };
        editor.inner(self, n);
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
    edits: IntoIter<(K, Option<V>)>,
    /// The entries of the leaf that is being made; otherwise empty.
    entries: Vec<(K, V)>,
    nodes: Vec<Node<K, V>>,
    /// How many entries there are more and less than before.
    added: usize,
    removed: usize,
}

impl<K: Ord + Clone, V: Clone> Editor<K, V> {
    /// Puts what a node becomes by the next `n` edits onto the stack, and says whether it is another.
    fn node(&mut self, node: &Node<K, V>, n: usize) -> bool {
        let leaf = match node {
            Node::Inner(inner) => return self.inner(inner, n),
            Node::Leaf(leaf) => leaf,
        };
        let changed = self.merge(&leaf.slice, n);
        if changed {
            self.close_leaf();
        } else {
            self.nodes.push(node.clone());
        }
        changed
    }

    /// Merges the entries of a leaf with the next `n` edits, and says whether that changes anything. The
    /// entries are there only if so.
    fn merge(&mut self, leaf: &[(K, V)], n: usize) -> bool {
        let mut rest = leaf;
        // Where what was not copied yet begins: what is not changed is not copied.
        let mut uncopied = leaf;
        let mut changed = false;
        for (key, value) in self.edits.by_ref().take(n) {
            rest = rest.split_at(first_that(rest, |(known, _)| *known >= key)).1;
            let (at, found) = (rest, rest.first().is_some_and(|(known, _)| *known == key));
            if !found && value.is_none() {
                continue;
            }
            self.entries.extend_from_slice(uncopied.split_at(uncopied.len() - at.len()).0);
            rest = rest.get(usize::from(found)..).unwrap_or_default();
            uncopied = rest;
            changed = true;
            self.removed += usize::from(found);
            if let Some(value) = value {
                self.added += 1;
                self.entries.extend(std::iter::once_with(|| (key, value)));
            }
        }
        if changed {
            self.entries.extend_from_slice(uncopied);
        }
        changed
    }

    /// Puts what an inner node becomes by the next `n` edits onto the stack, and says whether it is another.
    fn inner(&mut self, node: &Inner<K, V>, mut n: usize) -> bool {
        let start = self.nodes.len();
        let (added, removed) = (self.added, self.removed);
        let (mut keys, mut rest) = (node.keys(), node.children());
        // Whether a child was changed, is not the one child that it was, or has too little.
        let (mut changed, mut others, mut weak) = (false, false, false);
        while n > 0
            && let Some((key, _)) = self.edits.as_slice().first()
        {
            let at = child_of(keys, key);
            let (before, from) = rest.split_at(at);
            let Some((child, after)) = from.split_first() else { break };
            // Only before the first key of all is there nothing that has it.
            others |= at == 0 && keys.first().is_some_and(|bound| key < bound);
            keys = keys.get(at + 1..).unwrap_or_default();
            let own = self.edits_before(keys.first(), n);
            self.nodes.extend_from_slice(before);
            let made = self.nodes.len();
            changed |= self.node(child, own);
            match self.nodes.get(made..).unwrap_or_default() {
                [only] => weak |= only.is_weak(),
                made => {
                    others = true;
                    weak |= made.iter().any(Node::is_weak);
                }
            }
            rest = after;
            n -= own;
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
        let known = (!weak && !others).then(|| Head {
            keys: node.0.header.header.keys.clone(),
            len: node.len() + (self.added - added) - (self.removed - removed),
        });
        self.close_inner(start, known);
        true
    }

    /// How many of the next `n` edits, of which the first does, come before a key.
    fn edits_before(&self, end: Option<&K>, n: usize) -> usize {
        let (Some(end), Some(others)) = (end, self.edits.as_slice().get(1..n)) else { return n };
        match others.first() {
            Some((key, _)) if key < end => 1 + others.partition_point(|(key, _)| key < end),
            _ => 1,
        }
    }

    /// Makes leaves of the entries.
    fn close_leaf(&mut self) {
        let sizes = parts(self.entries.len(), LEAF);
        let mut entries = self.entries.drain(..);
        for size in sizes {
            self.nodes.push(Node::Leaf(ThinArc::from_header_and_iter((), entries.by_ref().take(size))));
        }
    }

    /// Makes inner nodes of the nodes from a position on; of one node, what it knows may be known.
    fn close_inner(&mut self, start: usize, known: Option<Head<K>>) {
        let level = self.nodes.get(start..).unwrap_or_default();
        if level.len() <= INNER {
            let head = known.or_else(|| Head::of(level));
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
                self.close_inner(start, None);
            }
            // Nodes of one level are of one kind.
            _ => self.nodes.extend([left.clone(), right.clone()]),
        }
    }
}
