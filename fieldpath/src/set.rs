//! Sets of paths.

use std::fmt;

use fieldmanager_value::MAX_DEPTH;
use fieldmanager_value::internal::sorted::{Iter, SortedMap};
use smallvec::{SmallVec, smallvec};

use crate::{Path, PathElement};

/// The maximum number of elements of a path in a [`Set`].
///
/// A path of `n` elements takes `n + 1` nested objects in FieldsV1. With this limit, every set can be written and read
/// again within [`MAX_DEPTH`]. If FieldsV1 is part of an object, the levels above it count too: four for
/// `metadata.managedFields[0].fieldsV1`.
pub const MAX_PATH_LENGTH: usize = MAX_DEPTH - 1;

/// A set of paths: a persistent trie with sorted children. Cloning is O(1), and a set derived from others shares their
/// unchanged parts.
///
/// Membership of a path is independent of its parents and children: a manager may own `.spec.replicas` but not `.spec`.
/// A set never contains the empty path, because a manager does not own a whole object. It also never contains a path of
/// more than [`MAX_PATH_LENGTH`] elements, which bounds the recursion over a set: operations that add paths ignore
/// longer ones. No typed value has a field with such a path, and FieldsV1 with such a path is rejected.
///
/// Invariant: each node is a member or has children.
///
/// ```
/// use fieldmanager_fieldpath::{Path, Set};
/// let a: Set = ["a".parse::<Path>()?, "b.c".parse()?].into_iter().collect();
/// let b: Set = ["b.c".parse::<Path>()?].into_iter().collect();
/// assert_eq!(a.difference(&b).to_json(), r#"{"f:a":{}}"#);
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Set(pub(crate) SortedMap<PathElement, Node>);

/// The part of a set at and below one path element.
///
/// ```
/// use fieldmanager_fieldpath::{PathElement, Set};
/// let set = Set::from_json(br#"{"f:labels":{"f:app":{}}}"#)?;
/// let labels = set.get(&PathElement::field("labels")).unwrap();
/// assert!(!labels.is_member());
/// assert_eq!(labels.children().to_string(), ".app");
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Node {
    pub(crate) member: bool,
    /// An upper bound on the depth of `children`.
    pub(crate) levels: u16,
    pub(crate) children: Set,
}

impl Node {
    /// Creates a node for the top level of a set, without the paths that exceed the length limit.
    #[inline]
    pub(crate) fn new(member: bool, children: Set) -> Node {
        // Most nodes have no children.
        let levels = if children.is_empty() {
            0
        } else {
            children.levels()
        };
        if usize::from(levels) >= MAX_PATH_LENGTH {
            return Node::limited(member, &children);
        }

        Node {
            member,
            levels,
            children,
        }
    }

    #[cold]
    fn limited(member: bool, children: &Set) -> Node {
        let children = children.limited(MAX_PATH_LENGTH - 1);
        Node {
            member,
            levels: children.levels(),
            children,
        }
    }

    /// Creates a node whose children are at most as deep as those of this node.
    pub(crate) fn with(&self, member: bool, children: Set) -> Node {
        Node {
            member,
            levels: self.levels,
            children,
        }
    }

    /// Whether the path that ends at this node is in the set.
    pub fn is_member(&self) -> bool {
        self.member
    }

    /// The longer paths, relative to this node.
    pub fn children(&self) -> &Set {
        &self.children
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    /// Whether both nodes share their children, which implies that they are equal.
    pub(crate) fn same(&self, other: &Node) -> bool {
        self.member == other.member && self.children.ptr_eq(&other.children)
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.member == other.member && self.children == other.children
    }
}

impl Eq for Node {}

impl Set {
    /// Creates an empty set, without allocating.
    pub const fn new() -> Self {
        Set(SortedMap::new())
    }

    /// Whether the set contains no paths.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both sets share one allocation, which implies that they are equal.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let set = Set::from_json(br#"{"f:a":{}}"#)?;
    /// assert!(set.ptr_eq(&set.clone()));
    /// assert!(!set.ptr_eq(&Set::from_json(br#"{"f:a":{}}"#)?));
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn ptr_eq(&self, other: &Set) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// The number of paths in the set. Linear in the size of the set.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// // `.labels` leads to two paths and is not in the set.
    /// assert_eq!(Set::from_json(br#"{"f:labels":{"f:app":{},"f:tier":{}}}"#)?.len(), 2);
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.0
            .iter()
            .map(|(_, node)| usize::from(node.member) + node.children.len())
            .sum()
    }

