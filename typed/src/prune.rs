//! Removal of abandoned fields based only on the previously owned fields.

use fieldmanager_fieldpath::internal::{Node, SetBuilder};
use fieldmanager_fieldpath::{PathElement, Set};
use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::TypeId;
use fieldmanager_value::{Map, Value};

use crate::index::{Index, IndexSlot};
use crate::shape::{Shape, shape};
use crate::typed_value::TypedValue;

impl TypedValue {}

/// Returns the items to prune: those that the manager owned before and that are no longer owned by any of `owners`.
/// The first of the owners must be the manager's own new set, which must be the field set of a configuration that
/// was merged into this value.
///
/// An owner of a field also owns its declared parents, so a list or map is kept as long as any part of it is owned.
/// An item or entry without owners is removed with all its content.
///
/// Returns `None` if the result depends on more than the examined fields: if an item could lose its key, or a map
/// could be left without fields that can be owned. The caller must then compare the field sets of entire objects.
///
/// ```
/// use fieldmanager_typed::internal::abandoned_items;
/// use fieldmanager_fieldpath::Set;
/// use fieldmanager_schema::Schema;
/// use fieldmanager_typed::{Duplicates, TypedValue};
/// use fieldmanager_value::Value;
/// let value = Value::from_yaml("{a: 1, b: 2}")?;
/// let object = TypedValue::new(value, Schema::deduced(), Duplicates::Refuse)?;
/// let (last, now) = (Set::from_json(br#"{"f:a":{},"f:b":{}}"#)?, Set::from_json(br#"{"f:b":{}}"#)?);
/// assert_eq!(abandoned_items(&object, &last, &[&now]).unwrap().to_string(), ".a");
/// // Another manager owns it too.
/// assert!(abandoned_items(&object, &last, &[&now, &last]).unwrap().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn abandoned_items(merged: &TypedValue, last: &Set, owners: &[&Set]) -> Option<Set> {
    if !merged.known.keyed {
        return None;
    }
    let walk = PruneWalk {
        schema: merged.ty.schema(),
    };
    walk.children(merged.ty.id(), &merged.value, last, owners)
}

/// An existing child.
struct Child<'v> {
    value: &'v Value,
    ty: TypeId,
    /// Whether its struct declares the field. A declared field may be in a set only because of its children.
    declared: bool,
}

struct PruneWalk<'s> {
    schema: &'s Schema,
}

