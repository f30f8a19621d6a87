//! Quantities of Kubernetes.

use std::cmp::Ordering;

use super::{Function, first, global, member, one};
use crate::value::{Outcome, Val, fault, no_overload};

/// A quantity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    /// The value in billionths. Smaller parts are rounded up, as in Kubernetes.
    value: i128,
    /// Whether it has so many digits that Kubernetes keeps it as a decimal, which never is an integer.
    is_decimal: bool,
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

const BILLION: i128 = 1_000_000_000;
/// The largest decimal.
const LARGEST: i128 = (i64::MAX as i128) * BILLION;

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

impl Quantity {
    fn integer(self) -> Option<i64> {
        let is_whole = !self.is_decimal && self.value % BILLION == 0;
        if is_whole { i64::try_from(self.value / BILLION).ok() } else { None }
    }
}

/// The order of two quantities or two versions, whose functions have the same names.
fn compare(arguments: &[Val<'_>]) -> Result<Ordering, crate::value::Fault> {
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

/// Parses a quantity, such as `1.5Gi` or `100m`.
///
/// Behaviour: `ParseQuantity` of `k8s.io/apimachinery/pkg/api/resource`.
pub(super) fn parse(text: &str) -> Result<Quantity, String> {
    const FORM: &str = "quantities must match the regular expression \
                        '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    const SUFFIX: &str = "unable to parse quantity's suffix";
    if text.is_empty() {
        return Err(FORM.to_owned());
    }
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(FORM.to_owned());
    }
    let letters = suffix.trim_end_matches(|c: char| c.is_ascii_digit());
    let letters = letters.strip_suffix(['+', '-']).unwrap_or(letters);
    if !letters.chars().all(|c| "eEinumkKMGTP".contains(c)) {
        return Err(FORM.to_owned());
    }
    // The factor is 2^two * 10^ten.
    let (two, ten): (u32, i32) = match suffix {
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "" => (0, 0),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        other => match other.strip_prefix(['e', 'E']).map(str::parse::<i32>) {
            Some(Ok(exponent)) => (0, exponent.clamp(-1000, 1000)),
            _ => return Err(SUFFIX.to_owned()),
        },
    };
    let fraction_digits = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let count = i32::try_from(whole.trim_start_matches('0').len().max(1)).unwrap_or(i32::MAX);
    // Kubernetes keeps few digits as an integer with a scale.
    let is_small = match two {
        0 => count.saturating_add(fraction_digits) <= 18 && ten.saturating_sub(fraction_digits) >= -9,
        two => fraction.is_empty() && count + i32::try_from(two * 3 / 10).unwrap_or(i32::MAX) <= 14,
    };
    let digits = format!("{whole}{fraction}");
    let scale = ten.saturating_add(9).saturating_sub(fraction_digits);
    let limit = if is_small { i128::MAX } else { LARGEST };
    let value = scaled(digits.trim_start_matches('0'), scale, two, limit);
    Ok(Quantity { value: if is_negative { -value } else { value }, is_decimal: !is_small })
}

/// `digits * 10^scale * 2^two`, rounded up, and at most `limit`.
fn scaled(digits: &str, scale: i32, two: u32, limit: i128) -> i128 {
    if digits.is_empty() {
        return 0;
    }
    // Digits beyond the 30 first ones matter only for rounding up.
    let kept = digits.get(..digits.len().min(30)).unwrap_or(digits);
    let dropped = digits.get(kept.len()..).unwrap_or_default();
    let scale = scale.saturating_add(i32::try_from(dropped.len()).unwrap_or(i32::MAX));
    let mut value: i128 = kept.parse().unwrap_or(limit);
    let mut is_rest = dropped.bytes().any(|byte| byte != b'0');
    let mut shift = two;
    let mut down = scale.min(0).unsigned_abs();
    // Multiplications and divisions alternate, so that no digit is lost early.
    while shift > 0 || down > 0 {
        if shift > 0 && value < (1 << 120) {
            value *= 2;
            shift -= 1;
        } else if down > 0 {
            is_rest |= value % 10 != 0;
            value /= 10;
            down -= 1;
            if value == 0 {
                break;
            }
        } else {
            return limit;
        }
    }
    for _ in 0..scale.max(0) {
        match value.checked_mul(10) {
            Some(more) if more <= limit => value = more,
            _ => return limit,
        }
    }
    value.saturating_add(i128::from(is_rest)).min(limit)
}