    fn find_longer(&self, left: usize, path: &mut Path) -> bool {
        self.nodes().any(|(element, node)| {
            if usize::from(node.levels) < left {
                return false;
            }
            path.push(element.clone());
            let found = match left.checked_sub(1) {
                Some(left) => node.children.find_longer(left, path),
                None => node.is_member() || node.children.find_longer(0, path),
            };
            if !found {
                path.pop();
            }

            found
        })
    }

    /// An upper bound on the depth.
    fn levels(&self) -> u16 {
        match self.0.as_slice() {
            Some(entries) => entries
                .iter()
                .fold(0, |levels, (_, node)| levels.max(node.levels + 1)),
            None => self
                .nodes()
                .fold(0, |levels, (_, node)| levels.max(node.levels + 1)),
        }
    }

    /// Returns the paths of at most `length` elements.
    fn limited(&self, length: usize) -> Set {
        if length == 0 {
            return Set::new();
        }
        self.map_nodes(|_, node| match node.children {
            ref children if usize::from(node.levels) < length => {
                node.with(node.member, children.clone())
            }
            ref children => Node::new(node.member, children.limited(length - 1)),
        })
    }

    /// Adds a path, but not its parents. The empty path and paths of more than [`MAX_PATH_LENGTH`] elements are
    /// ignored.
    ///
    /// ```
    /// use fieldmanager_fieldpath::{Path, Set};
    /// let mut set = Set::new();
    /// set.insert(&"labels.app".parse::<Path>()?);
    /// assert_eq!(set.to_json(), r#"{"f:labels":{"f:app":{}}}"#);
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn insert(&mut self, path: &[PathElement]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        if rest.len() >= MAX_PATH_LENGTH {
            return;
        }

        let mut node = self.0.get(first).cloned().unwrap_or_default();
        node.levels = node
            .levels
            .max(u16::try_from(rest.len()).unwrap_or(u16::MAX));
        if rest.is_empty() {
            if node.member {
                return;
            }
            node.member = true;
        } else {
            node.children.insert(rest);
        }
        self.0.insert(first.clone(), node);
    }

    /// Whether the set contains a path.
    ///
    /// ```
    /// use fieldmanager_fieldpath::{Path, Set};
    /// let set = Set::from_json(br#"{"f:labels":{"f:app":{}}}"#)?;
    /// assert!(set.has(&"labels.app".parse::<Path>()?));
    /// assert!(!set.has(&"labels".parse::<Path>()?));
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn has(&self, path: &[PathElement]) -> bool {
        match path.split_first() {
            None => false,
            Some((first, [])) => self.get(first).is_some_and(|node| node.member),
            Some((first, rest)) => self.get(first).is_some_and(|node| node.children.has(rest)),
        }
    }

    /// The node of an element.
    ///
    /// ```
    /// use fieldmanager_fieldpath::{PathElement, Set};
    /// let set = Set::from_json(br#"{"f:replicas":{}}"#)?;
    /// assert!(set.get(&PathElement::field("replicas")).is_some_and(|node| node.is_member()));
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn get(&self, element: &PathElement) -> Option<&Node> {
        self.0.get(element)
    }

    /// Iterates over the first elements of all paths with their nodes, in order.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let set = Set::from_json(br#"{"f:b":{"f:c":{}},"f:a":{}}"#)?;
    /// let first: Vec<String> = set.nodes().map(|(element, _)| element.to_string()).collect();
    /// assert_eq!(first, [".a", ".b"]);
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn nodes(&self) -> Iter<'_, PathElement, Node> {
        self.0.iter()
    }

    /// Iterates over the paths: at each level, first the members, then the descendants of each element, in order.
    /// Kubernetes lists conflicts in this order.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let set = Set::from_json(br#"{"f:a":{"f:x":{}},"f:b":{}}"#)?;
    /// let paths: Vec<String> = set.paths().map(|path| path.to_string()).collect();
    /// assert_eq!(paths, [".b", ".a.x"]);
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn paths(&self) -> Paths<'_> {
        Paths {
            levels: smallvec![SetLevel::new(self)],
            prefix: Path::new(),
        }
    }
}

