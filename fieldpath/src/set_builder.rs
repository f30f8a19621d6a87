//! Bottom-up construction of sets.

use std::cmp::Ordering;

use fieldmanager_value::internal::sorted::SortedMap;

use crate::set::Node;
use crate::{PathElement, Set};

/// Builds a [`Set`] bottom-up: the set below an element is built before the element is added.
///
/// All open levels share one stack, so a level costs a single allocation, that of its result. Elements of a level may
/// have any order and may repeat; the paths of repeated elements are merged.
///
/// ```
/// use fieldmanager_fieldpath::internal::SetBuilder;
/// use fieldmanager_fieldpath::{PathElement, Set};
/// let mut builder = SetBuilder::default();
/// builder.push(PathElement::field("b"), true, Set::new());
/// builder.push(PathElement::field("a"), true, Set::new());
/// assert_eq!(builder.build().to_string(), ".a\n.b");
/// ```
///
/// A [level](Self::open_level) can refer to a similar existing set. The result then shares all nodes that both have in
/// common, and a level equal to that set reuses it without allocating. A manager that applies the same configuration
/// again owns the same set, and the items of a list, which usually have the same fields, share their sets.
///
/// ```
/// use fieldmanager_fieldpath::internal::SetBuilder;
/// use fieldmanager_fieldpath::{PathElement, Set};
/// let last = Set::from_json(br#"{"f:a":{},"f:b":{}}"#)?;
/// let mut builder = SetBuilder::default();
/// let mut level = builder.open_level(&last);
/// for name in ["a", "b"] {
///     let element = PathElement::field(name);
///     assert!(builder.find(&mut level, |known| known.cmp(&element)).is_some());
///     builder.push_to(&mut level, || element, true, Set::new());
/// }
/// assert!(builder.close_level(level).ptr_eq(&last));
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Default)]
pub struct SetBuilder {
    entries: Vec<(PathElement, Node)>,
}

/// The initial capacity: enough for the open levels of most objects, in less than a kilobyte.
const ENTRIES: usize = 31;

/// An open level of a [`SetBuilder`]. Levels are closed in reverse order.
pub struct Level<'s> {
    similar: &'s Set,
    /// The entries of the similar set, or an empty slice if the set is empty or large.
    entries: &'s [(PathElement, Node)],
    /// The number of these entries that precede the current element.
    at: usize,
    /// Whether the entry at `at` has the current element.
    found: bool,
    /// The start of this level on the stack, or `None` while the level equals the first `at` entries.
    start: Option<usize>,
}

impl SetBuilder {
    /// Creates a builder with capacity for `n` elements.
    pub fn with_capacity(n: usize) -> Self {
        SetBuilder {
            entries: Vec::with_capacity(n),
        }
    }

    /// Adds an element: the path that ends with it if `member` is set, and the paths below it. Adds nothing if `member`
    /// is false and `children` is empty. Paths of more than [`MAX_PATH_LENGTH`](crate::MAX_PATH_LENGTH) elements are
    /// ignored.
    pub fn push(&mut self, element: PathElement, member: bool, children: Set) {
        let node = Node::new(member, children);
        if !node.is_empty() {
            self.entries.push((element, node));
        }
    }

    /// Returns the set of all elements added outside of a level.
    pub fn build(mut self) -> Set {
        self.close(0)
    }

