//! Comparison of two values of one type.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use fieldmanager_fieldpath::internal::{Node, SetBuilder};
use fieldmanager_fieldpath::{Filter, PathElement, Set};
use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::{Atom, ListType, MapType, TypeId, along};
use fieldmanager_value::internal::{differences, for_each_difference, join, level};
use fieldmanager_value::{List, Map, Str, Value};

use crate::error::{Error, Fault, FaultCollector};
use crate::items::{element_of, same_element};
use crate::shape::{Shape, empty_type, entries, items, scalar_fault, shape};
use crate::typed_value::TypedValue;
use crate::validate::position;

/// The differences between two values. The sets are disjoint, except for an item with duplicates in only one of the
/// values.
///
/// ```
/// use fieldmanager_schema::Schema;
/// use fieldmanager_typed::{Duplicates, TypedValue};
/// use fieldmanager_value::Value;
/// let value = |yaml| Value::from_yaml(yaml).unwrap();
/// let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
/// let changed = typed("{a: 1, b: 1}")?.compare(&typed("{b: 2, c: 1}")?)?;
/// assert_eq!(changed.added.to_string(), ".c");
/// assert_eq!(changed.modified.to_string(), ".b");
/// assert_eq!(changed.removed.to_string(), ".a");
/// assert!(!changed.is_same());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Fields that exist only in the second value.
    pub added: Set,
    /// Fields that exist in both values and differ.
    pub modified: Set,
    /// Fields that exist only in the first value.
    pub removed: Set,
}

impl Comparison {
    /// Whether there are no differences.
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }
}

/// Returns the comparison restricted to the fields that a filter selects.
///
/// Behaviour: `Comparison.FilterFields` of `sigs.k8s.io/structured-merge-diff/v6/typed`.
///
/// ```
/// use fieldmanager_fieldpath::{Filter, Set};
/// use fieldmanager_typed::Comparison;
/// use fieldmanager_typed::internal::filter_comparison;
/// let added = Set::from_json(br#"{"f:a":{},"f:status":{}}"#)?;
/// let changed = Comparison { added, ..Comparison::default() };
/// let reset = Filter::Exclude(Set::from_json(br#"{"f:status":{}}"#)?);
/// assert_eq!(filter_comparison(&changed, &reset).added.to_string(), ".a");
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[must_use]
pub fn filter_comparison(comparison: &Comparison, filter: &Filter) -> Comparison {
    Comparison {
        added: filter.apply(&comparison.added),
        modified: filter.apply(&comparison.modified),
        removed: filter.apply(&comparison.removed),
    }
}

impl TypedValue {
    /// Compares this value with another value of the same type.
    ///
    /// Numbers are compared by value. Items of associative lists are matched by key or value, so their order does not
    /// matter; atomic lists and maps are compared as a whole. Items with the same key are compared as a group.
    ///
    /// # Errors
    ///
    /// [`Error::TypesDiffer`]; [`Error::Invalid`] if an item of either value lacks its key.
    ///
    /// Behaviour: `TypedValue.Compare` of `sigs.k8s.io/structured-merge-diff/v6/typed`.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::{Duplicates, TypedValue};
    /// use fieldmanager_value::Value;
    /// let value = |yaml| Value::from_yaml(yaml).unwrap();
    /// let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
    /// assert!(typed("{a: 1}")?.compare(&typed("{a: 1.0}")?)?.is_same());
    /// assert_eq!(typed("{}")?.compare(&typed("{a: {b: 1}}")?)?.added.to_string(), ".a\n.a.b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compare(&self, other: &TypedValue) -> Result<Comparison, Error> {
        self.check_type(other)?;
        let known = self.known.and(other.known);
        let mut compare = Compare {
            schema: self.ty.schema(),
            keyed: known.keyed,
            unique: known.unique,
            faults: FaultCollector::default(),
            builder: SetBuilder::default(),
        };
        let delta = compare.values(self.ty.id(), Some(&self.value), Some(&other.value));
        compare.faults.check()?;

        Ok(Comparison {
            added: delta.added.below,
            modified: delta.modified.below,
            removed: delta.removed.below,
        })
    }
}

/// The part of one of the three sets at and below a path.
#[derive(Default)]
struct SetPart {
    itself: bool,
    below: Set,
}

impl SetPart {
    fn merge(&mut self, other: SetPart) {
        self.itself |= other.itself;
        self.below = self.below.union(&other.below);
    }
}

/// The differences at and below a path.
#[derive(Default)]
struct Delta {
    added: SetPart,
    modified: SetPart,
    removed: SetPart,
}

