//! Serialization of values into any serde format, and of Rust types into values.

use serde::ser::{self, Serialize, SerializeMap, Serializer};

use crate::{Error, List, MAX_DEPTH, Map, Str, Value, deep};

/// Returns an error if the value nests deeper than [`MAX_DEPTH`] levels.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Nested {
            value: self,
            left: MAX_DEPTH,
        }
        .serialize(serializer)
    }
}

/// A nested value and the number of levels that it may contain.
struct Nested<'v> {
    value: &'v Value,
    left: usize,
}

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(b) => serializer.serialize_bool(*b),
            Value::Int(i) => serializer.serialize_i64(*i),
            Value::Float(f) => serializer.serialize_f64(*f),
            Value::String(s) => serializer.serialize_str(s),
            Value::List(list) => deep::level(|| serialize_list(list, self.left, serializer)),
            Value::Map(map) => deep::level(|| serialize_map(map, self.left, serializer)),
        }
    }
}

fn serialize_list<S: Serializer>(
    list: &List,
    left: usize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let left = one_level_less(left)?;
    serializer.collect_seq(list.iter().map(|value| Nested { value, left }))
}

fn serialize_map<S: Serializer>(map: &Map, left: usize, serializer: S) -> Result<S::Ok, S::Error> {
    let left = one_level_less(left)?;
    serializer.collect_map(
        map.iter()
            .map(|(name, value)| (name, Nested { value, left })),
    )
}

fn one_level_less<E: ser::Error>(left: usize) -> Result<usize, E> {
    left.checked_sub(1).ok_or_else(|| E::custom(Error::TooDeep))
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_list(self, MAX_DEPTH, serializer)
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_map(self, MAX_DEPTH, serializer)
    }
}

/// Serializes any `Serialize` type into a value. Together with [`from_value`](crate::from_value), it replaces the
/// reflection of the Go package.
///
/// # Errors
///
/// [`Error::NotFinite`] for NaN and infinities; [`Error::KeyNotString`] for map keys other than strings, integers and
/// booleans; [`Error::TooDeep`]; and the errors of the type itself.
///
/// ```
/// use fieldmanager_value::to_value;
/// #[derive(serde::Serialize)]
/// struct Port { name: &'static str, port: u16 }
/// let value = to_value(&Port { name: "http", port: 80 })?;
/// assert_eq!(value.to_json(), r#"{"name":"http","port":80}"#);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn to_value<T: Serialize + ?Sized>(source: &T) -> Result<Value, Error> {
    source.serialize(ToValue { depth: 0 })
}

#[derive(Clone, Copy)]
struct ToValue {
    depth: usize,
}

impl ToValue {
    fn child(self) -> Result<ToValue, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        Ok(ToValue {
            depth: self.depth + 1,
        })
    }

    fn items(self, variant: Option<&'static str>) -> Result<ListSerializer, Error> {
        Ok(ListSerializer {
            items: Vec::new(),
            item: self.child()?,
            variant,
        })
    }

    fn entries(self, variant: Option<&'static str>) -> Result<MapSerializer, Error> {
        Ok(MapSerializer {
            entries: Vec::new(),
            name: None,
            value: self.child()?,
            variant,
        })
    }
}

/// Wraps the content of an enum variant as `{variant: content}`.
fn wrap(variant: Option<&'static str>, content: Value) -> Value {
    match variant {
        None => content,
        Some(name) => Value::Map(Map::from_iter([(name, content)])),
    }
}

macro_rules! integers {
    ($($method:ident: $integer:ty),*) => {$(
        fn $method(self, integer: $integer) -> Result<Value, Error> {
            Ok(Value::Int(integer.into()))
        }
    )*};
}

impl Serializer for ToValue {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = ListSerializer;
    type SerializeTuple = ListSerializer;
    type SerializeTupleStruct = ListSerializer;
    type SerializeTupleVariant = ListSerializer;
    type SerializeMap = MapSerializer;
    type SerializeStruct = MapSerializer;
    type SerializeStructVariant = MapSerializer;

    fn serialize_bool(self, b: bool) -> Result<Value, Error> {
        Ok(Value::Bool(b))
    }

    integers! { serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_u8: u8 }
    integers! { serialize_u16: u16, serialize_u32: u32 }

    fn serialize_u64(self, u: u64) -> Result<Value, Error> {
        Ok(i64::try_from(u).map_or(Value::Float(u as f64), Value::Int))
    }

    fn serialize_f32(self, f: f32) -> Result<Value, Error> {
        self.serialize_f64(f.into())
    }

    fn serialize_f64(self, f: f64) -> Result<Value, Error> {
        if f.is_finite() {
            Ok(Value::Float(f))
        } else {
            Err(Error::NotFinite {
                found: f.to_string(),
            })
        }
    }

    fn serialize_char(self, c: char) -> Result<Value, Error> {
        Ok(Value::from(c.to_string()))
    }

