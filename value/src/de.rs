//! Deserialization of values into Rust types.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer,
    VariantAccess, Visitor,
};

use crate::{Error, Kind, List, MAX_DEPTH, Str, Value, deep};

/// Deserializes a value into any `Deserialize` type. Together with [`to_value`](crate::to_value), it replaces the
/// reflection of the Go package.
///
/// # Errors
///
/// [`Error::Conversion`] with the error message of the type; [`Error::TooDeep`].
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

/// Whether lists and maps nest at most `levels` deep.
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
            Value::String(tag) => visitor.visit_enum(Variant {
                tag: tag.into(),
                content: None,
            }),
            Value::Map(map) if map.len() == 1 => match map.iter().next() {
                Some((tag, content)) => visitor.visit_enum(Variant {
                    tag: tag.clone(),
                    content: Some(content.clone()),
                }),
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
    de::Error::custom(format_args!(
        "expected a variant name or a map with one entry, found {found}"
    ))
}

/// An enum value: its tag and, unless it is a unit variant, its content.
struct Variant {
    tag: Str,
    content: Option<Value>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = VariantContent;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, VariantContent), Error> {
        let tag = seed.deserialize((&self.tag).into_deserializer())?;
        Ok((tag, VariantContent(self.content)))
    }
}

struct VariantContent(Option<Value>);

impl VariantContent {
    fn value(self) -> Value {
        self.0.unwrap_or_default()
    }
}

impl<'de> VariantAccess<'de> for VariantContent {
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
