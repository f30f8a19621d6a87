//! Filters on sets.

use std::cmp::Ordering;

use crate::set::Node;

use crate::{Error, MAX_PATH_LENGTH, Path, PathElement, Set};

/// Selects paths of a set.
///
/// Behaviour: `NewExcludeSetFilter` and `NewIncludeMatcherFilter` of
/// `sigs.k8s.io/structured-merge-diff/v6/fieldpath`.
///
/// ```
/// use fieldmanager_fieldpath::{Filter, Matcher, Set};
/// let set = Set::from_json(br#"{"f:spec":{"f:a":{}},"f:status":{"f:b":{}}}"#)?;
/// let status = Set::from_json(br#"{"f:status":{}}"#)?;
/// assert_eq!(Filter::Exclude(status).apply(&set).to_string(), ".spec.a");
/// let only = Filter::Include(Matcher::prefixes([".status"])?);
/// assert_eq!(only.apply(&set).to_string(), ".status.b");
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Selects all paths except those of the set and their descendants.
    Exclude(Set),
    /// Selects the matching paths.
    Include(Matcher),
}

impl Filter {
    /// Returns the selected paths of a set.
    ///
    /// ```
    /// use fieldmanager_fieldpath::{Filter, Set};
    /// let set = Set::from_json(br#"{"f:spec":{},"f:status":{".":{},"f:phase":{}}}"#)?;
    /// let reset = Filter::Exclude(Set::from_json(br#"{"f:status":{}}"#)?);
    /// assert_eq!(reset.apply(&set).to_string(), ".spec");
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn apply(&self, set: &Set) -> Set {
        match self {
            Filter::Exclude(excluded) => set.recursive_difference(excluded),
            Filter::Include(matcher) => matcher.filter(set),
        }
    }
}

/// A step of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ElementMatcher {
    /// Any element.
    Any,
    /// This element.
    Element(PathElement),
}

/// A pattern of paths with wildcards, structured like a set.
///
/// It selects the paths that match a prefix of a pattern and those that start with a complete match. If a level has
/// both a wildcard and other steps, only the wildcard applies, as in the Go package.
///
/// ```
/// use fieldmanager_fieldpath::{Filter, Matcher, Set};
/// let images = Matcher::prefixes([".containers[*].image"])?;
/// let set = Set::from_json(br#"{"f:containers":{"k:{\"name\":\"a\"}":{"f:image":{},"f:args":{}}}}"#)?;
/// assert_eq!(Filter::Include(images).apply(&set).to_string(), r#".containers[name="a"].image"#);
/// assert_eq!(Filter::Include(Matcher::all()).apply(&set), set);
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    /// Every path matches; `members` is empty.
    all: bool,
    /// Sorted, without duplicates. The wildcard sorts first.
    members: Vec<(ElementMatcher, Matcher)>,
}

impl Matcher {
    /// Creates a matcher that matches every path.
    pub fn all() -> Self {
        Matcher {
            all: true,
            members: Vec::new(),
        }
    }

    /// Creates a matcher for the paths that start with one of the patterns, which must be sorted.
    fn from_sorted(patterns: &[&[ElementMatcher]]) -> Self {
        if patterns.first().is_none_or(|first| first.is_empty()) {
            return Self::all();
        }
        let groups = patterns.chunk_by(|a, b| a.first() == b.first());
        let members = groups.filter_map(|group| {
            let (step, _) = group.first()?.split_first()?;
            let below: Vec<_> = group
                .iter()
                .filter_map(|pattern| pattern.get(1..))
                .collect();
            Some((step.clone(), Self::from_sorted(&below)))
        });

        Matcher {
            all: false,
            members: members.collect(),
        }
    }

