//! The digits of numbers. A value does not know those that the document had.

use fieldmanager_value::Value;
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

/// The number that Go writes for an integer that it reads as a float; `None` if it is the same.
pub(crate) fn float(number: i64) -> Option<Value> {
    let float = number as f64;
    // Integers up to 2^53 are exact as floats, so Go writes them as they were.
    let exact = float.abs() < 9_007_199_254_740_992.0;
    if exact {
        return None;
    }
    let text = float.to_string();
    let written = text.parse().map_or(Value::Float(float), Value::Int);
    (written != Value::Int(number)).then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_are_no_floats_are_rounded() {
        assert_eq!(float(9_007_199_254_740_991), None);
        assert_eq!(float(9_007_199_254_740_992), None);
        assert_eq!(
            float(9_007_199_254_740_993),
            Some(Value::Int(9_007_199_254_740_992))
        );
    }
}
