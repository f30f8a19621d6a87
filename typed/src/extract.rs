//! Extraction of items by path.

use fieldmanager_fieldpath::internal::SetBuilder;
use fieldmanager_fieldpath::{PathElement, Set};
use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::{ListType, MapType, TypeId};
use fieldmanager_value::{List, Map, Value};

use crate::items::element_of;
use crate::shape::{Shape, shape};
use crate::typed_value::{KnownProperties, TypedValue};

/// Determines whether the key fields of partially extracted list items are included.
///
/// ```
/// use fieldmanager_fieldpath::Set;
/// use fieldmanager_schema::Schema;
/// use fieldmanager_typed::{Duplicates, KeyFields, TypedValue};
/// use fieldmanager_value::Value;
/// let schema = Schema::from_yaml("
/// types:
/// - name: list
///   list:
///     elementRelationship: associative
///     keys: [id]
///     elementType: {map: {elementType: {scalar: untyped}}}
/// ")?;
/// let value = Value::from_yaml("[{id: a, x: 1, z: 2}]")?;
/// let list = TypedValue::new(value, schema.type_named("list").unwrap(), Duplicates::Refuse)?;
/// let x = Set::from_json(br#"{"k:{\"id\":\"a\"}":{"f:x":{}}}"#)?;
/// let extract = |keys| list.extract_items(&x, keys).value().to_json();
/// assert_eq!(extract(KeyFields::AsGiven), r#"[{"x":1}]"#);
/// assert_eq!(extract(KeyFields::Append), r#"[{"id":"a","x":1}]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFields {
    /// Extract only the items of the set.
    AsGiven,
    /// Also extract the key fields, so that the items remain identifiable.
    Append,
}

impl TypedValue {
    /// Returns the value reduced to the items of a set. To obtain the fields that a manager applied, pass the
    /// [leaves](Set::leaves) of its set.
    ///
    /// A list item that is a member of the set without children is extracted as a whole, as are atomic and empty lists
    /// and maps on the paths of the set.
    ///
    /// Behaviour: `TypedValue.ExtractItems` of `sigs.k8s.io/structured-merge-diff/v6/typed`, except that a map that is
    /// a member with children is reduced to these children.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::{Duplicates, KeyFields, TypedValue};
    /// use fieldmanager_value::Value;
    /// let value = |yaml| Value::from_yaml(yaml).unwrap();
    /// let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
    /// let applied = typed("{replicas: 2, labels: {app: web}}")?.field_set();
    /// let live = typed("{replicas: 3, labels: {app: web, tier: front}, paused: true}")?;
    /// let own = live.extract_items(&applied.leaves(), KeyFields::Append);
    /// assert_eq!(own.value().to_json(), r#"{"labels":{"app":"web"},"replicas":3}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn extract_items(&self, items: &Set, key_fields: KeyFields) -> TypedValue {
        // Key fields are added for existing items only, because the set may be older than the value.
        let items = match key_fields {
            KeyFields::AsGiven => items.clone(),
            KeyFields::Append => {
                let own = items.intersection(&self.field_set());
                items.union(&with_keys(&own))
            }
        };
        let mut extract = Extract {
            schema: self.ty.schema(),
            known: KnownProperties {
                normalized: false,
                ..self.known
            },
        };

        let value = extract.value(self.ty.id(), &self.value, &items);
        TypedValue {
            value,
            ty: self.ty.clone(),
            known: extract.known,
        }
    }
}

/// The paths of the key fields of all items on the paths of a set.
fn with_keys(items: &Set) -> Set {
    let mut keys = SetBuilder::default();
    for (element, node) in items.nodes() {
        let mut below = with_keys(node.children());
        if let PathElement::Key(fields) = element {
            for (name, _) in fields {
                below.insert(&[PathElement::Field(name.clone())]);
            }
        }
        if !below.is_empty() {
            keys.push(element.clone(), false, below);
        }
    }

    keys.build()
}

struct Extract<'s> {
    schema: &'s Schema,
    known: KnownProperties,
}

impl Extract<'_> {
    fn value(&mut self, ty: TypeId, value: &Value, items: &Set) -> Value {
        match shape(self.schema.atom(ty), Some(value)).1 {
            Shape::Scalar(_) => value.clone(),
            Shape::List(list) => match value {
                Value::List(old) if list.atomic || old.is_empty() => value.clone(),
                Value::List(old) => self.list(list, old, items),
                _ => Value::Null,
            },
            Shape::Map(map) => match value {
                Value::Map(old) if map.atomic || old.is_empty() => value.clone(),
                Value::Map(old) => self.map(map, old, items),
                _ => Value::Null,
            },
            Shape::Nothing => Value::Null,
        }
    }

    fn map(&mut self, map: &MapType, old: &Map, items: &Set) -> Value {
        let mut out = Vec::new();
        for (element, node) in items.nodes() {
            let Some((name, value)) = element.as_field().and_then(|name| old.get_entry(name))
            else {
                continue;
            };
            let part = match map.type_of(name) {
                Some(ty) => self.value(ty, value, node.children()),
                None => Value::Null,
            };
            out.push((name.clone(), part));
        }

        if out.is_empty() {
            Value::Null
        } else {
            Value::Map(Map::from_iter(out))
        }
    }

    fn list(&mut self, list: &ListType, old: &List, items: &Set) -> Value {
        let mut out = Vec::new();
        for item in old {
            let Ok(element) = element_of(list, item) else {
                continue;
            };
            let Some(node) = items.get(&element) else {
                continue;
            };

            let part = if node.children().is_empty() {
                item.clone()
            } else {
                self.value(list.element, item, node.children())
            };
            match element_of(list, &part) {
                Err(_) => self.known.keyed = false,
                Ok(after) if after != element => self.known.unique = false,
                Ok(_) => {}
            }
            out.push(part);
        }

        if out.is_empty() {
            Value::Null
        } else {
            Value::from(out)
        }
    }
}
