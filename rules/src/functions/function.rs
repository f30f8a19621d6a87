//! The description of a function, and the costs of calls.

use regex::Regex;

use crate::value::{Outcome, Val};

/// A function with a number of arguments.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    /// Whether it is called on its first argument.
    pub(super) is_member: bool,
    pub(super) arguments: usize,
    /// Whether the second argument is a regular expression.
    pub(crate) has_regex: bool,
    pub(crate) cost: fn(&[Val<'_>]) -> u64,
    pub(crate) run: for<'a> fn(&[Val<'a>], Option<&Regex>) -> Outcome<'a>,
}

pub(super) type Run = for<'a> fn(&[Val<'a>], Option<&Regex>) -> Outcome<'a>;

pub(super) const fn global(
    name: &'static str,
    arguments: usize,
    cost: fn(&[Val<'_>]) -> u64,
    run: Run,
) -> Function {
    Function { name, is_member: false, arguments, has_regex: false, cost, run }
}

/// `arguments` counts the one that it is called on.
pub(super) const fn member(
    name: &'static str,
    arguments: usize,
    cost: fn(&[Val<'_>]) -> u64,
    run: Run,
) -> Function {
    Function { name, is_member: true, arguments, has_regex: false, cost, run }
}

/// A fixed cost.
pub(super) fn one(_: &[Val<'_>]) -> u64 {
    1
}

pub(super) fn size(arguments: &[Val<'_>], at: usize) -> u64 {
    arguments.get(at).map_or(0, Val::size)
}

/// The cost of visiting the first argument.
pub(super) fn first(arguments: &[Val<'_>]) -> u64 {
    traversal(size(arguments, 0))
}

/// The cost of visiting the first argument and making a result.
pub(super) fn first_twice(arguments: &[Val<'_>]) -> u64 {
    traversal(size(arguments, 0).saturating_mul(2))
}

pub(super) fn second(arguments: &[Val<'_>]) -> u64 {
    traversal(size(arguments, 1))
}

pub(super) fn items(arguments: &[Val<'_>]) -> u64 {
    size(arguments, 0)
}

/// A tenth of a size, rounded up: the cost of visiting strings and lists.
pub(crate) fn traversal(size: u64) -> u64 {
    size.div_ceil(10)
}
