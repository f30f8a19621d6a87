//! The set of the fields of a value: what a manager owns that applies it.

use fieldmanager_fieldpath::{PathElement, Set, SetBuilder};
use fieldmanager_schema::{ListType, MapType, Schema, TypeId};
use fieldmanager_value::{List, Map, Value};

use crate::items::element_of;
use crate::shape::{Shape, shape};
use crate::typed_value::TypedValue;

impl TypedValue {
    /// The fields of the value: leaves, list items, entries of maps that are not declared fields, and
    /// declared fields that are null or empty maps. Of items with the same key, only the item itself; an
    /// item that has lost its key counts as one with an empty key.
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
        fields(self.ty.schema(), self.ty.id(), &self.value).1
    }
}

/// Whether the value itself is a field, and the fields below it.
fn fields(schema: &Schema, ty: TypeId, value: &Value) -> (bool, Set) {
    match shape(schema.atom(ty), Some(value)).1 {
        Shape::Scalar(_) => (true, Set::new()),
        Shape::List(ListType { atomic: true, .. }) | Shape::Map(MapType { atomic: true, .. }) => {
            (true, Set::new())
        }
        Shape::List(list) => (false, value.as_list().map(|l| items(schema, list, l)).unwrap_or_default()),
        Shape::Map(map) => (false, value.as_map().map(|m| entries(schema, map, m)).unwrap_or_default()),
        Shape::Nothing => (false, Set::new()),
    }
}

fn entries(schema: &Schema, map: &MapType, entries: &Map) -> Set {
    let mut set = SetBuilder::with_capacity(entries.len());
    for (name, value) in entries {
        let (declared, ty) = match map.field(name) {
            Some(field) => (true, Some(field.ty)),
            None => (false, map.element),
        };
        let (itself, below) = ty.map(|ty| fields(schema, ty, value)).unwrap_or_default();
        let empty = match value {
            Value::Null => true,
            Value::Map(map) => map.is_empty(),
            _ => false,
        };
        set.push(PathElement::Field(name.clone()), itself || empty || !declared, below);
    }
    set.build()
}

fn items(schema: &Schema, list: &ListType, items: &List) -> Set {
    let keyless = || PathElement::Key(Map::new());
    let mut found: Vec<(PathElement, &Value)> =
        items.iter().map(|item| (element_of(list, item).unwrap_or_else(|_| keyless()), item)).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let mut set = SetBuilder::with_capacity(found.len());
    for group in found.chunk_by(|a, b| a.0 == b.0) {
        match group {
            [(element, item)] => {
                set.push(element.clone(), true, fields(schema, list.element, item).1);
            }
            [(element, _), ..] => set.push(element.clone(), true, Set::new()),
            [] => {}
        }
    }
    set.build()
}
