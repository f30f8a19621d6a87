//! Durations as Go reads them.

/// The nanoseconds of a duration such as `1h30m` or `-1.5s`.
///
/// # Errors
///
/// The message of Go, without the name of its package.
///
/// Behaviour: `time.ParseDuration` of Go.
///
/// ```
/// use fieldmanager_structural::internal::parse_go_duration;
/// assert_eq!(parse_go_duration("1m30.5s"), Ok(90_500_000_000));
/// assert_eq!(parse_go_duration("10").unwrap_err(), r#"missing unit in duration "10""#);
/// ```
pub fn parse_go_duration(text: &str) -> Result<i64, String> {
    let invalid = || format!("invalid duration {}", quoted(text));
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }

    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
        let (unit, after) = after.split_at(after.find(is_of_number).unwrap_or(after.len()));
        if unit.is_empty() {
            return Err(format!("missing unit in duration {}", quoted(text)));
        }
        let Some(unit) = nanoseconds_of(unit) else {
            let (unit, text) = (quoted(unit), quoted(text));
            return Err(format!("unknown unit {unit} in duration {text}"));
        };

        // A sum beyond all durations is a fault of the whole text.
        let part = nanoseconds(whole, fraction, unit);
        let sum = part.and_then(|part| total.checked_add(part));
        total = sum.ok_or_else(invalid)?;
        rest = after;
    }

    i64::try_from(sign * total).map_err(|_| invalid())
}

/// A unit in nanoseconds.
fn nanoseconds_of(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// The digits at the start of a text, and what follows.
fn digits(text: &str) -> (&str, &str) {
    let is_other = |c: char| !c.is_ascii_digit();
    text.split_at(text.find(is_other).unwrap_or(text.len()))
}

/// A number of a unit; `None` beyond all durations.
fn nanoseconds(whole: &str, fraction: &str, unit: i128) -> Option<i128> {
    let number = |digits: &str| match digits {
        "" => Some(0),
        digits => digits.parse::<i128>().ok(),
    };
    // More digits than these do not reach a nanosecond.
    let fraction = fraction.get(..fraction.len().min(18))?;
    let scale = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let part = number(fraction)? * unit / scale;
    number(whole)?.checked_mul(unit)?.checked_add(part)
}

/// A text as Go quotes it in these messages: bytes that are not ASCII are escaped.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_values_and_the_messages_of_go() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("+0", 0),
            ("1.s", 1_000_000_000),
            (".5s", 500_000_000),
            ("1.00000000000000000000001s", 1_000_000_000),
            ("-9223372036854775808ns", i64::MIN),
        ] {
            assert_eq!(parse_go_duration(text), Ok(nanoseconds), "{text}");
        }
        for (text, message) in [
            ("invalid", r#"invalid duration "invalid""#),
            ("-", r#"invalid duration "-""#),
            (".s", r#"invalid duration ".s""#),
            ("\"x", r#"invalid duration "\"x""#),
            ("9999999h", r#"invalid duration "9999999h""#),
            (
                "9223372036854775808ns",
                r#"invalid duration "9223372036854775808ns""#,
            ),
            ("10", r#"missing unit in duration "10""#),
            ("1.2.3s", r#"missing unit in duration "1.2.3s""#),
            ("1d", r#"unknown unit "d" in duration "1d""#),
            ("1h-5m", r#"unknown unit "h-" in duration "1h-5m""#),
            ("1é", r#"unknown unit "\xc3\xa9" in duration "1\xc3\xa9""#),
        ] {
            assert_eq!(parse_go_duration(text), Err(message.to_owned()));
        }
    }
}
