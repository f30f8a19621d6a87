//! Equality of values. Sets and lists of type map are equal in any order.

use std::collections::BTreeMap;

use fieldmanager_structural::Structural;
use fieldmanager_value::Value;
use fieldmanager_value::internal::level;

use crate::escape::escape;
use crate::meter::Meter;
use crate::object::{field, field_schema, is_dynamic, is_unstructured};
use crate::value::{Fault, Key, ListVal, MapVal, Val, compare_numbers, no_overload};

/// Whether two values are equal. Visits are counted as they take place.
pub(crate) fn is_equal<'a>(a: &Val<'a>, b: &Val<'a>, meter: &mut Meter) -> Result<bool, Fault> {
    meter.visit_value(a)?;
    level(|| match (a, b) {
        (Val::Null, Val::Null) => Ok(true),
        (Val::Null, _) | (_, Val::Null) => Ok(false),
        (Val::Type(a), Val::Type(b)) => Ok(a == b),
        (
            Val::Bool(_) | Val::String(_) | Val::Bytes(_) | Val::Duration(_) | Val::Timestamp(_),
            _,
        ) => Ok(a.compare(b).is_some_and(std::cmp::Ordering::is_eq)),

        // Numbers of different types are equal if their values are.
        (Val::Int(_) | Val::Uint(_) | Val::Double(_), _) => Ok(compare_numbers(a, b)
            .flatten()
            .is_some_and(std::cmp::Ordering::is_eq)),
        (Val::List(a), Val::List(b)) => lists(a, b, meter),
        (Val::Map(a), Val::Map(b)) => maps(a, b, meter),
        (Val::Optional(a), Val::Optional(b)) => match (a, b) {
            (None, None) => Ok(true),
            (Some(a), Some(b)) => is_equal(a, b, meter),
            _ => Ok(false),
        },

        // Values without a schema have no type of CEL, so they are compared as they are stored.
        (Val::Unknown(a), Val::Unknown(b)) => {
            count(a, meter)?;
            Ok(a == b)
        }
        (Val::Ip(a), Val::Ip(b)) => Ok(a == b),
        (Val::Cidr(a, n), Val::Cidr(b, m)) => Ok(a == b && n == m),
        (Val::Url(a), Val::Url(b)) => Ok(a == b),
        (Val::Quantity(a), Val::Quantity(b)) if !b.is_sum => Ok(a.nanos == b.nanos),
        (Val::Semver(a), Val::Semver(b)) => Ok(a.cmp_precedence(b).is_eq()),
        (Val::Format(a), Val::Format(b)) => Ok(a == b),
        // As in kube-apiserver, two steps are not compared at all.
        (Val::Access(_), _) => no_overload(),
        (Val::Variables(_), other) => match other {
            Val::Variables(_) => Ok(true),
            _ => no_overload(),
        },
        (Val::Message(a), Val::Message(b)) => a.is_equal(b, meter),

        // The lists and maps of a typed object and the types of the library have no overload for other types.
        (Val::List(ListVal::Object(_, of)) | Val::Map(MapVal::Object(_, of)), _)
            if is_unstructured(of) =>
        {
            Ok(false)
        }
        (Val::List(ListVal::Object(..) | ListVal::Sum(..)) | Val::Map(MapVal::Object(..)), _) => {
            no_overload()
        }
        (Val::Ip(_) | Val::Cidr(..) | Val::Url(_), _) => no_overload(),
        (Val::Quantity(_) | Val::Semver(_) | Val::Format(_), _) => no_overload(),
        _ => Ok(false),
    })
}

/// Whether two values are equal; an error of the comparison means that they are not.
pub(crate) fn equals<'a>(a: &Val<'a>, b: &Val<'a>, meter: &mut Meter) -> Result<bool, Fault> {
    match is_equal(a, b, meter) {
        Err(Fault::Error(_)) => Ok(false),
        other => other,
    }
}

/// Counts the parts of a value without a schema.
fn count(value: &Value, meter: &mut Meter) -> Result<(), Fault> {
    meter.visit(1)?;
    level(|| match value {
        Value::String(text) => meter.scan(text.len()),
        Value::List(list) => list.iter().try_for_each(|item| count(item, meter)),
        Value::Map(map) => map.iter().try_for_each(|(_, field)| count(field, meter)),
        _ => Ok(()),
    })
}

fn lists<'a>(a: &ListVal<'a>, b: &ListVal<'a>, meter: &mut Meter) -> Result<bool, Fault> {
    if a.len() != b.len() {
        return Ok(false);
    }
    // An updated object can share lists with the old one: the same list is equal without a walk.
    if let (ListVal::Object(a, schema), ListVal::Object(b, other)) = (a, b)
        && a.ptr_eq(b)
        && schema.ptr_eq(other)
    {
        return Ok(true);
    }

    match a.unordered() {
        Some(("set", _)) => sets(a, b, meter),
        Some((_, schema)) => map_lists(a, b, schema, meter),
        None => in_order(a, b, meter),
    }
}

