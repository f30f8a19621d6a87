//! Functions of lists and sets.

use std::cmp::Ordering;

use super::function::{Call, Function, comparing_cost, global, list_of, member, one, over_tree, size};
use super::{operators, text};
use crate::display::shown;
use crate::equality::{equals, is_equal};
use crate::meter::Meter;
use crate::value::{Fault, ListVal, Outcome, Val, fault, no_overload};

/// The first size of a range that is too large.
const LARGEST_RANGE: i64 = 1_000_001;

pub(super) const ALL: &[Function] = &[
    over_tree("isSorted", 1, |a, _| {
        let mut previous: Option<Val<'_>> = None;
        for item in list(a)?.iter() {
            let item = item?;
            if let Some(previous) = &previous {
                match previous.compare(&item) {
                    Some(Ordering::Greater) => return Ok(Val::Bool(false)),
                    Some(_) => {}
                    None => return no_overload(),
                }
            }
            previous = Some(item);
        }
        Ok(Val::Bool(true))
    }),
    over_tree("sum", 1, |a, call| {
        let mut items = list(a)?.iter();
        let mut sum = items.next().unwrap_or(Ok(Val::Int(0)))?;
        for item in items {
            sum = operators::add(&[sum, item?], call.meter)?;
        }
        Ok(sum)
    }),
    over_tree("max", 1, |a, _| extreme(a, Ordering::Less, "max")),
    over_tree("min", 1, |a, _| extreme(a, Ordering::Greater, "min")),
    over_tree("indexOf", 2, |a, call| index_of(a, false, call)),
    over_tree("lastIndexOf", 2, |a, call| index_of(a, true, call)),
    over_tree("indexOf", 3, |a, _| text::index_of(a, false)),
    over_tree("lastIndexOf", 3, |a, _| text::index_of(a, true)),
    member("slice", 3, slice_cost, |a, call| match a {
        [Val::List(list), Val::Int(start), Val::Int(end)] => slice(list, *start, *end, call.meter),
        _ => no_overload(),
    }),
    member("flatten", 1, |a| list_of(size(a, 0)), |a, call| flatten(list(a)?, 1, call.meter)),
    member("flatten", 2, flatten_cost, |a, call| match a {
        [Val::List(_), Val::Int(..0)] => fault("level must be non-negative"),
        [Val::List(list), Val::Int(depth)] => flatten(list, *depth, call.meter),
        _ => no_overload(),
    }),
    member("distinct", 1, compared, |a, call| {
        let mut out: Vec<Val<'_>> = Vec::new();
        for item in list(a)?.items(call.meter)? {
            if !is_in(&item, &out, call.meter)? {
                out.push(item);
            }
        }
        Ok(Val::list(out))
    }),
    member("sort", 1, compared, |a, call| {
        let mut out = list(a)?.items(call.meter)?;
        call.meter.sort(&out)?;
        let mut is_comparable = true;
        out.sort_by(|a, b| {
            a.compare(b).unwrap_or_else(|| {
                is_comparable = false;
                Ordering::Equal
            })
        });
        if is_comparable { Ok(Val::list(out)) } else { no_overload() }
    }),
    member("first", 1, one, |a, _| optional(list(a)?.get(0))),
    member("last", 1, one, |a, _| {
        let list = list(a)?;
        optional(list.len().checked_sub(1).and_then(|at| list.get(at)))
    }),
    global("lists.range", 1, range_cost, |a, call| match a {
        [end @ Val::Int(..0)] => fault(format!("lists.range: size must be non-negative, got {}", shown(end))),
        [end @ Val::Int(LARGEST_RANGE..)] => {
            fault(format!("lists.range: size {} exceeds maximum allowed ({})", shown(end), LARGEST_RANGE - 1))
        }
        [Val::Int(end)] => {
            call.meter.make_items(usize::try_from(*end).unwrap_or(usize::MAX))?;
            Ok(Val::list((0..*end).map(Val::Int).collect()))
        }
        _ => no_overload(),
    }),
    global("sets.contains", 2, product, |a, call| {
        let (a, b) = two(a, call)?;
        for item in &b {
            if !is_in(item, &a, call.meter)? {
                return Ok(Val::Bool(false));
            }
        }
        Ok(Val::Bool(true))
    }),
    global("sets.equivalent", 2, product_twice, |a, call| {
        let (a, b) = two(a, call)?;
        for (item, other) in a.iter().map(|item| (item, &b)).chain(b.iter().map(|item| (item, &a))) {
            if !is_in(item, other, call.meter)? {
                return Ok(Val::Bool(false));
            }
        }
        Ok(Val::Bool(true))
    }),
    global("sets.intersects", 2, product, |a, call| {
        let (a, b) = two(a, call)?;
        for item in &a {
            if is_in(item, &b, call.meter)? {
                return Ok(Val::Bool(true));
            }
        }
        Ok(Val::Bool(false))
    }),
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

fn list<'v, 'a>(arguments: &'v [Val<'a>]) -> Result<&'v ListVal<'a>, Fault> {
    match arguments {
        [Val::List(list), ..] => Ok(list),
        _ => no_overload(),
    }
}

fn two<'a>(arguments: &[Val<'a>], call: &mut Call<'_>) -> Result<(Vec<Val<'a>>, Vec<Val<'a>>), Fault> {
    match arguments {
        [Val::List(a), Val::List(b)] => Ok((a.items(call.meter)?, b.items(call.meter)?)),
        _ => no_overload(),
    }
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

fn extreme<'a>(arguments: &[Val<'a>], replaces: Ordering, name: &str) -> Outcome<'a> {
    let mut best: Option<Val<'a>> = None;
    for item in list(arguments)?.iter() {
        let item = item?;
        let is_better = match &best {
            None => true,
            Some(best) => match best.compare(&item) {
                Some(order) => order == replaces,
                None => return no_overload(),
            },
        };
        if is_better {
            best = Some(item);
        }
    }
    best.map_or_else(|| fault(format!("{name} called on empty list")), Ok)
}

fn index_of<'a>(arguments: &[Val<'a>], is_last: bool, call: &mut Call<'_>) -> Outcome<'a> {
    let [Val::List(list), item] = arguments else { return text::index_of(arguments, is_last) };
    let mut found = -1;
    for (at, other) in list.iter().enumerate() {
        if equals(&other?, item, call.meter)? {
            found = i64::try_from(at).unwrap_or(i64::MAX);
            if !is_last {
                break;
            }
        }
    }
    Ok(Val::Int(found))
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
