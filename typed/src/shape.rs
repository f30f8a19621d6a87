//! Which of the kinds that a type allows a value is taken for.

use fieldmanager_schema::internal::{Atom, ListType, MapType, Scalar};
use fieldmanager_value::{List, Map, Value};

use crate::error::Fault;

/// How a value of a type is walked.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'s> {
    Scalar(Scalar),
    List(&'s ListType),
    Map(&'s MapType),
    /// The type accepts nothing.
    Nothing,
}

/// Which kinds remain possible; two values of one type are alike when these are equal.
pub(crate) type Kinds = (bool, bool, bool);

/// The kinds and shape of a value, as the Go package deduces them: a value of a kind that the type allows
/// is of that kind alone. Anything else, null and absence included, leaves all kinds open, and the value is
/// walked as the first of map, scalar and list.
pub(crate) fn shape<'s>(atom: &'s Atom, value: Option<&Value>) -> (Kinds, Shape<'s>) {
    match value {
        Some(value) if value.is_scalar() => {
            if let Some(scalar) = atom.scalar {
                return ((true, false, false), Shape::Scalar(scalar));
            }
        }
        Some(Value::List(_)) => {
            if let Some(list) = &atom.list {
                return ((false, true, false), Shape::List(list));
            }
        }
        Some(Value::Map(_)) => {
            if let Some(map) = &atom.map {
                return ((false, false, true), Shape::Map(map));
            }
        }
        _ => {}
    }
    let kinds = (atom.scalar.is_some(), atom.list.is_some(), atom.map.is_some());
    let shape = match atom {
        Atom { map: Some(map), .. } => Shape::Map(map),
        Atom { scalar: Some(scalar), .. } => Shape::Scalar(*scalar),
        Atom { list: Some(list), .. } => Shape::List(list),
        _ => Shape::Nothing,
    };
    (kinds, shape)
}

/// A list with items; null, absence, the empty list and other kinds are none.
pub(crate) fn items(value: Option<&Value>) -> Option<&List> {
    value.and_then(Value::as_list).filter(|list| !list.is_empty())
}

/// A map with entries; null, absence, the empty map and other kinds are none.
pub(crate) fn entries(value: Option<&Value>) -> Option<&Map> {
    value.and_then(Value::as_map).filter(|map| !map.is_empty())
}

/// Whether a value that is not null fits a scalar.
#[inline]
pub(crate) fn fits(scalar: Scalar, value: &Value) -> bool {
    match scalar {
        Scalar::Numeric => value.is_number(),
        Scalar::String => matches!(value, Value::String(_)),
        Scalar::Boolean => matches!(value, Value::Bool(_)),
        Scalar::Untyped => value.is_scalar(),
    }
}

/// What is wrong with a value as a scalar. Null and absence are always accepted.
pub(crate) fn scalar_fault(scalar: Scalar, value: Option<&Value>) -> Option<Fault> {
    let value = value.filter(|value| !value.is_null())?;
    let expected = match scalar {
        Scalar::Numeric => "numeric",
        Scalar::String => "string",
        Scalar::Boolean => "boolean",
        Scalar::Untyped => "any scalar",
    };
    (!fits(scalar, value)).then(|| Fault::kind(expected, value))
}

pub(crate) fn empty_type(atom: &Atom) -> Fault {
    Fault::EmptyType { name: atom.name.to_string() }
}
