//! Making sets from the leaves up, without an allocation for what is shared or not finished.

use std::cmp::Ordering;

use fieldmanager_value::sorted::SortedMap;

use crate::set::Node;
use crate::{PathElement, Set, SetBuilder};

/// Makes a set level by level: what is below an element is finished before the element is added. All levels that have
/// not ended lie one behind the other on one stack, so a level costs one allocation, that of its result.
///
/// A level may be like a set that is there already: what both have in common is shared, and a level that turns out to
/// be that set is that set, and costs nothing. Who applies the same again owns the same set, and items of a list,
/// which mostly have the same fields, share theirs.
///
/// ```
/// use fieldmanager_fieldpath::{PathElement, Set, SetStack};
/// let last = Set::from_json(br#"{"f:a":{},"f:b":{}}"#)?;
/// let mut stack = SetStack::default();
/// let mut level = stack.begin(&last);
/// for name in ["a", "b"] {
///     let element = PathElement::field(name);
///     assert!(stack.find(&mut level, |known| known.cmp(&element)).is_some());
///     stack.push(&mut level, || element, true, Set::new());
/// }
/// assert!(stack.end(level).ptr_eq(&last));
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
pub struct SetStack {
    entries: Vec<(PathElement, Node)>,
}

/// Room for the open levels of most objects, and less than the kilobyte from which on allocators take their time.
const ROOM: usize = 31;

impl Default for SetStack {
    fn default() -> Self {
        SetStack { entries: Vec::with_capacity(ROOM) }
    }
}

/// A level of a [`SetStack`] that has not ended. Levels end in the opposite order of their beginning.
pub struct Level<'s> {
    like: &'s Set,
    /// The entries of the other set; none if it is large, which is not worth the trouble.
    entries: &'s [(PathElement, Node)],
    /// How many of them have been passed.
    at: usize,
    /// Whether the entry there is the one that was found.
    found: bool,
    /// Where on the stack its own entries begin; none as long as they are those that were passed.
    own: Option<usize>,
}

impl SetStack {
    /// Begins a level that may be like a set; the empty one is like none.
    #[inline]
    pub fn begin<'s>(&self, like: &'s Set) -> Level<'s> {
        let entries = like.0.as_slice().unwrap_or_default();
        Level { like, entries, at: 0, found: false, own: entries.is_empty().then(|| self.start()) }
    }

    /// The other set's node at the element that is pushed next. `order` compares an element with that one. Elements
    /// that are looked for must come in order.
    #[inline]
    pub fn find<'s>(
        &mut self,
        level: &mut Level<'s>,
        order: impl Fn(&PathElement) -> Ordering,
    ) -> Option<&'s Node> {
        if level.entries.is_empty() { None } else { self.find_along(level, order) }
    }

    fn find_along<'s>(
        &mut self,
        level: &mut Level<'s>,
        order: impl Fn(&PathElement) -> Ordering,
    ) -> Option<&'s Node> {
        level.found = false;
        while let Some((element, node)) = level.entries.get(level.at) {
            match order(element) {
                Ordering::Less => {
                    // The other set has an element more.
                    self.own(level);
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

    /// Adds an element: itself if `member` is set, and the paths below it. Nothing is added by neither.
    #[inline]
    pub fn push(
        &mut self,
        level: &mut Level<'_>,
        element: impl FnOnce() -> PathElement,
        member: bool,
        children: Set,
    ) {
        if !level.entries.is_empty() {
            self.push_along(level, element, member, children);
        } else if member || !children.is_empty() {
            self.entries.push((element(), Node { member, children }));
        }
    }

    fn push_along(
        &mut self,
        level: &mut Level<'_>,
        element: impl FnOnce() -> PathElement,
        member: bool,
        children: Set,
    ) {
        let node = Node { member, children };
        if node.is_empty() {
            // Should the other set have something there, it is passed when the next element is looked for.
            level.found = false;
            return;
        }
        let found = std::mem::take(&mut level.found).then(|| level.entries.get(level.at)).flatten();
        match found.filter(|(_, before)| before.same(&node)) {
            Some((element, _)) => {
                if level.own.is_some() {
                    self.entries.push((element.clone(), node));
                }
            }
            None => {
                self.own(level);
                self.entries.push((found.map_or_else(element, |(element, _)| element.clone()), node));
            }
        }
        level.at += usize::from(found.is_some());
    }

    /// Makes what was passed so far entries of its own.
    fn own(&mut self, level: &mut Level<'_>) {
        if level.own.is_none() {
            level.own = Some(self.start());
            self.entries.extend(level.entries.iter().take(level.at).cloned());
        }
    }

    /// Ends a level whose elements came in order, each once.
    pub fn end(&mut self, mut level: Level<'_>) -> Set {
        if level.own.is_none() && level.at == level.entries.len() {
            return level.like.clone();
        }
        self.own(&mut level);
        self.take_sorted(level.own.unwrap_or_default())
    }

    /// Ends a level whose elements came in any order: what is said twice about an element is united.
    pub fn end_unsorted(&mut self, mut level: Level<'_>) -> Set {
        self.own(&mut level);
        self.take(level.own.unwrap_or_default())
    }
}

/// Levels that are read are like no other, and what reads them knows where they begin. There an element is put on the
/// stack before what is below it is read: moved later, just made, it would take several times as long.
impl SetStack {
    /// A stack with little room.
    pub(crate) fn with_capacity(n: usize) -> Self {
        SetStack { entries: Vec::with_capacity(n.min(ROOM)) }
    }

    /// Where the next level begins.
    #[inline(always)]
    pub(crate) fn start(&self) -> usize {
        self.entries.len()
    }

    /// The last two elements of the level that begins there.
    pub(crate) fn last_two(&self, start: usize) -> Option<(&PathElement, &PathElement)> {
        match self.entries.get(start..)? {
            [.., (last, _), (next, _)] => Some((last, next)),
            _ => None,
        }
    }

    /// Adds an element that is a member and has nothing below it.
    #[inline(always)]
    pub(crate) fn add(&mut self, element: impl FnOnce() -> PathElement) {
        let entry = || (element(), Node { member: true, children: Set::new() });
        self.entries.extend(std::iter::once_with(entry));
    }

    /// Says what is below the last element after all. It must not be nothing at all.
    #[inline(always)]
    pub(crate) fn set_below(&mut self, member: bool, children: Set) {
        if let Some((_, node)) = self.entries.last_mut() {
            *node = Node { member, children };
        }
    }

    /// The set of a level that is sorted.
    pub(crate) fn take_sorted(&mut self, start: usize) -> Set {
        let sorted = |own: &[(PathElement, Node)]| own.is_sorted_by(|a, b| a.0 < b.0);
        debug_assert!(self.entries.get(start..).is_some_and(sorted));
        if self.entries.len() == start + 1 {
            // Many levels have one element.
            return Set(SortedMap::from_sorted_iter(Last(Some(&mut self.entries))));
        }
        Set(SortedMap::from_sorted_iter(self.entries.drain(start..)))
    }

    /// The set of a level whose last element is the least.
    pub(crate) fn take_reversed(&mut self, start: usize) -> Set {
        Set(SortedMap::from_sorted_iter(self.entries.drain(start..).rev()))
    }

    /// The set of a level in any order.
    pub(crate) fn take(&mut self, start: usize) -> Set {
        let own = self.entries.get(start..).unwrap_or_default();
        if own.is_sorted_by(|a, b| a.0 < b.0) {
            return self.take_sorted(start);
        }
        let mut builder = SetBuilder::with_capacity(own.len());
        for (element, node) in self.entries.drain(start..) {
            builder.push(element, node.member, node.children);
        }
        builder.build()
    }
}

/// Takes the last entry. It is one word, where a drain is of several.
struct Last<'a>(Option<&'a mut Vec<(PathElement, Node)>>);

impl Iterator for Last<'_> {
    type Item = (PathElement, Node);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.take()?.pop()
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let n = usize::from(self.0.is_some());
        (n, Some(n))
    }
}

