//! The parameter `timeout`: how long the client waits.

use std::time::Duration;

use fieldmanager_structural::internal::parse_go_duration;

/// The time of a request that ends by itself; `None` if its client waits as long as the server does.
///
/// # Errors
///
/// A text if the parameter is not a duration of Go, such as `1m30s`.
///
/// Behaviour: `parseTimeout` of `k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go`.
pub(crate) fn timeout(text: &str) -> Result<Option<Duration>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let nanoseconds = parse_go_duration(text)
        .map_err(|fault| format!("invalid timeout specified in the request URL - time: {fault}"))?;
    // A client that waits no time, or a negative one, does not say how long it waits.
    let time = u64::try_from(nanoseconds).ok().map(Duration::from_nanos);
    Ok(time.filter(|time| !time.is_zero()))
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
            ("1.2.3s", r#"missing unit in duration "1.2.3s""#),
            ("9999999h", r#"invalid duration "9999999h""#),
        ] {
            assert_eq!(fault(text), format!("{start}{words}"));
        }
    }
}
