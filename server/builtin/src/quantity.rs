//! The canonical form of values that are quantities.

use std::borrow::Cow;

use fieldmanager_structural::internal::{QuantityError, canonical_quantity};
use fieldmanager_value::Value;

use crate::number::digits;

/// The canonical form of a value that is a quantity; `None` if the value is canonical.
///
/// # Errors
///
/// [`QuantityError`] if the value is not a quantity.
pub(crate) fn canonical(value: &Value) -> Result<Option<String>, QuantityError> {
    match value {
        Value::Null => Ok(Some("0".to_owned())),
        Value::String(text) => {
            // JSON writes control characters as escapes, which Go does not resolve here.
            let trimmed = text.trim_matches(|c: char| c.is_whitespace() && !c.is_ascii_control());
            Ok(match canonical_quantity(trimmed)? {
                Cow::Borrowed(written) => (written.len() < text.len()).then(|| written.to_owned()),
                Cow::Owned(written) => (written.as_str() != &**text).then_some(written),
            })
        }
        Value::Int(number) => Ok(Some(canonical_quantity(&number.to_string())?.into_owned())),
        Value::Float(number) => Ok(Some(canonical_quantity(&digits(*number))?.into_owned())),
        Value::Bool(_) | Value::List(_) | Value::Map(_) => Err(QuantityError::Format),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_strings_are_kept() {
        for text in ["0", "1", "100m", "1500m", "1Gi", "1e3", "1.500", "+5"] {
            assert_eq!(canonical(&Value::from(text)), Ok(None), "{text}");
        }
        assert_eq!(canonical(&Value::from("1 ")), Ok(Some("1".to_owned())));
    }

    #[test]
    fn other_values_are_refused() {
        for value in [
            Value::Bool(true),
            Value::from(vec![1_i64]),
            Value::Map(fieldmanager_value::Map::new()),
        ] {
            assert_eq!(canonical(&value), Err(QuantityError::Format));
        }
    }

    #[test]
    fn numbers_and_null_become_strings() {
        for (value, text) in [
            (Value::Null, "0"),
            (Value::Int(1000), "1k"),
            (Value::Float(0.5), "500m"),
            (Value::Float(-2.25), "-2250m"),
            (Value::Float(1e-7), "100e-9"),
        ] {
            assert_eq!(canonical(&value), Ok(Some(text.to_owned())));
        }
    }
}
