//! Persistent lists.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use im::Vector;
use im::shared_ptr::DefaultSharedPtr;
use im::vector::Chunks;
use triomphe::ThinArc;

use crate::lineage::Lineage;
use crate::{Value, deep};

/// The maximum number of items of a list stored as one shared slice, which an edit copies and a lookup scans. A longer
/// list is a persistent vector and can store a memo.
const SMALL: usize = 32;

/// Data derived from a list and stored with it.
type Memo = Arc<dyn Any + Send + Sync>;

struct Large {
    items: Vector<Value>,
    memo: OnceLock<Memo>,
    lineage: Lineage,
}

/// A slice of items. A list of more than [`SMALL`] items has an empty slice and stores its items in [`Large`].
type ListSlice = ThinArc<Option<Box<Large>>, Value>;

/// A persistent list: cloning is O(1), and an edited copy shares its unchanged items.
///
/// ```
/// use fieldmanager_value::{List, Value};
/// let list: List = (0..100).map(|i| Value::from(i)).collect();
/// let mut edited = list.clone();
/// edited.set(7, Value::from("seven"));
/// assert_eq!(list.get(7), Some(&Value::from(7)));
/// assert_eq!(edited.get(7), Some(&Value::from("seven")));
/// assert_eq!(edited.len(), 100);
/// ```
#[derive(Clone, Default)]
pub struct List(Option<ListSlice>);

impl Drop for List {
    fn drop(&mut self) {
        // Dropping a shared list only decrements its reference count.
        if self
            .0
            .as_ref()
            .is_some_and(|node| ThinArc::strong_count(node) == 1)
        {
            deep::drop_level(self.0.take());
        }
    }
}