/// The number of elements of the longest path. At most linear in the size of the set.
///
/// ```
/// use fieldmanager_fieldpath::internal::set_depth;
/// use fieldmanager_fieldpath::Set;
/// assert_eq!(set_depth(&Set::from_json(br#"{"f:labels":{"f:app":{}},"f:kind":{}}"#)?), 2);
/// assert_eq!(set_depth(&Set::new()), 0);
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
pub fn set_depth(set: &Set) -> usize {
    set.nodes().fold(0, |deepest, (_, node)| {
        if usize::from(node.levels) < deepest {
            deepest
        } else {
            deepest.max(1 + set_depth(&node.children))
        }
    })
}

/// Returns the paths that start with an element, without that element.
///
/// ```
/// use fieldmanager_fieldpath::internal::set_under;
/// use fieldmanager_fieldpath::{PathElement, Set};
/// let set = Set::from_json(br#"{"f:labels":{"f:app":{}},"f:a":{}}"#)?;
/// assert_eq!(set_under(&set, &PathElement::field("labels")).to_string(), ".app");
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
pub fn set_under(set: &Set, element: &PathElement) -> Set {
    set.get(element)
        .map(|node| node.children.clone())
        .unwrap_or_default()
}

/// Returns a path of more than `length` elements, if the set contains one. If no path is that long, this usually
/// visits only the top level.
///
/// ```
/// use fieldmanager_fieldpath::internal::path_longer_than;
/// use fieldmanager_fieldpath::Set;
/// let set = Set::from_json(br#"{"f:data":{"f:a":{}}}"#)?;
/// assert_eq!(path_longer_than(&set, 1).map(|path| path.to_string()).as_deref(), Some(".data.a"));
/// assert_eq!(path_longer_than(&set, 2), None);
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
pub fn path_longer_than(set: &Set, length: usize) -> Option<Path> {
    let mut path = Path::default();
    set.find_longer(length, &mut path).then_some(path)
}

struct SetLevel<'a> {
    members: Iter<'a, PathElement, Node>,
    children: Iter<'a, PathElement, Node>,
}

impl<'a> SetLevel<'a> {
    fn new(set: &'a Set) -> Self {
        SetLevel {
            members: set.nodes(),
            children: set.nodes(),
        }
    }
}

/// The iterator returned by [`Set::paths`].
///
/// ```
/// use fieldmanager_fieldpath::Set;
/// let set = Set::from_json(br#"{"f:a":{}}"#)?;
/// let mut paths = set.paths();
/// assert_eq!(paths.next().unwrap().to_string(), ".a");
/// assert_eq!(paths.next(), None);
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
pub struct Paths<'a> {
    levels: SmallVec<[SetLevel<'a>; 6]>,
    prefix: Path,
}

impl Iterator for Paths<'_> {
    type Item = Path;

    fn next(&mut self) -> Option<Path> {
        loop {
            let level = self.levels.last_mut()?;
            if let Some((element, _)) = level.members.find(|(_, node)| node.member) {
                let mut path = self.prefix.clone();
                path.push(element.clone());
                return Some(path);
            }

            match level.children.find(|(_, node)| !node.children.is_empty()) {
                Some((element, node)) => {
                    self.prefix.push(element.clone());
                    self.levels.push(SetLevel::new(&node.children));
                }
                None => {
                    self.levels.pop();
                    self.prefix.pop();
                }
            }
        }
    }
}

impl<P: AsRef<[PathElement]>> FromIterator<P> for Set {
    fn from_iter<I: IntoIterator<Item = P>>(paths: I) -> Self {
        let mut set = Set::new();
        for path in paths {
            set.insert(path.as_ref());
        }
        set
    }
}

impl AsRef<[PathElement]> for Path {
    fn as_ref(&self) -> &[PathElement] {
        self
    }
}

/// The paths, one per line.
impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, path) in self.paths().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            path.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_level_precede_their_descendants() {
        let mut set = Set::new();
        for text in ["b", "a.y", "a.x.z", "a.x", "c[=1]", "a"] {
            set.insert(&text.parse::<Path>().unwrap());
        }
        let paths: Vec<String> = set.paths().map(|path| path.to_string()).collect();
        assert_eq!(paths, [".a", ".b", ".a.x", ".a.y", ".a.x.z", ".c[=1]"]);
        assert_eq!(set.len(), 6);
        assert!(set.has(&"a.x".parse::<Path>().unwrap()));
        assert!(!set.has(&"c".parse::<Path>().unwrap()));
        assert!(!set.has(&[]));
        assert_eq!(
            set_under(&set, &PathElement::field("a")).to_string(),
            ".x\n.y\n.x.z"
        );
    }
}