    fn serialize_str(self, text: &str) -> Result<Value, Error> {
        Ok(Value::from(text))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, Error> {
        Ok(Value::List(
            bytes.iter().map(|b| Value::Int((*b).into())).collect(),
        ))
    }

    fn serialize_none(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, inner: &T) -> Result<Value, Error> {
        inner.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, Error> {
        Ok(Value::from(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        inner: &T,
    ) -> Result<Value, Error> {
        inner.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        inner: &T,
    ) -> Result<Value, Error> {
        Ok(wrap(Some(variant), inner.serialize(self.child()?)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ListSerializer, Error> {
        self.items(None)
    }

    fn serialize_tuple(self, _: usize) -> Result<ListSerializer, Error> {
        self.items(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<ListSerializer, Error> {
        self.items(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<ListSerializer, Error> {
        self.child()?.items(Some(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<MapSerializer, Error> {
        self.entries(None)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<MapSerializer, Error> {
        self.entries(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<MapSerializer, Error> {
        self.child()?.entries(Some(variant))
    }
}

/// The items of a list that is being serialized.
struct ListSerializer {
    items: Vec<Value>,
    item: ToValue,
    variant: Option<&'static str>,
}

macro_rules! serialize_items {
    ($($kind:ident: $method:ident),*) => {$(
        impl ser::$kind for ListSerializer {
            type Ok = Value;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Error> {
                self.items.push(item.serialize(self.item)?);
                Ok(())
            }

            fn end(self) -> Result<Value, Error> {
                Ok(wrap(self.variant, Value::from(self.items)))
            }
        }
    )*};
}

serialize_items! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
}

/// The entries of a map that is being serialized.
struct MapSerializer {
    entries: Vec<(Str, Value)>,
    name: Option<Str>,
    value: ToValue,
    variant: Option<&'static str>,
}

impl SerializeMap for MapSerializer {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.name = Some(match key.serialize(self.value)? {
            Value::String(name) => name.into(),
            // Integer and boolean keys become strings, as in serde_json.
            scalar @ (Value::Int(_) | Value::Bool(_)) => Str::from(scalar.to_json()),
            other => {
                return Err(Error::KeyNotString {
                    found: other.to_json(),
                });
            }
        });

        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let name = self.name.take().unwrap_or_default();
        self.entries.push((name, value.serialize(self.value)?));
        Ok(())
    }

    fn end(self) -> Result<Value, Error> {
        Ok(wrap(self.variant, Value::Map(Map::from_iter(self.entries))))
    }
}

macro_rules! serialize_fields {
    ($($kind:ident),*) => {$(
        impl ser::$kind for MapSerializer {
            type Ok = Value;
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
                self.entries.push((Str::from(name), value.serialize(self.value)?));
                Ok(())
            }

            fn end(self) -> Result<Value, Error> {
                SerializeMap::end(self)
            }
        }
    )*};
}

serialize_fields! { SerializeStruct, SerializeStructVariant }

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::from_value;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    enum Shape {
        Unit,
        Newtype(u8),
        Tuple(u8, String),
        Struct { a: Option<i64>, b: Vec<bool> },
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct All {
        shapes: Vec<Shape>,
        text: String,
        map: BTreeMap<String, f64>,
        numbers: BTreeMap<u8, ()>,
        pair: (i8, char),
        none: Option<bool>,
    }

    #[test]
    fn a_type_round_trips_through_a_value() {
        let all = All {
            shapes: vec![
                Shape::Unit,
                Shape::Newtype(1),
                Shape::Tuple(2, "t".into()),
                Shape::Struct {
                    a: Some(-3),
                    b: vec![true],
                },
            ],
            text: "x".into(),
            map: [("k".to_owned(), 1.5)].into(),
            numbers: [(7, ())].into(),
            pair: (-1, 'ß'),
            none: None,
        };
        let value = to_value(&all).unwrap();
        assert_eq!(
            value.to_json(),
            r#"{"map":{"k":1.5},"none":null,"numbers":{"7":null},"pair":[-1,"ß"],"shapes":["Unit",{"Newtype":1},{"Tuple":[2,"t"]},{"Struct":{"a":-3,"b":[true]}}],"text":"x"}"#
        );
        let mut without_numbers = value.clone();
        if let Value::Map(map) = &mut without_numbers {
            map.insert("numbers", Map::new());
        }
        let back: All = from_value(without_numbers).unwrap();
        assert_eq!(back.shapes, all.shapes);
        assert_eq!(to_value(&value).unwrap(), value);
    }

    #[test]
    fn values_that_json_cannot_represent_are_rejected() {
        assert_eq!(
            to_value(&[f64::NAN]).unwrap_err().to_string(),
            "number NaN is not finite: only finite numbers are accepted"
        );
        assert!(matches!(
            to_value(&BTreeMap::from([(vec![1], 1)])),
            Err(Error::KeyNotString { .. })
        ));
    }
}
