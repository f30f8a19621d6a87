//! Deserialization of values from any serde format.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::intern::DocumentNames;
use crate::names::SeenNames;
use crate::{Error, List, MAX_DEPTH, Map, Str, Value, deep};

/// The initial capacity of the stacks: enough for most objects, and below the size that allocators treat as large.
const ROOM: usize = 40;

/// Builds the values of one document. Interns field names and enforces the depth limit.
pub(crate) struct DocumentReader {
    names: DocumentNames,
    /// The entries of all open maps, those of the innermost map last. A shared stack saves one vector per map.
    entries: Vec<(Str, Value)>,
    /// The items of all open lists.
    items: Vec<Value>,
    depth: usize,
    /// Whether duplicate keys are rejected. Otherwise the last one wins.
    strict: bool,
    /// Whether reading failed because the nesting exceeds the limit.
    pub(crate) too_deep: bool,
    /// Whether a map had a key twice.
    pub(crate) has_repeats: bool,
}

impl DocumentReader {
    pub(crate) fn new(strict: bool) -> Self {
        DocumentReader {
            names: DocumentNames::new(),
            entries: Vec::new(),
            items: Vec::new(),
            depth: 0,
            strict,
            too_deep: false,
            has_repeats: false,
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

impl<'de> DeserializeSeed<'de> for &mut DocumentReader {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        At {
            reader: self,
            place: ListItemSeed,
        }
        .deserialize(deserializer)?;
        Ok(self.items.pop().unwrap_or_default())
    }
}

/// The destination of a value.
trait Destination {
    fn put(self, reader: &mut DocumentReader, value: Value);
}

/// The name of an entry: the value belongs to the innermost open map.
impl Destination for Str {
    #[inline(always)]
    fn put(self, reader: &mut DocumentReader, value: Value) {
        reader.entries.push((self, value));
    }
}

/// The value is the next item of the innermost open list.
struct ListItemSeed;

impl Destination for ListItemSeed {
    #[inline(always)]
    fn put(self, reader: &mut DocumentReader, value: Value) {
        reader.items.push(value);
    }
}

/// Reads a value and stores it at its destination. Returning the value would copy it at each level of calls.
struct At<'r, P> {
    reader: &'r mut DocumentReader,
    place: P,
}

impl<P: Destination> At<'_, P> {
    #[inline(always)]
    fn put<E>(self, value: Value) -> Result<(), E> {
        self.place.put(self.reader, value);
        Ok(())
    }

    fn put_wide<E>(self, exact: Option<i64>, nearest: f64) -> Result<(), E> {
        self.put(exact.map_or(Value::Float(nearest), Value::Int))
    }
}

impl<'de, P: Destination> DeserializeSeed<'de> for At<'_, P> {
    type Value = ();

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, P: Destination> Visitor<'de> for At<'_, P> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, a boolean, a number, a string, a list or a map")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.put(Value::Null)
    }

    fn visit_none<E>(self) -> Result<(), E> {
        self.put(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<(), D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_bool<E>(self, b: bool) -> Result<(), E> {
        self.put(Value::Bool(b))
    }

    fn visit_i64<E>(self, i: i64) -> Result<(), E> {
        self.put(Value::Int(i))
    }

    fn visit_u64<E>(self, u: u64) -> Result<(), E> {
        self.put_wide(i64::try_from(u).ok(), u as f64)
    }

    fn visit_i128<E>(self, i: i128) -> Result<(), E> {
        self.put_wide(i64::try_from(i).ok(), i as f64)
    }

    fn visit_u128<E>(self, u: u128) -> Result<(), E> {
        self.put_wide(i64::try_from(u).ok(), u as f64)
    }

    fn visit_f64<E: serde::de::Error>(self, f: f64) -> Result<(), E> {
        if !f.is_finite() {
            return Err(E::custom(Error::NotFinite {
                found: f.to_string(),
            }));
        }
        self.put(Value::Float(f))
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.put(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let At { reader, place } = self;
        reader.enter()?;
        let start = reader.items.len();
        deep::level(|| {
            while items
                .next_element_seed(At {
                    reader: &mut *reader,
                    place: ListItemSeed,
                })?
                .is_some()
            {}
            Ok(())
        })?;

        // The list takes its items from the stack at its exact size, with one allocation.
        reader.depth -= 1;
        let list = List::from_exact(reader.items.drain(start..));
        place.put(reader, Value::List(list));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let At { reader, place } = self;
        reader.enter()?;
        let start = reader.entries.len();
        if reader.entries.capacity() == 0 {
            reader.entries.reserve(ROOM);
        }

        // Names and values go to one stack for all open maps. In strict mode a duplicate is refused as soon as its
        // name is read.
        let mut names = SeenNames::default();
        deep::level(|| {
            while let Some(name) = entries.next_key_seed(Name(&mut reader.names))? {
                let before = || reader.entries.get(start..).unwrap_or_default();
                if reader.strict && !names.add(before(), &name) {
                    return Err(serde::de::Error::custom(format_args!(
                        "duplicate key `{name}`"
                    )));
                }
                entries.next_value_seed(At {
                    reader: &mut *reader,
                    place: name,
                })?;
            }

            Ok(())
        })?;

        reader.depth -= 1;
        // A map with ascending names needs no sorting.
        let sorted = reader
            .entries
            .get(start..)
            .unwrap_or_default()
            .is_sorted_by(|(a, _), (b, _)| a < b);
        let count = reader.entries.len() - start;
        let map = Map::from_exact(reader.entries.drain(start..), sorted);
        reader.has_repeats |= map.len() < count;
        place.put(reader, Value::Map(map));

        Ok(())
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
        f.write_str("a string as a map key")
    }

    fn visit_str<E>(self, text: &str) -> Result<Str, E> {
        Ok(Str::interned(self.0.intern(text)))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DocumentReader::new(false).deserialize(deserializer)
    }
}
