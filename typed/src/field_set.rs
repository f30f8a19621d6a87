//! Field sets of values, which are the sets that appliers own.

use std::cmp::Ordering;

use fieldmanager_fieldpath::internal::{Level, Node, SetBuilder};
use fieldmanager_fieldpath::{PathElement, Set};
use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::Along;
use fieldmanager_schema::internal::{ListType, MapType, TypeId, along};
use fieldmanager_value::{List, Map, Str, Value};

use crate::items::{element_of, is_element};
use crate::shape::{Shape, shape};
use crate::typed_value::TypedValue;

impl TypedValue {
    /// Returns the fields of the value: leaves, list items, entries of maps that are not declared fields, and declared
    /// fields that are null or empty maps. For several items with the same key, only the item itself is included. An
    /// item that lacks its key has an empty key.
    ///
    /// Behaviour: `TypedValue.ToFieldSet` of `sigs.k8s.io/structured-merge-diff/v6/typed`.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::{Duplicates, TypedValue};
    /// use fieldmanager_value::Value;
    /// let value = Value::from_yaml("{labels: {app: web}, ports: [80]}")?;
    /// let typed = TypedValue::new(value, Schema::deduced(), Duplicates::Refuse)?;
    /// assert_eq!(typed.field_set().to_string(), ".labels\n.ports\n.labels.app");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn field_set(&self) -> Set {
        field_set_sharing(self, &Set::new())
    }
}

/// Returns the [fields](TypedValue::field_set) of the value, sharing nodes with another set where they are equal. A
/// manager that applies the same fields again owns the same set.
///
/// ```
/// use fieldmanager_typed::internal::field_set_sharing;
/// use fieldmanager_schema::Schema;
/// use fieldmanager_typed::{Duplicates, TypedValue};
/// use fieldmanager_value::Value;
/// let typed = |yaml| {
///     TypedValue::new(Value::from_yaml(yaml).unwrap(), Schema::deduced(), Duplicates::Refuse)
/// };
/// let last = typed("{replicas: 1, labels: {app: web}}")?.field_set();
/// let now = field_set_sharing(&typed("{replicas: 2, labels: {app: web}}")?, &last);
/// assert!(now.ptr_eq(&last));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn field_set_sharing(typed: &TypedValue, other: &Set) -> Set {
    let mut walk = FieldSetWalk {
        schema: typed.ty.schema(),
        whole: typed.known.keyed && typed.known.unique,
        builder: SetBuilder::default(),
    };
    walk.fields(typed.ty.id(), &typed.value, other).1
}

/// The maximum number of items that are matched with the elements of a set by comparing all pairs.
const FEW: usize = 16;

struct FieldSetWalk<'s> {
    schema: &'s Schema,
    /// Whether every item has its keys, and the keys in each list are unique.
    whole: bool,
    builder: SetBuilder,
}

