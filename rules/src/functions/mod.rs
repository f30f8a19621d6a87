//! The functions of CEL and of the API server's library.

mod convert;
mod format;
mod format_string;
mod function;
mod lists;
mod net;
mod operators;
mod quantity;
mod regex;
mod text;
mod time;
mod url;
mod version;

use crate::value::{Fault, Val};

pub(crate) use function::{Call, Function, NO_LIST, sorting_cost, traversal};
pub(crate) use lists::sorted;

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

/// The error of a call. As in the API server, it names an operator that the type of the first argument does not have at
/// all.
pub(crate) fn named(fault: Fault, function: &Function, arguments: &[Val<'_>]) -> Fault {
    match (&fault, arguments.first()) {
        (Fault::Error(message), Some(first))
            if message == "no such overload" && !operators::is_known(function.name, first) =>
        {
            Fault::Error(format!("{message}: {}", function.name))
        }
        _ => fault,
    }
}
