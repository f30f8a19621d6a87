//! A persistent vector for large lists.

use std::slice;

use triomphe::ThinArc;

/// How many items a leaf has, and how many children an inner node: a power of two. All but the last are full, so the
/// way to a position can be told from the position.
const WIDTH: usize = 1 << BITS;
const BITS: u32 = 5;

enum Node<T> {
    Leaf(ThinArc<(), T>),
    Inner(ThinArc<(), Node<T>>),
}

impl<T> Clone for Node<T> {
    fn clone(&self) -> Self {
        match self {
            Node::Leaf(items) => Node::Leaf(items.clone()),
            Node::Inner(children) => Node::Inner(children.clone()),
        }
    }
}

impl<T> Node<T> {
    fn inner(children: impl ExactSizeIterator<Item = Node<T>>) -> Self {
        Node::Inner(ThinArc::from_header_and_iter((), children))
    }
}

/// Items by position. A clone is a reference count; an edit copies the way to the leaf that it changes.
pub(crate) struct Vector<T> {
    root: Node<T>,
    /// How many levels are below the root.
    height: u32,
    len: usize,
}

impl<T: Clone> Vector<T> {
    pub(crate) fn of(items: impl ExactSizeIterator<Item = T>) -> Self {
        let len = items.len();
        let mut level: Vec<Node<T>> = leaves_of(items).collect();
        let mut height = 0;
        while level.len() > 1 {
            let mut nodes = level.into_iter();
            level = Vec::with_capacity(nodes.len().div_ceil(WIDTH));
            while nodes.len() > 0 {
                level.push(Node::inner(nodes.by_ref().take(WIDTH)));
            }
            height += 1;
        }
        let nothing = || Node::Inner(ThinArc::from_header_and_iter((), std::iter::empty()));
        Vector { root: level.pop().unwrap_or_else(nothing), height, len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        let (mut node, mut shift) = (&self.root, BITS * self.height);
        if at >= self.len {
            return None;
        }
        loop {
            match node {
                Node::Leaf(items) => return items.slice.get(at % WIDTH),
                Node::Inner(children) => {
                    node = children.slice.get((at >> shift) % WIDTH)?;
                    shift = shift.checked_sub(BITS)?;
                }
            }
        }
    }

    /// The items in runs, which are the same in memory where two vectors share them.
    pub(crate) fn leaves(&self) -> Leaves<'_, T> {
        Leaves { levels: vec![slice::from_ref(&self.root).iter()] }
    }

    /// The vector with some items in the place of others, the last of those for one position, and items at its end.
    /// Positions past the end are ignored.
    pub(crate) fn with_edits(&self, mut replaced: Vec<(usize, T)>, appended: Vec<T>) -> Self {
        replaced.retain(|(at, _)| *at < self.len);
        // A stable sort: of items for one position the last stays the last.
        replaced.sort_by_key(|(at, _)| *at);
        let root = match replaced.is_empty() {
            true => self.root.clone(),
            false => with_replaced(&self.root, BITS * self.height, 0, &replaced),
        };
        let mut edited = Vector { root, height: self.height, len: self.len };
        edited.append(appended);
        edited
    }

    fn append(&mut self, appended: Vec<T>) {
        if appended.is_empty() {
            return;
        }
        // The last leaf is made anew where it has room.
        let full = self.len / WIDTH;
        let mut items: Vec<T> = (full * WIDTH..self.len).filter_map(|at| self.get(at)).cloned().collect();
        self.len += appended.len();
        items.extend(appended);
        for (at, leaf) in leaves_of(items.into_iter()).enumerate() {
            let at = full + at;
            while at >> (BITS * self.height) > 0 {
                self.root = Node::inner([self.root.clone()].into_iter());
                self.height += 1;
            }
            self.root = with_leaf(&self.root, self.height, at, leaf);
        }
    }
}

fn leaves_of<T>(mut items: impl ExactSizeIterator<Item = T>) -> impl Iterator<Item = Node<T>> {
    std::iter::from_fn(move || {
        (items.len() > 0).then(|| Node::Leaf(ThinArc::from_header_and_iter((), items.by_ref().take(WIDTH))))
    })
}

