//! A persistent B+tree: the large form of a sorted map.
//!
//! Entries are in the leaves, which are shared sorted slices. Inner nodes have children, how many entries are
//! below them, and, in a shared slice of their own, a key for each child by which it is found. Nodes are
//! narrow, because an edit copies every node on its way, and what a copy costs is the reference counts of what
//! the node has; the keys of an inner node are copied only when its children are other ones.
//!
//! Invariants: keys ascend; the key of a child is not greater than any below it and greater than all below the
//! child before; all leaves are equally deep; no node has more than [`LEAF`] entries or [`INNER`] children,
//! none but the root less than half of that, and the root more than one child.

mod edit;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;

use triomphe::ThinArc;

/// How many entries a leaf has at most. An edit clones the keys and values beside it, which are in many places of the
/// memory: narrow leaves make edits cheaper, and at eight little more is gained.
pub(crate) const LEAF: usize = 8;
/// How many children an inner node has at most.
pub(crate) const INNER: usize = 8;

/// A leaf, or an inner node with nodes that are one level lower.
pub(crate) enum Node<K, V> {
    Leaf(ThinArc<(), (K, V)>),
    Inner(Inner<K, V>),
}

/// An inner node; that is what the root of a tree is.
pub(crate) struct Inner<K, V>(ThinArc<Head<K>, Node<K, V>>);

/// What an inner node knows of the entries below it.
struct Head<K> {
    /// A key for each child; that of the first child is the one by which the node itself is found.
    keys: ThinArc<(), K>,
    len: usize,
}

impl<K, V> Clone for Node<K, V> {
    fn clone(&self) -> Self {
        match self {
            Node::Leaf(leaf) => Node::Leaf(leaf.clone()),
            Node::Inner(inner) => Node::Inner(inner.clone()),
        }
    }
}

impl<K, V> Clone for Inner<K, V> {
    fn clone(&self) -> Self {
        Inner(self.0.clone())
    }
}

impl<K, V> Node<K, V> {
    /// How many entries are at or below the node.
    pub(crate) fn len(&self) -> usize {
        match self {
            Node::Leaf(leaf) => leaf.slice.len(),
            Node::Inner(inner) => inner.len(),
        }
    }

    /// A key that is not greater than any of the node. No node is without one.
    pub(crate) fn bound(&self) -> Option<&K> {
        match self {
            Node::Leaf(leaf) => leaf.slice.first().map(|entry| &entry.0),
            Node::Inner(inner) => inner.keys().first(),
        }
    }

    /// Whether the node may have a key that is the given one or less.
    pub(crate) fn begins_by<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.bound().is_some_and(|bound| bound.borrow() <= key)
    }

    /// Whether both are the same allocation.
    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Node::Leaf(a), Node::Leaf(b)) => std::ptr::eq(a.as_ptr(), b.as_ptr()),
            (Node::Inner(a), Node::Inner(b)) => a.ptr_eq(b),
            _ => false,
        }
    }
}

impl<K, V> Inner<K, V> {
    /// How many entries are below the node.
    pub(crate) fn len(&self) -> usize {
        self.0.header.header.len
    }

    /// The nodes one level lower, of which there is at least one.
    pub(crate) fn children(&self) -> &[Node<K, V>] {
        &self.0.slice
    }

    /// The keys by which the children are found.
    pub(crate) fn keys(&self) -> &[K] {
        &self.0.header.header.keys.slice
    }

