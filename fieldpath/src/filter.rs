//! Filters: which paths of a set count.

use crate::set::{Node, Set};
use crate::{Error, Path, PathElement};

/// Which paths of a set count.
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
    /// All but the paths of the set and everything below them.
    Exclude(Set),
    /// Those that match.
    Include(Matcher),
}

impl Filter {
    /// The paths of the set that count.
    ///
    /// ```
    /// use fieldmanager_fieldpath::{Filter, Set};
    /// let set = Set::from_json(br#"{"f:spec":{},"f:status":{".":{},"f:phase":{}}}"#)?;
    /// let reset = Filter::Exclude(Set::from_json(br#"{"f:status":{}}"#)?);
    /// assert_eq!(reset.apply(&set).to_string(), ".spec");
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn apply(&self, set: &Set) -> Set {
        match self {
            Filter::Exclude(excluded) => set.recursive_difference(excluded),
            Filter::Include(matcher) => matcher.filter(set),
        }
    }
}

/// One step of a pattern.
///
/// ```
/// use fieldmanager_fieldpath::{ElementMatcher, Matcher, PathElement};
/// let steps = [ElementMatcher::Element(PathElement::field("containers")), ElementMatcher::Any];
/// assert_eq!(Matcher::prefix(steps), Matcher::prefixes([".containers[*]"])?);
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ElementMatcher {
    /// Any element.
    Any,
    /// This element.
    Element(PathElement),
}

impl ElementMatcher {
    fn matches(&self, element: &PathElement) -> bool {
        match self {
            ElementMatcher::Any => true,
            ElementMatcher::Element(wanted) => wanted == element,
        }
    }
}

/// A pattern of paths with wildcards, shaped like a set.
///
/// A path on the way to a match, and everything below a full match, is included. Where a wildcard and an
/// element stand side by side, the wildcard alone decides, as in the Go package.
///
/// ```
/// use fieldmanager_fieldpath::{Matcher, Set};
/// let images = Matcher::prefixes([".containers[*].image"])?;
/// let set = Set::from_json(br#"{"f:containers":{"k:{\"name\":\"a\"}":{"f:image":{},"f:args":{}}}}"#)?;
/// assert_eq!(images.filter(&set).to_string(), r#".containers[name="a"].image"#);
/// assert_eq!(Matcher::all().filter(&set), set);
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    /// Everything matches; `members` is empty then.
    all: bool,
    /// Sorted, the wildcard first, each step once.
    members: Vec<(ElementMatcher, Matcher)>,
}

impl Matcher {
    /// Matches every path.
    pub fn all() -> Self {
        Matcher { all: true, members: Vec::new() }
    }

    /// Matches the paths that begin with these steps.
    ///
    /// Behaviour: `PrefixMatcher` of `sigs.k8s.io/structured-merge-diff/v6/fieldpath`.
    pub fn prefix(steps: impl IntoIterator<Item = ElementMatcher, IntoIter: DoubleEndedIterator>) -> Self {
        steps
            .into_iter()
            .rev()
            .fold(Self::all(), |below, step| Matcher { all: false, members: vec![(step, below)] })
    }

    /// Matches the paths that begin with one of the given patterns, in field-path notation with `.*` and
    /// `[*]` as wildcards. Without any pattern everything matches.
    ///
    /// # Errors
    ///
    /// [`Error::Path`] for the first pattern that is no path.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Matcher;
    /// assert_eq!(Matcher::prefixes([])?, Matcher::all());
    /// assert!(Matcher::prefixes([".spec."]).is_err());
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn prefixes<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<Self, Error> {
        let mut merged: Option<Matcher> = None;
        for pattern in patterns {
            let one = Self::prefix(parse(pattern)?);
            merged = Some(match merged {
                None => one,
                Some(others) => others.merge(&one),
            });
        }
        Ok(merged.unwrap_or_else(Self::all))
    }

