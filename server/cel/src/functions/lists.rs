//! Functions of lists and sets.

use std::cmp::Ordering;

use super::function::{Run, binary, comparing_cost, list_of, size, unary};
use super::{operators, text};
use crate::equality::equals;
use crate::meter::Meter;
use crate::value::{Fault, ListVal, Outcome, Val, fault, no_overload};

/// The first size of a range that is too large.
const LARGEST_RANGE: i64 = 1_000_001;

/// The implementation of a function.
pub(super) fn run(name: &str) -> Option<Run> {
    Some(match name {
        "isSorted" => |a, _| unary(a, is_sorted),
        "sum" => |a, call| unary(a, |list| sum(list, call.meter)),
        "max" => |a, _| unary(a, |list| extreme(list, Ordering::Less, "max")),
        "min" => |a, _| unary(a, |list| extreme(list, Ordering::Greater, "min")),

        // `indexOf` and `lastIndexOf` are functions of strings too: the first argument decides.
        "indexOf" => |a, call| index_of(a, false, call.meter),
        "lastIndexOf" => |a, call| index_of(a, true, call.meter),
        "slice" => |a, call| match a {
            [Val::List(list), Val::Int(start), Val::Int(end)] => {
                slice(list, *start, *end, call.meter)
            }
            _ => no_overload(),
        },
        "flatten" => |a, call| match a {
            [Val::List(list)] => flatten(list, 1, call.meter),
            [Val::List(_), Val::Int(..0)] => fault("level must be non-negative"),
            [Val::List(list), Val::Int(depth)] => flatten(list, *depth, call.meter),
            _ => no_overload(),
        },
        "reverse" => |a, call| {
            unary(a, |list: &ListVal<'_>| {
                let items = list.items(call.meter)?;
                Ok::<_, Fault>(Val::list(items.into_iter().rev().collect()))
            })
        },
        "distinct" => |a, call| unary(a, |list| distinct(list, call.meter)),

        // The macro `sortBy` makes the keys with a comprehension, and calls the second function with the list and its
        // keys.
        "sort" => |a, call| {
            unary(a, |list: &ListVal<'_>| {
                let items = list.items(call.meter)?;
                sorted(items.clone(), items, call.meter)
            })
        },
        "@sortByAssociatedKeys" => |a, call| {
            binary(a, |list: &ListVal<'_>, keys: &ListVal<'_>| {
                sorted(keys.items(call.meter)?, list.items(call.meter)?, call.meter)
            })
        },

        // The ends of an empty list are empty optional values, not errors.
        "first" => |a, _| unary(a, |list: &ListVal<'_>| optional(list.get(0))),
        "last" => |a, _| {
            let last = |list: &ListVal<'_>| list.len().checked_sub(1);
            unary(a, |list| optional(last(list).and_then(|at| list.get(at))))
        },
        "lists.range" => |a, call| unary(a, |end| range(end, call.meter)),

        // A set is a list whose order and repetitions do not matter.
        "sets.contains" => |a, call| binary(a, |a, b| contains(a, b, call.meter)),
        "sets.equivalent" => |a, call| {
            binary(a, |a, b| {
                Ok(contains(a, b, call.meter)? && contains(b, a, call.meter)?)
            })
        },
        "sets.intersects" => |a, call| binary(a, |a, b| intersects(a, b, call.meter)),
        _ => return None,
    })
}

