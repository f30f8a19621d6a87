//! Functions of quantities.

use std::cmp::Ordering;

use fieldmanager_structural::internal::Quantity;

use super::function::{Run, binary, unary};
use crate::value::{Fault, Outcome, Val, no_overload};

const BILLION: i128 = 1_000_000_000;

#[expect(clippy::cast_precision_loss, reason = "the result is approximate")]
/// The implementation of a function.
pub(super) fn run(name: &str) -> Option<Run> {
    Some(match name {
        "quantity" => |a, _| unary(a, quantity),
        "isQuantity" => |a, _| unary(a, |text: &str| Quantity::parse(text).is_ok()),
        "sign" => |a, _| unary(a, sign),
        "isGreaterThan" => |a, _| binary(a, |a, b| compare(a, b).map(Ordering::is_gt)),
        "isLessThan" => |a, _| binary(a, |a, b| compare(a, b).map(Ordering::is_lt)),
        "compareTo" => |a, _| binary(a, |a, b| compare(a, b).map(|order| order as i64)),
        "isInteger" => |a, _| unary(a, |quantity| integer(quantity).is_some()),
        "asInteger" => |a, _| {
            let failed = || Fault::Error("cannot convert value to integer".to_owned());
            unary(a, |quantity| integer(quantity).ok_or_else(failed))
        },
        "asApproximateFloat" => |a, _| {
            unary(a, |Quantity { nanos, .. }: Quantity| {
                Val::Double(match nanos % BILLION {
                    0 => (nanos / BILLION) as f64,
                    _ => nanos as f64 / BILLION as f64,
                })
            })
        },
        "add" => |a, _| binary(a, |a, b| sum(a, b, 1)),
        "sub" => |a, _| binary(a, |a, b| sum(a, b, -1)),
        _ => return None,
    })
}

fn quantity<'a>(text: &str) -> Outcome<'a> {
    Quantity::parse(text)
        .map(Val::Quantity)
        .map_err(|error| Fault::Error(error.to_string()))
}

fn sign(quantity: Quantity) -> i64 {
    quantity.nanos.cmp(&0) as i64
}

/// The number as an integer.
fn integer(quantity: Quantity) -> Option<i64> {
    let whole = i64::try_from(quantity.nanos / BILLION).ok();
    whole.filter(|_| quantity.is_whole)
}

/// The order of two quantities or two versions, whose functions have the same names.
fn compare(a: &Val<'_>, b: &Val<'_>) -> Result<Ordering, Fault> {
    match (a, b) {
        (Val::Quantity(a), Val::Quantity(b)) => Ok(a.nanos.cmp(&b.nanos)),
        (Val::Semver(a), Val::Semver(b)) => Ok(a.cmp_precedence(b)),
        _ => no_overload(),
    }
}

fn sum<'a>(a: Quantity, b: &Val<'a>, sign: i128) -> Outcome<'a> {
    let b = match b {
        Val::Quantity(b) => *b,
        Val::Int(b) => Quantity::count(*b).with_exponent(),
        _ => return no_overload(),
    };

    Ok(Val::Quantity(if sign < 0 { a.minus(b) } else { a.plus(b) }))
}
