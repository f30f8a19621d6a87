//! Path elements.

use std::fmt;

use fieldmanager_value::{Map, Str, Value};

use crate::key_value::write_value;

/// An element of a path, which identifies a child of a map or list.
///
/// Elements are ordered as in `sigs.k8s.io/structured-merge-diff/v6/fieldpath`: fields, keys, values, indices.
///
/// ```
/// use fieldmanager_fieldpath::PathElement;
/// let element = PathElement::key([("name", "app"), ("kind", "Pod")]);
/// assert_eq!(element.to_string(), r#"[kind="Pod",name="app"]"#);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathElement {
    /// The field of a map or struct with this name.
    Field(Str),
    /// The item of an associative list whose key fields have these values.
    Key(Map),
    /// The item of a set with this value.
    Value(Value),
    /// The item of an atomic list at this index.
    Index(i64),
}

impl PathElement {
    /// Creates a field element.
    ///
    /// ```
    /// use fieldmanager_fieldpath::PathElement;
    /// assert_eq!(PathElement::field("spec").to_string(), ".spec");
    /// ```
    pub fn field(name: impl Into<Str>) -> Self {
        PathElement::Field(name.into())
    }

    /// Creates a key element from key fields in any order.
    ///
    /// ```
    /// use fieldmanager_fieldpath::PathElement;
    /// let port = PathElement::key([("protocol", "TCP"), ("name", "http")]);
    /// assert_eq!(port, PathElement::key([("name", "http"), ("protocol", "TCP")]));
    /// ```
    pub fn key<N: Into<Str>, V: Into<Value>>(fields: impl IntoIterator<Item = (N, V)>) -> Self {
        PathElement::Key(fields.into_iter().collect())
    }

    /// Creates a value element.
    ///
    /// ```
    /// use fieldmanager_fieldpath::PathElement;
    /// assert_eq!(PathElement::value("a").to_string(), r#"[="a"]"#);
    /// assert_eq!(PathElement::value(1), PathElement::value(1.0));
    /// ```
    pub fn value(value: impl Into<Value>) -> Self {
        PathElement::Value(value.into())
    }

    /// The name, if the element is a field.
    ///
    /// ```
    /// use fieldmanager_fieldpath::PathElement;
    /// assert_eq!(PathElement::field("spec").as_field().map(|name| name.as_str()), Some("spec"));
    /// assert_eq!(PathElement::Index(0).as_field(), None);
    /// ```
    #[doc(hidden)]
    pub fn as_field(&self) -> Option<&Str> {
        match self {
            PathElement::Field(name) => Some(name),
            _ => None,
        }
    }
}

/// The element in field-path notation: `.name`, `[key="value"]`, `[="value"]` or `[3]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Field(name) => write!(f, ".{name}"),
            PathElement::Key(fields) => {
                f.write_str("[")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    if i > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{name}=")?;
                    write_value(f, value)?;
                }
                f.write_str("]")
            }
            PathElement::Value(value) => {
                f.write_str("[=")?;
                write_value(f, value)?;
                f.write_str("]")
            }
            PathElement::Index(at) => write!(f, "[{at}]"),
        }
    }
}

impl fmt::Debug for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_elements_are_16_bytes() {
        assert_eq!(size_of::<PathElement>(), 16);
    }

    #[test]
    fn elements_are_ordered_by_kind_first() {
        let ladder = [
            PathElement::field(""),
            PathElement::field("a"),
            PathElement::key([("", 9)]),
            PathElement::key([("a", 1)]),
            PathElement::key([("a", 1), ("b", 0)]),
            PathElement::key([("a", 2)]),
            PathElement::value(1),
            PathElement::value("a"),
            PathElement::value(true),
            PathElement::Index(-1),
            PathElement::Index(2),
        ];
        assert!(ladder.is_sorted_by(|a, b| a < b));
    }
}
