//! Operators.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use cel::common::ast::operators::{
    ADD, DIVIDE, GREATER, GREATER_EQUALS, IN, LESS, LESS_EQUALS, LOGICAL_NOT, MODULO, MULTIPLY,
    NEGATE, SUBSTRACT,
};

use super::function::{Run, binary, unary};
use crate::equality::{equals, is_equal, keys_of};
use crate::meter::Meter;
use crate::object::is_dynamic;
use crate::value::{Fault, Key, ListVal, Outcome, Val, compare_numbers, fault, no_overload};

/// The implementation of a function.
pub(super) fn run(name: &str) -> Option<Run> {
    Some(match name {
        ADD => |a, call| add(a, call.meter),
        SUBSTRACT => |a, _| subtract(a),
        MULTIPLY => |a, _| multiply(a),
        DIVIDE => |a, _| divide(a),
        MODULO => |a, _| modulo(a),
        NEGATE => |a, _| negate(a),
        LOGICAL_NOT => |a, _| unary(a, |flag: bool| !flag),
        LESS => |a, _| ordered(a, Ordering::is_lt),
        LESS_EQUALS => |a, _| ordered(a, Ordering::is_le),
        GREATER => |a, _| ordered(a, Ordering::is_gt),
        GREATER_EQUALS => |a, _| ordered(a, Ordering::is_ge),
        IN => |a, call| contains(a, call.meter),
        "size" => |a, _| length(a),
        "includes" => |a, call| binary(a, |target, item| includes(target, item, call.meter)),
        _ => return None,
    })
}

/// Whether one implementation is called with all arguments, as for operators; of other functions, cel-go calls the one of
/// an overload that takes the arguments.
pub(super) fn is_one_for_all(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "size",
        "type",
        "dyn",
        "matches",
        "sort",
        "contains",
        "startsWith",
        "endsWith",
    ];
    !name.starts_with(|c: char| c.is_ascii_alphabetic()) || NAMES.contains(&name)
}

/// Whether the type of a value has an operator, for some type of the other side, or receives the calls of any.
pub(super) fn is_known(operator: &str, value: &Val<'_>) -> bool {
    let is_number = matches!(value, Val::Int(_) | Val::Uint(_) | Val::Double(_));
    let is_text = matches!(value, Val::String(_) | Val::Bytes(_));
    match operator {
        _ if matches!(value, Val::String(_) | Val::Duration(_) | Val::Timestamp(_)) => true,
        "matches" | "sort" => false,
        "size" => is_text || matches!(value, Val::List(_) | Val::Map(_)),
        LESS | LESS_EQUALS | GREATER | GREATER_EQUALS => {
            is_number || is_text || matches!(value, Val::Bool(_))
        }
        ADD => is_number || is_text || matches!(value, Val::List(_)),
        SUBSTRACT | MULTIPLY | DIVIDE => is_number,
        MODULO => matches!(value, Val::Int(_) | Val::Uint(_)),
        NEGATE => matches!(value, Val::Int(_) | Val::Double(_) | Val::Bool(_)),
        _ => true,
    }
}

/// The overflow of a type.
fn overflow<T>(name: &str) -> Result<T, Fault> {
    fault(format!("{name} overflow"))
}

fn int<'a>(result: Option<i64>) -> Outcome<'a> {
    result.map_or_else(|| overflow("integer"), |number| Ok(Val::Int(number)))
}

fn uint<'a>(result: Option<u64>) -> Outcome<'a> {
    result.map_or_else(
        || overflow("unsigned integer"),
        |number| Ok(Val::Uint(number)),
    )
}

fn duration<'a>(result: Option<i64>) -> Outcome<'a> {
    result.map_or_else(|| overflow("duration"), |length| Ok(Val::Duration(length)))
}

fn moved<'a>(time: jiff::Timestamp, nanoseconds: i64) -> Outcome<'a> {
    let moved = time.checked_add(jiff::SignedDuration::from_nanos(nanoseconds));
    moved
        .map(Val::Timestamp)
        .map_err(|_| Fault::Error("timestamp overflow".to_owned()))
}

pub(super) fn add<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Outcome<'a> {
    match arguments {
        [Val::Int(a), Val::Int(b)] => int(a.checked_add(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_add(*b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a + b)),
        [Val::String(a), Val::String(b)] => {
            meter.make(a.len().saturating_add(b.len()))?;
            Ok(Val::text(format!("{}{}", a.as_str(), b.as_str())))
        }
        [Val::Bytes(a), Val::Bytes(b)] => {
            meter.make(a.len().saturating_add(b.len()))?;
            Ok(Val::Bytes([&**a, &**b].concat().into()))
        }
        [Val::Duration(a), Val::Duration(b)] => duration(a.checked_add(*b)),
        [Val::Timestamp(time), Val::Duration(by)] | [Val::Duration(by), Val::Timestamp(time)] => {
            moved(*time, *by)
        }
        [Val::List(a), Val::List(b)] => concatenated(a, b, meter),
        _ => no_overload(),
    }
}

