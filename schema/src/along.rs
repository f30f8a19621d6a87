//! Looking up the fields of an object.

use fieldmanager_value::Str;

use crate::resolved::{Field, MapType, TypeId};

/// Looks up names in a struct. Those that come in order, as the names of a map do, mostly need no search.
#[derive(Clone, Debug)]
pub struct Along<'s> {
    pub(crate) map: &'s MapType,
    /// Behind the field that was found last.
    pub(crate) at: usize,
}

/// So many fields that an object does not have are passed before a search.
const NEAR: usize = 4;

impl<'s> Along<'s> {
    /// The declared field of a name; see [`MapType::field`].
    #[inline]
    pub fn field(&mut self, name: &Str) -> Option<&'s Field> {
        let next = self.map.fields.get(self.at..).unwrap_or_default();
        let mut near = next.iter().take(NEAR);
        let at = match near.position(|field| field.name.ptr_eq(name)) {
            Some(n) => self.at + n,
            None if self.map.fields.is_empty() => return None,
            None => self.map.names.find(&self.map.fields, name)?,
        };
        self.at = at + 1;
        self.map.fields.get(at)
    }

    /// The type of fields that are not declared.
    pub fn element(&self) -> Option<TypeId> {
        self.map.element
    }

    /// The type of the field of a name, be it declared or not; see [`MapType::type_of`].
    #[inline]
    pub fn type_of(&mut self, name: &Str) -> Option<TypeId> {
        self.field(name).map(|field| field.ty).or(self.map.element)
    }
}
