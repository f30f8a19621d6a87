//! The digits of numbers. A value does not know those that the document had.

use fieldmanager_value::internal::write_number;

/// The likeliest digits of a float in a document: all digits of a whole number, and the fewest of another.
pub(crate) fn digits(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e21 {
        return format!("{number:.0}");
    }
    let mut text = String::new();
    write_number(&mut text, number);
    text
}

/// The digits that Go writes: the fewest that identify the number.
pub(crate) fn fewest_digits(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e21 {
        return number.to_string();
    }
    digits(number)
}