/// Lists of the same length, item by item. In a sum of lists, an error counts unless a later item differs.
fn in_order<'a>(a: &ListVal<'a>, b: &ListVal<'a>, meter: &mut Meter) -> Result<bool, Fault> {
    let is_sum = matches!(a, ListVal::Joined(_));
    let mut failed = None;
    for (item, other) in a.iter().zip(b.iter()) {
        let (item, other) = (item?, other?);
        let is_same = match is_equal(&item, &other, meter) {
            Err(fault @ Fault::Error(_)) if is_sum => {
                failed.get_or_insert(fault);
                true
            }
            outcome => is_part_equal(outcome, a.schema())?,
        };
        if !is_same {
            return Ok(false);
        }
    }
    failed.map_or(Ok(true), Err)
}

/// What a comparison says of two parts of lists or maps. In a value that has no schema, as in cel-go, parts that cannot be
/// compared do not matter, and in a struct they differ.
fn is_part_equal(outcome: Result<bool, Fault>, of: Option<&Structural>) -> Result<bool, Fault> {
    match (outcome, of) {
        (Err(Fault::Error(_)), None) => Ok(true),
        (Err(Fault::Error(_)), Some(of)) if is_dynamic(of) => Ok(is_unstructured(of)),
        (outcome, _) => outcome,
    }
}

/// The keys of an item of a list of type map.
pub(crate) fn keys_of(item: &Val<'_>, schema: &Structural) -> Vec<Option<Key>> {
    // The schema names fields as they are, and maps are searched by escaped names. Absent keys are equal to each other.
    let find = |name: &str| match item {
        Val::Map(map) => {
            let name = escape(name).unwrap_or(name.into());
            map.find(&Val::text(&*name))
                .ok()
                .flatten()
                .and_then(|value| Key::of(&value))
        }
        _ => None,
    };

    schema
        .extensions
        .list_map_keys
        .iter()
        .map(|name| find(name))
        .collect()
}

/// Lists of the same length as sets. Items of a set are scalars, so most have a key.
fn sets<'a>(a: &ListVal<'a>, b: &ListVal<'a>, meter: &mut Meter) -> Result<bool, Fault> {
    let (mut keys, mut others) = (BTreeMap::new(), Vec::new());
    for item in a.iter() {
        let item = item?;
        meter.visit(1)?;
        match Key::of(&item) {
            Some(key) => drop(keys.insert(key, false)),
            None => others.push(item),
        }
    }

    // Items may repeat, so lists of the same length can differ in an item that only the first one has: `seen` finds it.
    for item in b.iter() {
        let item = item?;
        meter.visit(1)?;
        match Key::of(&item) {
            Some(key) => match keys.get_mut(&key) {
                Some(seen) => *seen = true,
                None => return Ok(false),
            },
            None => {
                let mut found = false;
                for other in &others {
                    found |= is_equal(other, &item, meter)?;
                }
                if !found {
                    return Ok(false);
                }
            }
        }
    }

    Ok(keys.values().all(|seen| *seen))
}

/// Lists of the same length whose items are matched by key.
fn map_lists<'a>(
    a: &ListVal<'a>,
    b: &ListVal<'a>,
    schema: &Structural,
    meter: &mut Meter,
) -> Result<bool, Fault> {
    let mut known = BTreeMap::new();
    for item in a.iter() {
        let item = item?;
        meter.visit(1)?;
        known.insert(keys_of(&item, schema), (item, false));
    }

    // Keys may repeat, so an item of the first list may be left that the second one does not have: `seen` finds it.
    for item in b.iter() {
        let item = item?;
        match known.get_mut(&keys_of(&item, schema)) {
            Some((found, seen)) => {
                *seen = true;
                if !is_equal(found, &item, meter)? {
                    return Ok(false);
                }
            }
            None => return Ok(false),
        }
    }

    Ok(known.values().all(|(_, seen)| *seen))
}

fn maps<'a>(a: &MapVal<'a>, b: &MapVal<'a>, meter: &mut Meter) -> Result<bool, Fault> {
    if a.len() != b.len() {
        return Ok(false);
    }
    // The maps have the same length, so it is enough that each field of one is in the other.
    match (a, b) {
        (MapVal::Object(map, schema), MapVal::Object(other, other_schema)) => {
            if map.ptr_eq(other) && schema.ptr_eq(other_schema) {
                return Ok(true);
            }
            for (name, value) in *map {
                meter.visit(1)?;
                if field_schema(schema, name).is_none() {
                    // As in the API server, a field without a schema that the other map lacks is ignored.
                    count(value, meter)?;
                    if other.get(name).is_some_and(|other| other != value) {
                        return Ok(false);
                    }
                    continue;
                }

                // As in the API server, names are looked up unescaped here.
                match (field(map, schema, name)?, field(other, other_schema, name)?) {
                    (None, None) => {}
                    (Some(a), Some(b)) if is_part_equal(is_equal(&a, &b, meter), Some(schema))? => {
                    }
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (a, b) => {
            for key in a.keys(meter)? {
                meter.visit(1)?;
                // A map that cannot have the key does not have it.
                match (a.find(&key)?, b.find(&key)) {
                    (Some(a_part), Ok(Some(b_part)))
                        if is_part_equal(is_equal(&a_part, &b_part, meter), a.schema())? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
    }
}