impl PruneWalk<'_> {
    fn children(&self, ty: TypeId, value: &Value, last: &Set, owners: &[&Set]) -> Option<Set> {
        let mut gone = SetBuilder::default();
        for (element, before) in last.nodes() {
            // What the manager still applies is not abandoned.
            if owners
                .first()
                .is_some_and(|own| covers(own.get(element), before))
            {
                continue;
            }

            let Some(child) = self.child(ty, value, element)? else {
                continue;
            };
            if !owned(Some(before), child.declared) {
                // The manager owned a field of an item or entry that it did not own itself.
                return None;
            }
            if !self.is_field(&child) {
                continue;
            }

            // An item or field with an owner stays, but parts of it may be abandoned.
            let nodes: Vec<&Node> = owners.iter().filter_map(|set| set.get(element)).collect();
            if !nodes.iter().any(|node| owned(Some(node), child.declared)) {
                gone.push(element.clone(), true, Set::new());
                continue;
            }
            let below: Vec<&Set> = nodes.iter().map(|node| node.children()).collect();
            if !self.stays_a_field(element, &child, &below) {
                return None;
            }
            if before.children().is_empty() {
                continue;
            }

            // An owner of a part of an atomic value has not been reconciled, which is not supported here.
            if self.entries(&child).is_none() && self.items(&child).is_none() {
                return None;
            }

            // The manager's own set remains the first, so that fields it still applies are skipped.
            let own = owners.first().and_then(|own| own.get(element));
            let none = Set::new();
            let own = own.map_or(&none, |node| node.children());
            let mut sets = vec![own];
            sets.extend(
                owners
                    .iter()
                    .skip(1)
                    .filter_map(|set| set.get(element))
                    .map(Node::children),
            );
            gone.push(
                element.clone(),
                false,
                self.children(child.ty, child.value, before.children(), &sets)?,
            );
        }

        Some(gone.build())
    }

    /// Returns the child at an element. The outer `None` indicates several items with the same key.
    fn child<'v>(
        &self,
        ty: TypeId,
        value: &'v Value,
        element: &PathElement,
    ) -> Option<Option<Child<'v>>> {
        let atom = self.schema.atom(ty);
        Some(match (element, shape(atom, Some(value)).1, value) {
            (PathElement::Field(name), Shape::Map(map), Value::Map(entries)) => {
                entries.get(name).and_then(|value| {
                    Some(Child {
                        value,
                        ty: map.type_of(name)?,
                        declared: map.field(name).is_some(),
                    })
                })
            }
            (
                PathElement::Key(_) | PathElement::Value(_),
                Shape::List(list),
                Value::List(items),
            ) if !list.atomic => match Index::of(items, list).ok()?.get(element) {
                Some(IndexSlot::Many) => return None,
                Some(IndexSlot::One(at)) => items.get(at).map(|value| Child {
                    value,
                    ty: list.element,
                    declared: false,
                }),
                None => None,
            },
            _ => None,
        })
    }

    /// The entries of a non-empty granular map.
    fn entries<'v>(&self, child: &Child<'v>) -> Option<&'v Map> {
        match (
            shape(self.schema.atom(child.ty), Some(child.value)).1,
            child.value,
        ) {
            (Shape::Map(map), Value::Map(entries)) if !map.atomic && !entries.is_empty() => {
                Some(entries)
            }
            _ => None,
        }
    }

    /// The items of an associative list, possibly empty.
    fn items<'v>(&self, child: &Child<'v>) -> Option<&'v fieldmanager_value::List> {
        match (
            shape(self.schema.atom(child.ty), Some(child.value)).1,
            child.value,
        ) {
            (Shape::List(list), Value::List(items)) if !list.atomic => Some(items),
            _ => None,
        }
    }

    /// Whether the path of a child is in the field set of the object, or is a prefix of such a path.
    fn is_field(&self, child: &Child<'_>) -> bool {
        if !child.declared {
            return true;
        }
        if let Some(entries) = self.entries(child) {
            return entries.iter().any(|(name, value)| {
                let element = PathElement::Field(name.clone());
                let inner = self.child(child.ty, child.value, &element).flatten();
                inner.map_or(value.is_null(), |inner| self.is_field(&inner))
            });
        }

        self.items(child).is_none_or(|items| !items.is_empty())
    }

    /// Whether the path of an owned child is certain to remain in the field set, or to remain a prefix of such a path,
    /// after the removal of all fields without owners.
    fn stays_a_field(&self, element: &PathElement, child: &Child<'_>, owners: &[&Set]) -> bool {
        let is_owned = |element: &PathElement, declared: bool| {
            owners.iter().any(|set| owned(set.get(element), declared))
        };
        if let PathElement::Key(keys) = element {
            // Without its key fields the item would have another key, and without any field it would not be an item.
            let mut present = keys
                .iter()
                .filter(|(name, _)| child.value.get(name).is_some())
                .peekable();
            return present.peek().is_some()
                && present.all(|(name, _)| is_owned(&PathElement::Field(name.clone()), true));
        }

        if !child.declared {
            return true;
        }
        if self.entries(child).is_none() && self.items(child).is_none() {
            return true;
        }

        owners
            .iter()
            .flat_map(|set| set.nodes())
            .any(|(element, _)| {
                let Some(Some(inner)) = self.child(child.ty, child.value, element) else {
                    return false;
                };
                let below: Vec<&Set> = owners
                    .iter()
                    .filter_map(|set| set.get(element))
                    .map(Node::children)
                    .collect();

                is_owned(element, inner.declared)
                    && self.is_field(&inner)
                    && self.stays_a_field(element, &inner, &below)
            })
    }
}

