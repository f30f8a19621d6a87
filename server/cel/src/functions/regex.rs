//! Regular expressions.

use fieldmanager_structural::internal::expression;
use fieldmanager_value::Str;
use regex::Regex;

use super::function::{Call, Run, size, traversal};
use crate::meter::Meter;
use crate::value::{Fault, Outcome, Val, fault, no_overload};

/// The implementation of a function.
pub(super) fn run(name: &str) -> Option<Run> {
    Some(match name {
        "matches" => matches,
        "find" => |a, call| {
            let (text, regex) = search(a, call)?;
            Ok(Val::text(
                regex.find(text).map_or("", |found| found.as_str()),
            ))
        },
        "findAll" => |a, call| match a {
            [_, _] => find_all(a, call, -1),
            [_, _, Val::Int(limit)] => find_all(a, call, *limit),
            _ => no_overload(),
        },
        _ => return None,
    })
}

pub(super) fn cost(arguments: &[Val<'_>]) -> u64 {
    traversal(size(arguments, 0) + 1).saturating_mul(size(arguments, 1).div_ceil(4))
}

/// The text, and the work of a search: it can visit each part of the expression at each character.
fn text<'v>(arguments: &'v [Val<'_>], meter: &mut Meter) -> Result<(&'v str, &'v Str), Fault> {
    let [Val::String(text), Val::String(pattern), ..] = arguments else {
        return no_overload();
    };
    meter.scan(text.len().saturating_mul(pattern.len()) / 4)?;
    Ok((text, pattern))
}

fn matches<'a>(arguments: &[Val<'a>], call: &mut Call<'_>) -> Outcome<'a> {
    let (text, pattern) = text(arguments, call.meter)?;
    let is_match = match call.pattern {
        Some(pattern) => pattern.is_match(text),
        None => call.meter.pattern(pattern)?.is_match(text),
    };
    Ok(Val::Bool(is_match))
}

/// The text, and the compiled expression for searches. Compiling one that is not a constant is work of the evaluation.
fn search<'v>(arguments: &'v [Val<'_>], call: &mut Call<'_>) -> Result<(&'v str, Regex), Fault> {
    let (text, pattern) = text(arguments, call.meter)?;
    let regex = match call.pattern {
        Some(pattern) => expression(pattern.as_str()).or_else(fault)?,
        None => call.meter.pattern(pattern)?.clone(),
    };
    Ok((text, regex))
}

fn find_all<'a>(arguments: &[Val<'a>], call: &mut Call<'_>, limit: i64) -> Outcome<'a> {
    let (text, regex) = search(arguments, call)?;
    let meter = &mut *call.meter;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut out = Vec::new();
    for found in regex.find_iter(text).take(limit) {
        meter.make_items(1)?;
        meter.make(found.len())?;
        out.push(Val::text(found.as_str()));
    }
    Ok(Val::list(out))
}