enum ListForm<'a> {
    Slice(&'a [Value]),
    Large(&'a Large),
}

impl List {
    /// Creates an empty list, without allocating.
    pub const fn new() -> Self {
        List(None)
    }

    /// Whether both lists are the same allocation, which implies that they are equal.
    ///
    /// ```
    /// use fieldmanager_value::{List, Value};
    /// let list = List::from_iter([Value::from(1)]);
    /// assert!(list.ptr_eq(&list.clone()));
    /// assert!(!list.ptr_eq(&List::from_iter([Value::from(1)])));
    /// ```
    #[doc(hidden)]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => std::ptr::eq(a.as_ptr(), b.as_ptr()),
            _ => false,
        }
    }

    fn repr(&self) -> ListForm<'_> {
        match &self.0 {
            None => ListForm::Slice(&[]),
            Some(node) => match &node.header.header {
                Some(large) => ListForm::Large(large),
                None => ListForm::Slice(&node.slice),
            },
        }
    }

    /// Creates a list from an iterator of known length.
    #[inline]
    pub(crate) fn from_exact(mut items: impl ExactSizeIterator<Item = Value>) -> Self {
        match items.len() {
            0 => List(None),
            // Passed by reference, as for maps.
            1..=SMALL => List(Some(ThinArc::from_header_and_iter(None, &mut items))),
            _ => Self::from_vector(items.collect(), Lineage::default()),
        }
    }

    fn from_vector(items: Vector<Value>, lineage: Lineage) -> Self {
        let large = Large {
            items,
            memo: OnceLock::new(),
            lineage,
        };
        List(Some(ThinArc::from_header_and_iter(
            Some(Box::new(large)),
            std::iter::empty::<Value>(),
        )))
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        match self.repr() {
            ListForm::Slice(items) => items.len(),
            ListForm::Large(large) => large.items.len(),
        }
    }

    /// Whether the list has no items.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The item at an index, counted from 0.
    pub fn get(&self, at: usize) -> Option<&Value> {
        match self.repr() {
            ListForm::Slice(items) => items.get(at),
            ListForm::Large(large) => large.items.get(at),
        }
    }

    /// Iterates over the items in order.
    pub fn iter(&self) -> Iter<'_> {
        match self.repr() {
            ListForm::Slice(items) => Iter {
                items: items.iter(),
                following: None,
            },
            ListForm::Large(large) => {
                let following = Following {
                    leaves: large.items.leaves(),
                    len: large.items.len(),
                };
                Iter {
                    items: [].iter(),
                    following: Some(Box::new(following)),
                }
            }
        }
    }

    /// Replaces the item at an index and returns the old one. Does nothing if the index is out of bounds.
    ///
    /// ```
    /// use fieldmanager_value::{List, Value};
    /// let mut list = List::from_iter([Value::from(1), Value::from(2)]);
    /// assert_eq!(list.set(1, Value::from("two")), Some(Value::from(2)));
    /// assert_eq!(list.set(2, Value::Null), None);
    /// ```
    pub fn set(&mut self, at: usize, item: Value) -> Option<Value> {
        let old = self.get(at)?.clone();
        *self = self.with_edits(vec![(at, item)], Vec::new());
        Some(old)
    }

    /// Appends an item. To create a list of many items, collect them.
    ///
    /// ```
    /// use fieldmanager_value::{List, Value};
    /// let mut list = List::new();
    /// list.push(Value::from("a"));
    /// assert_eq!(list.len(), 1);
    /// ```
    pub fn push(&mut self, item: Value) {
        *self = self.with_edits(Vec::new(), vec![item]);
    }

    /// Removes and returns the item at an index. Does nothing if the index is out of bounds.
    ///
    /// ```
    /// use fieldmanager_value::{List, Value};
    /// let mut list = List::from_iter([Value::from(1), Value::from(2)]);
    /// assert_eq!(list.remove(0), Some(Value::from(1)));
    /// assert_eq!(list, List::from_iter([Value::from(2)]));
    /// ```
    pub fn remove(&mut self, at: usize) -> Option<Value> {
        let old = self.get(at)?.clone();
        let kept = self.iter().enumerate().filter(|(i, _)| *i != at);
        *self = kept.map(|(_, item)| item.clone()).collect();
        Some(old)
    }

    /// Returns the list with some items replaced and some appended, in one step. Indices out of bounds are ignored. The
    /// new list has no memo.
    ///
    /// ```
    /// use fieldmanager_value::{List, Value};
    /// let list = List::from_iter([Value::from("a"), Value::from("b")]);
    /// let edited = list.with_edits(vec![(1, Value::from("x"))], vec![Value::from("c")]);
    /// assert_eq!(Value::from(edited).to_json(), r#"["a","x","c"]"#);
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn with_edits(&self, replaced: Vec<(usize, Value)>, appended: Vec<Value>) -> Self {
        if replaced.is_empty() && appended.is_empty() {
            return self.clone();
        }

        // A small list is copied. A large one shares its chunks and records the edited positions, which a comparison
        // then visits.
        match self.repr() {
            ListForm::Slice(items) => {
                let mut copy = Vec::with_capacity(items.len() + appended.len());
                copy.extend_from_slice(items);
                for (at, item) in replaced {
                    if let Some(slot) = copy.get_mut(at) {
                        *slot = item;
                    }
                }
                copy.extend(appended);
                Self::from_exact(copy.into_iter())
            }
            ListForm::Large(large) => {
                let mut items = large.items.clone();
                let end = items.len();
                let positions = replaced
                    .iter()
                    .map(|(at, _)| *at)
                    .chain(end..end + appended.len());
                let lineage = large.lineage.child(positions.collect());

                for (at, item) in replaced {
                    if let Some(slot) = items.get_mut(at) {
                        *slot = item;
                    }
                }
                items.extend(appended);
                Self::from_vector(items, lineage)
            }
        }
    }

    fn chunks(&self) -> impl Iterator<Item = &[Value]> {
        let (slice, large) = match self.repr() {
            ListForm::Slice(items) => (Some(items), None),
            ListForm::Large(large) => (None, Some(large.items.leaves())),
        };
        slice.into_iter().chain(large.into_iter().flatten())
    }
}

/// Stores data derived from the list for the lifetime of the list. An edited list does not inherit it. Only the
/// first memo is stored, and only if [`keeps_memo`] is true.
pub fn set_memo<T: Any + Send + Sync>(list: &List, memo: Arc<T>) {
    if let ListForm::Large(large) = list.repr() {
        // Drop a second memo, since it was derived from the same items.
        let _ = large.memo.set(memo);
    }
}