/// The cost of comparing all items, or all keys if there are any.
pub(super) fn compared(arguments: &[Val<'_>]) -> u64 {
    match arguments {
        [.., Val::List(list)] => {
            comparing_cost(list.len(), list.get(0).and_then(Result::ok).as_ref())
        }
        _ => 1,
    }
}

/// The cost of the made list; a fault has the size 1.
pub(super) fn range_cost(arguments: &[Val<'_>]) -> u64 {
    list_of(match arguments {
        [Val::Int(end @ ..LARGEST_RANGE)] => u64::try_from(*end).unwrap_or(1),
        _ => 1,
    })
}

pub(super) fn slice_cost(arguments: &[Val<'_>]) -> u64 {
    list_of(match arguments {
        [Val::List(list), Val::Int(start), Val::Int(end)] => {
            let (start, end) = (usize::try_from(*start), usize::try_from(*end));
            match (start, end) {
                (Ok(start), Ok(end)) if start <= end && end <= list.len() => {
                    u64::try_from(end - start).unwrap_or(u64::MAX)
                }
                _ => 1,
            }
        }
        _ => 1,
    })
}

pub(super) fn flatten_cost(arguments: &[Val<'_>]) -> u64 {
    let depth = match arguments {
        [_, Val::Int(depth)] => u64::try_from(*depth).unwrap_or(1),
        _ => 1,
    };
    list_of(size(arguments, 0).saturating_mul(depth))
}

fn is_in<'a>(item: &Val<'a>, list: &[Val<'a>], meter: &mut Meter) -> Result<bool, Fault> {
    for other in list {
        if equals(item, other, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn optional<'a>(item: Option<Outcome<'a>>) -> Outcome<'a> {
    Ok(item.transpose()?.map_or(Val::Optional(None), Val::some))
}

fn is_sorted(list: &ListVal<'_>) -> Result<bool, Fault> {
    let mut previous: Option<Val<'_>> = None;
    for item in list.iter() {
        let item = item?;
        // Values of different types have no order, which is no fault here.
        match previous.as_ref().map(|previous| previous.compare(&item)) {
            _ if !is_ordered(&item) => return no_overload(),
            Some(Some(Ordering::Greater)) => return Ok(false),
            _ => previous = Some(item),
        }
    }
    Ok(true)
}

fn sum<'a>(list: &ListVal<'a>, meter: &mut Meter) -> Outcome<'a> {
    // The sum of an empty list is an integer, whatever its items would be.
    let mut items = list.iter();
    let first = items.next().unwrap_or(Ok(Val::Int(0)))?;
    items.try_fold(first, |sum, item| operators::add(&[sum, item?], meter))
}

fn extreme<'a>(list: &ListVal<'a>, replaces: Ordering, name: &str) -> Outcome<'a> {
    let mut best: Option<Val<'a>> = None;
    for item in list.iter() {
        let item = item?;
        match best.as_ref().map(|best| best.compare(&item)) {
            _ if !is_ordered(&item) => return no_overload(),
            Some(order) if order != Some(replaces) => {}
            _ => best = Some(item),
        }
    }
    best.map_or_else(|| fault(format!("{name} called on empty list")), Ok)
}

fn index_of<'a>(arguments: &[Val<'a>], is_last: bool, meter: &mut Meter) -> Outcome<'a> {
    let [Val::List(list), item] = arguments else {
        return text::index_of(arguments, is_last);
    };
    let mut found = -1;
    for (at, other) in list.iter().enumerate() {
        if equals(&other?, item, meter)? {
            found = i64::try_from(at).unwrap_or(i64::MAX);
            if !is_last {
                break;
            }
        }
    }

    Ok(Val::Int(found))
}

fn distinct<'a>(list: &ListVal<'a>, meter: &mut Meter) -> Outcome<'a> {
    // Values of different types have no common order, so each item is compared with those before it.
    let mut out: Vec<Val<'a>> = Vec::new();
    for item in list.items(meter)? {
        if !is_in(&item, &out, meter)? {
            out.push(item);
        }
    }
    Ok(Val::list(out))
}

