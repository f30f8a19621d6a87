//! Set algebra.
//!
//! Each operation returns one of its operands if the result equals it, skips subtrees shared by both operands, and
//! walks only the smaller operand if the other one is much larger.

use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::TypeId;
use fieldmanager_value::internal::sorted::SortedMap;

use crate::PathElement;
use crate::set::{Node, Set};

type NodeEdits = Vec<(PathElement, Option<Node>)>;

/// The size ratio from which the entries of the smaller operand are looked up in the larger one.
const MUCH_SMALLER: usize = 8;

fn much_smaller(a: &Set, b: &Set) -> bool {
    a.0.len() * MUCH_SMALLER < b.0.len()
}

/// The entries of a set between the first and the last element of another set. No other entry can be in both.
fn entries_in_range_of<'s>(
    set: &'s Set,
    other: &'s Set,
) -> impl Iterator<Item = (&'s PathElement, &'s Node)> {
    let (first, last) = (other.0.first(), other.0.last());
    let entries = set
        .0
        .iter()
        .skip_while(move |(element, _)| first.is_none_or(|(first, _)| *element < first));
    entries.take_while(move |(element, _)| last.is_some_and(|(last, _)| *element <= last))
}

/// The number of entries from which checking for disjoint ranges pays off.
const LARGE: usize = 49;

fn both_large(a: &Set, b: &Set) -> bool {
    a.0.len().min(b.0.len()) >= LARGE
}

/// Whether two large sets are disjoint because one ends before the other starts. For small sets this check costs as
/// much as it saves, so the result is false.
fn are_disjoint_by_range(a: &Set, b: &Set) -> bool {
    let before = |a: &Set, b: &Set| match (a.0.last(), b.0.first()) {
        (Some((last, _)), Some((first, _))) => last < first,
        _ => false,
    };
    both_large(a, b) && (before(a, b) || before(b, a))
}

impl Node {
    pub(crate) fn union(&self, other: &Node) -> Node {
        Node {
            member: self.member || other.member,
            levels: self.levels.max(other.levels),
            children: self.children.union(&other.children),
        }
    }

    fn intersection(&self, other: &Node) -> Node {
        self.with(
            self.member && other.member,
            self.children.intersection(&other.children),
        )
    }

    fn difference(&self, other: &Node) -> Node {
        self.with(
            self.member && !other.member,
            self.children.difference(&other.children),
        )
    }

    fn recursive_difference(&self, other: &Node) -> Node {
        if other.member {
            return Node::default();
        }
        self.with(
            self.member,
            self.children.recursive_difference(&other.children),
        )
    }
}

impl Set {
    /// Returns the paths that are in either set.
    ///
    /// Behaviour: `Set.Union` of `sigs.k8s.io/structured-merge-diff/v6/fieldpath`.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let (a, b) = (Set::from_json(br#"{"f:a":{}}"#)?, Set::from_json(br#"{"f:b":{"f:c":{}}}"#)?);
    /// assert_eq!(a.union(&b).to_json(), r#"{"f:a":{},"f:b":{"f:c":{}}}"#);
    /// assert!(a.union(&Set::new()).ptr_eq(&a));
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    #[must_use]
    pub fn union(&self, other: &Set) -> Set {
        if other.is_empty() || self.ptr_eq(other) {
            return self.clone();
        }
        if self.is_empty() {
            return other.clone();
        }

        // The larger set is edited, so that most nodes of the result are shared.
        let (base, rest) = if other.0.len() > self.0.len() {
            (other, self)
        } else {
            (self, other)
        };
        let mut edits = NodeEdits::new();
        let mut add = |element: &PathElement, old: Option<&Node>, new: &Node| {
            let united = old.map_or_else(|| new.clone(), |old| old.union(new));
            if !old.is_some_and(|old| old.same(&united)) {
                edits.push((element.clone(), Some(united)));
            }
        };

        if much_smaller(rest, base) {
            for (element, node) in rest.0.iter() {
                add(element, base.0.get(element), node);
            }
        } else {
            for (element, old, new) in base.0.differences(&rest.0) {
                if let Some(new) = new {
                    add(element, old, new);
                }
            }
        }

        Set(base.0.with_edits(edits))
    }