impl ExactSizeIterator for Last<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Set {
        Set::from_json(text.as_bytes()).unwrap()
    }

    /// Copies a set level by level, along another one.
    fn copy(stack: &mut SetStack, from: &Set, like: &Set) -> Set {
        let mut level = stack.begin(like);
        let none = Set::new();
        for (element, node) in from.nodes() {
            let before = stack.find(&mut level, |known| known.cmp(element)).map_or(&none, Node::children);
            let below = copy(stack, node.children(), before);
            stack.push(&mut level, || element.clone(), node.is_member(), below);
        }
        stack.end(level)
    }

    #[test]
    fn what_is_like_another_set_is_shared() {
        let sets = [
            "{}",
            r#"{"f:a":{}}"#,
            r#"{"f:b":{}}"#,
            r#"{"f:a":{},"f:b":{".":{},"f:c":{}},"f:d":{}}"#,
            r#"{"f:a":{},"f:b":{"f:c":{}},"f:d":{}}"#,
            r#"{"f:b":{"f:c":{},"f:e":{"v:1":{}}},"f:c":{}}"#,
        ]
        .map(set);
        let mut stack = SetStack::default();
        for from in &sets {
            for like in &sets {
                let made = copy(&mut stack, from, like);
                assert_eq!(made, *from, "like {like:?}");
                assert_eq!(made.ptr_eq(like), from == like, "{from:?} like {like:?}");
                assert!(stack.entries.is_empty());
            }
        }
    }

    #[test]
    fn elements_in_any_order_are_united() {
        let mut stack = SetStack::default();
        let like = Set::new();
        let mut level = stack.begin(&like);
        for (name, below) in [("b", "{}"), ("a", r#"{"f:x":{}}"#), ("a", r#"{"f:y":{}}"#)] {
            stack.push(&mut level, || PathElement::field(name), true, set(below));
        }
        assert_eq!(stack.end_unsorted(level), set(r#"{"f:a":{".":{},"f:x":{},"f:y":{}},"f:b":{}}"#));
    }
}
