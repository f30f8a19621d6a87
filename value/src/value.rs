//! The value type.

use std::fmt;

use crate::{List, Map, Str, Text, deep};

/// A Kubernetes object or a part of it.
///
/// Cloning is O(1). Equality, order and hash compare numbers by value: `1 == 1.0`. The order is total: numbers,
/// strings, booleans, lists, maps, null, as in `sigs.k8s.io/structured-merge-diff/v6/value.Compare`.
///
/// ```
/// use fieldmanager_value::Value;
/// let value = Value::from_yaml("{image: nginx, ports: [80, 443]}")?;
/// assert_eq!(value.get("image").and_then(Value::as_str), Some("nginx"));
/// assert_eq!(value.to_json(), r#"{"image":"nginx","ports":[80,443]}"#);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Default)]
pub enum Value {
    /// Null, such as the value of a key without a value.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// Any other number. Unlike in IEEE 754, NaN equals itself, and it sorts before all other numbers.
    Float(f64),
    /// A string.
    String(Text),
    /// A list.
    List(List),
    /// A map from names to values, such as an object or a struct.
    Map(Map),
}

/// The kind of a [`Value`], as used in error messages.
///
/// ```
/// use fieldmanager_value::{Kind, Value};
/// assert_eq!(Value::from(1.5).kind(), Kind::Float);
/// assert_eq!(Kind::Float.to_string(), "float");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are those of Value")]
pub enum Kind {
    Null,
    Bool,
    Int,
    Float,
    String,
    List,
    Map,
}

impl Kind {
    /// The name used in error messages.
    #[doc(hidden)]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "boolean",
            Kind::Int => "integer",
            Kind::Float => "float",
            Kind::String => "string",
            Kind::List => "list",
            Kind::Map => "map",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Value {
    /// The kind of the value.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Int(_) => Kind::Int,
            Value::Float(_) => Kind::Float,
            Value::String(_) => Kind::String,
            Value::List(_) => Kind::List,
            Value::Map(_) => Kind::Map,
        }
    }

    /// Whether the value is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether the value is a number, a string or a boolean. Null is not a scalar.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// assert!(Value::from("text").is_scalar() && Value::from(1).is_scalar());
    /// assert!(!Value::Null.is_scalar() && !Value::from(vec![1]).is_scalar());
    /// ```
    #[doc(hidden)]
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Value::Null | Value::List(_) | Value::Map(_))
    }

    /// The boolean, if the value is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The integer, if the value is one. A float never is, even if it is a whole number.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// assert_eq!(Value::from(3).as_i64(), Some(3));
    /// assert_eq!(Value::from(3.0).as_i64(), None);
    /// ```
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(i) => Some(*i),
            _ => None,
        }
    }

    /// The string, if the value is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// The list, if the value is one.
    pub fn as_list(&self) -> Option<&List> {
        match self {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    /// The map, if the value is one.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The value of a name, if the value is a map that contains it.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let value = Value::from_yaml("{spec: {replicas: 3}}")?;
    /// let replicas = value.get("spec").and_then(|spec| spec.get("replicas"));
    /// assert_eq!(replicas.and_then(Value::as_i64), Some(3));
    /// assert_eq!(Value::Null.get("spec"), None);
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_map()?.get(name)
    }

    /// Whether both values are the same allocation or bitwise the same scalar. Implies equality; the converse does not
    /// hold.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let value = Value::from(vec![1, 2]);
    /// assert!(value.ptr_eq(&value.clone()));
    /// assert!(!value.ptr_eq(&Value::from(vec![1, 2])));
    /// ```
    #[doc(hidden)]
    pub fn ptr_eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::String(a), Value::String(b)) => a.ptr_eq(b),
            (Value::List(a), Value::List(b)) => a.ptr_eq(b),
            (Value::Map(a), Value::Map(b)) => a.ptr_eq(b),
            _ => false,
        }
    }

    /// Whether both values are equal and have the same number types: unlike `==`, this distinguishes `1` from `1.0`.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let (whole, float) = (Value::from(1), Value::from(1.0));
    /// assert!(whole == float && !whole.strict_eq(&float));
    /// ```
    #[doc(hidden)]
    pub fn strict_eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::String(a), Value::String(b)) => a == b,
            (Value::List(a), Value::List(b)) => {
                let items = || a.iter().zip(b).all(|(a, b)| a.strict_eq(b));
                a.ptr_eq(b) || (a.len() == b.len() && deep::level(items))
            }
            (Value::Map(a), Value::Map(b)) => {
                let entries = || {
                    a.iter()
                        .zip(b)
                        .all(|(a, b)| a.0 == b.0 && a.1.strict_eq(b.1))
                };
                a.ptr_eq(b) || (a.len() == b.len() && deep::level(entries))
            }
            _ => self.ptr_eq(other),
        }
    }
}

macro_rules! variants_from {
    ($($from:ty => $variant:ident),*) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Value::$variant(value.into())
            }
        }
    )*};
}

variants_from! { bool => Bool, i64 => Int, i32 => Int, f64 => Float, &str => String, String => String, Text => String }
variants_from! { Str => String, &Str => String, List => List, Map => Map }

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_two_words() {
        assert_eq!(size_of::<Value>(), 16);
        assert_eq!(size_of::<Option<Value>>(), 16);
    }

    #[test]
    fn values_are_shared_between_threads() {
        fn check<T: Send + Sync>() {}
        check::<Value>();
    }
}
