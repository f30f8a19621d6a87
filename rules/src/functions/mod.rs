//! The functions of CEL and of the API server's library.

mod convert;
mod format;
mod lists;
mod net;
mod operators;
pub(crate) mod quantity;
mod regex;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod url;
mod version;

use ::regex::Regex;

use crate::evaluate::traversal;
use crate::value::{Outcome, Val};

/// A function with a number of arguments.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    /// Whether it is called on its first argument.
    is_member: bool,
    arguments: usize,
    /// Whether the second argument is a regular expression.
    pub(crate) has_regex: bool,
    pub(crate) cost: fn(&[Val<'_>]) -> u64,
    pub(crate) run: for<'a> fn(&[Val<'a>], Option<&Regex>) -> Outcome<'a>,
}

type Run = for<'a> fn(&[Val<'a>], Option<&Regex>) -> Outcome<'a>;

const fn global(name: &'static str, arguments: usize, cost: fn(&[Val<'_>]) -> u64, run: Run) -> Function {
    Function { name, is_member: false, arguments, has_regex: false, cost, run }
}

/// `arguments` counts the one that it is called on.
const fn member(name: &'static str, arguments: usize, cost: fn(&[Val<'_>]) -> u64, run: Run) -> Function {
    Function { name, is_member: true, arguments, has_regex: false, cost, run }
}

/// A fixed cost.
fn one(_: &[Val<'_>]) -> u64 {
    1
}

fn size(arguments: &[Val<'_>], at: usize) -> u64 {
    arguments.get(at).map_or(0, Val::size)
}

/// The cost of visiting the first argument.
fn first(arguments: &[Val<'_>]) -> u64 {
    traversal(size(arguments, 0))
}

/// The cost of visiting the first argument and making a result.
fn first_twice(arguments: &[Val<'_>]) -> u64 {
    traversal(size(arguments, 0).saturating_mul(2))
}

fn second(arguments: &[Val<'_>]) -> u64 {
    traversal(size(arguments, 1))
}

fn items(arguments: &[Val<'_>]) -> u64 {
    size(arguments, 0)
}

fn find(name: &str, arguments: usize, is_member: bool) -> Option<&'static Function> {
    let all: [&'static [Function]; 11] = [
        operators::ALL,
        convert::ALL,
        text::ALL,
        regex::ALL,
        lists::ALL,
        time::ALL,
        net::ALL,
        url::ALL,
        quantity::ALL,
        version::ALL,
        format::ALL,
    ];
    let matches = |f: &&Function| f.name == name && f.arguments == arguments && f.is_member == is_member;
    all.into_iter().flatten().find(matches)
}

/// The function of a name, which may have dots.
pub(crate) fn global_named(name: &str, arguments: usize) -> Option<&'static Function> {
    find(name, arguments, false)
}

/// The function that is called on its first argument.
pub(crate) fn member_named(name: &str, arguments: usize) -> Option<&'static Function> {
    find(name, arguments, true)
}