fn concatenated<'a>(a: &ListVal<'a>, b: &ListVal<'a>, meter: &mut Meter) -> Outcome<'a> {
    let mut out = a.items(meter)?;
    let added = b.items(meter)?;
    // Only a list of the object can be a set or a list of type map; others are appended.
    let Some((list_type, schema)) = a.unordered() else {
        // A sum with an empty list is the other list.
        if added.is_empty() {
            return Ok(Val::List(a.clone()));
        }
        if out.is_empty() {
            return Ok(Val::List(b.clone()));
        }
        out.extend(added);
        return Ok(Val::List(ListVal::Joined(Arc::new(out))));
    };

    // The union keeps the order of the first list. An item with known keys replaces the one there, in its place.
    if list_type == "set" {
        let mut known: BTreeMap<Option<Key>, ()> =
            out.iter().map(|item| (Key::of(item), ())).collect();
        for item in added {
            let key = Key::of(&item);
            if key.is_none() || known.insert(key, ()).is_none() {
                out.push(item);
            }
        }
    } else {
        let mut known: BTreeMap<Vec<Option<Key>>, usize> = out
            .iter()
            .enumerate()
            .map(|(at, item)| (keys_of(item, schema), at))
            .collect();

        for item in added {
            match known
                .get(&keys_of(&item, schema))
                .and_then(|at| out.get_mut(*at))
            {
                Some(place) => *place = item,
                None => {
                    known.insert(keys_of(&item, schema), out.len());
                    out.push(item);
                }
            }
        }
    }

    // The sum keeps the schema, so that it is compared and added to like the list of the object.
    Ok(Val::List(ListVal::Sum(Arc::new(out), schema)))
}

fn subtract<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    match arguments {
        [Val::Int(a), Val::Int(b)] => int(a.checked_sub(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_sub(*b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a - b)),
        [Val::Duration(a), Val::Duration(b)] => duration(a.checked_sub(*b)),
        [Val::Timestamp(time), Val::Duration(by)] => match by.checked_neg() {
            Some(by) => moved(*time, by),
            None => fault("timestamp overflow"),
        },
        [Val::Timestamp(a), Val::Timestamp(b)] => {
            duration(i64::try_from(a.as_nanosecond() - b.as_nanosecond()).ok())
        }
        _ => no_overload(),
    }
}

fn multiply<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    match arguments {
        [Val::Int(a), Val::Int(b)] => int(a.checked_mul(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_mul(*b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a * b)),
        _ => no_overload(),
    }
}

fn divide<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    match arguments {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => fault("division by zero"),
        [Val::Int(a), Val::Int(b)] => int(a.checked_div(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_div(*b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a / b)),
        _ => no_overload(),
    }
}

fn modulo<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    match arguments {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => fault("modulus by zero"),
        [Val::Int(a), Val::Int(b)] => int(a.checked_rem(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_rem(*b)),
        _ => no_overload(),
    }
}

fn negate<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    match arguments {
        [Val::Int(number)] => int(number.checked_neg()),
        [Val::Double(number)] => Ok(Val::Double(-number)),
        [Val::Duration(nanoseconds)] => duration(nanoseconds.checked_neg()),
        _ => no_overload(),
    }
}

fn ordered<'a>(arguments: &[Val<'a>], holds: fn(Ordering) -> bool) -> Outcome<'a> {
    let [a, b] = arguments else {
        return no_overload();
    };
    let is_nan = |value: &Val<'_>| matches!(value, Val::Double(number) if number.is_nan());
    match a.compare(b) {
        Some(order) => Ok(Val::Bool(holds(order))),
        None if is_nan(a) || compare_numbers(a, b).is_some() => {
            fault("NaN values cannot be ordered")
        }
        None => no_overload(),
    }
}

fn contains<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Outcome<'a> {
    match arguments {
        [item, Val::List(list)] => {
            // Only a list with a schema fails for items that have no equality with the value.
            let is_typed = list.schema().is_some_and(|schema| !is_dynamic(schema));
            let mut error = None;
            for other in list.iter() {
                let is_item = if is_typed {
                    is_equal(&other?, item, meter)
                } else {
                    equals(item, &other?, meter)
                };
                match is_item {
                    Ok(true) => return Ok(Val::Bool(true)),
                    Ok(false) => {}
                    Err(fault) if fault.is_final() => return Err(fault),
                    Err(fault) => error = error.or(Some(fault)),
                }
            }
            error.map_or(Ok(Val::Bool(false)), Err)
        }
        [key, Val::Map(map)] => Ok(Val::Bool(map.find(key)?.is_some())),
        _ => no_overload(),
    }
}

fn includes<'a>(target: &Val<'a>, item: &Val<'a>, meter: &mut Meter) -> Result<bool, Fault> {
    let Val::List(list) = target else {
        return equals(target, item, meter);
    };
    for other in list.iter() {
        if equals(&other?, item, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn length<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    match arguments {
        [value @ (Val::String(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_))] => {
            Ok(Val::Int(i64::try_from(value.size()).unwrap_or(i64::MAX)))
        }
        _ => no_overload(),
    }
}