    /// Creates a matcher for the paths that start with one of the patterns, in field-path notation with `.*` and `[*]`
    /// as wildcards. Without patterns, every path matches. The cost is that of sorting the patterns.
    ///
    /// # Errors
    ///
    /// [`Error::Path`] for the first pattern that is not a path.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Matcher;
    /// assert_eq!(Matcher::prefixes([])?, Matcher::all());
    /// assert!(Matcher::prefixes([".spec."]).is_err());
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn prefixes<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<Self, Error> {
        let mut patterns = patterns
            .into_iter()
            .map(parse)
            .collect::<Result<Vec<_>, _>>()?;
        patterns.sort();
        Ok(Self::from_sorted(
            &patterns.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        ))
    }

    /// Returns the matching paths of the set.
    pub(crate) fn filter(&self, set: &Set) -> Set {
        if self.all {
            return set.clone();
        }
        set.map_nodes(|element, node| match self.below(element) {
            None => Node::default(),
            Some(below) => node.with(node.member, below.filter(&node.children)),
        })
    }

    fn below(&self, element: &PathElement) -> Option<&Matcher> {
        if let Some((ElementMatcher::Any, below)) = self.members.first() {
            return Some(below);
        }
        let at = self.members.binary_search_by(|(step, _)| match step {
            ElementMatcher::Any => Ordering::Less,
            ElementMatcher::Element(known) => known.cmp(element),
        });
        self.members.get(at.ok()?).map(|(_, below)| below)
    }
}

fn parse(pattern: &str) -> Result<Vec<ElementMatcher>, Error> {
    let mut steps = Vec::new();
    let mut rest = pattern;
    // The parts between wildcards are paths.
    while !rest.is_empty() {
        let wildcard = [rest.find(".*"), rest.find("[*]")]
            .into_iter()
            .flatten()
            .min();
        let (path, tail) = rest.split_at(wildcard.unwrap_or(rest.len()));
        let path: Path = path.parse()?;
        steps.extend(path.iter().cloned().map(ElementMatcher::Element));
        rest = tail;

        if let Some(tail) = rest.strip_prefix(".*").or_else(|| rest.strip_prefix("[*]")) {
            steps.push(ElementMatcher::Any);
            rest = tail;
        }
    }
    steps.truncate(MAX_PATH_LENGTH);

    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(patterns: &[&str], fields: &str) -> String {
        let matcher = Matcher::prefixes(patterns.iter().copied()).unwrap();
        matcher
            .filter(&Set::from_json(fields.as_bytes()).unwrap())
            .to_json()
    }

    #[test]
    fn patterns_select_paths() {
        let fields = r#"{"f:a":{".":{},"f:x":{},"k:{\"n\":1}":{"f:y":{}}},"f:b":{"f:x":{}}}"#;
        assert_eq!(filter(&[], fields), fields);
        assert_eq!(
            filter(&[".a"], fields),
            r#"{"f:a":{".":{},"f:x":{},"k:{\"n\":1}":{"f:y":{}}}}"#
        );
        assert_eq!(
            filter(&[".*.x"], fields),
            r#"{"f:a":{".":{},"f:x":{}},"f:b":{"f:x":{}}}"#
        );
        assert_eq!(
            filter(&[".a[*]"], fields),
            fields.replace(r#","f:b":{"f:x":{}}"#, "")
        );
        assert_eq!(
            filter(&[".a[n=1].y"], fields),
            r#"{"f:a":{".":{},"k:{\"n\":1}":{"f:y":{}}}}"#
        );
        assert_eq!(filter(&[".c"], fields), "{}");
        assert_eq!(
            filter(&[".b", ".a.x"], fields),
            r#"{"f:a":{".":{},"f:x":{}},"f:b":{"f:x":{}}}"#
        );
    }

    #[test]
    fn wildcards_merge_and_shadow_elements() {
        let fields = r#"{"f:a":{"f:x":{},"f:y":{},"f:z":{}}}"#;
        assert_eq!(
            filter(&[".*.x", ".*.y"], fields),
            r#"{"f:a":{"f:x":{},"f:y":{}}}"#
        );
        assert_eq!(filter(&[".*.x", ".a.y"], fields), r#"{"f:a":{"f:x":{}}}"#);
    }

    #[test]
    fn invalid_patterns_are_rejected() {
        assert!(Matcher::prefixes([".a."]).is_err());
    }
}
