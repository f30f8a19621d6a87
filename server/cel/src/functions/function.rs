//! The description of a function, and the costs of calls.

use std::net::IpAddr;

use cel::common::ast::operators::IN;
use fieldmanager_structural::internal::Pattern;
use fieldmanager_structural::internal::Quantity;
use fieldmanager_value::Str;
use semver::Version;

use crate::meter::{Meter, bytes};
use crate::url::Url;
use crate::value::{Fault, ListVal, Outcome, Val, no_overload};

/// A function with a number of arguments.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    /// Whether it is called on its first argument.
    pub(super) is_member: bool,
    /// Their number, with the one that it is called on.
    pub(super) arguments: usize,
    /// Whether the second argument is a regular expression.
    pub(crate) has_regex: bool,
    pub(crate) cost: Cost,
    pub(crate) run: Run,
}

/// The cost of a call, as `CallCost` of `k8s.io/apiserver` and the trackers of cel-go have it. An argument that failed is
/// null.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    Of(fn(&[Val<'_>]) -> u64),
    /// A tenth of all strings and one for each other value in the first argument.
    Tree,
}

impl Cost {
    pub(crate) fn run(self, arguments: &[Val<'_>], meter: &mut Meter) -> Result<u64, Fault> {
        match (self, arguments) {
            (Cost::Of(cost), arguments) => Ok(cost(arguments)),
            (Cost::Tree, [first, ..]) => tree(first, meter),
            (Cost::Tree, []) => Ok(0),
        }
    }
}

/// What cel-go reports when the cost of a call depends on a number that failed.
const NO_NUMBER: &str =
    "internal error: interface conversion: ref.Val is *types.Err, not types.Int";

/// The same for a list, whose value is another one or `None`. A method that lists have is named.
fn no_list(value: Option<&Val<'_>>) -> Fault {
    use Val::{Bytes, Double, Duration, Int, String, Timestamp, Uint};
    let missing = match value {
        Some(Int(_) | Uint(_) | Double(_) | String(_) | Bytes(_) | Duration(_) | Timestamp(_)) => {
            "Contains"
        }
        _ => "Add",
    };
    let found = value.map_or_else(|| "*types.Err".to_owned(), Val::go_type);
    let text = format!(
        "internal error: interface conversion: {found} is not traits.Lister: missing method {missing}"
    );
    Fault::Broken(text.into())
}

/// The implementation of a function. It counts the work that is not proportional to the strings of its arguments.
pub(super) type Run = for<'a> fn(&[Val<'a>], &mut Call<'_>) -> Outcome<'a>;

/// A call of a function.
pub(crate) struct Call<'m> {
    /// The name of the function.
    pub(super) name: &'static str,
    pub(super) is_member: bool,
    /// The second argument, if it is a constant regular expression.
    pub(crate) pattern: Option<&'m Pattern>,
    pub(crate) meter: &'m mut Meter,
}

impl<'m> Call<'m> {
    pub(crate) fn of(
        function: &Function,
        pattern: Option<&'m Pattern>,
        meter: &'m mut Meter,
    ) -> Self {
        Call {
            name: function.name,
            is_member: function.is_member,
            pattern,
            meter,
        }
    }
}

impl Function {
    pub(super) fn is(&self, arguments: usize, is_member: bool) -> bool {
        self.arguments == arguments && self.is_member == is_member
    }

    /// Whether a call has a cost. If an argument failed, its value is null.
    pub(crate) fn check_cost(&self, arguments: &[Val<'_>], has_failed: bool) -> Result<(), Fault> {
        match (self.name, arguments) {
            (_, [.., Val::List(_)]) => Ok(()),
            ("distinct" | "sort", [value]) | ("@sortByAssociatedKeys", [_, value]) => {
                Err(no_list(Some(value).filter(|_| !has_failed)))
            }
            ("flatten", [_, Val::Null]) if has_failed => Err(Fault::Broken(NO_NUMBER.into())),
            _ => Ok(()),
        }
    }

    /// Whether it is the operator `in`.
    pub(crate) fn is_in(&self) -> bool {
        self.name == IN
    }

    /// Whether cel-go computes a call with a constant before the evaluation.
    pub(crate) fn is_conversion(&self) -> bool {
        const CONVERSIONS: [&str; 10] = [
            "bool",
            "bytes",
            "double",
            "duration",
            "dyn",
            "int",
            "string",
            "timestamp",
            "type",
            "uint",
        ];

        !self.is_member && self.arguments == 1 && CONVERSIONS.contains(&self.name)
    }

    /// Whether arguments after one that fails are not evaluated, although there are only two. It is always so for more.
    pub(crate) fn stops(&self) -> bool {
        self.name == "format" || self.name == "split" && self.arguments > 2
    }
}

/// A type of Rust for the values of a type of CEL.
pub(super) trait Argument<'v, 'a>: Sized {
    fn of(value: &'v Val<'a>) -> Option<Self>;
}

macro_rules! argument {
    ($type:ty, $pattern:pat => $value:expr) => {
        impl<'v, 'a> Argument<'v, 'a> for $type {
            fn of(value: &'v Val<'a>) -> Option<Self> {
                if let $pattern = value {
                    Some($value)
                } else {
                    None
                }
            }
        }
    };
}

argument!(bool, Val::Bool(flag) => *flag);
argument!(i64, Val::Int(number) => *number);
argument!(&'v str, Val::String(text) => text);
argument!(&'v Str, Val::String(text) => text);
argument!(&'v ListVal<'a>, Val::List(list) => list);
argument!(IpAddr, Val::Ip(address) => *address);
argument!((IpAddr, u8), Val::Cidr(address, bits) => (*address, *bits));
argument!(Quantity, Val::Quantity(quantity) => *quantity);
argument!(&'v Url, Val::Url(url) => url);
argument!(&'v Version, Val::Semver(version) => version);

impl<'v, 'a> Argument<'v, 'a> for &'v Val<'a> {
    fn of(value: &'v Val<'a>) -> Option<Self> {
        Some(value)
    }
}

/// A result of a function.
pub(super) trait Returned<'a> {
    fn outcome(self) -> Outcome<'a>;
}

impl<'a, T: Into<Val<'a>>> Returned<'a> for T {
    fn outcome(self) -> Outcome<'a> {
        Ok(self.into())
    }
}

impl<'a, T: Into<Val<'a>>> Returned<'a> for Result<T, Fault> {
    fn outcome(self) -> Outcome<'a> {
        self.map(T::into)
    }
}