/// Whether a set contains a path or, for a declared field, any path below it.
fn owned(node: Option<&Node>, declared: bool) -> bool {
    node.is_some_and(|node| node.is_member() || (declared && !node.children().is_empty()))
}

/// Whether a set contains all paths of another set at an element.
fn covers(own: Option<&Node>, before: &Node) -> bool {
    own.is_some_and(|own| {
        (own.is_member() || !before.is_member()) && before.children().is_subset(own.children())
    })
}

#[cfg(test)]
mod tests {
    use fieldmanager_schema::Schema;

    use super::*;
    use crate::Duplicates;

    const SCHEMA: &str = "
types:
- name: root
  map:
    fields:
    - {name: a, type: {scalar: untyped}}
    - {name: b, type: {scalar: untyped}}
    - {name: inner, type: {namedType: root}}
    - {name: labels, type: {map: {elementType: {scalar: string}}}}
    - name: list
      type:
        list: {elementType: {namedType: root}, elementRelationship: associative, keys: [a]}
    - {name: tags, type: {list: {elementType: {scalar: string}, elementRelationship: associative}}}
";

    fn abandoned(object: &str, last: &str, own: &str, other: &str) -> Option<String> {
        let ty = Schema::from_yaml(SCHEMA)
            .unwrap()
            .type_named("root")
            .unwrap();
        let object =
            TypedValue::new(Value::from_yaml(object).unwrap(), ty, Duplicates::Refuse).unwrap();
        let set = |text: &str| Set::from_json(text.as_bytes()).unwrap();
        let gone = abandoned_items(&object, &set(last), &[&set(own), &set(other)])?;
        Some(gone.to_json())
    }

    #[test]
    fn fields_without_owners_are_abandoned() {
        let object = "{a: 1, inner: {a: 1, b: 2}, labels: {x: u, z: w}, tags: [s, t]}";
        let last =
            r#"{"f:a":{},"f:inner":{"f:a":{}},"f:labels":{"f:x":{}},"f:tags":{"v:\"s\"":{}}}"#;
        // There are no other owners: parents that only this manager owned are removed as a whole.
        assert_eq!(
            abandoned(object, last, r#"{"f:b":{}}"#, "{}").unwrap(),
            r#"{"f:a":{},"f:inner":{},"f:labels":{},"f:tags":{}}"#
        );
        let other = r#"{"f:inner":{"f:b":{}},"f:labels":{"f:z":{}},"f:tags":{"v:\"t\"":{}}}"#;
        assert_eq!(
            abandoned(object, last, r#"{"f:a":{}}"#, other).unwrap(),
            r#"{"f:inner":{"f:a":{}},"f:labels":{"f:x":{}},"f:tags":{"v:\"s\"":{}}}"#
        );
        assert_eq!(abandoned(object, last, last, "{}").unwrap(), "{}");
    }

    #[test]
    fn undecidable_cases_return_none() {
        // The item would lose its key.
        let last = r#"{"f:list":{"k:{\"a\":1}":{".":{},"f:a":{},"f:b":{}}}}"#;
        let other = r#"{"f:list":{"k:{\"a\":1}":{".":{},"f:b":{}}}}"#;
        assert_eq!(abandoned("{list: [{a: 1, b: 2}]}", last, "{}", other), None);
        // The map would be left with a list that contains no fields to own.
        let last = r#"{"f:inner":{"f:a":{},"f:b":{}}}"#;
        assert_eq!(
            abandoned("{inner: {a: 1, tags: []}}", last, r#"{"f:inner":{}}"#, "{}"),
            None
        );
        // A field of an item that was not owned itself.
        let last = r#"{"f:list":{"k:{\"a\":1}":{"f:b":{}}}}"#;
        assert_eq!(
            abandoned("{list: [{a: 1, b: 2}]}", last, "{}", "{}"),
            Some("{\"f:list\":{}}".into())
        );
        assert_eq!(
            abandoned(
                "{list: [{a: 1, b: 2}]}",
                last,
                r#"{"f:list":{"k:{\"a\":2}":{}}}"#,
                "{}"
            ),
            None
        );
    }
}
