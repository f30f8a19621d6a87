//! The digits of numbers. A value does not know those that the document had.

use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;
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

/// An integer as a function of Go's `strconv`, `ParseInt` or `Atoi`, reads it, with its messages.
pub(crate) fn integer(function: &str, text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // Rust accepts and refuses the same integers as Go, and gives other reasons.
    text.parse().map_err(|_| {
        let reason = if is_number {
            "value out of range"
        } else {
            "invalid syntax"
        };
        format!("strconv.{function}: parsing {}: {reason}", quote(text))
    })
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
