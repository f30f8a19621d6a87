//! Times as `metav1.Time` and `metav1.MicroTime` read and write them.

use fieldmanager_structural::internal::Timestamp;
use fieldmanager_value::Value;

/// The canonical form of a `Time`; `None` if the string is canonical.
///
/// # Errors
///
/// The message of Go's `time.Parse`.
pub(crate) fn canonical(text: &str) -> Result<Option<Value>, String> {
    let time: Timestamp = text.parse().map_err(|error| format!("{error}"))?;
    // A time of this length has neither a fraction nor an offset, and two digits of an hour.
    let is_canonical = text.len() == 20 && text.ends_with('Z');
    Ok(written(time, is_canonical, || time.to_string()))
}

/// The canonical form of a `MicroTime`; `None` if the string is canonical.
///
/// # Errors
///
/// The message of Go's `time.Parse`.
pub(crate) fn canonical_micro(text: &str) -> Result<Option<Value>, String> {
    let time = Timestamp::parse_micro(text).map_err(|error| format!("{error}"))?;
    // A time of this length has no offset, and two digits of an hour.
    let is_canonical = text.len() == 27 && text.ends_with('Z') && !text.contains([',', '+']);
    Ok(written(time, is_canonical, || time.to_micro_string()))
}

fn written(time: Timestamp, is_canonical: bool, write: impl FnOnce() -> String) -> Option<Value> {
    match (time.is_zero(), is_canonical) {
        (true, _) => Some(Value::Null),
        (false, true) => None,
        (false, false) => Some(Value::from(write())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        for (text, written) in [
            ("2020-01-01T00:00:00Z", None),
            ("2020-01-01T1:00:00Z", Some("2020-01-01T01:00:00Z")),
            ("2020-01-01T01:00:00.5+01:00", Some("2020-01-01T00:00:00Z")),
        ] {
            assert_eq!(canonical(text), Ok(written.map(Value::from)), "{text}");
        }
        assert_eq!(canonical("0001-01-01T00:00:00Z"), Ok(Some(Value::Null)));
        assert!(canonical("yesterday").is_err());
    }

    #[test]
    fn times_with_microseconds_need_six_digits() {
        for (text, written) in [
            ("2020-01-01T00:00:00.000000Z", None),
            (
                "2020-01-01T00:00:00,000001Z",
                Some("2020-01-01T00:00:00.000001Z"),
            ),
            (
                "2020-01-01T00:00:00.+00001Z",
                Some("2020-01-01T00:00:00.000001Z"),
            ),
            (
                "2020-01-01T01:00:00.123456+01:00",
                Some("2020-01-01T00:00:00.123456Z"),
            ),
        ] {
            assert_eq!(
                canonical_micro(text),
                Ok(written.map(Value::from)),
                "{text}"
            );
        }
        for text in [
            "2020-01-01T00:00:00Z",
            "2020-01-01T00:00:00.12345Z",
            "2020-01-01T00:00:00.1234567Z",
        ] {
            assert!(canonical_micro(text).is_err(), "{text}");
        }
    }
}