impl FieldSetWalk<'_> {
    /// Returns whether the value itself is a field, and the fields below it. Inlined to avoid a call for each scalar.
    #[inline]
    fn fields(&mut self, ty: TypeId, value: &Value, like: &Set) -> (bool, Set) {
        let schema = self.schema;
        match shape(schema.atom(ty), Some(value)).1 {
            Shape::Scalar(_) => (true, Set::new()),
            Shape::List(ListType { atomic: true, .. })
            | Shape::Map(MapType { atomic: true, .. }) => (true, Set::new()),
            Shape::List(list) => (
                false,
                value
                    .as_list()
                    .map(|items| self.items(list, items, like))
                    .unwrap_or_default(),
            ),
            Shape::Map(map) => (
                false,
                value
                    .as_map()
                    .map(|entries| self.entries(map, entries, like))
                    .unwrap_or_default(),
            ),
            Shape::Nothing => (false, Set::new()),
        }
    }

    #[inline(never)]
    fn entries(&mut self, map: &MapType, entries: &Map, like: &Set) -> Set {
        let none = Set::new();
        let mut level = self.builder.open_level(like);
        let mut along = along(map);
        for (name, value) in entries {
            let before = self.builder.find(&mut level, |element| match element {
                PathElement::Field(known) => known.cmp(name),
                _ => Ordering::Greater,
            });
            let (member, below) = self.entry(
                &mut along,
                name,
                value,
                before.map_or(&none, Node::children),
            );
            self.builder.push_to(
                &mut level,
                || PathElement::Field(name.clone()),
                member,
                below,
            );
        }

        self.builder.close_level(level)
    }

    fn entry(
        &mut self,
        along: &mut Along<'_>,
        name: &Str,
        value: &Value,
        like: &Set,
    ) -> (bool, Set) {
        let (declared, ty) = match along.field(name) {
            Some(field) => (true, Some(field.ty)),
            None => (false, along.element()),
        };
        let (itself, below) = ty
            .map(|ty| self.fields(ty, value, like))
            .unwrap_or_default();
        let is_empty = || match value {
            Value::Null => true,
            Value::Map(map) => map.is_empty(),
            _ => false,
        };

        (itself || !declared || is_empty(), below)
    }

    #[inline(never)]
    fn items(&mut self, list: &ListType, items: &List, like: &Set) -> Set {
        if let Some(set) = self.same_items(list, items, like) {
            return set;
        }
        let none = Set::new();
        let mut level = self.builder.open_level(&none);

        // Most items of a list have the same fields as the previous one.
        let mut last = Set::new();
        if self.whole {
            for item in items {
                if let Ok(element) = element_of(list, item) {
                    self.item(&mut level, &mut last, list, like, (element, Some(item)));
                }
            }
            return self.builder.close_unsorted_level(level);
        }

        // Several items with one key are one field, so items are sorted by element.
        let keyless = || PathElement::Key(Map::new());
        let mut found: Vec<(PathElement, &Value)> = items
            .iter()
            .map(|item| (element_of(list, item).unwrap_or_else(|_| keyless()), item))
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let mut found = found.into_iter().peekable();

        while let Some((element, item)) = found.next() {
            let mut item = Some(item);
            while found.next_if(|(next, _)| *next == element).is_some() {
                item = None;
            }
            self.item(&mut level, &mut last, list, like, (element, item));
        }

        self.builder.close_level(level)
    }

    /// Adds an element with the fields of its item, or without any if several items have this element. `last` is the
    /// set of the item before.
    #[inline]
    fn item(
        &mut self,
        level: &mut Level<'_>,
        last: &mut Set,
        list: &ListType,
        like: &Set,
        (element, item): (PathElement, Option<&Value>),
    ) {
        let below = item.map(|item| {
            let known = like.get(&element).map_or(&*last, Node::children);
            self.fields(list.element, item, known).1
        });
        *last = below.unwrap_or_default();
        self.builder.push_to(level, || element, true, last.clone());
    }

    /// The set of a short list whose items match the elements of another set, so none has to be built.
    fn same_items(&mut self, list: &ListType, items: &List, like: &Set) -> Option<Set> {
        let few = items.len() <= FEW && items.len() == like.nodes().take(FEW + 1).count();
        if !few || !self.whole {
            return None;
        }
        let here =
            |element: &PathElement| items.iter().find(|item| is_element(list, element, item));
        if !like.nodes().all(|(element, _)| here(element).is_some()) {
            return None;
        }

        let mut level = self.builder.open_level(like);
        for (element, node) in like.nodes() {
            let below =
                here(element).map(|item| self.fields(list.element, item, node.children()).1);
            self.builder.find(&mut level, |known| {
                if std::ptr::eq(known, element) {
                    Ordering::Equal
                } else {
                    Ordering::Greater
                }
            });
            self.builder.push_to(
                &mut level,
                || element.clone(),
                true,
                below.unwrap_or_default(),
            );
        }

        Some(self.builder.close_level(level))
    }
}

#[cfg(test)]
mod tests {
    use fieldmanager_fieldpath::internal::set_under;

    use super::*;
    use crate::Duplicates;

    /// Ports identified by number.
    const SCHEMA: &str = "
types:
- name: object
  map: {fields: [{name: ports, type: {list: {elementRelationship: associative, keys: [port], elementType: {namedType: port}}}}]}
- name: port
  map: {fields: [{name: port, type: {scalar: numeric}}, {name: name, type: {scalar: string}}]}
";

    #[test]
    fn shared_sets_keep_the_number_type_of_keys() {
        let ty = Schema::from_yaml(SCHEMA)
            .unwrap()
            .type_named("object")
            .unwrap();
        let set = |yaml: &str, like: &Set| {
            let value = Value::from_yaml(yaml).unwrap();
            field_set_sharing(
                &TypedValue::new(value, ty.clone(), Duplicates::Refuse).unwrap(),
                like,
            )
        };
        let none = Set::new();
        let (whole, float) = (
            "{ports: [{port: 1.5}, {port: 1, name: a}]}",
            "{ports: [{port: 1.5}, {port: 1.0, name: a}]}",
        );
        // The JSON encodings of both are equal.
        let key = |set: &Set| {
            let ports = set_under(set, &PathElement::field("ports"));
            let first = ports.nodes().next().map(|(element, _)| element.clone());
            let Some(PathElement::Key(fields)) = first else {
                panic!("{set:?}")
            };
            fields.get("port").cloned().unwrap_or_default()
        };
        for (one, other) in [(whole, float), (float, whole)] {
            let like = set(one, &set(other, &none));
            assert_eq!(like.to_json(), set(one, &none).to_json());
            assert!(
                key(&like).strict_eq(&key(&set(one, &none))),
                "{one} like {other}"
            );
        }
        assert!(set(float, &none).to_json().contains("1.5"));
    }

    #[test]
    fn items_with_equal_fields_share_their_sets() {
        let ty = Schema::from_yaml(SCHEMA)
            .unwrap()
            .type_named("object")
            .unwrap();
        let value = Value::from_yaml(
            "{ports: [{port: 2, name: a}, {port: 1}, {port: 3, name: b}, {port: 4, name: c}]}",
        );
        let typed = TypedValue::new(value.unwrap(), ty, Duplicates::Refuse).unwrap();
        let ports = set_under(&typed.field_set(), &PathElement::field("ports"));
        let below = |port: i64| set_under(&ports, &PathElement::key([("port", port)]));
        assert!(below(3).ptr_eq(&below(4)));
        assert_eq!(below(2), below(3));
        assert_eq!(below(1).to_string(), ".port");
    }
}
