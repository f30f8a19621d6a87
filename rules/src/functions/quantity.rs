//! Functions of quantities.

use std::cmp::Ordering;

use super::function::{Function, first, global, member, one};
use crate::quantity::{BILLION, Quantity, parse};
use crate::value::{Fault, Outcome, Val, fault, no_overload};

pub(super) const ALL: &[Function] = &[
    global("quantity", 1, first, |a, _| match a {
        [Val::String(text)] => match parse(text) {
            Ok(quantity) => Ok(Val::Quantity(quantity)),
            Err(message) => fault(message),
        },
        _ => no_overload(),
    }),
    global("isQuantity", 1, first, |a, _| match a {
        [Val::String(text)] => Ok(Val::Bool(parse(text).is_ok())),
        _ => no_overload(),
    }),
    global("sign", 1, one, |a, _| match a {
        [Val::Quantity(quantity)] => Ok(Val::Int(i64::try_from(quantity.value.signum()).unwrap_or(0))),
        _ => no_overload(),
    }),
    member("sign", 1, one, |a, _| match a {
        [Val::Quantity(quantity)] => Ok(Val::Int(i64::try_from(quantity.value.signum()).unwrap_or(0))),
        _ => no_overload(),
    }),
    member("isGreaterThan", 2, one, |a, _| Ok(Val::Bool(compare(a)?.is_gt()))),
    member("isLessThan", 2, one, |a, _| Ok(Val::Bool(compare(a)?.is_lt()))),
    member("compareTo", 2, one, |a, _| {
        Ok(Val::Int(match compare(a)? {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }))
    }),
    member("isInteger", 1, one, |a, _| match a {
        [Val::Quantity(quantity)] => Ok(Val::Bool(quantity.integer().is_some())),
        _ => no_overload(),
    }),
    member("asInteger", 1, one, |a, _| match a {
        [Val::Quantity(quantity)] => match quantity.integer() {
            Some(number) => Ok(Val::Int(number)),
            None => fault("cannot convert value to integer"),
        },
        _ => no_overload(),
    }),
    #[expect(clippy::cast_precision_loss, reason = "the result is approximate")]
    member("asApproximateFloat", 1, one, |a, _| match a {
        [Val::Quantity(Quantity { value, .. })] if value % BILLION == 0 => {
            Ok(Val::Double((value / BILLION) as f64))
        }
        [Val::Quantity(Quantity { value, .. })] => Ok(Val::Double(*value as f64 / BILLION as f64)),
        _ => no_overload(),
    }),
    member("add", 2, one, |a, _| sum(a, 1)),
    member("sub", 2, one, |a, _| sum(a, -1)),
];

/// The order of two quantities or two versions, whose functions have the same names.
fn compare(arguments: &[Val<'_>]) -> Result<Ordering, Fault> {
    match arguments {
        [Val::Quantity(a), Val::Quantity(b)] => Ok(a.value.cmp(&b.value)),
        [Val::Semver(a), Val::Semver(b)] => Ok(a.cmp_precedence(b)),
        _ => no_overload(),
    }
}

fn sum<'a>(arguments: &[Val<'a>], sign: i128) -> Outcome<'a> {
    let whole = |number: i64| Quantity { value: i128::from(number) * BILLION, is_decimal: false };
    let (a, b) = match arguments {
        [Val::Quantity(a), Val::Quantity(b)] => (*a, *b),
        [Val::Quantity(a), Val::Int(b)] => (*a, whole(*b)),
        _ => return no_overload(),
    };
    let value = a.value.saturating_add(b.value.saturating_mul(sign));
    Ok(Val::Quantity(Quantity { value, is_decimal: a.is_decimal || b.is_decimal }))
}
