//! The parameter `timeout`: how long the client waits.

use std::time::Duration;

/// The time of a request that ends by itself; `None` if its client waits as long as the server does.
///
/// # Errors
///
/// A text if the parameter is not a duration of Go, such as `1m30s`.
///
/// Behaviour: `parseTimeout` of `k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go`, `time.ParseDuration`.
pub(crate) fn timeout(text: &str) -> Result<Option<Duration>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let seconds = seconds(text)
        .map_err(|fault| format!("invalid timeout specified in the request URL - time: {fault}"))?;
    // A client that waits no time, or a negative one, does not say how long it waits.
    let time = Duration::try_from_secs_f64(seconds).ok();
    Ok(time.filter(|time| !time.is_zero()))
}

fn seconds(text: &str) -> Result<f64, String> {
    let invalid = || format!("invalid duration {text:?}");
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0.0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }

    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut total = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_of_number(c)).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let (unit, after) = after.split_at(after.find(is_of_number).unwrap_or(after.len()));
        let factor = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "" => return Err(format!("missing unit in duration {text:?}")),
            _ => return Err(format!("unknown unit {unit:?} in duration {text:?}")),
        };
        total += number * factor;
        rest = after;
    }

    // Go counts nanoseconds in 64 bits.
    const LONGEST: f64 = 9_223_372_036.854_775;
    if total > LONGEST {
        return Err(invalid());
    }
    Ok(sign * total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        let time = |text| timeout(text).unwrap();
        assert_eq!(time("1m30.5s"), Some(Duration::from_millis(90_500)));
        assert_eq!(time("10ms"), Some(Duration::from_millis(10)));
        for text in ["", "0", "0s", "-5s", "+0h"] {
            assert_eq!(time(text), None, "{text}");
        }

        let fault = |text| timeout(text).unwrap_err();
        let start = "invalid timeout specified in the request URL - time: ";
        for (text, words) in [
            ("invalid", r#"invalid duration "invalid""#),
            ("-", r#"invalid duration "-""#),
            ("10", r#"missing unit in duration "10""#),
            ("1d", r#"unknown unit "d" in duration "1d""#),
            ("1.2.3s", r#"invalid duration "1.2.3s""#),
            ("9999999h", r#"invalid duration "9999999h""#),
        ] {
            assert_eq!(fault(text), format!("{start}{words}"));
        }
    }
}
