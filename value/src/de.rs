//! Values out of any serde format, and any `Deserialize` type out of a value.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::hash::Hasher;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};

use crate::{Error, Kind, List, MAX_DEPTH, MapBuilder, Str, Value, deep};

/// How many field names of one document are remembered to be shared.
const NAMES: usize = 256;

/// Reads values from a deserializer: bounds their depth and shares repeated field names.
pub(crate) struct Seed {
    names: RefCell<Vec<Option<Str>>>,
    too_deep: Cell<bool>,
}

impl Seed {
    pub(crate) fn new() -> Self {
        Seed { names: RefCell::new(Vec::new()), too_deep: Cell::new(false) }
    }

    /// Whether an error was caused by nesting beyond the limit.
    pub(crate) fn too_deep(&self) -> bool {
        self.too_deep.get()
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<Value, D::Error> {
        Node { seed: self, depth: 0 }.deserialize(deserializer)
    }

    /// A field name, shared with an earlier one of the same text where that is still remembered.
    fn name(&self, text: &str) -> Str {
        let mut names = self.names.borrow_mut();
        if names.is_empty() {
            names.resize(NAMES, None);
        }
        let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
        hasher.write(text.as_bytes());
        let slot = usize::try_from(hasher.finish() % NAMES as u64).unwrap_or_default();
        match names.get_mut(slot) {
            Some(Some(name)) if *name == text => name.clone(),
            Some(slot) => slot.insert(Str::from(text)).clone(),
            None => Str::from(text),
        }
    }
}

/// A hash that is the same in every run: which names are shared decides no result, but memory use should
/// be repeatable too.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[derive(Clone, Copy)]
struct Node<'s> {
    seed: &'s Seed,
    depth: usize,
}

impl Node<'_> {
    fn child<E: de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            self.seed.too_deep.set(true);
            return Err(E::custom(Error::TooDeep));
        }
        Ok(Node { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
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

    fn visit_f64<E: de::Error>(self, f: f64) -> Result<Value, E> {
        if f.is_finite() {
            Ok(Value::Float(f))
        } else {
            Err(E::custom(Error::NotFinite { found: f.to_string() }))
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let child = self.child()?;
        deep::level(|| {
            let mut list = Vec::new();
            while let Some(item) = items.next_element_seed(child)? {
                list.push(item);
            }
            Ok(Value::List(list.into_iter().collect()))
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let child = self.child()?;
        deep::level(|| {
            let mut map = MapBuilder::default();
            while let Some(name) = entries.next_key_seed(Name(self.seed))? {
                map.push(name, entries.next_value_seed(child)?);
            }
            Ok(Value::Map(map.build()))
        })
    }
}

/// Reads a field name.
struct Name<'s>(&'s Seed);

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
        Ok(self.0.name(text))
    }
}

impl<'de> de::Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Seed::new().deserialize(deserializer)
    }
}

/// Makes an instance of any `Deserialize` type from a value. This, with [`to_value`](crate::to_value),
/// is what reflection is in the Go package.
///
/// # Errors
///
/// [`Error::Conversion`] with what the type says is wrong; [`Error::TooDeep`].
///
/// ```
/// use fieldmanager_value::{Value, from_value};
/// #[derive(serde::Deserialize)]
/// struct Port { name: String, port: u16 }
/// let port: Port = from_value(Value::from_yaml("{name: http, port: 80}")?)?;
/// assert_eq!((port.name.as_str(), port.port), ("http", 80));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    if !nests_at_most(&value, MAX_DEPTH) {
        return Err(Error::TooDeep);
    }
    T::deserialize(value)
}

/// Whether lists and maps nest at most this many levels.
fn nests_at_most(value: &Value, levels: usize) -> bool {
    match (value, levels.checked_sub(1)) {
        (Value::List(list), Some(left)) => list.iter().all(|item| nests_at_most(item, left)),
        (Value::Map(map), Some(left)) => map.iter().all(|(_, value)| nests_at_most(value, left)),
        (Value::List(_) | Value::Map(_), None) => false,
        _ => true,
    }
}

impl IntoDeserializer<'_, Error> for Value {
    type Deserializer = Value;

    fn into_deserializer(self) -> Value {
        self
    }
}

impl IntoDeserializer<'_, Error> for &Value {
    type Deserializer = Value;

    fn into_deserializer(self) -> Value {
        self.clone()
    }
}

impl IntoDeserializer<'_, Error> for &Str {
    type Deserializer = de::value::StringDeserializer<Error>;

    fn into_deserializer(self) -> Self::Deserializer {
        self.as_str().to_owned().into_deserializer()
    }
}

fn visit_list<'de, V: Visitor<'de>>(list: &List, visitor: V) -> Result<V::Value, Error> {
    let mut items = SeqDeserializer::new(list.iter());
    let out = visitor.visit_seq(&mut items)?;
    items.end()?;
    Ok(out)
}

impl<'de> Deserializer<'de> for Value {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(b) => visitor.visit_bool(b),
            Value::Int(i) => visitor.visit_i64(i),
            Value::Float(f) => visitor.visit_f64(f),
            Value::String(s) => visitor.visit_str(&s),
            Value::List(list) => deep::level(|| visit_list(&list, visitor)),
            Value::Map(map) => deep::level(|| {
                let mut entries = MapDeserializer::new(map.iter());
                let out = visitor.visit_map(&mut entries)?;
                entries.end()?;
                Ok(out)
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Null => visitor.visit_none(),
            value => visitor.visit_some(value),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Value::String(tag) => visitor.visit_enum(Variant { tag: tag.into(), content: None }),
            Value::Map(map) if map.len() == 1 => match map.iter().next() {
                Some((tag, content)) => {
                    visitor.visit_enum(Variant { tag: tag.clone(), content: Some(content.clone()) })
                }
                None => Err(not_an_enum(Kind::Map)),
            },
            other => Err(not_an_enum(other.kind())),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

fn not_an_enum(found: Kind) -> Error {
    de::Error::custom(format_args!("expected the name of a variant or a map with one entry, found {found}"))
}

/// An enum: its tag and, unless it is a unit variant, its content.
struct Variant {
    tag: Str,
    content: Option<Value>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Content;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Content), Error> {
        let tag = seed.deserialize((&self.tag).into_deserializer())?;
        Ok((tag, Content(self.content)))
    }
}

struct Content(Option<Value>);

impl Content {
    fn value(self) -> Value {
        self.0.unwrap_or_default()
    }
}

impl<'de> VariantAccess<'de> for Content {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        de::Deserialize::deserialize(self.value())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.value())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.value().deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.value().deserialize_any(visitor)
    }
}
