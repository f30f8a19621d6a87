//! Sums of quantities.

use std::fmt;

use crate::quantity::{NANO, Notation, Number, Quantity, write};

impl Quantity {
    /// A whole number, written as `1k`.
    pub fn count(number: i64) -> Self {
        Quantity {
            nanos: i128::from(number) * 1_000_000_000,
            is_whole: true,
            is_sum: false,
            notation: Notation::Decimal,
        }
    }

    /// The quantity, written as `1e3`.
    #[must_use]
    pub fn with_exponent(self) -> Self {
        Quantity {
            notation: Notation::Exponent,
            ..self
        }
    }

    /// The sum with another one, written as this one is unless this one is zero.
    ///
    /// Behaviour: `Quantity.Add` of `k8s.io/apimachinery/pkg/api/resource/quantity.go`.
    ///
    /// ```
    /// use fieldmanager_structural::internal::Quantity;
    /// let sum = Quantity::parse("1Gi")?.plus(Quantity::parse("512M")?);
    /// assert_eq!(sum.to_string(), "1548576Ki");
    /// assert_eq!(Quantity::count(0).plus(Quantity::parse("2Ki")?).to_string(), "2Ki");
    /// # Ok::<(), fieldmanager_structural::internal::QuantityError>(())
    /// ```
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        // A zero takes the form of what is added to it, and adds nothing to the form of another quantity.
        let is_whole = match (self.nanos, other.nanos) {
            (_, 0) => self.is_whole,
            (0, _) => other.is_whole,
            _ => self.is_whole && other.is_whole,
        };
        Quantity {
            nanos: self.nanos.saturating_add(other.nanos),
            is_whole,
            is_sum: true,
            notation: if self.nanos == 0 {
                other.notation
            } else {
                self.notation
            },
        }
    }

    /// The quantity less another one, written as this one is unless this one is zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.plus(Quantity {
            nanos: other.nanos.saturating_neg(),
            ..other
        })
    }
}

/// The canonical form.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = Number::new(self.nanos.unsigned_abs().to_string(), NANO);
        f.write_str(&write(number, self.nanos < 0, self.notation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_go_package() {
        for (a, b, sum, difference) in [
            ("100m", "1900m", "2", "-1800m"),
            ("1Gi", "512Mi", "1536Mi", "512Mi"),
            ("0", "512Mi", "512Mi", "-512Mi"),
            ("1", "1Gi", "1073741825", "-1073741823"),
            ("1Ki", "1", "1025", "1023"),
            ("1Ki", "100m", "1024100m", "1023900m"),
            ("1e3", "1", "1001", "999"),
            ("1e3", "9e3", "10e3", "-8e3"),
            ("2", "2", "4", "0"),
            ("1G", "1Gi", "2073741824", "-73741824"),
            ("1.5", "1.5Gi", "1610612737500m", "-1610612734500m"),
            (
                "9223372036854775807",
                "1",
                "9223372036854775808",
                "9223372036854775806",
            ),
            ("9Ei", "1", "8Ei", "9223372036854775806"),
            ("1n", "1Ki", "1024000000001n", "-1023999999999n"),
            ("100", "5e2", "600", "-400"),
            ("-5", "5", "0", "-10"),
            ("7Ei", "7Ei", "14Ei", "0"),
            ("1P", "999E", "999001P", "-998999P"),
            (
                "1E",
                "1m",
                "1000000000000000000001m",
                "999999999999999999999m",
            ),
            ("0.5Gi", "1", "536870913", "536870911"),
        ] {
            let (a, b) = (Quantity::parse(a).unwrap(), Quantity::parse(b).unwrap());
            let found = (a.plus(b).to_string(), a.minus(b).to_string());
            assert_eq!(found, (sum.to_owned(), difference.to_owned()), "{a} {b}");
        }
    }
}
