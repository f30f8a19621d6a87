//! Functions of lists and sets.

use std::cmp::Ordering;

use super::function::{
    Function, binary, comparing_cost, global, list_of, member, one, over_tree, size, unary,
};
use super::{operators, text};
use crate::equality::{equals, is_equal};
use crate::meter::Meter;
use crate::value::{Fault, ListVal, Outcome, Val, fault, no_overload};

/// The first size of a range that is too large.
const LARGEST_RANGE: i64 = 1_000_001;

pub(super) const ALL: &[Function] = &[
    over_tree("isSorted", 1, |a, _| unary(a, is_sorted)),
    over_tree("sum", 1, |a, call| unary(a, |list| sum(list, call.meter))),
    over_tree("max", 1, |a, _| unary(a, |list| extreme(list, Ordering::Less, "max"))),
    over_tree("min", 1, |a, _| unary(a, |list| extreme(list, Ordering::Greater, "min"))),
    over_tree("indexOf", 2, |a, call| index_of(a, false, call.meter)),
    over_tree("lastIndexOf", 2, |a, call| index_of(a, true, call.meter)),
    over_tree("indexOf", 3, |a, _| text::index_of(a, false)),
    over_tree("lastIndexOf", 3, |a, _| text::index_of(a, true)),
    member("slice", 3, slice_cost, |a, call| match a {
        [Val::List(list), Val::Int(start), Val::Int(end)] => slice(list, *start, *end, call.meter),
        _ => no_overload(),
    }),
    member("flatten", 1, |a| list_of(size(a, 0)), |a, call| unary(a, |list| flatten(list, 1, call.meter))),
    member("flatten", 2, flatten_cost, |a, call| {
        binary(a, |list, depth| match depth {
            ..0 => fault("level must be non-negative"),
            depth => flatten(list, depth, call.meter),
        })
    }),
    member("distinct", 1, compared, |a, call| unary(a, |list| distinct(list, call.meter))),
    member("sort", 1, compared, |a, call| {
        unary(a, |list: &ListVal<'_>| {
            let items = list.items(call.meter)?;
            sorted(items.iter().cloned().zip(items.iter().cloned()).collect(), call.meter)
        })
    }),
    member("first", 1, one, |a, _| unary(a, |list: &ListVal<'_>| optional(list.get(0)))),
    member("last", 1, one, |a, _| {
        unary(a, |list: &ListVal<'_>| optional(list.len().checked_sub(1).and_then(|at| list.get(at))))
    }),
    global("lists.range", 1, range_cost, |a, call| unary(a, |end| range(end, call.meter))),
    global("sets.contains", 2, product, |a, call| binary(a, |a, b| contains(a, b, call.meter))),
    global("sets.equivalent", 2, product_twice, |a, call| {
        binary(a, |a, b| Ok(contains(a, b, call.meter)? && contains(b, a, call.meter)?))
    }),
    global("sets.intersects", 2, product, |a, call| binary(a, |a, b| intersects(a, b, call.meter))),
];

fn product(arguments: &[Val<'_>]) -> u64 {
    size(arguments, 0).saturating_mul(size(arguments, 1)).saturating_add(1)
}

fn product_twice(arguments: &[Val<'_>]) -> u64 {
    size(arguments, 0).saturating_mul(size(arguments, 1)).saturating_mul(2).saturating_add(1)
}

/// The cost of comparing all items with each other.
fn compared(arguments: &[Val<'_>]) -> u64 {
    match arguments {
        [Val::List(list)] => comparing_cost(list.len(), list.get(0).and_then(Result::ok).as_ref()),
        _ => 1,
    }
}

/// The cost of the made list; a fault has the size 1.
fn range_cost(arguments: &[Val<'_>]) -> u64 {
    list_of(match arguments {
        [Val::Int(end @ ..LARGEST_RANGE)] => u64::try_from(*end).unwrap_or(1),
        _ => 1,
    })
}

fn slice_cost(arguments: &[Val<'_>]) -> u64 {
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

fn flatten_cost(arguments: &[Val<'_>]) -> u64 {
    let depth = match arguments {
        [_, Val::Int(depth)] => u64::try_from(*depth).unwrap_or(1),
        _ => 1,
    };
    list_of(size(arguments, 0).saturating_mul(depth))
}

fn is_in<'a>(item: &Val<'a>, list: &[Val<'a>], meter: &mut Meter) -> Result<bool, Fault> {
    for other in list {
        if is_equal(item, other, meter)? {
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
        match previous.as_ref().map(|previous| previous.compare(&item)) {
            Some(Some(Ordering::Greater)) => return Ok(false),
            Some(None) => return no_overload(),
            _ => previous = Some(item),
        }
    }
    Ok(true)
}

fn sum<'a>(list: &ListVal<'a>, meter: &mut Meter) -> Outcome<'a> {
    let mut items = list.iter();
    let first = items.next().unwrap_or(Ok(Val::Int(0)))?;
    items.try_fold(first, |sum, item| operators::add(&[sum, item?], meter))
}

fn extreme<'a>(list: &ListVal<'a>, replaces: Ordering, name: &str) -> Outcome<'a> {
    let mut best: Option<Val<'a>> = None;
    for item in list.iter() {
        let item = item?;
        match best.as_ref().map(|best| best.compare(&item)) {
            Some(None) => return no_overload(),
            Some(Some(order)) if order != replaces => {}
            _ => best = Some(item),
        }
    }
    best.map_or_else(|| fault(format!("{name} called on empty list")), Ok)
}

fn index_of<'a>(arguments: &[Val<'a>], is_last: bool, meter: &mut Meter) -> Outcome<'a> {
    let [Val::List(list), item] = arguments else { return text::index_of(arguments, is_last) };
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
    let mut out: Vec<Val<'a>> = Vec::new();
    for item in list.items(meter)? {
        if !is_in(&item, &out, meter)? {
            out.push(item);
        }
    }
    Ok(Val::list(out))
}

/// Items in the order of their keys. A pair is a key and its item.
pub(crate) fn sorted<'a>(mut keyed: Vec<(Val<'a>, Val<'a>)>, meter: &mut Meter) -> Outcome<'a> {
    meter.sort(keyed.iter().map(|(key, _)| key))?;
    let mut is_comparable = true;
    keyed.sort_by(|(a, _), (b, _)| {
        a.compare(b).unwrap_or_else(|| {
            is_comparable = false;
            Ordering::Equal
        })
    });
    if !is_comparable {
        return no_overload();
    }
    Ok(Val::list(keyed.into_iter().map(|(_, item)| item).collect()))
}

fn range<'a>(end: i64, meter: &mut Meter) -> Outcome<'a> {
    match end {
        ..0 => fault(format!("lists.range: size must be non-negative, got {end}")),
        LARGEST_RANGE.. => {
            fault(format!("lists.range: size {end} exceeds maximum allowed ({})", LARGEST_RANGE - 1))
        }
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
        return fault(format!("cannot slice({start}, {end}), negative indexes not supported"));
    }
    if start > end {
        return fault(format!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        ));
    }
    let (start_at, end_at) =
        (usize::try_from(start).unwrap_or(usize::MAX), usize::try_from(end).unwrap_or(usize::MAX));
    if end_at > list.len() {
        return fault(format!("cannot slice({start}, {end}), list is length {}", list.len()));
    }
    meter.make_items(end_at.saturating_sub(start_at))?;
    let items: Result<Vec<Val<'a>>, Fault> = (start_at..end_at).filter_map(|at| list.get(at)).collect();
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