impl Delta {
    fn merge(&mut self, other: Delta) {
        self.added.merge(other.added);
        self.modified.merge(other.modified);
        self.removed.merge(other.removed);
    }
}

/// Combines the differences of the children of a path.
#[derive(Default)]
struct DeltaBuilder {
    added: SetBuilder,
    modified: SetBuilder,
    removed: SetBuilder,
}

impl DeltaBuilder {
    fn push(&mut self, element: impl Fn() -> PathElement, delta: Delta) {
        for (set, part) in [
            (&mut self.added, delta.added),
            (&mut self.modified, delta.modified),
            (&mut self.removed, delta.removed),
        ] {
            if part.itself || !part.below.is_empty() {
                set.push(element(), part.itself, part.below);
            }
        }
    }

    fn build(self) -> Delta {
        let part = |set: SetBuilder| SetPart {
            itself: false,
            below: set.build(),
        };
        Delta {
            added: part(self.added),
            modified: part(self.modified),
            removed: part(self.removed),
        }
    }
}

struct Compare<'s> {
    schema: &'s Schema,
    /// For both values: every item has its key, and the keys in each list are unique.
    keyed: bool,
    unique: bool,
    faults: FaultCollector,
    builder: SetBuilder,
}

impl Compare<'_> {
    /// At least one of the values must be `Some`.
    fn values(&mut self, ty: TypeId, left: Option<&Value>, right: Option<&Value>) -> Delta {
        // A shared value has no differences; without its keys it may still have faults.
        if let (Some(left), Some(right)) = (left, right)
            && self.keyed
            && left.ptr_eq(right)
        {
            return Delta::default();
        }

        // A value on one side without possible faults is walked alone, because nothing has to be matched.
        if self.keyed
            && self.unique
            && let Some(delta) = self.one_sided(ty, left, right)
        {
            return delta;
        }

        let atom = self.schema.atom(ty);
        let (left_kinds, left_shape) = shape(atom, left);
        let (right_kinds, right_shape) = shape(atom, right);
        let mut delta = Delta::default();
        let last = match (left, right) {
            (_, None) => left_shape,
            (None, _) => right_shape,
            _ => {
                if left_kinds != right_kinds {
                    // The kind of the value changed: walk both.
                    self.shaped(left_shape, left, right, &mut delta);
                }
                right_shape
            }
        };

        if let Shape::Nothing = last {
            self.faults.push(empty_type(atom));
        }
        let is_leaf = self.shaped(last, left, right, &mut delta);
        // A list or map that appears or disappears is a change of its own, besides those of its fields.
        if !is_leaf {
            delta.added.itself |= left.is_none();
            delta.removed.itself |= right.is_none();
        }

        delta
    }

    /// The differences if only one side has a value, which are all added or all removed. Separate from
    /// [`values`](Self::values) to keep the stack frame of the recursion small.
    #[inline(never)]
    fn one_sided(
        &mut self,
        ty: TypeId,
        left: Option<&Value>,
        right: Option<&Value>,
    ) -> Option<Delta> {
        let atom = self.schema.atom(ty);
        let (value, itself, is_added) = match (left, right) {
            (None, Some(value)) if accepts_kind(atom, value) => (value, true, true),
            (Some(value), None) if accepts_kind(atom, value) => (value, true, false),
            // Before its creation an object is null, which is equivalent to an empty map.
            (Some(Value::Null), Some(value @ Value::Map(entries)))
                if !entries.is_empty() && atom.map.as_ref().is_some_and(|map| !map.atomic) =>
            {
                (value, false, true)
            }
            _ => return None,
        };

        let part = SetPart {
            itself,
            below: self.all(ty, value, &Set::new()),
        };
        Some(if is_added {
            Delta {
                added: part,
                ..Delta::default()
            }
        } else {
            Delta {
                removed: part,
                ..Delta::default()
            }
        })
    }

    /// All fields below a value that exists on one side only. The set shares the nodes that it has in common with
    /// `similar`. Inlined to avoid a call for each scalar.
    #[inline]
    fn all(&mut self, ty: TypeId, value: &Value, similar: &Set) -> Set {
        let atom = self.schema.atom(ty);
        match value {
            Value::List(items) => match &atom.list {
                Some(list) if !list.atomic => self.all_items(list, items),
                _ => Set::new(),
            },
            Value::Map(entries) => match &atom.map {
                Some(map) if !map.atomic => self.all_entries(map, entries, similar),
                _ => Set::new(),
            },
            _ => Set::new(),
        }
    }

    #[inline(never)]
    fn all_items(&mut self, list: &ListType, items: &List) -> Set {
        let none = Set::new();
        let mut level = self.builder.open_level(&none);
        // Most items of a list have the same fields as the previous one.
        let mut last = Set::new();
        for item in items {
            if let Ok(element) = element_of(list, item) {
                let below = self.all(list.element, item, &last);
                last.clone_from(&below);
                self.builder.push_to(&mut level, || element, true, below);
            }
        }

        self.builder.close_unsorted_level(level)
    }

    #[inline(never)]
    fn all_entries(&mut self, map: &MapType, entries: &Map, similar: &Set) -> Set {
        let none = Set::new();
        let mut level = self.builder.open_level(similar);
        let mut along = along(map);
        for (name, value) in entries {
            if let Some(ty) = along.type_of(name) {
                let known = self.builder.find(&mut level, |element| match element {
                    PathElement::Field(known) => known.cmp(name),
                    _ => Ordering::Greater,
                });
                let below = self.all(ty, value, known.map_or(&none, Node::children));
                self.builder
                    .push_to(&mut level, || PathElement::Field(name.clone()), true, below);
            }
        }

        self.builder.close_level(level)
    }

    /// Compares two values as a given shape. Returns whether they are leaves.
    fn shaped(
        &mut self,
        shape: Shape<'_>,
        left: Option<&Value>,
        right: Option<&Value>,
        delta: &mut Delta,
    ) -> bool {
        // Scalars, atomic lists and maps, and those that are empty on both sides are leaves, which are compared as a
        // whole. Otherwise the children decide.
        match shape {
            Shape::Scalar(scalar) => {
                let faults = (scalar_fault(scalar, left), scalar_fault(scalar, right));
                if let (Some(_), Some(fault)) = faults {
                    self.faults.push(fault);
                    return false;
                }
                leaf(left, right, delta);
                true
            }
            Shape::List(list) => {
                let (old, new) = (items(left), items(right));
                if list.atomic || (old.is_none() && new.is_none()) {
                    leaf(left, right, delta);
                    return true;
                }
                delta.merge(level(|| match (old, new) {
                    (Some(old), Some(new)) if self.keyed && self.unique => {
                        self.unique_items(list, old, new)
                    }
                    _ => self.any_items(list, old, new),
                }));

                false
            }
            Shape::Map(map) => {
                let (old, new) = (entries(left), entries(right));
                if map.atomic || (old.is_none() && new.is_none()) {
                    leaf(left, right, delta);
                    return true;
                }
                let none = Map::new();
                delta.merge(level(|| {
                    self.maps(map, old.unwrap_or(&none), new.unwrap_or(&none))
                }));
                false
            }
            Shape::Nothing => false,
        }
    }

    fn maps(&mut self, map: &MapType, left: &Map, right: &Map) -> Delta {
        let mut out = DeltaBuilder::default();
        let mut along = along(map);
        if self.keyed {
            for (name, old, new) in differences(left, right) {
                // Most fields of two objects are equal scalars, whose type is irrelevant.
                let is_same = old.is_some_and(|old| old.is_scalar() && Some(old) == new);
                if !is_same {
                    self.field(along.type_of(name), name, old, new, &mut out);
                }
            }
        } else {
            // Shared entries may contain faults.
            for (name, old, new) in join(left, right) {
                self.field(along.type_of(name), name, old, new, &mut out);
            }
        }

        out.build()
    }

    fn field(
        &mut self,
        ty: Option<TypeId>,
        name: &Str,
        old: Option<&Value>,
        new: Option<&Value>,
        out: &mut DeltaBuilder,
    ) {
        // The faults below have relative paths, which get this field as a prefix.
        let mark = self.faults.mark();
        match ty {
            Some(ty) => {
                let delta = self.values(ty, old, new);
                out.push(|| PathElement::Field(name.clone()), delta);
            }
            None => self.faults.push(Fault::NotDeclared {
                nearest: Vec::new(),
            }),
        }
        self.faults
            .prefix(mark, || PathElement::Field(name.clone()));
    }

    fn item(
        &mut self,
        list: &ListType,
        element: &PathElement,
        left: Option<&Value>,
        right: Option<&Value>,
        out: &mut DeltaBuilder,
    ) {
        let mark = self.faults.mark();
        let delta = self.values(list.element, left, right);
        self.faults.prefix(mark, || element.clone());
        out.push(|| element.clone(), delta);
    }

    /// Compares the items of lists without duplicates: items shared in memory are skipped, the others are matched.
    fn unique_items(&mut self, list: &ListType, left: &List, right: &List) -> Delta {
        let mut pairs = Vec::new();
        for_each_difference(left, right, |_, a, b| pairs.push((a, b)));
        let same = |pair: &(Option<&Value>, Option<&Value>)| match pair {
            (Some(old), Some(new)) => same_element(list, old, new),
            _ => false,
        };

        // Pairs at the same position need no search if none of the items moved.
        if pairs.iter().all(same) {
            return self.same_items(list, &pairs);
        }

        // Moved items are matched by element. Sorted sides are matched in one pass, and the result is in the order of
        // a set.
        let element = |item| Some((element_of(list, item).ok()?, item));
        let mut old: Vec<_> = pairs
            .iter()
            .filter_map(|(item, _)| item.and_then(element))
            .collect();
        let mut new: Vec<_> = pairs
            .iter()
            .filter_map(|(_, item)| item.and_then(element))
            .collect();
        old.sort_by(|a, b| a.0.cmp(&b.0));
        new.sort_by(|a, b| a.0.cmp(&b.0));
        let mut out = DeltaBuilder::default();

        let mut new = new.into_iter().peekable();
        for (element, item) in &old {
            while let Some((before, added)) = new.next_if(|(e, _)| e < element) {
                self.item(list, &before, None, Some(added), &mut out);
            }
            let same = new.next_if(|(e, _)| e == element);
            self.item(
                list,
                element,
                Some(item),
                same.map(|(_, item)| item),
                &mut out,
            );
        }

        for (element, added) in new {
            self.item(list, &element, None, Some(added), &mut out);
        }
        out.build()
    }

    /// Compares items at unchanged positions: none was added, removed or moved.
    fn same_items(&mut self, list: &ListType, pairs: &[(Option<&Value>, Option<&Value>)]) -> Delta {
        let mut out = DeltaBuilder::default();
        for (old, new) in pairs {
            let element = || {
                new.and_then(|item| element_of(list, item).ok())
                    .unwrap_or_else(|| position(0))
            };
            let mark = self.faults.mark();
            let delta = self.values(list.element, *old, *new);
            self.faults.prefix(mark, element);
            out.push(element, delta);
        }

        out.build()
    }

    /// Compares the items of any lists. Several items with the same key are compared as a group.
    fn any_items(&mut self, list: &ListType, left: Option<&List>, right: Option<&List>) -> Delta {
        // A group has the items of one element on both sides. The groups are sorted as the result is.
        let mut groups: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for (side, items) in [left, right].into_iter().enumerate() {
            for (at, item) in items.into_iter().flatten().enumerate() {
                match element_of(list, item) {
                    Ok(element) => {
                        let group = groups.entry(element).or_default();
                        let side = if side == 0 {
                            &mut group.0
                        } else {
                            &mut group.1
                        };
                        side.push(item);
                    }
                    Err(fault) => self.faults.push_at(position(at), Fault::Item(fault)),
                }
            }
        }

        let mut out = DeltaBuilder::default();
        // Several items with one key cannot be matched one by one, so they count as one field; a single item on the
        // other side replaces them.
        for (element, (old, new)) in groups {
            let mut marker = Delta::default();
            match (old.as_slice(), new.as_slice()) {
                ([], [_]) | ([_], [] | [_]) => {
                    let (old, new) = (old.first().copied(), new.first().copied());
                    self.item(list, &element, old, new, &mut out);
                }
                ([_, _, ..], [_, _, ..]) => marker.modified.itself = old != new,
                ([_, _, ..], rest) => {
                    if let Some(new) = rest.first() {
                        self.item(list, &element, None, Some(new), &mut out);
                    }
                    marker.removed.itself = true;
                }
                (rest, _) => {
                    if let Some(old) = rest.first() {
                        self.item(list, &element, Some(old), None, &mut out);
                    }
                    marker.added.itself = true;
                }
            }
            out.push(|| element.clone(), marker);
        }

        out.build()
    }
}

/// Whether a type accepts the kind of a value, so that there is a single way to walk it.
fn accepts_kind(atom: &Atom, value: &Value) -> bool {
    match value {
        Value::List(_) => atom.list.is_some(),
        Value::Map(_) => atom.map.is_some(),
        _ => atom.scalar.is_some(),
    }
}

fn leaf(left: Option<&Value>, right: Option<&Value>, delta: &mut Delta) {
    match (left, right) {
        (None, _) => delta.added.itself = true,
        (_, None) => delta.removed.itself = true,
        (Some(left), Some(right)) => delta.modified.itself |= left != right,
    }
}
