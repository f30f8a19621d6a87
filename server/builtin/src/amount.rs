//! Computing with quantities.

use std::borrow::Cow;

use fieldmanager_structural::internal::{Quantity, canonical_quantity};

/// The number of a quantity in billionths, the smallest unit of quantities.
///
/// The largest quantity is about 10^28 billionths; sums of more are cut at the largest number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Amount(i128);

impl Amount {
    /// The number of a quantity; `None` if the string is none.
    pub(crate) fn parse(text: &str) -> Option<Amount> {
        Quantity::parse(text)
            .ok()
            .map(|quantity| Amount(quantity.nanos))
    }

    pub(crate) fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether the number is whole.
    pub(crate) fn is_whole(self) -> bool {
        self.0 % 1_000_000_000 == 0
    }

    pub(crate) fn of_whole(number: i64) -> Amount {
        Amount(i128::from(number) * 1_000_000_000)
    }

    /// The number, rounded away from zero to a whole one.
    pub(crate) fn whole(self) -> i64 {
        self.in_units(1_000_000_000)
    }

    /// The number of thousandths, rounded likewise.
    pub(crate) fn thousandths(self) -> i64 {
        self.in_units(1_000_000)
    }

    fn in_units(self, unit: i128) -> i64 {
        let part = self.0 % unit;
        let number = self.0 / unit + part.signum();
        i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
    }

    /// The sum, cut at the largest number.
    pub(crate) fn plus(self, other: Amount) -> Amount {
        Amount(self.0.saturating_add(other.0))
    }

    /// The canonical quantity with the notation of another one.
    pub(crate) fn write_like(self, model: &str) -> String {
        let Amount(number) = self;
        let is_binary = model.ends_with('i');
        let is_exponent = model.contains(['e', 'E']) && !model.ends_with('E');
        // A binary suffix cannot express a part of a unit, so such a number is written in decimal notation.
        let text = if is_binary && self.is_whole() {
            let mut number = number / 1_000_000_000;
            let mut steps = 0;
            while number != 0 && number % 1024 == 0 && steps < 6 {
                number /= 1024;
                steps += 1;
            }
            let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
                .get(steps)
                .copied()
                .unwrap_or_default();

            format!("{number}{suffix}")
        } else if is_exponent {
            format!("{number}e-9")
        } else {
            format!("{number}n")
        };

        // The text is in billionths; the canonical form finds the largest suffix.
        canonical_quantity(&text).map_or_else(|_| text.clone(), Cow::into_owned)
    }
}

/// A canonical quantity rounded away from zero to thousandths; `None` if it has no smaller part.
pub(crate) fn rounded_to_milli(text: &str) -> Option<String> {
    const MILLI: i128 = 1_000_000;
    let Amount(number) = Amount::parse(text)?;
    if number % MILLI == 0 {
        return None;
    }

    // Division truncates towards zero, so one step in the direction of the sign rounds away from it.
    let rounded = (number / MILLI)
        .saturating_add(number.signum())
        .saturating_mul(MILLI);
    Some(Amount(rounded).write_like(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_rounded_away_from_zero_to_thousandths() {
        for (text, rounded) in [
            ("1n", "1m"),
            ("1001u", "2m"),
            ("-1001u", "-2m"),
            ("999999u", "1"),
            ("1e-6", "1e-3"),
        ] {
            assert_eq!(rounded_to_milli(text).as_deref(), Some(rounded), "{text}");
        }
        for text in [
            "1m",
            "1",
            "1Ki",
            "0",
            "x",
            "",
            "1e99",
            "9223372036854775807",
        ] {
            assert_eq!(rounded_to_milli(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_compared() {
        assert_eq!(Amount::parse("1Ki"), Amount::parse("1024"));
        assert!(Amount::parse("1k") < Amount::parse("1Ki"));
        assert!(!Amount::parse("100m").unwrap().is_whole());
    }
}