    /// Returns the paths that are in both sets.
    ///
    /// Behaviour: `Set.Intersection` of `sigs.k8s.io/structured-merge-diff/v6/fieldpath`.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let a = Set::from_json(br#"{"f:a":{},"f:b":{".":{},"f:c":{}}}"#)?;
    /// let b = Set::from_json(br#"{"f:b":{"f:c":{}}}"#)?;
    /// assert_eq!(a.intersection(&b), b);
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    #[must_use]
    pub fn intersection(&self, other: &Set) -> Set {
        if self.is_empty() || self.ptr_eq(other) {
            return self.clone();
        }
        if other.is_empty() || are_disjoint_by_range(self, other) {
            return Set::new();
        }

        // The smaller set bounds the result, so it is the one that is edited.
        let (base, rest) = if other.0.len() < self.0.len() {
            (other, self)
        } else {
            (self, other)
        };
        let mut edits = NodeEdits::new();
        let mut keep = |element: &PathElement, old: &Node, new: Option<&Node>| {
            let common = new.map(|new| old.intersection(new)).unwrap_or_default();
            if common.is_empty() {
                edits.push((element.clone(), None));
            } else if !common.same(old) {
                edits.push((element.clone(), Some(common)));
            }
        };

        // Lookups in a much larger set are cheaper than a walk over both.
        if much_smaller(base, rest) {
            if entries_in_range_of(base, rest).next().is_none() {
                return Set::new();
            }
            for (element, node) in base.0.iter() {
                keep(element, node, rest.0.get(element));
            }
        } else {
            for (element, old, new) in base.0.differences(&rest.0) {
                if let Some(old) = old {
                    keep(element, old, new);
                }
            }
        }

        Set(base.0.with_edits(edits))
    }

    /// Returns the paths that are in this set but not in the other. A path of the other set removes neither its
    /// children nor its parents.
    ///
    /// Behaviour: `Set.Difference` of `sigs.k8s.io/structured-merge-diff/v6/fieldpath`.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let a = Set::from_json(br#"{"f:b":{".":{},"f:c":{}}}"#)?;
    /// let b = Set::from_json(br#"{"f:b":{}}"#)?;
    /// assert_eq!(a.difference(&b).to_string(), ".b.c");
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    #[must_use]
    pub fn difference(&self, other: &Set) -> Set {
        self.subtract(other, Node::difference)
    }

    /// Returns the paths of this set that are not in the other set and have no ancestor in it.
    ///
    /// Behaviour: `Set.RecursiveDifference` of `sigs.k8s.io/structured-merge-diff/v6/fieldpath`.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let a = Set::from_json(br#"{"f:a":{},"f:b":{".":{},"f:c":{}}}"#)?;
    /// let b = Set::from_json(br#"{"f:b":{}}"#)?;
    /// assert_eq!(a.recursive_difference(&b).to_string(), ".a");
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    #[must_use]
    pub fn recursive_difference(&self, other: &Set) -> Set {
        self.subtract(other, Node::recursive_difference)
    }