/// Returns data derived from the list: the stored memo if it is a `T` and `fits` accepts it, otherwise the result
/// of `make`, which is then [stored](set_memo).
///
/// A keyed list stores its index this way, while this crate knows nothing about keys.
///
/// # Errors
///
/// The error of `make`.
///
/// ```
/// use fieldmanager_value::internal::memo_or_else;
/// use std::convert::Infallible;
/// use fieldmanager_value::{List, Value};
/// let list: List = (0..1000).map(Value::from).collect();
/// let mut made = 0;
/// for _ in 0..2 {
///     let last = memo_or_else(&list, |_| true, || { made += 1; Ok::<_, Infallible>(list.get(999).cloned()) })?;
///     assert_eq!(*last, Some(Value::from(999)));
/// }
/// assert_eq!(made, 1);
/// # Ok::<(), Infallible>(())
/// ```
pub fn memo_or_else<T: Any + Send + Sync, E>(
    list: &List,
    fits: impl FnOnce(&T) -> bool,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<Arc<T>, E> {
    if let ListForm::Large(large) = list.repr()
        && let Some(memo) = large.memo.get()
        && let Ok(memo) = memo.clone().downcast::<T>()
        && fits(&memo)
    {
        return Ok(memo);
    }
    let made = Arc::new(make()?);
    set_memo(list, made.clone());
    Ok(made)
}

/// Whether the list is large enough to store a memo. Scanning a smaller list is faster than a lookup in a memo.
///
/// ```
/// use fieldmanager_value::internal::keeps_memo;
/// use fieldmanager_value::{List, Value};
/// let list = |n: i32| (0..n).map(Value::from).collect::<List>();
/// assert!(!keeps_memo(&list(2)) && keeps_memo(&list(1000)));
/// ```
pub fn keeps_memo(list: &List) -> bool {
    matches!(list.repr(), ListForm::Large(_))
}

/// Calls `f` with every index at which the two lists do not share the same item, and the items at that index. For
/// two large lists of which one was derived from the other by few edits, this visits only the edited items;
/// otherwise it skips shared chunks.
///
/// ```
/// use fieldmanager_value::internal::for_each_difference;
/// use fieldmanager_value::{List, Value};
/// let old: List = (0..100).map(Value::from).collect();
/// let mut new = old.clone();
/// new.set(7, Value::Null);
/// let mut found = Vec::new();
/// for_each_difference(&old, &new, |at, _, _| found.push(at));
/// assert_eq!(found, [7]);
/// ```
pub fn for_each_difference<'a>(
    list: &'a List,
    other: &'a List,
    mut f: impl FnMut(usize, Option<&'a Value>, Option<&'a Value>),
) {
    if list.ptr_eq(other) {
        return;
    }
    // One list derived from the other differs from it at the recorded positions only.
    if let (ListForm::Large(old), ListForm::Large(new)) = (list.repr(), other.repr())
        && let Some(changes) = old.lineage.between(&new.lineage)
    {
        for at in changes {
            match (list.get(at), other.get(at)) {
                (Some(x), Some(y)) if x.ptr_eq(y) => {}
                (None, None) => {}
                (x, y) => f(at, x, y),
            }
        }
        return;
    }

    // The chunks of two lists may end at different positions, so each step is the shorter remainder.
    let (mut left, mut right) = (list.chunks(), other.chunks());
    let (mut a, mut b): (&[Value], &[Value]) = (&[], &[]);
    let mut at = 0;
    loop {
        if a.is_empty() {
            a = left.next().unwrap_or_default();
        }
        if b.is_empty() {
            b = right.next().unwrap_or_default();
        }

        let step = match (a.len(), b.len()) {
            (0, 0) => return,
            (0, n) | (n, 0) => n,
            (n, m) => n.min(m),
        };

        // A chunk that both lists share at the same position has no differences.
        if !(a.len() == b.len() && std::ptr::eq(a.as_ptr(), b.as_ptr())) {
            for i in 0..step {
                match (a.get(i), b.get(i)) {
                    (Some(x), Some(y)) if x.ptr_eq(y) => {}
                    (x, y) => f(at + i, x, y),
                }
            }
        }

        a = a.get(step..).unwrap_or_default();
        b = b.get(step..).unwrap_or_default();
        at += step;
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        let mut equal = true;
        deep::level(|| for_each_difference(self, other, |_, a, b| equal = equal && a == b));
        equal
    }
}

