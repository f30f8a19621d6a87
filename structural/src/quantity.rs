//! Quantities.
//!
//! Behaviour: `ParseQuantity` and `MarshalJSON` of `Quantity` of `k8s.io/apimachinery/pkg/api/resource`.

use std::borrow::Cow;

/// An error for a string that is not a quantity. The messages are those of Go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The form is not that of a quantity.
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// The number has no digits.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

use QuantityError::{Format as WrongFormat, Numeric, Suffix};

/// The largest number of billionths that is whole.
const LARGEST: i128 = i128::MAX - i128::MAX % 1_000_000_000;

/// A quantity as a number.
///
/// ```
/// use fieldmanager_structural::internal::Quantity;
/// assert_eq!(Quantity::parse("1.5k").unwrap().nanos, 1_500_000_000_000);
/// assert_eq!(Quantity::parse("1K").unwrap_err().to_string(), "unable to parse quantity's suffix");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// The value in billionths. Smaller parts are rounded away from zero; larger values are cut at the largest whole number.
    pub nanos: i128,
    /// Whether Go converts it to an integer, if it is small enough: it keeps few digits, and none behind a point. `1000m` is
    /// no such quantity.
    pub is_whole: bool,
    /// Whether it was computed. As in Go, nothing is compared with such a quantity.
    pub is_sum: bool,
    /// How it is written.
    pub(crate) notation: Notation,
}

impl Quantity {
    /// The number of a quantity, such as `1.5Gi` or `100m`.
    ///
    /// # Errors
    ///
    /// [`QuantityError`] if the string is not a quantity.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let parsed = Parsed::new(text)?;
        let nanos = match parsed.small() {
            Some((value, exponent)) => in_nanos(value.into(), exponent),
            None => parsed.number().nanos(),
        };
        let nanos = nanos.unwrap_or(LARGEST);
        let nanos = if parsed.parts.negative { -nanos } else { nanos };

        Ok(Quantity {
            nanos,
            is_whole: parsed.is_small && parsed.scale >= 0,
            is_sum: false,
            notation: parsed.notation,
        })
    }
}

/// A number times a power of ten, in billionths; `None` if it is too large.
fn in_nanos(number: i128, exponent: i32) -> Option<i128> {
    if number == 0 {
        return Some(0);
    }
    let exponent = u32::try_from(exponent.checked_sub(NANO)?).ok()?;
    number.checked_mul(10_i128.checked_pow(exponent)?)
}

/// How a quantity writes its exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// `1e3`.
    Exponent,
    /// `1k`.
    Decimal,
    /// `1Ki`.
    Binary,
}

/// The most digits after the point. More are rounded up.
pub(crate) const NANO: i32 = -9;

/// The most decimal digits for which Go computes with 64-bit integers.
const MAX_DIGITS: i32 = 18;

/// The parts of a quantity.
struct Parts<'a> {
    negative: bool,
    /// The sign, the digits and the point.
    value: &'a str,
    /// The digits before the point, without leading zeros unless there are no others.
    whole: &'a str,
    /// The digits after the point.
    fraction: &'a str,
    suffix: &'a str,
}

fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let negative = text.starts_with('-');
    let stripped = unsigned.trim_start_matches('0');
    if stripped.is_empty() {
        return Ok(Parts {
            negative,
            value: "0",
            whole: "0",
            fraction: "",
            suffix: "",
        });
    }

    let (whole, rest) = split_while(stripped, |byte| byte.is_ascii_digit());
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => split_while(rest, |byte| byte.is_ascii_digit()),
        None => ("", rest),
    };
    let value = text.strip_suffix(rest).unwrap_or(text);
    let (_, exponent) = split_while(rest, |byte| b"eEinumkKMGTP".contains(&byte));
    let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(WrongFormat);
    }

    Ok(Parts {
        negative,
        value,
        whole: if whole.is_empty() { "0" } else { whole },
        fraction,
        suffix: rest,
    })
}

fn split_while(text: &str, matches: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|byte| !matches(byte))
        .unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The exponent of a suffix, to the base 2 for [`Notation::Binary`] and 10 otherwise.
fn exponent(suffix: &str) -> Option<(i32, Notation)> {
    let decimal = |exponent| Some((exponent, Notation::Decimal));
    let binary = |exponent| Some((exponent, Notation::Binary));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let digits = suffix.strip_prefix(['e', 'E'])?;
            let exponent: i64 = digits.parse().ok()?;
            // Go drops the upper bits.
            Some((exponent as i32, Notation::Exponent))
        }
    }
}

