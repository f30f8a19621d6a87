//! Values out of any serde format.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::intern::DocumentNames;
use crate::names::Names;
use crate::{Error, List, MAX_DEPTH, Map, Str, Value, deep};

/// The first size of the stacks: most objects fit, and it is below the size that allocators treat as large.
const ROOM: usize = 40;

/// Builds the values of one document: shares repeated field names and bounds the depth.
pub(crate) struct Reader {
    names: DocumentNames,
    /// The entries of all maps that have not ended, those of the innermost map last. One stack for all maps saves a
    /// vector per map.
    entries: Vec<(Str, Value)>,
    /// The items of all lists that have not ended.
    items: Vec<Value>,
    depth: usize,
    /// Whether a map that has a key twice is refused. Otherwise the last of them is kept.
    strict: bool,
    /// Whether reading failed because the nesting is deeper than the limit.
    pub(crate) too_deep: bool,
}

impl Reader {
    pub(crate) fn new(strict: bool) -> Self {
        Reader {
            names: DocumentNames::new(),
            entries: Vec::with_capacity(ROOM),
            items: Vec::new(),
            depth: 0,
            strict,
            too_deep: false,
        }
    }

    fn enter<E: serde::de::Error>(&mut self) -> Result<(), E> {
        if self.depth >= MAX_DEPTH {
            self.too_deep = true;
            return Err(E::custom(Error::TooDeep));
        }
        self.depth += 1;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &mut Reader {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, a boolean, a number, a string, a list or a map")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, i: i64) -> Result<Value, E> {
        Ok(Value::Int(i))
    }

    fn visit_u64<E>(self, u: u64) -> Result<Value, E> {
        Ok(i64::try_from(u).map_or(Value::Float(u as f64), Value::Int))
    }

    fn visit_i128<E>(self, i: i128) -> Result<Value, E> {
        Ok(i64::try_from(i).map_or(Value::Float(i as f64), Value::Int))
    }

    fn visit_u128<E>(self, u: u128) -> Result<Value, E> {
        Ok(i64::try_from(u).map_or(Value::Float(u as f64), Value::Int))
    }

    fn visit_f64<E: serde::de::Error>(self, f: f64) -> Result<Value, E> {
        if !f.is_finite() {
            return Err(E::custom(Error::NotFinite { found: f.to_string() }));
        }
        Ok(Value::Float(f))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.enter()?;
        let start = self.items.len();
        deep::level(|| {
            while let Some(item) = items.next_element_seed(&mut *self)? {
                self.items.push(item);
            }
            Ok(())
        })?;
        self.depth -= 1;
        Ok(Value::List(List::of(self.items.drain(start..))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.enter()?;
        let start = self.entries.len();
        let (mut sorted, mut names) = (true, Names::Ascending);
        deep::level(|| {
            while let Some(name) = entries.next_key_seed(Name(&mut self.names))? {
                let before = self.entries.get(start..).unwrap_or_default();
                if self.strict && !names.add(before, &name) {
                    return Err(serde::de::Error::custom(format_args!("key `{name}` is there twice")));
                }
                let value = entries.next_value_seed(&mut *self)?;
                sorted = sorted
                    && self
                        .entries
                        .get(start..)
                        .and_then(<[_]>::last)
                        .is_none_or(|(before, _)| *before < name);
                self.entries.push((name, value));
            }
            Ok(())
        })?;
        self.depth -= 1;
        Ok(Value::Map(Map::of(self.entries.drain(start..), sorted)))
    }
}

/// Reads a field name.
struct Name<'n>(&'n mut DocumentNames);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string as map key")
    }

    fn visit_str<E>(self, text: &str) -> Result<Str, E> {
        Ok(Str::interned(self.0.intern(text)))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Reader::new(false).deserialize(deserializer)
    }
}
