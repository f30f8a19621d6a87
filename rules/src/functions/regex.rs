//! Regular expressions.

use fieldmanager_structural::validation::expression;
use regex::Regex;

use super::function::{Function, global, member, size, traversal};
use crate::value::{Fault, Outcome, Val, fault, no_overload};

const fn with_regex(function: Function) -> Function {
    Function { has_regex: true, ..function }
}

pub(super) const ALL: &[Function] = &[
    with_regex(member("matches", 2, cost, matches)),
    with_regex(global("matches", 2, cost, matches)),
    with_regex(member("find", 2, cost, |a, regex| {
        let (text, regex) = parts(a, regex)?;
        Ok(Val::text(regex.find(text).map_or("", |found| found.as_str())))
    })),
    with_regex(member("findAll", 2, cost, |a, regex| find_all(a, regex, -1))),
    with_regex(member("findAll", 3, cost, |a, regex| match a {
        [_, _, Val::Int(limit)] => find_all(a, regex, *limit),
        _ => no_overload(),
    })),
];

fn cost(arguments: &[Val<'_>]) -> u64 {
    traversal(size(arguments, 0) + 1).saturating_mul(size(arguments, 1).div_ceil(4))
}

enum Compiled<'r> {
    Known(&'r Regex),
    Made(Box<Regex>),
}

impl std::ops::Deref for Compiled<'_> {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        match self {
            Compiled::Known(regex) => regex,
            Compiled::Made(regex) => regex,
        }
    }
}

fn parts<'v, 'r>(
    arguments: &'v [Val<'_>],
    regex: Option<&'r Regex>,
) -> Result<(&'v str, Compiled<'r>), Fault> {
    let [Val::String(text), Val::String(pattern), ..] = arguments else { return no_overload() };
    let regex = match regex {
        Some(regex) => Compiled::Known(regex),
        None => match expression(pattern) {
            Ok(regex) => Compiled::Made(Box::new(regex)),
            Err(message) => return fault(format!("Illegal regex: {message}")),
        },
    };
    Ok((text, regex))
}

fn matches<'a>(arguments: &[Val<'a>], regex: Option<&Regex>) -> Outcome<'a> {
    let (text, regex) = parts(arguments, regex)?;
    Ok(Val::Bool(regex.is_match(text)))
}

fn find_all<'a>(arguments: &[Val<'a>], regex: Option<&Regex>, limit: i64) -> Outcome<'a> {
    let (text, regex) = parts(arguments, regex)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = regex.find_iter(text).take(limit).map(|found| Val::text(found.as_str()));
    Ok(Val::list(found.collect()))
}
