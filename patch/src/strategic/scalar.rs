//! Scalars, as Go compares and prints them.

use std::borrow::Cow;

use ahash::AHashMap;
use fieldmanager_value::{Kind, List, Value};

use crate::error::Under;
use crate::{Error, Fault};

/// A scalar or null. Values of different types differ, such as `1` and `1.0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ScalarKey<'v> {
    Null,
    Bool(bool),
    Int(i64),
    /// The bits, with one form of zero.
    Float(u64),
    Text(&'v str),
}

impl<'v> ScalarKey<'v> {
    /// `None` for lists and maps.
    pub(super) fn of(value: &'v Value) -> Option<Self> {
        Some(match value {
            Value::Null => ScalarKey::Null,
            Value::Bool(b) => ScalarKey::Bool(*b),
            Value::Int(i) => ScalarKey::Int(*i),
            Value::Float(f) => ScalarKey::Float(if *f == 0.0 { 0 } else { f.to_bits() }),
            Value::String(text) => ScalarKey::Text(text),
            Value::List(_) | Value::Map(_) => return None,
        })
    }
}

/// The first position of each scalar.
pub(super) type Positions<'v> = AHashMap<ScalarKey<'v>, usize>;

pub(super) fn positions<'v>(scalars: impl IntoIterator<Item = ScalarKey<'v>>) -> Positions<'v> {
    let scalars = scalars.into_iter();
    let mut out = Positions::with_capacity(scalars.size_hint().0);
    for (at, scalar) in scalars.enumerate() {
        out.entry(scalar).or_insert(at);
    }
    out
}

/// The merge key of an item.
pub(super) fn key_of<'v>(item: &'v Value, key: &str) -> Result<ScalarKey<'v>, Fault> {
    let Value::Map(map) = item else {
        return Err(Fault::WrongType {
            expected: "a map",
            found: item.kind(),
        });
    };

    let value = map.get(key).ok_or_else(|| Fault::NoMergeKey {
        key: key.to_owned(),
    })?;
    ScalarKey::of(value).ok_or_else(|| Fault::MergeKeyType {
        key: key.to_owned(),
        found: value.kind(),
    })
}

/// The identities of the items of a list: their merge keys or, without a merge key, the items themselves.
pub(super) fn identities<'v>(list: &'v List, key: &str) -> Result<Vec<ScalarKey<'v>>, Error> {
    let identity = |item: &'v Value| {
        if !key.is_empty() {
            return key_of(item, key);
        }
        ScalarKey::of(item).ok_or_else(|| Fault::WrongType {
            expected: "a scalar",
            found: item.kind(),
        })
    };

    list.iter()
        .enumerate()
        .map(|(at, item)| identity(item).under_index(at))
        .collect()
}

/// The one kind that all items of some lists have.
pub(super) fn item_kind(lists: &[&List]) -> Result<Kind, Error> {
    let mut first = None;
    for list in lists {
        for (at, item) in list.iter().enumerate() {
            let found = item.kind();
            let fault = match first.unwrap_or(found) {
                _ if found == Kind::Null => Fault::NullItem,
                Kind::List => Fault::ListOfLists,
                expected if expected != found => Fault::MixedList { expected, found },
                expected => {
                    first = Some(expected);
                    continue;
                }
            };
            return Err(fault).under_index(at);
        }
    }

    first.ok_or_else(|| Fault::NoItems.into())
}

/// A scalar as `%v` of Go's `fmt` prints it. Lists are sorted and paired by this string.
pub(super) fn go_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed("<nil>"),
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        Value::Int(i) => Cow::Owned(i.to_string()),
        Value::Float(f) => Cow::Owned(go_float(*f)),
        Value::String(text) => Cow::Borrowed(text),
        Value::List(_) | Value::Map(_) => Cow::Owned(value.to_json()),
    }
}

/// A float with the fewest digits, and with an exponent of at least two digits below 1e-4 and from 1e6 on.
fn go_float(number: f64) -> String {
    // Rust and Go agree on the digits of a float, but Go writes an exponent for large and small numbers.
    let text = format!("{number:e}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let power: i32 = exponent.parse().unwrap_or_default();
    if (-4..GO_EXPONENT).contains(&power) {
        return number.to_string();
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.abs())
}

/// The power of ten from which `%v` prints an exponent.
const GO_EXPONENT: i32 = 6;

/// Sorts as Go does when it compares strings with "less or equal": items with equal strings are in reverse order.
pub(super) fn sort_by_text<T>(items: &mut [T], text: impl Fn(&T) -> Cow<'_, str>) {
    // The sort is stable, so equal texts stay in the reversed order.
    items.reverse();
    items.sort_by(|a, b| text(a).cmp(&text(b)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_written_as_go_writes_them() {
        for (number, text) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (1e21, "1e+21"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (2.5e-7, "2.5e-07"),
        ] {
            assert_eq!(go_text(&Value::Float(number)), text);
        }
        assert_eq!(go_text(&Value::Null), "<nil>");
    }

    #[test]
    fn numbers_of_different_types_are_different() {
        assert!(ScalarKey::of(&Value::from(1)) != ScalarKey::of(&Value::from(1.0)));
        assert!(ScalarKey::of(&Value::from(0.0)) == ScalarKey::of(&Value::from(-0.0)));
    }
}
