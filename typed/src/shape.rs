//! Selection among the kinds that a type accepts.

use fieldmanager_schema::internal::{Atom, ListType, MapType, Scalar};
use fieldmanager_value::{List, Map, Value};

use crate::error::Fault;

/// The kind as which a value is walked.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'s> {
    Scalar(Scalar),
    List(&'s ListType),
    Map(&'s MapType),
    /// The type accepts no value.
    Nothing,
}

/// The kinds that remain possible. Two values of one type have the same kind if these are equal.
pub(crate) type Kinds = (bool, bool, bool);

/// Returns the kinds and the shape of a value, like the Go package: a value of an accepted kind has only that kind. Any
/// other value, including null and an absent one, leaves all kinds open and is walked as a map, scalar or list, in this
/// order of precedence.
pub(crate) fn shape<'s>(atom: &'s Atom, value: Option<&Value>) -> (Kinds, Shape<'s>) {
    // Callers compare the kinds of two values: if they differ, the value has changed its kind and both are walked.
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

    let kinds = (
        atom.scalar.is_some(),
        atom.list.is_some(),
        atom.map.is_some(),
    );
    let shape = match atom {
        Atom { map: Some(map), .. } => Shape::Map(map),
        Atom {
            scalar: Some(scalar),
            ..
        } => Shape::Scalar(*scalar),
        Atom {
            list: Some(list), ..
        } => Shape::List(list),
        _ => Shape::Nothing,
    };

    (kinds, shape)
}

/// The items of a non-empty list, otherwise `None`.
pub(crate) fn items(value: Option<&Value>) -> Option<&List> {
    value
        .and_then(Value::as_list)
        .filter(|list| !list.is_empty())
}

/// The entries of a non-empty map, otherwise `None`.
pub(crate) fn entries(value: Option<&Value>) -> Option<&Map> {
    value.and_then(Value::as_map).filter(|map| !map.is_empty())
}

/// Whether a non-null value is valid for a scalar type.
#[inline]
pub(crate) fn fits(scalar: Scalar, value: &Value) -> bool {
    match scalar {
        Scalar::Numeric => matches!(value, Value::Int(_) | Value::Float(_)),
        Scalar::String => matches!(value, Value::String(_)),
        Scalar::Boolean => matches!(value, Value::Bool(_)),
        Scalar::Untyped => value.is_scalar(),
    }
}

/// The fault of a value as a scalar. Null and absent values are always valid.
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
    Fault::EmptyType {
        name: atom.name.to_string(),
    }
}
