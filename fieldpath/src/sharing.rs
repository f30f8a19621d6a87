//! Making a set that is much like another one.

use std::cmp::Ordering;

use crate::set::Node;
use crate::{PathElement, Set};

/// Makes a set element by element, in order, and shares with another set what they have in common. A set that
/// turns out to be the other one is the other one, and nothing was allocated.
///
/// ```
/// use fieldmanager_fieldpath::{PathElement, Set, SharingBuilder};
/// let last = Set::from_json(br#"{"f:a":{},"f:b":{}}"#)?;
/// let mut builder = SharingBuilder::new(&last);
/// for name in ["a", "b"] {
///     let element = PathElement::field(name);
///     assert!(builder.find(|known| known.cmp(&element)).is_some());
///     builder.push(|| element, true, Set::new());
/// }
/// assert!(builder.build().ptr_eq(&last));
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
pub struct SharingBuilder<'s> {
    like: &'s Set,
    /// The entries of the other set; none if it is large, which is not worth the trouble.
    entries: &'s [(PathElement, Node)],
    /// How many of them have been passed.
    at: usize,
    /// Whether the entry there is the one that was found.
    found: bool,
    /// What was made; none as long as it is what was passed.
    own: Option<Vec<(PathElement, Node)>>,
}

impl<'s> SharingBuilder<'s> {
    /// Begins a set that may be like another one.
    pub fn new(like: &'s Set) -> Self {
        let entries = like.0.as_slice().unwrap_or_default();
        SharingBuilder { like, entries, at: 0, found: false, own: None }
    }

    /// The other set's node at the element that is pushed next. `order` compares an element with that one.
    pub fn find(&mut self, order: impl Fn(&PathElement) -> Ordering) -> Option<&'s Node> {
        self.found = false;
        while let Some((element, node)) = self.entries.get(self.at) {
            match order(element) {
                Ordering::Less => {
                    // The other set has an element more.
                    self.own();
                    self.at += 1;
                }
                Ordering::Equal => {
                    self.found = true;
                    return Some(node);
                }
                Ordering::Greater => return None,
            }
        }
        None
    }

    /// Adds an element: itself if `member` is set, and the paths below it. Nothing is added by neither.
    pub fn push(&mut self, element: impl FnOnce() -> PathElement, member: bool, children: Set) {
        let node = Node { member, children };
        let found = std::mem::take(&mut self.found).then(|| self.entries.get(self.at)).flatten();
        if node.is_empty() {
            // Should the other set have something there, it is passed when the next element is looked for.
            return;
        }
        let same = |(_, before): &&(PathElement, Node)| {
            before.member == node.member && before.children.ptr_eq(&node.children)
        };
        match found.filter(same) {
            Some(entry) => {
                if let Some(own) = &mut self.own {
                    own.push(entry.clone());
                }
            }
            None => {
                let element = found.map_or_else(element, |(element, _)| element.clone());
                self.own().push((element, node));
            }
        }
        self.at += usize::from(found.is_some());
    }

    /// What was made so far, as entries of its own.
    fn own(&mut self) -> &mut Vec<(PathElement, Node)> {
        let (entries, at) = (self.entries, self.at);
        self.own.get_or_insert_with(|| {
            let mut own = Vec::with_capacity(entries.len() + 1);
            own.extend_from_slice(entries.get(..at).unwrap_or_default());
            own
        })
    }

    /// The set.
    pub fn build(mut self) -> Set {
        if self.own.is_none() && self.at == self.entries.len() && !self.entries.is_empty() {
            return self.like.clone();
        }
        let own = std::mem::take(self.own());
        Set(fieldmanager_value::sorted::SortedMap::from_sorted(own))
    }
}
