//! Sequential lookup of an object's field names in a struct.

use fieldmanager_value::Str;

use crate::resolved::{Field, MapType, TypeId};

/// Looks up names in a struct. Ascending names, the order in which maps iterate, rarely need a search: the next name is
/// usually one of the next declared fields.
#[derive(Clone, Debug)]
pub struct Along<'s> {
    map: &'s MapType,
    /// The position after the field of the last lookup.
    at: usize,
}

/// The number of declared fields to compare before searching the index. Objects omit fields.
const NEAR: usize = 4;

impl<'s> Along<'s> {
    /// The declared field with a name; see [`MapType::field`].
    #[inline]
    pub fn field(&mut self, name: &Str) -> Option<&'s Field> {
        // Objects and types have their fields in the same order, so the next field is usually near.
        let next = self.map.fields.get(self.at..).unwrap_or_default();
        let mut near = next.iter().take(NEAR);
        let at = match near.position(|field| field.name.ptr_eq(name)) {
            Some(n) => self.at + n,
            None if self.map.fields.is_empty() => return None,
            None => self.map.position(name)?,
        };
        self.at = at + 1;
        self.map.fields.get(at)
    }

    /// The type of undeclared fields.
    pub fn element(&self) -> Option<TypeId> {
        self.map.element
    }

    /// The type of the field with a name, declared or not; see [`MapType::type_of`].
    #[inline]
    pub fn type_of(&mut self, name: &Str) -> Option<TypeId> {
        self.field(name).map(|field| field.ty).or(self.map.element)
    }
}

impl MapType {}

/// Returns a cursor for sequential lookups.
pub fn along(map: &MapType) -> Along<'_> {
    Along { map, at: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;

    #[test]
    fn names_are_found_in_any_order() {
        let schema = Schema::from_yaml(
            "types: [{name: app, map: {fields: [
                {name: image, type: {scalar: string}}, {name: replicas, type: {scalar: numeric}}]}}]",
        );
        let app = schema.unwrap().type_named("app").unwrap();
        let mut along = along(app.atom().map.as_ref().unwrap());
        let names = ["image", "name", "replicas", "image"];
        let known = names.map(|name| along.field(&Str::from(name)).is_some());
        assert_eq!(known, [true, false, true, true]);
    }
}
