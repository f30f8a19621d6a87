//! Formatting of numbers like Go's JSON encoders.

use std::fmt::Write;

/// 2^53: from here on every float is a whole number, and not every integer is a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// 2^63, the smallest float that exceeds every `i64`.
const I64_END: f64 = 9_223_372_036_854_775_808.0;

/// Appends a float as JSON like Go's `encoding/json`: with the fewest digits that parse back to the same number, and in
/// scientific notation only below 1e-6 and from 1e21 on. `1.0` is written as `1`.
///
/// A number that is not finite is written as `null`.
///
/// ```
/// let mut text = String::new();
/// fieldmanager_value::internal::write_number(&mut text, 1e21);
/// assert_eq!(text, "1e+21");
/// ```
pub fn write_number(out: &mut String, number: f64) {
    if !number.is_finite() {
        out.push_str("null");
        return;
    }
    let size = number.abs();

    // The shortest digits of a large whole number may parse as another integer, so write all digits.
    if (EXACT..I64_END).contains(&size) {
        let _ = write!(out, "{}", number as i64);
        return;
    }

    // Writing to a string cannot fail.
    let _ = if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{number:e}");
        match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => {
                write!(out, "{digits}e+{exponent}")
            }
            _ => write!(out, "{text}"),
        }
    } else {
        write!(out, "{number}")
    };
}

/// Appends an integer in decimal.
pub(crate) fn write_integer(out: &mut String, number: i64) {
    out.push_str(itoa::Buffer::new().format(number));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_formatted_like_go() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (1.5, "1.5"),
            (-2.25, "-2.25"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.25e-9, "1.25e-9"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (38_931_507_716_292_608.0, "38931507716292608"),
            (-9_223_372_036_854_774_784.0, "-9223372036854774784"),
            (f64::MAX, "1.7976931348623157e+308"),
        ] {
            let mut out = String::new();
            write_number(&mut out, number);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn integers_are_formatted_with_all_digits() {
        let sizes = (0..64)
            .map(|bits| 1_i64 << bits)
            .chain((0..19).map(|n| 10_i64.pow(n)));
        for near in sizes.flat_map(|size| [size.wrapping_sub(1), size, size.wrapping_add(1)]) {
            for number in [near, near.wrapping_neg()] {
                let mut out = String::from("n");
                write_integer(&mut out, number);
                assert_eq!(out, format!("n{number}"));
            }
        }
    }
}