/// A quantity and the meaning of its parts.
struct Parsed<'a> {
    parts: Parts<'a>,
    notation: Notation,
    /// The exponent of the suffix.
    exponent: i32,
    /// The power of ten of the last digit.
    scale: i32,
    /// Whether Go computes with 64-bit integers.
    is_small: bool,
}

impl<'a> Parsed<'a> {
    fn new(text: &'a str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(WrongFormat);
        }
        let parts = split(text)?;
        let (exponent, notation) = exponent(parts.suffix).ok_or(Suffix)?;
        let length = |text: &str| i32::try_from(text.len()).unwrap_or(i32::MAX / 2);
        let (whole, fraction) = (length(parts.whole), length(parts.fraction));
        // The precision decides between the two representations of Go, which keep or rewrite the text differently.
        let (scale, precision) = match notation {
            Notation::Binary if fraction > 0 => (0, -1),
            Notation::Binary => (0, 15 - whole - exponent * 3 / 10 - 1),
            _ => (exponent, MAX_DIGITS - whole - fraction),
        };

        let scale = scale.wrapping_sub(fraction);
        let is_small = precision >= 0 && scale >= NANO;
        if !is_small && !parts.value.bytes().any(|byte| byte.is_ascii_digit()) {
            return Err(Numeric);
        }
        Ok(Parsed {
            parts,
            notation,
            exponent,
            scale,
            is_small,
        })
    }

    fn digits(&self) -> impl DoubleEndedIterator<Item = u8> {
        self.parts.whole.bytes().chain(self.parts.fraction.bytes())
    }

    /// The digits of a small number, which are at most 18, as an integer.
    fn mantissa(&self) -> i64 {
        self.digits().fold(0, |value, digit| {
            value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'))
        })
    }

    /// A small number without its sign, as an integer and a power of ten.
    fn small(&self) -> Option<(i64, i32)> {
        let factor = if self.notation == Notation::Binary {
            self.exponent
        } else {
            0
        };
        self.is_small
            .then(|| (self.mantissa() << factor, self.scale))
    }

    /// The number without its sign, rounded away from zero to billionths.
    fn number(&self) -> Number {
        match self.notation {
            Notation::Binary => binary(&self.parts, self.exponent),
            _ => {
                let digits = format!("{}{}", self.parts.whole, self.parts.fraction);
                Number::new(digits, self.scale).rounded_up(NANO)
            }
        }
    }

    /// Whether Go writes the string that it read.
    fn keeps_text(&self) -> bool {
        self.is_small
            && match self.notation {
                Notation::Binary => self.mantissa() & 7 != 0,
                _ => {
                    let ends_with_zeros = self.digits().rev().take(3).eq(*b"000");
                    self.scale % 3 == 0 && !ends_with_zeros && self.digits().next() != Some(b'0')
                }
            }
    }
}

/// The canonical form of a string that is a quantity.
///
/// # Errors
///
/// [`QuantityError`] if the string is not a quantity.
///
/// ```
/// use fieldmanager_structural::internal::canonical_quantity;
/// assert_eq!(canonical_quantity("0.5").unwrap(), "500m");
/// ```
pub fn canonical_quantity(text: &str) -> Result<Cow<'_, str>, QuantityError> {
    let parsed = Parsed::new(text)?;
    Ok(if text == "0" || parsed.keeps_text() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(write(
            parsed.number(),
            parsed.parts.negative,
            parsed.notation,
        ))
    })
}

/// A decimal number that is not negative: its digits, and the power of ten of the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    /// Without leading zeros and without trailing zeros; empty for zero.
    digits: String,
    exponent: i32,
}

impl Number {
    pub(crate) fn new(mut digits: String, exponent: i32) -> Self {
        let kept = digits.trim_end_matches('0').len();
        let zeros = i32::try_from(digits.len() - kept).unwrap_or(i32::MAX);
        digits.truncate(kept);
        let leading = digits.len() - digits.trim_start_matches('0').len();
        digits.drain(..leading);
        let exponent = if digits.is_empty() {
            0
        } else {
            exponent.wrapping_add(zeros)
        };

        Number { digits, exponent }
    }

    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// The number in billionths, to which it is rounded; `None` if it is too large.
    fn nanos(&self) -> Option<i128> {
        if self.is_zero() {
            Some(0)
        } else {
            in_nanos(self.digits.parse().ok()?, self.exponent)
        }
    }

