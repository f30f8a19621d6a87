//! Functions of lists and sets.

use std::cmp::Ordering;

use super::function::{Function, global, items, member, one, size};
use super::{operators, text};
use crate::equality::is_equal;
use crate::value::{Fault, ListVal, Outcome, Val, fault, no_overload};

pub(super) const ALL: &[Function] = &[
    member("isSorted", 1, items, |a, _| {
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
    member("sum", 1, items, |a, _| {
        let mut items = list(a)?.iter();
        let mut sum = items.next().unwrap_or(Ok(Val::Int(0)))?;
        for item in items {
            sum = operators::add(&[sum, item?])?;
        }
        Ok(sum)
    }),
    member("max", 1, items, |a, _| extreme(a, Ordering::Less, "max")),
    member("min", 1, items, |a, _| extreme(a, Ordering::Greater, "min")),
    member("indexOf", 2, items, |a, _| index_of(a, false)),
    member("lastIndexOf", 2, items, |a, _| index_of(a, true)),
    member("indexOf", 3, items, |a, _| text::index_of(a, false)),
    member("lastIndexOf", 3, items, |a, _| text::index_of(a, true)),
    member("slice", 3, items, |a, _| match a {
        [Val::List(list), Val::Int(start), Val::Int(end)] => slice(list, *start, *end),
        _ => no_overload(),
    }),
    member("flatten", 1, items, |a, _| flatten(list(a)?, 1)),
    member("flatten", 2, items, |a, _| match a {
        [Val::List(_), Val::Int(..0)] => fault("level must be non-negative"),
        [Val::List(list), Val::Int(depth)] => flatten(list, *depth),
        _ => no_overload(),
    }),
    member("distinct", 1, squared, |a, _| {
        let mut out: Vec<Val<'_>> = Vec::new();
        for item in list(a)?.iter() {
            let item = item?;
            if !is_in(&item, &out)? {
                out.push(item);
            }
        }
        Ok(Val::list(out))
    }),
    member("sort", 1, items, |a, _| {
        let mut out = list(a)?.items()?;
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
    global("lists.range", 1, range_cost, |a, _| match a {
        [Val::Int(end)] => Ok(Val::list((0..*end).map(Val::Int).collect())),
        _ => no_overload(),
    }),
    global("sets.contains", 2, product, |a, _| {
        let (a, b) = two(a)?;
        for item in &b {
            if !is_in(item, &a)? {
                return Ok(Val::Bool(false));
            }
        }
        Ok(Val::Bool(true))
    }),
    global("sets.equivalent", 2, product, |a, _| {
        let (a, b) = two(a)?;
        for (item, other) in a.iter().map(|item| (item, &b)).chain(b.iter().map(|item| (item, &a))) {
            if !is_in(item, other)? {
                return Ok(Val::Bool(false));
            }
        }
        Ok(Val::Bool(true))
    }),
    global("sets.intersects", 2, product, |a, _| {
        let (a, b) = two(a)?;
        for item in &a {
            if is_in(item, &b)? {
                return Ok(Val::Bool(true));
            }
        }
        Ok(Val::Bool(false))
    }),
];

fn product(arguments: &[Val<'_>]) -> u64 {
    size(arguments, 0).saturating_mul(size(arguments, 1)).max(1)
}

fn squared(arguments: &[Val<'_>]) -> u64 {
    let size = size(arguments, 0);
    size.saturating_mul(size).max(1)
}

fn range_cost(arguments: &[Val<'_>]) -> u64 {
    match arguments {
        [Val::Int(end)] => u64::try_from(*end).unwrap_or(1),
        _ => 1,
    }
}

fn list<'v, 'a>(arguments: &'v [Val<'a>]) -> Result<&'v ListVal<'a>, Fault> {
    match arguments {
        [Val::List(list), ..] => Ok(list),
        _ => no_overload(),
    }
}

fn two<'a>(arguments: &[Val<'a>]) -> Result<(Vec<Val<'a>>, Vec<Val<'a>>), Fault> {
    match arguments {
        [Val::List(a), Val::List(b)] => Ok((a.items()?, b.items()?)),
        _ => no_overload(),
    }
}

fn is_in<'a>(item: &Val<'a>, list: &[Val<'a>]) -> Result<bool, Fault> {
    for other in list {
        if is_equal(item, other, &mut 0)? {
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

fn index_of<'a>(arguments: &[Val<'a>], is_last: bool) -> Outcome<'a> {
    let [Val::List(list), item] = arguments else { return text::index_of(arguments, is_last) };
    let mut found = -1;
    for (at, other) in list.iter().enumerate() {
        if is_equal(&other?, item, &mut 0).unwrap_or(false) {
            found = i64::try_from(at).unwrap_or(i64::MAX);
            if !is_last {
                break;
            }
        }
    }
    Ok(Val::Int(found))
}

fn slice<'a>(list: &ListVal<'a>, start: i64, end: i64) -> Outcome<'a> {
    if start < 0 || end < 0 {
        return fault(format!("cannot slice({start}, {end}), negative indexes not supported"));
    }
    if start > end {
        return fault(format!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        ));
    }
    let items = list.items()?;
    let range = usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(end).unwrap_or(usize::MAX);
    match items.get(range) {
        Some(items) => Ok(Val::list(items.to_vec())),
        None => fault(format!("cannot slice({start}, {end}), list is length {}", items.len())),
    }
}

fn flatten<'a>(list: &ListVal<'a>, depth: i64) -> Outcome<'a> {
    let mut out = Vec::new();
    for item in list.iter() {
        match item? {
            Val::List(inner) if depth > 0 => {
                let flat = if depth > 1 {
                    fieldmanager_value::internal::level(|| flatten(&inner, depth - 1))?
                } else {
                    Val::List(inner)
                };
                if let Val::List(flat) = flat {
                    out.extend(flat.items()?);
                }
            }
            item => out.push(item),
        }
    }
    Ok(Val::list(out))
}