/// Items in the order of their keys.
fn sorted<'a>(keys: Vec<Val<'a>>, items: Vec<Val<'a>>, meter: &mut Meter) -> Outcome<'a> {
    meter.sort(keys.iter())?;
    if keys.first().is_some_and(|key| !is_ordered(key)) {
        return fault("list elements must be comparable");
    }
    let mut keyed: Vec<(Val<'a>, Val<'a>)> = keys.into_iter().zip(items).collect();
    let mut types = keyed.iter().map(|(key, _)| key.type_name());
    let first = types.next();
    if types.any(|name| Some(name) != first) {
        return fault("list elements must have the same type");
    }
    if keyed.len() <= MAX_INSERTED {
        keyed = inserted(keyed);
    } else {
        // NaN has no order, which a sort needs: it is last.
        let is_nan = |key: &Val<'_>| key.compare(key).is_none();
        keyed.sort_by(|(a, _), (b, _)| {
            let order = a.compare(b);
            order.unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
        });
    }

    Ok(Val::list(keyed.into_iter().map(|(_, item)| item).collect()))
}

/// The most items that Go sorts by inserting each, which decides about the place of a NaN.
const MAX_INSERTED: usize = 12;

/// Items in the order of their keys. A smaller key does not pass one that it has no order with.
fn inserted<'a>(keyed: Vec<(Val<'a>, Val<'a>)>) -> Vec<(Val<'a>, Val<'a>)> {
    let mut out: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(keyed.len());
    for (key, item) in keyed {
        let is_before =
            |(other, _): &&(Val<'a>, Val<'a>)| key.compare(other) == Some(Ordering::Less);
        let passed = out.iter().rev().take_while(is_before).count();
        out.insert(out.len() - passed, (key, item));
    }
    out
}

/// Whether the type of a value has an order.
fn is_ordered(value: &Val<'_>) -> bool {
    value.compare(value).is_some() || matches!(value, Val::Double(_))
}

fn range<'a>(end: i64, meter: &mut Meter) -> Outcome<'a> {
    match end {
        ..0 => fault(format!("lists.range: size must be non-negative, got {end}")),
        LARGEST_RANGE.. => fault(format!(
            "lists.range: size {end} exceeds maximum allowed ({})",
            LARGEST_RANGE - 1
        )),
        _ => {
            meter.make_items(usize::try_from(end).unwrap_or(usize::MAX))?;
            Ok(Val::list((0..end).map(Val::Int).collect()))
        }
    }
}

/// Whether all items of the second list are in the first one.
fn contains<'a>(a: &ListVal<'a>, b: &ListVal<'a>, meter: &mut Meter) -> Result<bool, Fault> {
    let a = a.items(meter)?;
    for item in b.items(meter)? {
        if !is_in(&item, &a, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects<'a>(a: &ListVal<'a>, b: &ListVal<'a>, meter: &mut Meter) -> Result<bool, Fault> {
    let b = b.items(meter)?;
    for item in a.items(meter)? {
        if is_in(&item, &b, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn slice<'a>(list: &ListVal<'a>, start: i64, end: i64, meter: &mut Meter) -> Outcome<'a> {
    if start < 0 || end < 0 {
        return fault(format!(
            "cannot slice({start}, {end}), negative indexes not supported"
        ));
    }

    if start > end {
        return fault(format!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        ));
    }

    let (start_at, end_at) = (
        usize::try_from(start).unwrap_or(usize::MAX),
        usize::try_from(end).unwrap_or(usize::MAX),
    );
    if end_at > list.len() {
        return fault(format!(
            "cannot slice({start}, {end}), list is length {}",
            list.len()
        ));
    }

    meter.make_items(end_at.saturating_sub(start_at))?;
    let items: Result<Vec<Val<'a>>, Fault> =
        (start_at..end_at).filter_map(|at| list.get(at)).collect();
    Ok(Val::list(items?))
}

fn flatten<'a>(list: &ListVal<'a>, depth: i64, meter: &mut Meter) -> Outcome<'a> {
    let mut out = Vec::new();
    for item in list.items(meter)? {
        match item {
            Val::List(inner) if depth > 0 => {
                let flat = if depth > 1 {
                    fieldmanager_value::internal::level(|| flatten(&inner, depth - 1, meter))?
                } else {
                    Val::List(inner)
                };
                if let Val::List(flat) = flat {
                    out.extend(flat.items(meter)?);
                }
            }
            item => out.push(item),
        }
    }

    Ok(Val::list(out))
}