/// Calls a function of one argument.
pub(super) fn unary<'v, 'a, A: Argument<'v, 'a>, R: Returned<'a>>(
    arguments: &'v [Val<'a>],
    run: impl FnOnce(A) -> R,
) -> Outcome<'a> {
    match arguments {
        [a] => A::of(a).map_or_else(no_overload, |a| run(a).outcome()),
        _ => no_overload(),
    }
}

/// Calls a function of two arguments.
pub(super) fn binary<'v, 'a, A: Argument<'v, 'a>, B: Argument<'v, 'a>, R: Returned<'a>>(
    arguments: &'v [Val<'a>],
    run: impl FnOnce(A, B) -> R,
) -> Outcome<'a> {
    match arguments {
        [a, b] => A::of(a)
            .zip(B::of(b))
            .map_or_else(no_overload, |(a, b)| run(a, b).outcome()),
        _ => no_overload(),
    }
}

/// A fixed cost.
pub(super) fn one(_: &[Val<'_>]) -> u64 {
    1
}

pub(super) fn size(arguments: &[Val<'_>], at: usize) -> u64 {
    arguments.get(at).map_or(0, Val::size)
}

/// The size of an argument, or of what is in an optional one: the functions of cel-go look inside.
pub(crate) fn inner_size(arguments: &[Val<'_>], at: usize) -> u64 {
    let mut value = arguments.get(at);
    while let Some(Val::Optional(Some(inner))) = value {
        value = Some(inner);
    }
    value.map_or(0, Val::size)
}

/// The cost of visiting the first argument.
pub(super) fn first(arguments: &[Val<'_>]) -> u64 {
    traversal(size(arguments, 0))
}

/// The cost of visiting the first argument and making a result.
pub(super) fn first_twice(arguments: &[Val<'_>]) -> u64 {
    traversal_twice(size(arguments, 0))
}

/// The number of pairs of items of two lists.
pub(super) fn product(arguments: &[Val<'_>]) -> u64 {
    size(arguments, 0).saturating_mul(size(arguments, 1))
}

pub(super) fn second(arguments: &[Val<'_>]) -> u64 {
    traversal(size(arguments, 1))
}

/// A tenth of a size, rounded up: the cost of visiting strings and lists.
pub(crate) fn traversal(size: u64) -> u64 {
    scaled(size, 0.1).1
}

pub(super) fn traversal_twice(size: u64) -> u64 {
    scaled(size.saturating_mul(2), 0.1).1
}

/// The cost of making a list, besides a part that depends on its items.
const NEW_LIST: u64 = 11;

/// The cost of making a list of a size.
pub(super) fn list_of(size: u64) -> u64 {
    size.saturating_add(NEW_LIST)
}

/// The cost of comparing all items with each other.
pub(super) fn comparing_cost(count: usize, first: Option<&Val<'_>>) -> u64 {
    let factor = if matches!(first, Some(Val::String(_) | Val::Bytes(_))) {
        2.1
    } else {
        2.0
    };
    let size = u64::try_from(count).unwrap_or(u64::MAX);
    list_of(scaled(size.saturating_mul(size), factor).0)
}

/// A size times a factor, rounded down and up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are computed with floats, as in cel-go"
)]
fn scaled(size: u64, factor: f64) -> (u64, u64) {
    let scaled = size as f64 * factor;
    (scaled as u64, scaled.ceil() as u64)
}

fn tree(value: &Val<'_>, meter: &mut Meter) -> Result<u64, Fault> {
    meter.visit_value(value)?;
    fieldmanager_value::internal::level(|| {
        let mut cost: u64 = 0;
        match value {
            Val::String(_) | Val::Bytes(_) => cost = scaled(bytes(value) as u64, 0.1).0,
            Val::List(list) => {
                for item in list.iter() {
                    cost = cost.saturating_add(tree(&item?, meter)?);
                }
            }
            Val::Map(map) => {
                for key in map.keys(meter)? {
                    let value = map.find(&key)?.unwrap_or(Val::Null);
                    cost = cost
                        .saturating_add(tree(&key, meter)?)
                        .saturating_add(tree(&value, meter)?);
                }
            }
            _ => cost = 1,
        }

        Ok(cost)
    })
}
