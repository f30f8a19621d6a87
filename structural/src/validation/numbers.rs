//! Bounds of numbers. The API server keeps bounds as floats, and converts them to integers to compare them with one.

use fieldmanager_value::Value;

use super::compile::Node;
use super::faults::{Outcome, Place, shown};

/// The largest integer that a float represents together with all smaller ones.
const LARGEST: f64 = 9_007_199_254_740_991.0;

/// Whether a float counts as an integer.
///
/// Behaviour: `IsFloat64AJSONInteger` of `github.com/go-openapi/swag`.
pub(super) fn is_integer(number: f64) -> bool {
    if !(-LARGEST..=LARGEST).contains(&number) {
        return false;
    }
    // The quotient of two decimal fractions is rarely exact, so a small relative error is accepted.
    let rounded = number.round();
    number == rounded || (rounded != 0.0 && (number - rounded).abs() < 1e-9 * rounded.abs())
}

#[expect(clippy::cast_precision_loss, reason = "as in the API server")]
fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// Whether a number fits a type and a format.
fn fits(value: &Value, type_name: &str, format: &str) -> bool {
    match (type_name, format) {
        ("integer", format) => {
            let whole = match value {
                Value::Int(number) => Some(*number),
                // 2^63 is the first float that is too large.
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the number is in range and has no fraction"
                )]
                Value::Float(number)
                    if number.fract() == 0.0
                        && (-(2f64.powi(63))..2f64.powi(63)).contains(number) =>
                {
                    Some(*number as i64)
                }
                _ => None,
            };

            whole.is_some_and(|whole| format != "int32" || i32::try_from(whole).is_ok())
        }
        #[expect(clippy::cast_possible_truncation, reason = "an overflow is infinite")]
        ("number", "float") => float(value).is_some_and(|number| (number as f32).is_finite()),
        _ => true,
    }
}

/// Checks a number.
pub(super) fn check(node: &Node, value: &Value, place: &Place<'_>, out: &mut Outcome) {
    let Some(number) = float(value) else { return };
    // With several types, the range of the number is unknown, so it is not checked.
    let (mut type_name, mut format) = ("", "");
    if node.types.count == 1 {
        let known = node.format.as_ref().map_or("", |(name, _)| name.as_str());
        for (name, formats) in [
            ("integer", ["int32", "int64"]),
            ("number", ["float", "double"]),
        ] {
            if node.types.contains(name) {
                type_name = name;
                format = formats
                    .into_iter()
                    .find(|format| *format == known)
                    .unwrap_or_default();
            }
        }
    }

    if !fits(value, type_name, format) {
        out.push(|| place.out_of_range("Checked", type_name, format));
    }

    // A bound that does not fit is reported, and is compared as a float.
    let mut whole_bound = |limit: f64, what: &str| {
        let fits = fits(&Value::Float(limit), type_name, format);
        if !fits {
            out.push(|| place.out_of_range(what, type_name, format));
        }
        #[expect(clippy::cast_possible_truncation, reason = "as in the API server")]
        match value {
            Value::Int(number) if fits => Some((*number, limit as i64)),
            _ => None,
        }
    };
    let factor = node
        .multiple_of
        .map(|factor| (factor, whole_bound(factor, "MultipleOf")));

    let minimum = node
        .minimum
        .map(|limit| (limit, whole_bound(limit, "Minimum boundary")));
    let maximum = node
        .maximum
        .map(|limit| (limit, whole_bound(limit, "Maximum boundary")));

    match factor {
        None => {}
        Some((_, Some((_, ..=0)))) => {
            out.push(|| place.not_positive(factor.map_or(0.0, |(f, _)| f.trunc())))
        }
        Some((_, Some((whole, factor)))) if whole % factor == 0 => {}
        Some((_, Some((_, factor)))) => {
            out.push(|| place.bound(value, "a multiple of", &factor.to_string()))
        }
        Some((factor, None)) if factor <= 0.0 => out.push(|| place.not_positive(factor)),
        Some((factor, None)) => {
            // The API server multiplies with the inverse of a small factor, which rounds differently from the quotient.
            let times = if factor < 1.0 {
                1.0 / factor * number
            } else {
                number / factor
            };
            if !is_integer(times) {
                out.push(|| place.bound(&Value::Float(number), "a multiple of", &shown(factor)));
            }
        }
    }

    // Integers are compared as such if both sides fit, since floats would equate large ones.
    let mut bound =
        |limit: Option<(f64, Option<(i64, i64)>)>, exclusive: bool, is_maximum: bool| {
            let Some((limit, whole)) = limit else { return };
            let (order, text) = match whole {
                Some((number, limit)) => (Some(number.cmp(&limit)), limit.to_string()),
                None => (number.partial_cmp(&limit), shown(limit)),
            };
            let order = order.map(|order| if is_maximum { order } else { order.reverse() });
            if order.is_none_or(|order| order.is_lt() || (order.is_eq() && !exclusive)) {
                return;
            }

            let says = match (is_maximum, exclusive) {
                (true, false) => "less than or equal to",
                (true, true) => "less than",
                (false, false) => "greater than or equal to",
                (false, true) => "greater than",
            };
            out.push(|| place.bound(value, says, &text));
        };
    bound(minimum, node.exclusive_minimum, false);
    bound(maximum, node.exclusive_maximum, true);
    out.matches += 1;
}
