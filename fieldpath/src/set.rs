//! Sets of paths.

use std::fmt;

use fieldmanager_value::sorted::{Iter, SortedMap};

use crate::{Path, PathElement};

/// A set of paths: a persistent trie with sorted children. Cloning is O(1), and sets made from others
/// share what did not change.
///
/// A path being in the set says nothing about its parents or children: `.spec.replicas` may be owned
/// without `.spec`. The empty path is never in a set, for nobody owns a whole object.
///
/// Invariant: no node is without purpose; one that is not a member has children.
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

/// What a set holds at and below one path element.
///
/// ```
/// use fieldmanager_fieldpath::{PathElement, Set};
/// let set = Set::from_json(br#"{"f:labels":{"f:app":{}}}"#)?;
/// let labels = set.get(&PathElement::field("labels")).unwrap();
/// assert!(!labels.is_member());
/// assert_eq!(labels.children().to_string(), ".app");
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Node {
    pub(crate) member: bool,
    pub(crate) children: Set,
}

impl Node {
    /// Whether the path that ends here is in the set.
    pub fn is_member(&self) -> bool {
        self.member
    }

    /// The longer paths, without the elements that lead here.
    pub fn children(&self) -> &Set {
        &self.children
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    /// Whether both are the same in memory.
    pub(crate) fn same(&self, other: &Node) -> bool {
        self.member == other.member && self.children.ptr_eq(&other.children)
    }
}

impl Set {
    /// The empty set. It allocates nothing.
    pub const fn new() -> Self {
        Set(SortedMap::new())
    }

    /// Whether no path is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both are the same in memory, and therefore equal.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let set = Set::from_json(br#"{"f:a":{}}"#)?;
    /// assert!(set.ptr_eq(&set.clone()));
    /// assert!(!set.ptr_eq(&Set::from_json(br#"{"f:a":{}}"#)?));
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn ptr_eq(&self, other: &Set) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// How many paths are in the set. This walks it.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// // `.labels` is on the way to a path, and none itself.
    /// assert_eq!(Set::from_json(br#"{"f:labels":{"f:app":{},"f:tier":{}}}"#)?.len(), 2);
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.0.iter().map(|(_, node)| usize::from(node.member) + node.children.len()).sum()
    }

    /// Adds a path; its parents are not added. The empty path is ignored.
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
        let mut node = self.0.get(first).cloned().unwrap_or_default();
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

    /// Whether a path is in the set.
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

    /// What the set holds at and below an element.
    ///
    /// ```
    /// use fieldmanager_fieldpath::{PathElement, Set};
    /// let set = Set::from_json(br#"{"f:replicas":{}}"#)?;
    /// assert!(set.get(&PathElement::field("replicas")).is_some_and(|node| node.is_member()));
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn get(&self, element: &PathElement) -> Option<&Node> {
        self.0.get(element)
    }

    /// The paths that begin with an element, without it.
    ///
    /// ```
    /// use fieldmanager_fieldpath::{PathElement, Set};
    /// let set = Set::from_json(br#"{"f:labels":{"f:app":{}},"f:a":{}}"#)?;
    /// assert_eq!(set.with_prefix(&PathElement::field("labels")).to_string(), ".app");
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn with_prefix(&self, element: &PathElement) -> Set {
        self.get(element).map(|node| node.children.clone()).unwrap_or_default()
    }

    /// The first elements of the paths, in order, with what is below them.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let set = Set::from_json(br#"{"f:b":{"f:c":{}},"f:a":{}}"#)?;
    /// let first: Vec<String> = set.nodes().map(|(element, _)| element.to_string()).collect();
    /// assert_eq!(first, [".a", ".b"]);
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn nodes(&self) -> Iter<'_, PathElement, Node> {
        self.0.iter()
    }

    /// The paths: those of one element first, then those below each element, in order. This is the order
    /// in which Kubernetes lists conflicts.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let set = Set::from_json(br#"{"f:a":{"f:x":{}},"f:b":{}}"#)?;
    /// let paths: Vec<String> = set.paths().map(|path| path.to_string()).collect();
    /// assert_eq!(paths, [".b", ".a.x"]);
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn paths(&self) -> Paths<'_> {
        Paths { levels: vec![Level::new(self)], prefix: Path::new() }
    }
}

struct Level<'a> {
    members: Iter<'a, PathElement, Node>,
    children: Iter<'a, PathElement, Node>,
}

impl<'a> Level<'a> {
    fn new(set: &'a Set) -> Self {
        Level { members: set.nodes(), children: set.nodes() }
    }
}

/// The iterator of [`Set::paths`].
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
    levels: Vec<Level<'a>>,
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
                    self.levels.push(Level::new(&node.children));
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

/// The paths, one a line.
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

/// Makes one level of a [`Set`] from the results of the levels below, in one go.
///
/// Elements may come in any order, and more than once: what they bring is united.
///
/// ```
/// use fieldmanager_fieldpath::{PathElement, Set, SetBuilder};
/// let mut builder = SetBuilder::with_capacity(2);
/// builder.push(PathElement::field("b"), true, Set::new());
/// builder.push(PathElement::field("a"), true, Set::new());
/// assert_eq!(builder.build().to_string(), ".a\n.b");
/// ```
#[derive(Default)]
pub struct SetBuilder(Vec<(PathElement, Node)>);

impl SetBuilder {
    /// A builder with room for `n` elements.
    pub fn with_capacity(n: usize) -> Self {
        SetBuilder(Vec::with_capacity(n))
    }

    /// Adds an element: itself if `member` is set, and the paths below it. Nothing is added by neither.
    pub fn push(&mut self, element: PathElement, member: bool, children: Set) {
        let node = Node { member, children };
        if !node.is_empty() {
            self.0.push((element, node));
        }
    }

    /// The set.
    pub fn build(mut self) -> Set {
        if !self.0.is_sorted_by(|a, b| a.0 < b.0) {
            self.0.sort_by(|a, b| a.0.cmp(&b.0));
            self.0.dedup_by(|later, kept| {
                let equal = later.0 == kept.0;
                if equal {
                    kept.1 = kept.1.union(&later.1);
                }
                equal
            });
        }
        Set(SortedMap::from_sorted(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_members_first() {
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
        assert_eq!(set.with_prefix(&PathElement::field("a")).to_string(), ".x\n.y\n.x.z");
    }
}