    /// Whether both are the same allocation.
    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0.as_ptr(), other.0.as_ptr())
    }

    /// How many levels of inner nodes there are.
    pub(crate) fn height(&self) -> usize {
        let mut node = self;
        let mut height = 1;
        while let Some(Node::Inner(inner)) = node.children().first() {
            node = inner;
            height += 1;
        }
        height
    }

    /// The first entry.
    pub(crate) fn first(&self) -> Option<&(K, V)> {
        let mut children = self.children();
        loop {
            match children.first()? {
                Node::Leaf(leaf) => return leaf.slice.first(),
                Node::Inner(inner) => children = inner.children(),
            }
        }
    }

    /// The last entry.
    pub(crate) fn last(&self) -> Option<&(K, V)> {
        let mut children = self.children();
        loop {
            match children.last()? {
                Node::Leaf(leaf) => return leaf.slice.last(),
                Node::Inner(inner) => children = inner.children(),
            }
        }
    }

    /// The entry at a key.
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&(K, V)>
    where
        K: Borrow<Q>,
    {
        let mut node = self;
        loop {
            match node.children().get(child_of(node.keys(), key))? {
                Node::Leaf(leaf) => {
                    let at = first_that(&leaf.slice, |entry| entry.0.borrow() >= key);
                    return leaf.slice.get(at).filter(|entry| entry.0.borrow() == key);
                }
                Node::Inner(inner) => node = inner,
            }
        }
    }
}

impl<K: Clone, V> Inner<K, V> {
    /// The tree of sorted entries without duplicates; none of so few that they fit into a leaf.
    pub(crate) fn from_sorted_iter(mut entries: impl ExactSizeIterator<Item = (K, V)>) -> Option<Self> {
        let n = entries.len();
        let mut nodes = Vec::with_capacity(n.div_ceil(LEAF));
        for size in parts(n, LEAF) {
            nodes.push(Node::Leaf(ThinArc::from_header_and_iter((), entries.by_ref().take(size))));
        }
        match pile(nodes)? {
            Node::Inner(root) => Some(root),
            Node::Leaf(_) => None,
        }
    }

    /// The node above some nodes; none if there are none.
    fn above(
        children: impl ExactSizeIterator<Item = Node<K, V>>,
        head: Option<Head<K>>,
    ) -> Option<Node<K, V>> {
        Some(Node::Inner(Inner(ThinArc::from_header_and_iter(head?, children))))
    }
}

impl<K: Clone> Head<K> {
    /// What the node above some nodes knows; none if there are none.
    fn of<V>(children: &[Node<K, V>]) -> Option<Self> {
        let mut keys = Vec::with_capacity(children.len());
        keys.extend(children.iter().filter_map(Node::bound).cloned());
        let keys = ThinArc::from_header_and_iter((), keys.into_iter());
        (!children.is_empty()).then(|| Head { keys, len: children.iter().map(Node::len).sum() })
    }
}

/// The position of the child that has a key if any has: the last whose key is not greater, or the first.
pub(crate) fn child_of<K: Borrow<Q>, Q: Ord + ?Sized>(keys: &[K], key: &Q) -> usize {
    first_that(keys.get(1..).unwrap_or_default(), |known| known.borrow() > key)
}

/// The position of the first item that is one of the last ones, for which a condition holds.
///
/// The standard library chooses a half without a branch, so that no key is fetched before the one on the way to
/// it was compared. Texts are elsewhere in memory, and waiting for each costs more than a wrong guess.
pub(crate) fn first_that<T>(items: &[T], is_behind: impl Fn(&T) -> bool) -> usize {
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

/// Cuts `n` into as few parts of at most `max` as there can be, all of nearly the same size.
fn parts(n: usize, max: usize) -> impl Iterator<Item = usize> {
    let parts = n.div_ceil(max);
    let (size, larger) = (n / parts.max(1), n % parts.max(1));
    (0..parts).map(move |part| size + usize::from(part < larger))
}

/// The root above nodes of one level; none if there are none.
fn pile<K: Clone, V>(mut nodes: Vec<Node<K, V>>) -> Option<Node<K, V>> {
    while nodes.len() > 1 {
        let mut above = Vec::with_capacity(nodes.len().div_ceil(INNER));
        let sizes = parts(nodes.len(), INNER);
        let mut below = nodes.into_iter();
        for size in sizes {
            let head = Head::of(below.as_slice().get(..size).unwrap_or_default());
            above.extend(Inner::above(below.by_ref().take(size), head));
        }
        nodes = above;
    }
    nodes.pop()
}
