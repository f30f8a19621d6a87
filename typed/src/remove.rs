//! Removal of items by path.

use fieldmanager_fieldpath::{PathElement, Set};
use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::{ListType, MapType, TypeId};
use fieldmanager_value::{List, Map, Value};

use crate::items::element_of;
use crate::shape::{Shape, shape};
use crate::typed_value::{KnownProperties, TypedValue};

impl TypedValue {
    /// Returns the value without the items of a set, which are fields of maps and items of lists.
    ///
    /// A list or map that loses its last item becomes null, and so does an empty or atomic list or map with paths of
    /// the set below it. This matches `TypedValue.RemoveItems` of v6.4.2 of the Go package.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::{Duplicates, TypedValue};
    /// use fieldmanager_value::Value;
    /// let value = Value::from_yaml("{replicas: 1, labels: {app: web}}")?;
    /// let object = TypedValue::new(value, Schema::deduced(), Duplicates::Refuse)?;
    /// let rest = object.remove_items(&Set::from_json(br#"{"f:replicas":{},"f:labels":{"f:app":{}}}"#)?);
    /// assert_eq!(rest.value().to_json(), r#"{"labels":null}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn remove_items(&self, items: &Set) -> TypedValue {
        // The removal of a member or a discriminator may leave a union inconsistent.
        let mut remove = Remove {
            schema: self.ty.schema(),
            known: KnownProperties {
                normalized: false,
                ..self.known
            },
        };
        let value = remove.value(self.ty.id(), &self.value, items);
        if value.ptr_eq(&self.value) {
            return self.clone();
        }

        TypedValue {
            value,
            ty: self.ty.clone(),
            known: remove.known,
        }
    }
}

struct Remove<'s> {
    schema: &'s Schema,
    known: KnownProperties,
}

impl Remove<'_> {
    fn value(&mut self, ty: TypeId, value: &Value, items: &Set) -> Value {
        match shape(self.schema.atom(ty), Some(value)).1 {
            Shape::Scalar(_) => value.clone(),
            Shape::List(list) => match value {
                Value::List(old) if !list.atomic && !old.is_empty() => self.list(list, old, items),
                _ => Value::Null,
            },
            Shape::Map(map) => match value {
                Value::Map(old) if !map.atomic && !old.is_empty() => self.map(map, old, items),
                _ => Value::Null,
            },
            Shape::Nothing => Value::Null,
        }
    }

    fn map(&mut self, map: &MapType, old: &Map, items: &Set) -> Value {
        let mut edits = Vec::new();
        let mut removed = 0;
        for (element, node) in items.nodes() {
            let Some((name, value)) = element.as_field().and_then(|name| old.get_entry(name))
            else {
                continue;
            };
            if node.is_member() {
                edits.push((name.clone(), None));
                removed += 1;
                continue;
            }

            let rest = match map.type_of(name) {
                Some(ty) => self.value(ty, value, node.children()),
                None => Value::Null,
            };
            if !rest.ptr_eq(value) {
                edits.push((name.clone(), Some(rest)));
            }
        }

        if removed == old.len() {
            return Value::Null;
        }
        Value::Map(old.with_edits(edits))
    }

    fn list(&mut self, list: &ListType, old: &List, items: &Set) -> Value {
        if items.is_empty() {
            return Value::List(old.clone());
        }
        let mut rest = Vec::with_capacity(old.len());
        let mut changed = false;

        for item in old {
            let element = element_of(list, item).ok();
            let node = element.as_ref().and_then(|element| items.get(element));
            let Some(node) = node else {
                rest.push(item.clone());
                continue;
            };
            if node.is_member() {
                changed = true;
                continue;
            }
            let less = self.value(list.element, item, node.children());
            changed |= !less.ptr_eq(item);
            self.check_key(list, element.as_ref(), &less);
            rest.push(less);
        }

        if !changed {
            Value::List(old.clone())
        } else if rest.is_empty() {
            Value::Null
        } else {
            Value::from(rest)
        }
    }

    /// A reduced item may have lost its key, or now have the key of another item.
    fn check_key(&mut self, list: &ListType, before: Option<&PathElement>, item: &Value) {
        match element_of(list, item) {
            Err(_) => self.known.keyed = false,
            Ok(after) if Some(&after) != before => self.known.unique = false,
            Ok(_) => {}
        }
    }
}