    /// Matches what either matches.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Matcher;
    /// let both = Matcher::prefixes([".spec"])?.merge(&Matcher::prefixes([".status"])?);
    /// assert_eq!(both, Matcher::prefixes([".spec", ".status"])?);
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    #[must_use]
    pub fn merge(&self, other: &Matcher) -> Matcher {
        if self.all || other.all {
            return Matcher::all();
        }
        let mut members = self.members.clone();
        for (step, below) in &other.members {
            match members.binary_search_by(|(known, _)| known.cmp(step)) {
                Ok(at) => {
                    if let Some((_, known)) = members.get_mut(at) {
                        *known = known.merge(below);
                    }
                }
                Err(at) => members.insert(at, (step.clone(), below.clone())),
            }
        }
        Matcher { all: false, members }
    }

    /// The paths of the set that match.
    pub fn filter(&self, set: &Set) -> Set {
        if self.all {
            return set.clone();
        }
        set.map_nodes(|element, node| match self.members.iter().find(|(step, _)| step.matches(element)) {
            None => Node::default(),
            Some((_, below)) => Node { member: node.member, children: below.filter(&node.children) },
        })
    }
}

fn parse(pattern: &str) -> Result<Vec<ElementMatcher>, Error> {
    let mut steps = Vec::new();
    let mut rest = pattern;
    // Cut at wildcards; what stands between them is a path.
    while !rest.is_empty() {
        let wildcard = [rest.find(".*"), rest.find("[*]")].into_iter().flatten().min();
        let (path, tail) = rest.split_at(wildcard.unwrap_or(rest.len()));
        let path: Path = path.parse()?;
        steps.extend(path.iter().cloned().map(ElementMatcher::Element));
        rest = tail;
        if let Some(tail) = rest.strip_prefix(".*").or_else(|| rest.strip_prefix("[*]")) {
            steps.push(ElementMatcher::Any);
            rest = tail;
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(patterns: &[&str], fields: &str) -> String {
        let matcher = Matcher::prefixes(patterns.iter().copied()).unwrap();
        matcher.filter(&Set::from_json(fields.as_bytes()).unwrap()).to_json()
    }

    #[test]
    fn patterns_select() {
        let fields = r#"{"f:a":{".":{},"f:x":{},"k:{\"n\":1}":{"f:y":{}}},"f:b":{"f:x":{}}}"#;
        assert_eq!(filter(&[], fields), fields);
        assert_eq!(filter(&[".a"], fields), r#"{"f:a":{".":{},"f:x":{},"k:{\"n\":1}":{"f:y":{}}}}"#);
        assert_eq!(filter(&[".*.x"], fields), r#"{"f:a":{".":{},"f:x":{}},"f:b":{"f:x":{}}}"#);
        assert_eq!(filter(&[".a[*]"], fields), fields.replace(r#","f:b":{"f:x":{}}"#, ""));
        assert_eq!(filter(&[".a[n=1].y"], fields), r#"{"f:a":{".":{},"k:{\"n\":1}":{"f:y":{}}}}"#);
        assert_eq!(filter(&[".c"], fields), "{}");
        assert_eq!(filter(&[".b", ".a.x"], fields), r#"{"f:a":{".":{},"f:x":{}},"f:b":{"f:x":{}}}"#);
    }

    #[test]
    fn wildcards_merge_and_shadow_elements() {
        let fields = r#"{"f:a":{"f:x":{},"f:y":{},"f:z":{}}}"#;
        assert_eq!(filter(&[".*.x", ".*.y"], fields), r#"{"f:a":{"f:x":{},"f:y":{}}}"#);
        assert_eq!(filter(&[".*.x", ".a.y"], fields), r#"{"f:a":{"f:x":{}}}"#);
    }

    #[test]
    fn a_pattern_that_is_no_path_is_refused() {
        assert!(Matcher::prefixes([".a."]).is_err());
    }
}
