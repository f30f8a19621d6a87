//! The functions of CEL and of the API server's library.

mod access;
mod convert;
mod format;
pub(crate) mod format_string;
mod function;
mod lists;
mod net;
mod operators;
pub(crate) mod overloads;
mod quantity;
mod regex;
mod text;
mod time;
mod url;
mod version;

use std::collections::HashMap;
use std::sync::LazyLock;

use cel::common::ast::operators::{ADD, GREATER, GREATER_EQUALS, IN, LESS, LESS_EQUALS};

use self::function::{Run, first, first_twice, list_of, one, product, second, size};
use self::overloads::Overload;
use crate::value::{Fault, Val};

pub(crate) use function::{Call, Cost, Function, inner_size, traversal};

/// The functions of the table that have an implementation, by name.
static FUNCTIONS: LazyLock<HashMap<&str, Vec<Function>>> = LazyLock::new(|| {
    let named = |name| Some((name, functions(name, run(name)?)));
    overloads::names().filter_map(named).collect()
});

/// The functions of a name, which differ in the number of their arguments.
fn functions(name: &'static str, run: Run) -> Vec<Function> {
    let mut out: Vec<Function> = Vec::new();
    let overloads = overloads::overloads(name, true);
    for overload in overloads {
        let (arguments, is_member) = (overload.arguments.len(), overload.is_member);
        // Overloads with as many arguments are one function, which distinguishes their types when it runs.
        if out.iter().any(|known| known.is(arguments, is_member)) {
            continue;
        }

        // The cost depends on the overload, if that of any does.
        let same = overloads
            .iter()
            .filter(|other| other.arguments.len() == arguments && other.is_member == is_member);
        let estimate = same.map(|other| other.cost).find(|cost| !cost.is_empty());
        out.push(Function {
            name,
            is_member,
            arguments,
            has_regex: matches!(estimate, Some("matches" | "find")),
            cost: cost(estimate.unwrap_or_default()),
            run,
        });
    }

    out
}

/// The implementation of a function, which takes the arguments of all its overloads.
fn run(name: &str) -> Option<Run> {
    let all = [
        operators::run,
        access::run,
        convert::run,
        text::run,
        regex::run,
        lists::run,
        time::run,
        net::run,
        url::run,
        quantity::run,
        version::run,
        format::run,
    ];

    all.into_iter().find_map(|run| run(name))
}

/// The cost of a call, by the name of its estimate.
fn cost(name: &str) -> Cost {
    Cost::Of(match name {
        "search" | "includes" => return Cost::Tree,
        "read" | "copy" | "quote" | "encode" | "decode" => first,
        "read-second" => second,
        "canonical" | "replace" | "split" => first_twice,
        "contains" => |a| traversal(inner_size(a, 0)).saturating_mul(traversal(inner_size(a, 1))),

        // Most of these costs depend on more than one size, and are next to their functions.
        "check" => |_| 350_000,
        "selector" => access::selector_cost,
        "join" => text::join_cost,
        "matches" | "find" => regex::cost,
        "address" => first_twice,
        "address-text" => net::contains_ip_cost,
        "network" => |a| first_twice(a).saturating_add(first(a)).saturating_add(1),
        "network-text" => net::contains_cidr_cost,
        "validate" => format::cost,
        "items" => |a| inner_size(a, 1),
        "concat" => |a| traversal(inner_size(a, 0).saturating_add(inner_size(a, 1))),
        "compare" => |a| traversal(inner_size(a, 0).min(inner_size(a, 1))),
        // A fault has the size 1.
        "visit" => |a| {
            list_of(if matches!(a, [Val::List(_), ..]) {
                size(a, 0)
            } else {
                1
            })
        },
        "flatten" => lists::flatten_cost,
        "range" => lists::range_cost,
        "slice" => lists::slice_cost,
        "sort" | "sort-texts" => lists::compared,
        "product" => |a| product(a).saturating_add(1),
        "products" => |a| product(a).saturating_mul(2).saturating_add(1),
        _ => one,
    })
}

/// The cost of a call for whose arguments some overloads fit. That of operators and conversions depends on the overload, and
/// is 1 if the types of the arguments leave it open; that of others depends on the name.
pub(crate) fn cost_of(function: &Function, fitting: &[&Overload]) -> Cost {
    match fitting {
        [] => function.cost,
        _ if !BY_OVERLOAD.contains(&function.name) => function.cost,
        [overload] => cost(overload.cost),
        [.., last] if function.name.starts_with("contains") => cost(last.cost),
        _ => Cost::Of(one),
    }
}

const BY_OVERLOAD: [&str; 12] = [
    "containsIP",
    "containsCIDR",
    LESS,
    LESS_EQUALS,
    GREATER,
    GREATER_EQUALS,
    ADD,
    IN,
    "string",
    "bytes",
    "sort",
    "@sortByAssociatedKeys",
];

/// The function with a number of arguments, including the one that a member is called on. A name may have dots.
pub(crate) fn find(name: &str, arguments: usize, is_member: bool) -> Option<&'static Function> {
    let known = FUNCTIONS.get(name.strip_prefix('.').unwrap_or(name))?;
    known
        .iter()
        .find(|function| function.is(arguments, is_member))
}

/// The error of a call. As in the API server, that of an operator names it if the type of the first argument does not have
/// it at all, and that of a function names the types of arguments that none of its overloads has. A function whose regular
/// expression was compiled before does not look at its overloads.
pub(crate) fn named(
    fault: Fault,
    function: &Function,
    is_compiled: bool,
    arguments: &[Val<'_>],
) -> Fault {
    let (Fault::Error(message), Some(first)) = (&fault, arguments.first()) else {
        return fault;
    };
    if !chooses(function, is_compiled) {
        let is_named = !is_compiled && !operators::is_known(function.name, first);
        if message == "no such overload" && is_named {
            return Fault::Error(format!("{message}: {}", function.name));
        }
        return fault;
    }

    untaken(function, is_compiled, arguments).unwrap_or(fault)
}

/// Whether a call chooses an overload by the types of its arguments.
pub(crate) fn chooses(function: &Function, is_compiled: bool) -> bool {
    !is_compiled && !operators::is_one_for_all(function.name)
}

/// The error of a call that has to choose an overload and finds none.
pub(crate) fn untaken(
    function: &Function,
    is_compiled: bool,
    arguments: &[Val<'_>],
) -> Option<Fault> {
    let mut overloads = overloads::overloads(function.name, true).iter();
    let takes = |of: &Overload| of.is_member == function.is_member && of.takes(arguments);
    if !chooses(function, is_compiled) || overloads.any(takes) {
        return None;
    }
    let types: Vec<&str> = arguments.iter().map(Val::type_name).collect();
    Some(Fault::Error(format!(
        "no such overload: {}({})",
        function.name,
        types.join(", ")
    )))
}