    /// Subtracts node by node. `left` must return an empty node for equal nodes.
    fn subtract(&self, other: &Set, left: fn(&Node, &Node) -> Node) -> Set {
        if self.is_empty() || other.is_empty() || are_disjoint_by_range(self, other) {
            return self.clone();
        }
        if self.ptr_eq(other) {
            return Set::new();
        }

        // The result is this set with edits, so that untouched nodes stay shared.
        let mut edits = NodeEdits::new();
        let mut take = |element: &PathElement, old: &Node, minus: &Node| {
            let rest = left(old, minus);
            if rest.is_empty() {
                edits.push((element.clone(), None));
            } else if !rest.same(old) {
                edits.push((element.clone(), Some(rest)));
            }
        };

        if much_smaller(other, self) {
            for (element, minus) in entries_in_range_of(other, self) {
                if let Some(old) = self.0.get(element) {
                    take(element, old, minus);
                }
            }
        } else if much_smaller(self, other) {
            for (element, old) in entries_in_range_of(self, other) {
                if let Some(minus) = other.0.get(element) {
                    take(element, old, minus);
                }
            }
        } else if both_large(self, other) {
            // Build the result of two large sets from their differences, without visiting shared subtrees.
            let mut rest = Vec::new();
            for (element, old, minus) in self.0.differences(&other.0) {
                let node = match (old, minus) {
                    (Some(old), Some(minus)) => left(old, minus),
                    (Some(old), None) => old.clone(),
                    (None, _) => continue,
                };
                if !node.is_empty() {
                    rest.push((element.clone(), node));
                }
            }
            return Set(SortedMap::from_sorted(rest));
        } else {
            for (element, old, minus) in self.0.join(&other.0) {
                if let (Some(old), Some(minus)) = (old, minus) {
                    take(element, old, minus);
                }
            }
        }

        Set(self.0.with_edits(edits))
    }

    /// Whether every path of this set is in the other set.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let a = Set::from_json(br#"{"f:a":{},"f:b":{}}"#)?;
    /// let b = Set::from_json(br#"{"f:b":{}}"#)?;
    /// assert!(b.is_subset(&a) && !a.is_subset(&b));
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn is_subset(&self, other: &Set) -> bool {
        self.ptr_eq(other)
            || self.0.iter().all(|(element, node)| {
                other.0.get(element).is_some_and(|more| {
                    (more.member || !node.member) && node.children.is_subset(&more.children)
                })
            })
    }

    /// Returns the paths that are not a prefix of another path of the set.
    ///
    /// Behaviour: `Set.Leaves` of `sigs.k8s.io/structured-merge-diff/v6/fieldpath`.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let set = Set::from_json(br#"{"f:labels":{".":{},"f:app":{}},"f:replicas":{}}"#)?;
    /// assert_eq!(set.leaves().to_string(), ".replicas\n.labels.app");
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    #[must_use]
    pub fn leaves(&self) -> Set {
        self.map_nodes(|_, node| {
            node.with(
                node.member && node.children.is_empty(),
                node.children.leaves(),
            )
        })
    }

    /// Returns the set with each node replaced by `f`. Unchanged nodes are shared.
    pub(crate) fn map_nodes(&self, f: impl Fn(&PathElement, &Node) -> Node) -> Set {
        let mut edits = NodeEdits::new();
        for (element, node) in self.0.iter() {
            let mapped = f(element, node);
            if mapped.is_empty() {
                edits.push((element.clone(), None));
            } else if !mapped.same(node) {
                edits.push((element.clone(), Some(mapped)));
            }
        }
        Set(SortedMap::with_edits(&self.0, edits))
    }
}

