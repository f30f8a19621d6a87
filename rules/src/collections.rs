//! The items of lists and the fields of maps.

use crate::object::{field, keys, read};
use crate::value::{Fault, Key, ListVal, MapVal, Outcome, Val, no_overload};

impl<'a> ListVal<'a> {
    pub(crate) fn get(&self, at: usize) -> Option<Outcome<'a>> {
        match self {
            ListVal::Object(list, schema) => {
                let items = schema.items.as_ref()?;
                Some(read(list.get(at)?, items))
            }
            ListVal::Made(items) | ListVal::Sum(items, _) => items.get(at).cloned().map(Ok),
        }
    }

    pub(crate) fn items(&self) -> Result<Vec<Val<'a>>, Fault> {
        self.iter().collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Outcome<'a>> + '_ {
        (0..self.len()).map_while(|at| self.get(at))
    }
}

impl<'a> MapVal<'a> {
    /// The value of a key.
    pub(crate) fn find(&self, key: &Val<'_>) -> Result<Option<Val<'a>>, Fault> {
        match self {
            MapVal::Object(map, schema) => {
                let Val::String(name) = key else { return no_overload() };
                field(map, schema, name)
            }
            MapVal::Made(entries) => Ok(Key::of(key).and_then(|key| entries.get(&key).cloned())),
        }
    }

    pub(crate) fn keys(&self) -> Vec<Val<'a>> {
        match self {
            MapVal::Object(map, schema) => keys(map, schema),
            MapVal::Made(entries) => entries.keys().map(Key::value).collect(),
        }
    }
}
