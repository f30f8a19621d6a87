//! Sums of quantities.

use std::fmt;

use crate::quantity::{NANO, Notation, Number, Quantity, write};

impl Quantity {
    /// A whole number.
    pub fn count(number: i64) -> Self {
        Quantity {
            nanos: i128::from(number) * 1_000_000_000,
            is_decimal: false,
            notation: Notation::Decimal,
        }
    }

    /// The sum with another one, written as this one is unless this one is zero.
    ///
    /// Behaviour: `Quantity.Add` of `k8s.io/apimachinery/pkg/api/resource/quantity.go`.
    ///
    /// ```
    /// use fieldmanager_structural::internal::Quantity;
    /// let sum = Quantity::parse("1Gi")?.plus(Quantity::parse("512M")?);
    /// assert_eq!(sum.to_string(), "1585741824");
    /// assert_eq!(Quantity::count(0).plus(Quantity::parse("2Ki")?).to_string(), "2Ki");
    /// # Ok::<(), fieldmanager_structural::internal::QuantityError>(())
    /// ```
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Quantity {
            nanos: self.nanos.saturating_add(other.nanos),
            is_decimal: self.is_decimal || other.is_decimal,
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
    fn sums_are_canonical() {
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
        ] {
            let (a, b) = (Quantity::parse(a).unwrap(), Quantity::parse(b).unwrap());
            let found = (a.plus(b).to_string(), a.minus(b).to_string());
            assert_eq!(found, (sum.to_owned(), difference.to_owned()), "{a} {b}");
        }
    }
}
