//! Objects of a type, derived from choices.

use fieldmanager_schema::internal::{Atom, ListType, MapType, Scalar, TypeId};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_value::{List, Map, Value};

use crate::choices::Choices;

/// The maximum depth of objects.
const DEPTH: usize = 4;

/// Options for the generated objects.
#[derive(Clone, Copy, Default)]
pub(crate) struct Make {
    /// Lists and maps may be too long to be stored as slices.
    pub(crate) long: bool,
    /// Nulls, empty lists and empty maps may occur.
    pub(crate) empty_values: bool,
    /// Lists may contain items with the same key.
    pub(crate) duplicates: bool,
}

/// Generates an object. It is valid for the type, unless its keys have a kind that is not accepted as a key.
pub(crate) fn object(choices: &mut Choices<'_>, ty: &Type, make: Make) -> Value {
    let mut maker = Maker {
        choices,
        schema: ty.schema(),
        make,
        serial: None,
    };
    // Null represents an absent object, the initial state of a scenario.
    let value = match &ty.atom().map {
        Some(map) => maker.map(map, DEPTH),
        None => maker.value(ty.id(), DEPTH),
    };
    if make.empty_values {
        value
    } else {
        filled(&value).unwrap_or_else(|| Map::new().into())
    }
}

/// Returns the value without nulls, empty lists and empty maps, or `None` if nothing is left.
pub(crate) fn filled(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::List(items) => {
            let items: List = items.iter().filter_map(filled).collect();
            (!items.is_empty()).then(|| items.into())
        }
        Value::Map(entries) => {
            let entries: Map = entries
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), filled(value)?)))
                .collect();
            (!entries.is_empty()).then(|| entries.into())
        }
        scalar => Some(scalar.clone()),
    }
}

struct Maker<'c, 'b, 's> {
    choices: &'c mut Choices<'b>,
    schema: &'s Schema,
    make: Make,
    /// The index of the current item of a long list, which determines its scalars.
    serial: Option<usize>,
}

impl Maker<'_, '_, '_> {
    fn value(&mut self, ty: TypeId, depth: usize) -> Value {
        let atom = self.schema.atom(ty);
        if self.make.empty_values && self.choices.one_in(12) {
            return Value::Null;
        }
        let Atom {
            scalar, list, map, ..
        } = atom;
        let kinds = [
            scalar.is_some(),
            list.is_some() && depth > 0,
            map.is_some() && depth > 0,
        ];
        let count = kinds.iter().filter(|kind| **kind).count();
        let chosen = if count > 1 {
            self.choices.below(count)
        } else {
            0
        };
        let kind = (0..kinds.len())
            .filter(|at| kinds.get(*at) == Some(&true))
            .nth(chosen);
        match (kind, scalar, list, map) {
            (Some(0), Some(scalar), _, _) => self.scalar(*scalar),
            (Some(1), _, Some(list), _) => Value::List(self.list(list, depth)),
            (Some(2), _, _, Some(map)) => self.map(map, depth),
            _ => Value::Null,
        }
    }

    fn scalar(&mut self, scalar: Scalar) -> Value {
        if let Some(serial) = self.serial {
            return match scalar {
                Scalar::Numeric => Value::Int(i64::try_from(serial).unwrap_or_default()),
                Scalar::Boolean => Value::Bool(serial % 2 == 0),
                Scalar::String | Scalar::Untyped => Value::from(format!("{serial:03}")),
            };
        }
        match scalar {
            Scalar::Numeric => match self.choices.below(6) {
                0 => Value::from(1),
                1 => Value::from(2),
                2 => Value::from(1.0),
                3 => Value::from(1.5),
                4 => Value::from(0),
                _ => Value::from(-0.0),
            },
            Scalar::String => Value::from(self.choices.pick(&["a", "b", "c", "x.y", ""])),
            Scalar::Boolean => Value::from(self.choices.one_in(2)),
            Scalar::Untyped => match self.choices.below(3) {
                0 => self.scalar(Scalar::String),
                1 => self.scalar(Scalar::Numeric),
                _ => self.scalar(Scalar::Boolean),
            },
        }
    }

    /// The number of entries or items, and the first number of the names in a long list or map.
    fn count(&mut self, depth: usize) -> (usize, Option<usize>) {
        if self.make.long && depth + 2 >= DEPTH && self.serial.is_none() && self.choices.one_in(2) {
            return (28 + self.choices.below(36), Some(self.choices.below(12)));
        }
        (self.choices.below(4), None)
    }

    fn map(&mut self, map: &MapType, depth: usize) -> Value {
        let depth = depth.saturating_sub(1);
        let mut entries = Map::new();
        let fields = map.fields();
        let mut selected = Vec::new();
        if !fields.is_empty() {
            let bits = self.choices.byte();
            let also = if fields.len() > 6 {
                self.choices.byte()
            } else {
                0
            };
            let bits = u32::from(bits) | u32::from(also) << 6;
            selected.extend(
                fields
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| bits >> at & 1 == 1),
            );
        }
        for (_, field) in selected {
            let value = self.value(field.ty, depth);
            entries.insert(field.name.clone(), value);
        }
        if let Some(element) = map.element {
            let (count, from) = self.count(depth);
            let outer = self.serial;
            for at in 0..count {
                let name = match from {
                    Some(from) => format!("{:03}", from + at),
                    None => self.choices.pick(&["a", "b", "c", "d"]).to_owned(),
                };
                self.serial = from.map(|_| self.choices.below(4)).or(outer);
                let value = match map.field(&name) {
                    Some(field) => self.value(field.ty, depth),
                    None => self.value(element, depth),
                };
                entries.insert(name, value);
            }
            self.serial = outer;
        }
        Value::Map(entries)
    }

    fn list(&mut self, list: &ListType, depth: usize) -> List {
        let depth = depth.saturating_sub(1);
        let (count, from) = self.count(depth);
        let step = if from.is_some() {
            1 + self.choices.below(2)
        } else {
            1
        };
        let outer = self.serial;
        let mut items: Vec<Value> = Vec::with_capacity(count);
        let mut seen: Vec<Vec<Option<Value>>> = Vec::with_capacity(count);
        for at in 0..count {
            self.serial = from.map(|from| from + at * step).or(outer);
            let mut item = self.value(list.element, depth);
            if !list.atomic {
                if let Value::Null = item {
                    continue;
                }
                self.complete_key(list, &mut item);
                let key = key(list, &item);
                if seen.contains(&key) && !self.make.duplicates {
                    continue;
                }
                seen.push(key);
            }
            items.push(item);
        }
        self.serial = outer;
        if from.is_some() && self.choices.one_in(3) {
            items.reverse();
        }
        items.into_iter().collect()
    }

    /// Ensures that an item has at least one of its keys.
    fn complete_key(&mut self, list: &ListType, item: &mut Value) {
        let Value::Map(fields) = item else { return };
        if !list.keys.is_empty() && list.keys.iter().all(|key| fields.get(&key.name).is_none()) {
            let atom = self.schema.atom(list.element);
            if let Some(key) = list.keys.first()
                && let Some(field) = atom.map.as_ref().and_then(|map| map.field(&key.name))
                && let Some(scalar) = self.schema.atom(field.ty).scalar
            {
                fields.insert(key.name.clone(), self.scalar(scalar));
            }
        }
    }
}

/// The key of an item.
fn key(list: &ListType, item: &Value) -> Vec<Option<Value>> {
    if list.keys.is_empty() {
        return vec![Some(item.clone())];
    }
    list.keys
        .iter()
        .map(|key| item.get(&key.name).cloned().or_else(|| key.default.clone()))
        .collect()
}