/// Returns the set extended by each declared field that is a prefix of one of its paths: a set with `.a.b` gains
/// `.a` if the type declares `a`. Map entries and list items are not added.
///
/// Behaviour: `Set.EnsureNamedFieldsAreMembers` of `sigs.k8s.io/structured-merge-diff/v6/fieldpath`.
///
/// ```
/// use fieldmanager_fieldpath::internal::add_declared_fields;
/// use fieldmanager_fieldpath::Set;
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("
/// types: [{name: app, map: {fields: [{name: labels, type: {map: {elementType: {scalar: string}}}}]}}]
/// ")?;
/// let set = Set::from_json(br#"{"f:labels":{"f:app":{}}}"#)?;
/// let app = schema.type_named("app").unwrap();
/// let all = add_declared_fields(&set, &schema, app.id());
/// assert_eq!(all.to_string(), ".labels\n.labels.app");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn add_declared_fields(set: &Set, schema: &Schema, ty: TypeId) -> Set {
    let atom = schema.atom(ty);
    if atom.map.is_none() && atom.list.is_none() {
        return set.clone();
    }
    set.map_nodes(|element, node| {
        let (declared, below) = match (element, &atom.map, &atom.list) {
            (PathElement::Field(name), Some(map), _) => {
                (map.field(name).is_some(), map.type_of(name))
            }
            (PathElement::Key(_), _, Some(list)) => (false, Some(list.element)),
            _ => (false, None),
        };
        let children = match below {
            Some(ty) => add_declared_fields(&node.children, schema, ty),
            None => node.children.clone(),
        };

        node.with(
            node.member || (declared && !node.children.is_empty()),
            children,
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::Path;

    type Model = BTreeSet<Vec<u8>>;

    fn element(step: u8) -> PathElement {
        match step % 4 {
            0 => PathElement::field(format!("f{step}")),
            1 => PathElement::key([("name", i64::from(step))]),
            2 => PathElement::value(i64::from(step)),
            _ => PathElement::Index(step.into()),
        }
    }

    fn path(steps: &[u8]) -> Path {
        steps.iter().map(|step| element(*step)).collect()
    }

    fn set(model: &Model) -> Set {
        model.iter().map(|steps| path(steps)).collect()
    }

    /// Short paths with few distinct elements at the deeper levels and many at the first one, so that both small and
    /// large maps occur.
    fn model() -> impl Strategy<Value = Model> {
        let path =
            (0..90_u8, prop::collection::vec(0..5_u8, 0..3)).prop_map(|(first, mut rest)| {
                rest.insert(0, first);
                rest
            });
        prop_oneof![
            prop::collection::btree_set(path.clone(), 0..12),
            prop::collection::btree_set(path, 40..160),
        ]
    }

    fn below(path: &[u8], model: &Model) -> bool {
        (1..=path.len()).any(|n| model.contains(&path[..n]))
    }

    proptest! {
        #[test]
        fn operations_match_btree_sets(a in model(), b in model(), shared in model()) {
            let a: Model = a.union(&shared).cloned().collect();
            let (x, base) = (set(&a), set(&shared));
            // The first operand shares nodes with `x`.
            for y in [x.difference(&base).union(&set(&b)), set(&b)] {
                let b: Model = a.union(&b).chain(&b).filter(|p| y.has(&path(p))).cloned().collect();
                let check = |got: Set, model: Model| {
                    prop_assert_eq!(&got, &set(&model));
                    prop_assert_eq!(got.len(), model.len());
                    prop_assert_eq!(got.is_empty(), model.is_empty());
                    Ok(())
                };
                check(x.union(&y), &a | &b)?;
                check(x.intersection(&y), &a & &b)?;
                check(x.difference(&y), &a - &b)?;
                check(
                    x.recursive_difference(&y),
                    a.iter().filter(|p| !below(p, &b)).cloned().collect(),
                )?;
                check(
                    x.leaves(),
                    a.iter()
                        .filter(|p| !a.iter().any(|q| q.len() > p.len() && q.starts_with(p)))
                        .cloned()
                        .collect(),
                )?;
                prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
                prop_assert!(x.union(&x.intersection(&y)).ptr_eq(&x));
                prop_assert_eq!(
                    x.union(&y).difference(&x.intersection(&y)),
                    x.difference(&y).union(&y.difference(&x))
                );
            }
        }

        #[test]
        fn fields_v1_round_trips(a in model()) {
            let set = set(&a);
            let text = set.to_json();
            prop_assert_eq!(&Set::from_json(text.as_bytes()).unwrap(), &set);
            let paths: Vec<Path> = set.paths().collect();
            prop_assert_eq!(paths.into_iter().collect::<Set>(), set);
        }
    }
}