/// A node whose first item is at `start`, with other items; a child of it has two to the power of `shift` items.
fn with_replaced<T: Clone>(node: &Node<T>, shift: u32, start: usize, edits: &[(usize, T)]) -> Node<T> {
    let mut edits = edits;
    match node {
        Node::Leaf(items) => {
            let items = items.slice.iter().enumerate().map(|(at, old)| {
                let n = edits.partition_point(|(edited, _)| *edited <= start + at);
                let (own, rest) = edits.split_at(n);
                edits = rest;
                own.last().map_or(old, |(_, new)| new).clone()
            });
            Node::Leaf(ThinArc::from_header_and_iter((), items))
        }
        Node::Inner(children) => Node::inner(children.slice.iter().enumerate().map(|(at, child)| {
            let start = start + (at << shift);
            let n = edits.partition_point(|(edited, _)| *edited < start + (1 << shift));
            let (own, rest) = edits.split_at(n);
            edits = rest;
            if own.is_empty() {
                child.clone()
            } else {
                with_replaced(child, shift.saturating_sub(BITS), start, own)
            }
        })),
    }
}

/// A node with a leaf in the place of another, or behind the last one. `height` levels are below the node.
fn with_leaf<T>(node: &Node<T>, height: u32, at: usize, leaf: Node<T>) -> Node<T> {
    let (Node::Inner(children), Some(below)) = (node, height.checked_sub(1)) else {
        return leaf;
    };
    let place = (at >> (BITS * below)) % WIDTH;
    let changed = match children.slice.get(place) {
        Some(child) => with_leaf(child, below, at, leaf),
        None => (0..below).fold(leaf, |node, _| Node::inner([node].into_iter())),
    };
    let kept = children.slice.get(..place).unwrap_or_default();
    let mut changed = Some(changed);
    Node::inner((0..kept.len() + 1).map(|at| match kept.get(at) {
        Some(child) => child.clone(),
        None => changed.take().unwrap_or_else(|| node.clone()),
    }))
}

/// The iterator of [`Vector::leaves`].
pub(crate) struct Leaves<'v, T> {
    /// What comes next, by level, the root first.
    levels: Vec<slice::Iter<'v, Node<T>>>,
}

impl<'v, T> Iterator for Leaves<'v, T> {
    type Item = &'v [T];

    fn next(&mut self) -> Option<&'v [T]> {
        loop {
            match self.levels.last_mut()?.next() {
                None => {
                    self.levels.pop();
                }
                Some(Node::Inner(children)) => self.levels.push(children.slice.iter()),
                Some(Node::Leaf(items)) => return Some(&items.slice),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(vector: &Vector<u32>, model: &[u32]) {
        assert_eq!(vector.len(), model.len());
        assert_eq!(vector.leaves().flatten().copied().collect::<Vec<_>>(), model);
        for at in (0..model.len() + 2).step_by(7).chain([model.len().saturating_sub(1), model.len()]) {
            assert_eq!(vector.get(at), model.get(at), "at {at} of {}", model.len());
        }
        let full =
            vector.leaves().take((model.len() / WIDTH).min(model.len())).all(|leaf| leaf.len() == WIDTH);
        assert!(full, "all leaves but the last are full");
    }

    #[test]
    fn every_length_around_the_end_of_a_level_works() {
        for n in [0, 1, 31, 32, 33, 1023, 1024, 1025, 32_767, 32_768, 32_769, 40_000] {
            let model: Vec<u32> = (0..n).collect();
            let vector = Vector::of(model.iter().copied());
            check(&vector, &model);
            for more in [1, 31, 33, 1024] {
                let appended: Vec<u32> = (0..more).collect();
                let longer = vector.with_edits(Vec::new(), appended.clone());
                check(&longer, &[model.clone(), appended].concat());
            }
        }
    }

    #[test]
    fn an_edit_shares_all_other_leaves() {
        let before = Vector::of(0..100_000_u32);
        let after = before.with_edits(vec![(5, 1), (77_777, 2)], vec![3]);
        let same = |(a, b): (&[u32], &[u32])| std::ptr::eq(a, b);
        let different = before.leaves().zip(after.leaves()).filter(|pair| !same(*pair)).count();
        assert_eq!(different, 2, "100,000 items end with a full leaf");
        assert_eq!((after.get(5), after.get(77_777), after.get(100_000)), (Some(&1), Some(&2), Some(&3)));
    }

    proptest! {
        #[test]
        fn edits_follow_a_standard_vector(
            start in 0..3000_usize,
            edits in prop::collection::vec(
                (prop::collection::vec((0..4000_usize, any::<u32>()), 0..12), prop::collection::vec(any::<u32>(), 0..70)),
                0..12,
            ),
        ) {
            let mut model: Vec<u32> = (0..start as u32).collect();
            let mut vector = Vector::of(model.iter().copied());
            for (replaced, appended) in edits {
                let before = model.clone();
                let edited = vector.with_edits(replaced.clone(), appended.clone());
                for (at, item) in replaced {
                    if let Some(slot) = model.get_mut(at) {
                        *slot = item;
                    }
                }
                model.extend(appended);
                check(&edited, &model);
                check(&vector, &before);
                vector = edited;
            }
        }
    }
}