    /// Opens a level. The result shares nodes with `similar`, which may be empty.
    #[inline]
    pub fn open_level<'s>(&mut self, similar: &'s Set) -> Level<'s> {
        if self.entries.capacity() == 0 {
            self.entries.reserve(ENTRIES);
        }
        // Along a similar set nothing is stored until the level differs from it.
        let entries = similar.0.as_slice().unwrap_or_default();
        let start = entries.is_empty().then(|| self.start());
        Level {
            similar,
            entries,
            at: 0,
            found: false,
            start,
        }
    }

    /// Returns the node of the similar set for the next element to push. `order` compares its argument with that
    /// element. Calls must be in ascending order of elements.
    #[inline]
    pub fn find<'s>(
        &mut self,
        level: &mut Level<'s>,
        order: impl Fn(&PathElement) -> Ordering,
    ) -> Option<&'s Node> {
        if level.entries.is_empty() {
            None
        } else {
            self.find_similar(level, order)
        }
    }

    fn find_similar<'s>(
        &mut self,
        level: &mut Level<'s>,
        order: impl Fn(&PathElement) -> Ordering,
    ) -> Option<&'s Node> {
        level.found = false;
        while let Some((element, node)) = level.entries.get(level.at) {
            match order(element) {
                Ordering::Less => {
                    // The similar set has an element that this level lacks.
                    self.diverge(level);
                    level.at += 1;
                }
                Ordering::Equal => {
                    level.found = true;
                    return Some(node);
                }
                Ordering::Greater => return None,
            }
        }

        None
    }

    /// Adds an element to a level, like [`push`](Self::push).
    #[inline]
    pub fn push_to(
        &mut self,
        level: &mut Level<'_>,
        element: impl FnOnce() -> PathElement,
        member: bool,
        children: Set,
    ) {
        if !level.entries.is_empty() {
            self.push_similar(level, element, member, children);
        } else if !children.is_empty() {
            self.entries.push((element(), Node::new(member, children)));
        } else if member {
            self.push_leaf(element);
        }
    }

    fn push_similar(
        &mut self,
        level: &mut Level<'_>,
        element: impl FnOnce() -> PathElement,
        member: bool,
        children: Set,
    ) {
        let node = Node::new(member, children);
        if node.is_empty() {
            // The next search skips the entry of the similar set.
            level.found = false;
            return;
        }

        // A node equal to the similar one keeps the level the same. The first different one makes the level start with
        // a copy of what was equal.
        let found = std::mem::take(&mut level.found)
            .then(|| level.entries.get(level.at))
            .flatten();
        match found.filter(|(_, known)| known.same(&node)) {
            Some((element, _)) => {
                if level.start.is_some() {
                    self.entries.push((element.clone(), node));
                }
            }
            None => {
                self.diverge(level);
                self.entries.push((
                    found.map_or_else(element, |(element, _)| element.clone()),
                    node,
                ));
            }
        }
        level.at += usize::from(found.is_some());
    }

    /// Copies the entries that the level has in common with the similar set so far to the stack.
    fn diverge(&mut self, level: &mut Level<'_>) {
        if level.start.is_none() {
            level.start = Some(self.start());
            self.entries
                .extend(level.entries.iter().take(level.at).cloned());
        }
    }

    /// Closes a level whose elements were pushed in ascending order.
    pub fn close_level(&mut self, mut level: Level<'_>) -> Set {
        // A level without differences is the similar set itself.
        if level.start.is_none() && level.at == level.entries.len() {
            return level.similar.clone();
        }
        self.diverge(&mut level);
        self.close_sorted(level.start.unwrap_or_default())
    }

    /// Closes a level whose elements were pushed in any order. Entries with the same element are merged.
    pub fn close_unsorted_level(&mut self, mut level: Level<'_>) -> Set {
        self.diverge(&mut level);
        self.close(level.start.unwrap_or_default())
    }

    /// Returns the start of a new level that shares nothing. The readers of FieldsV1 push an element before they read
    /// its children, which avoids moving the element.
    #[inline(always)]
    pub(crate) fn start(&self) -> usize {
        self.entries.len()
    }

    /// Adds an element that is a member without children.
    #[inline(always)]
    pub(crate) fn push_leaf(&mut self, element: impl FnOnce() -> PathElement) {
        let entry = || {
            (
                element(),
                Node {
                    member: true,
                    levels: 0,
                    children: Set::new(),
                },
            )
        };
        self.entries.extend(std::iter::once_with(entry));
    }

    /// Sets the children of the last element. They nest at most `levels` levels deep.
    #[inline(always)]
    pub(crate) fn set_below_last(&mut self, member: bool, levels: u16, children: Set) {
        if let Some((_, node)) = self.entries.last_mut() {
            *node = Node {
                member,
                levels,
                children,
            };
        }
    }

    /// Drains the entries from `start` on, which ascend, into a set.
    pub(crate) fn close_sorted(&mut self, start: usize) -> Set {
        debug_assert!(
            self.entries
                .get(start..)
                .is_some_and(|level| level.is_sorted_by(|a, b| a.0 < b.0))
        );
        Set(SortedMap::from_sorted_iter(self.entries.drain(start..)))
    }

    /// Drains the entries from `start` on into a set.
    pub(crate) fn close(&mut self, start: usize) -> Set {
        // A level from a map or from another set is sorted already.
        let level = self.entries.get_mut(start..).unwrap_or_default();
        if !level.is_sorted_by(|a, b| a.0 < b.0) {
            if level.first().map(|entry| &entry.0) > level.last().map(|entry| &entry.0) {
                // Descending elements are sorted after reversal.
                level.reverse();
            }
            level.sort_by(|a, b| a.0.cmp(&b.0));
            self.merge_equal(start);
        }
        self.close_sorted(start)
    }

    /// Merges adjacent entries from `start` on that have the same element.
    fn merge_equal(&mut self, start: usize) {
        let level = self.entries.get(start..).unwrap_or_default();
        if level.is_sorted_by(|a, b| a.0 != b.0) {
            return;
        }
        let mut level = self.entries.split_off(start);
        level.dedup_by(|later, kept| {
            let equal = later.0 == kept.0;
            if equal {
                kept.1 = kept.1.union(&later.1);
            }
            equal
        });
        self.entries.append(&mut level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::set_depth;
    use crate::{MAX_PATH_LENGTH, Path};

    fn set(text: &str) -> Set {
        Set::from_json(text.as_bytes()).unwrap()
    }

    /// Copies a set level by level, with another one as the similar set.
    fn copy(builder: &mut SetBuilder, from: &Set, similar: &Set) -> Set {
        let mut level = builder.open_level(similar);
        let empty = Set::new();
        for (element, node) in from.nodes() {
            let known = builder
                .find(&mut level, |known| known.cmp(element))
                .map_or(&empty, Node::children);
            let below = copy(builder, node.children(), known);
            builder.push_to(&mut level, || element.clone(), node.is_member(), below);
        }
        builder.close_level(level)
    }

    #[test]
    fn copies_share_equal_nodes_with_the_similar_set() {
        let sets = [
            "{}",
            r#"{"f:a":{}}"#,
            r#"{"f:b":{}}"#,
            r#"{"f:a":{},"f:b":{".":{},"f:c":{}},"f:d":{}}"#,
            r#"{"f:a":{},"f:b":{"f:c":{}},"f:d":{}}"#,
            r#"{"f:b":{"f:c":{},"f:e":{"v:1":{}}},"f:c":{}}"#,
        ]
        .map(set);
        let mut builder = SetBuilder::default();
        for from in &sets {
            for similar in &sets {
                let made = copy(&mut builder, from, similar);
                assert_eq!(made, *from, "similar to {similar:?}");
                assert_eq!(
                    made.ptr_eq(similar),
                    from == similar,
                    "{from:?} similar to {similar:?}"
                );
                assert!(builder.entries.is_empty());
            }
        }
    }

    #[test]
    fn repeated_elements_are_merged() {
        let mut builder = SetBuilder::default();
        for (name, below) in [("b", "{}"), ("a", r#"{"f:x":{}}"#), ("a", r#"{"f:y":{}}"#)] {
            builder.push(PathElement::field(name), true, set(below));
        }
        assert_eq!(
            builder.build(),
            set(r#"{"f:a":{".":{},"f:x":{},"f:y":{}},"f:b":{}}"#)
        );
    }

    #[test]
    fn paths_longer_than_the_limit_are_ignored() {
        let mut made = Set::new();
        for length in 1..2 * MAX_PATH_LENGTH {
            let mut builder = SetBuilder::default();
            builder.push(PathElement::field("b"), true, Set::new());
            builder.push(PathElement::field("a"), length % 2 == 1, made);
            made = builder.build();
            assert_eq!(set_depth(&made), length.min(MAX_PATH_LENGTH), "{length}");
        }
        assert_eq!(
            Set::from_json(made.to_json().as_bytes()).as_ref(),
            Ok(&made)
        );
        assert_eq!(Set::from_value(&made.to_value()).as_ref(), Ok(&made));
        let paths: Vec<Path> = made.paths().collect();
        assert_eq!(paths.into_iter().collect::<Set>(), made);
    }
}