impl Eq for List {}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self::from_exact(items.into_iter().collect::<Vec<_>>().into_iter())
    }
}

impl<'a> IntoIterator for &'a List {
    type Item = &'a Value;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// Iterates over the items of a [`List`] in order.
///
/// ```
/// use fieldmanager_value::{List, Value};
/// let list = List::from_iter([Value::from(1), Value::from(2)]);
/// let mut items = list.iter();
/// assert_eq!((items.len(), items.next()), (2, Some(&Value::from(1))));
/// ```
pub struct Iter<'a> {
    /// The items of the slice or of the current leaf.
    items: std::slice::Iter<'a, Value>,
    /// The leaves after the current one, for a large list.
    following: Option<Box<Following<'a>>>,
}

struct Following<'a> {
    leaves: Chunks<'a, Value, DefaultSharedPtr>,
    /// The number of items in these leaves.
    len: usize,
}

impl<'a> Iter<'a> {
    /// Advances to the next leaf and returns its first item.
    #[cold]
    fn next_leaf(&mut self) -> Option<&'a Value> {
        let following = self.following.as_mut()?;
        let leaf = following.leaves.next()?;
        following.len = following.len.saturating_sub(leaf.len());
        self.items = leaf.iter();
        self.items.next()
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        match self.items.next() {
            Some(item) => Some(item),
            None if self.following.is_none() => None,
            None => self.next_leaf(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.items.len() + self.following.as_ref().map_or(0, |following| following.len);
        (len, Some(len))
    }
}

impl ExactSizeIterator for Iter<'_> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(items: &[u8]) -> List {
        items.iter().map(|i| Value::Int((*i).into())).collect()
    }

    #[test]
    fn only_large_lists_store_a_memo_and_only_the_first() {
        let memo =
            |list: &List, new: u32| *memo_or_else(list, |_| true, || Ok::<_, ()>(new)).unwrap();
        let large: List = (0..=SMALL as i64).map(Value::Int).collect();
        assert_eq!((memo(&large, 7), memo(&large.clone(), 8)), (7, 7));
        set_memo(&large, Arc::new(9_u32));
        assert_eq!(memo(&large, 10), 7);
        let other = memo_or_else(&large, |old: &u32| *old != 7, || Ok::<_, ()>(11));
        assert_eq!((other.as_deref(), memo(&large, 12)), (Ok(&11), 7));
        let mut edited = large.clone();
        edited.push(Value::Null);
        assert_eq!(memo(&edited, 13), 13);
        let small = List::from_iter([Value::Null]);
        assert_eq!((memo(&small, 14), memo(&small, 15)), (14, 15));
    }

    proptest! {
        #[test]
        fn edits_match_a_vec(
            mut model in prop::collection::vec(any::<u8>(), 0..200),
            edits in prop::collection::vec((0..3, any::<prop::sample::Index>(), any::<u8>()), 0..60),
        ) {
            let mut subject = list(&model);
            for (edit, at, item) in edits {
                let before = subject.clone();
                let old_model = model.clone();
                let at = at.index(model.len().max(1));
                match edit {
                    0 => { subject.push(Value::Int(item.into())); model.push(item); }
                    1 if at < model.len() => { subject.remove(at); model.remove(at); }
                    2 if at < model.len() => { subject.set(at, Value::Int(item.into())); model[at] = item; }
                    _ => {}
                }
                prop_assert!(subject.iter().eq(list(&model).iter()));
                prop_assert_eq!(&before, &list(&old_model));
                let mut seen = Vec::new();
                for_each_difference(&before, &subject, |i, a, b| {
                    assert_eq!((a, b), (before.get(i), subject.get(i)));
                    seen.push(i);
                });
                let expected: Vec<usize> = (0..before.len().max(subject.len()))
                    .filter(|&i| before.get(i) != subject.get(i))
                    .collect();
                prop_assert_eq!(seen, expected);
            }
        }
    }
}
