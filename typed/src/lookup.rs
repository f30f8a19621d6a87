//! Lookup of values by path.

use fieldmanager_fieldpath::PathElement;
use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::TypeId;
use fieldmanager_value::Value;

use crate::index::{Index, IndexSlot};
use crate::typed_value::TypedValue;

impl TypedValue {
    /// Returns the value at a path, or `None` if there is no value or if several items have the key.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Path;
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::{Duplicates, TypedValue};
    /// use fieldmanager_value::Value;
    /// let value = Value::from_yaml("{spec: {replicas: 3}}")?;
    /// let typed = TypedValue::new(value, Schema::deduced(), Duplicates::Refuse)?;
    /// assert_eq!(typed.get(&".spec.replicas".parse::<Path>()?), Some(&Value::from(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, path: &[PathElement]) -> Option<&Value> {
        get(self.ty.schema(), self.ty.id(), &self.value, path)
    }
}

fn get<'v>(
    schema: &Schema,
    ty: TypeId,
    value: &'v Value,
    path: &[PathElement],
) -> Option<&'v Value> {
    let Some((first, rest)) = path.split_first() else {
        return Some(value);
    };
    let atom = schema.atom(ty);
    let (ty, child) = match first {
        PathElement::Field(name) => (
            atom.map.as_ref()?.type_of(name)?,
            value.as_map()?.get(name)?,
        ),
        PathElement::Index(at) => (
            atom.list.as_ref()?.element,
            value.as_list()?.get(usize::try_from(*at).ok()?)?,
        ),
        PathElement::Key(_) | PathElement::Value(_) => {
            let list_type = atom.list.as_ref()?;
            let list = value.as_list()?;
            match Index::of(list, list_type).ok()?.get(first)? {
                IndexSlot::One(at) => (list_type.element, list.get(at)?),
                IndexSlot::Many => return None,
            }
        }
    };

    get(schema, ty, child, rest)
}
