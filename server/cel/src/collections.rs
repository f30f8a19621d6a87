//! The items of lists and the fields of maps.

use crate::meter::{Meter, WORK};
use crate::object::{field, is_dynamic, is_unstructured, item_schema, keys, read};
use crate::value::{Fault, Key, ListVal, MapVal, Outcome, Val, fault, no_overload};

impl<'a> ListVal<'a> {
    pub(crate) fn get(&self, at: usize) -> Option<Outcome<'a>> {
        match self {
            ListVal::Object(list, schema) => {
                let items = item_schema(schema)?;
                Some(read(list.get(at)?, items))
            }
            ListVal::Made(items) | ListVal::Joined(items) | ListVal::Sum(items, _) => {
                items.get(at).cloned().map(Ok)
            }
        }
    }

    /// The items, which are counted before they are read.
    pub(crate) fn items(&self, meter: &mut Meter) -> Result<Vec<Val<'a>>, Fault> {
        meter.make_items(self.len())?;
        let mut out = Vec::with_capacity(self.len());
        for item in self.iter() {
            let item = item?;
            meter.visit_value(&item)?;
            out.push(item);
        }
        Ok(out)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Outcome<'a>> + '_ {
        (0..self.len()).map_while(|at| self.get(at))
    }
}

impl<'a> MapVal<'a> {
    /// The value of a key.
    pub(crate) fn find(&self, key: &Val<'_>) -> Result<Option<Val<'a>>, Fault> {
        match self {
            MapVal::Object(map, schema) => match key {
                Val::String(name) => field(map, schema, name),
                _ if is_unstructured(schema) => Ok(None),
                _ if is_dynamic(schema) => {
                    fault(format!("unsupported map key type: {}", key.go_type()))
                }
                _ => no_overload(),
            },
            MapVal::Made(entries) => Ok(Key::of(key).and_then(|key| entries.get(&key).cloned())),
        }
    }

    /// The keys, which are counted before they are made.
    pub(crate) fn keys(&self, meter: &mut Meter) -> Result<Vec<Val<'a>>, Fault> {
        meter.make_items(self.len().saturating_mul(2))?;
        Ok(match self {
            MapVal::Object(map, schema) => keys(map, schema),
            MapVal::Made(entries) => entries.keys().map(Key::value).collect(),
        })
    }

    /// The entries of a map that an evaluation made, which has paid for them.
    pub(crate) fn entries(&self) -> Vec<(Val<'a>, Val<'a>)> {
        let keys = self.keys(&mut Meter::new(u64::MAX, WORK));
        let entry = |key| {
            let value = self.find(&key).ok().flatten();
            (key, value.unwrap_or(Val::Null))
        };
        keys.unwrap_or_default().into_iter().map(entry).collect()
    }
}