    /// The number rounded away from zero to a multiple of a power of ten.
    fn rounded_up(self, exponent: i32) -> Self {
        if self.is_zero() || self.exponent >= exponent {
            return self;
        }
        let dropped =
            usize::try_from(i64::from(exponent) - i64::from(self.exponent)).unwrap_or(usize::MAX);
        let kept = self.digits.len().saturating_sub(dropped);

        // The dropped digits are not all zero, since trailing zeros were removed.
        let mut digits: Vec<u8> = self.digits.bytes().take(kept).collect();
        let nines = digits
            .iter()
            .rev()
            .take_while(|digit| **digit == b'9')
            .count();
        // Rounding up carries over the nines at the end to the digit before them.
        let (head, tail) = digits.split_at_mut(kept - nines);
        tail.fill(b'0');
        match head.last_mut() {
            Some(digit) => *digit += 1,
            None => digits.insert(0, b'1'),
        }

        Number::new(digits.into_iter().map(char::from).collect(), exponent)
    }

    /// The number as an integer; `None` if it has a fraction or exceeds 64 bits.
    fn to_integer(&self) -> Option<u64> {
        if self.is_zero() {
            return Some(0);
        }
        let zeros = u32::try_from(self.exponent).ok()?;
        self.digits
            .parse::<u64>()
            .ok()?
            .checked_mul(10_u64.checked_pow(zeros)?)
    }

    /// Whether the number is greater than an integer.
    fn exceeds(&self, limit: u64) -> bool {
        let limit = limit.to_string();
        let length = self.digits.len() as i64 + i64::from(self.exponent);
        match length.cmp(&(limit.len() as i64)) {
            std::cmp::Ordering::Equal if !self.is_zero() => {
                let whole: String = self.digits.chars().take(limit.len()).collect();
                let padded = format!("{whole:0<width$}", width = limit.len());
                padded > limit || (padded == limit && self.digits.len() > limit.len())
            }
            order => order.is_gt(),
        }
    }
}

/// The number of a quantity with a binary suffix, rounded up to nano and not above the largest 64-bit integer.
fn binary(parts: &Parts<'_>, exponent: i32) -> Number {
    let factor = 1_u128 << exponent.clamp(0, 60);
    let mut carry = 0_u128;
    let mut digits: Vec<u8> = Vec::with_capacity(parts.whole.len() + parts.fraction.len() + 20);
    for digit in parts.whole.bytes().chain(parts.fraction.bytes()).rev() {
        carry += factor * u128::from(digit - b'0');
        digits.push(b'0' + (carry % 10) as u8);
        carry /= 10;
    }

    // The multiplication is in decimal digits, since the number may have any length.
    while carry > 0 {
        digits.push(b'0' + (carry % 10) as u8);
        carry /= 10;
    }
    let digits = digits.into_iter().rev().map(char::from).collect();
    let scale = i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX);
    let number = Number::new(digits, -scale).rounded_up(NANO);

    if number.exceeds(i64::MAX as u64) {
        Number::new(i64::MAX.to_string(), 0)
    } else {
        number
    }
}

pub(crate) fn write(number: Number, negative: bool, notation: Notation) -> String {
    if number.is_zero() {
        return "0".to_owned();
    }
    let sign = if negative { "-" } else { "" };
    let integer = number.to_integer();

    if let (Notation::Binary, Some(integer)) = (notation, integer)
        && integer >= 1024
    {
        let thousands = (integer.trailing_zeros() / 10).min(6);
        let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
            .get(thousands as usize)
            .unwrap_or(&"");
        return format!("{sign}{}{suffix}", integer >> (10 * thousands));
    }

    // The exponent is a multiple of three, so up to two zeros are written.
    let excess = number.exponent.rem_euclid(3);
    let exponent = i64::from(number.exponent) - i64::from(excess);
    let zeros = "00".get(..excess as usize).unwrap_or_default();
    let suffix = match (notation, exponent) {
        (_, 0) => String::new(),
        (Notation::Exponent, _) => format!("e{exponent}"),
        (_, -9) => "n".to_owned(),
        (_, -6) => "u".to_owned(),
        (_, -3) => "m".to_owned(),
        (_, 3) => "k".to_owned(),
        (_, 6) => "M".to_owned(),
        (_, 9) => "G".to_owned(),
        (_, 12) => "T".to_owned(),
        (_, 15) => "P".to_owned(),
        (_, 18) => "E".to_owned(),
        // Go writes no suffix for an exponent that has none.
        _ => String::new(),
    };

    format!("{sign}{}{zeros}{suffix}", number.digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_as_by_the_go_package() {
        for (text, expected) in [
            ("0", "0"),
            ("1", "1"),
            ("100m", "100m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            ("1.5", "1500m"),
            ("1.50", "1500m"),
            ("1.500", "1.500"),
            ("1Ki", "1Ki"),
            ("1024Ki", "1Mi"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("1000Ki", "1000Ki"),
            ("8Mi", "8Mi"),
            ("1k", "1k"),
            ("1000", "1k"),
            ("1000000", "1M"),
            ("100000k", "100M"),
            ("1e3", "1e3"),
            ("1e4", "10e3"),
            ("12e6", "12e6"),
            ("1E6", "1E6"),
            ("1E", "1E"),
            ("1000E", "1"),
            ("1e30", "1e30"),
            ("+5", "+5"),
            ("-5", "-5"),
            ("05", "05"),
            ("00", "0"),
            ("-0", "0"),
            ("5.", "5."),
            (".5", "500m"),
            ("1n", "1n"),
            ("0.1n", "1n"),
            ("0.0000000001", "1n"),
            ("1e-10", "1e-9"),
            ("9.9999999999", "10"),
            (
                "123456789012345678901234567890",
                "123456789012345678901234567890",
            ),
            ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808Ki", "9223372036854775807"),
            ("16Ei", "9223372036854775807"),
            ("7Ei", "7Ei"),
            ("-1.5Gi", "-1536Mi"),
            ("1.1Ki", "1126400m"),
            ("0.001Ki", "1024m"),
            ("1023Ki", "1023Ki"),
            ("1100", "1100"),
            ("e3", "0"),
            (".", "0"),
            ("12345678901234567890m", "12345678901234567890m"),
            ("999999999999999999999n", "999999999999999999999n"),
            ("1u", "1u"),
            ("1100u", "1100u"),
        ] {
            assert_eq!(canonical_quantity(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn strings_that_are_no_quantities_are_refused_with_the_errors_of_go() {
        for (text, error) in [
            ("null", WrongFormat),
            ("x", WrongFormat),
            ("", WrongFormat),
            ("1Kii", Suffix),
            ("1K", Suffix),
            ("1e", Suffix),
            ("--1", Suffix),
            ("1.2.3", WrongFormat),
            ("1m5", Suffix),
        ] {
            assert_eq!(canonical_quantity(text), Err(error), "{text}");
            assert!(Quantity::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn canonical_strings_are_kept() {
        for text in ["0", "1", "100m", "1500m", "1Gi", "1e3", "1.500", "+5"] {
            assert!(
                matches!(canonical_quantity(text), Ok(Cow::Borrowed(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn numbers_of_any_length_and_exponent_are_read() {
        let long = "9".repeat(100_000);
        for suffix in [
            "",
            "Ki",
            "Ei",
            "m",
            "e5",
            "e-5",
            "e2147483647",
            "e-2147483648",
            "e9223372036854775807",
        ] {
            for text in [
                format!("{long}{suffix}"),
                format!("0.{long}{suffix}"),
                format!("1{suffix}"),
            ] {
                assert!(
                    canonical_quantity(&text).is_ok() && Quantity::parse(&text).is_ok(),
                    "{suffix}"
                );
            }
        }
    }

    #[test]
    fn numbers_are_in_billionths() {
        for (text, nanos, is_whole) in [
            ("1n", 1, false),
            ("-0.1n", -1, false),
            ("1.5Ki", 1_536_000_000_000, false),
            ("2Ki", 2_048_000_000_000, true),
            ("2.0", 2_000_000_000, false),
            ("1e20", 100_000_000_000_000_000_000_000_000_000, true),
            ("1e99", LARGEST, true),
            ("16Ei", i128::from(i64::MAX) * 1_000_000_000, false),
            (
                "100000000000000000000",
                100_000_000_000_000_000_000_000_000_000,
                false,
            ),
        ] {
            let found = Quantity::parse(text).unwrap();
            assert_eq!((found.nanos, found.is_whole), (nanos, is_whole), "{text}");
        }
    }
}
