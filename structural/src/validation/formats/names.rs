//! Host names, dates and times.

use std::sync::LazyLock;

use jiff::civil;
use regex::Regex;

/// A name of one label with at most one dash, behind its first character; or labels with dashes inside, and a last label
/// of letters. Symbols and letters of all scripts are characters of labels.
static HOST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let part = r"0-9\p{S}\p{L}";
    let one = format!(r"[{part}]-?[{part}]*");
    let several = format!(r"(?:[{part}](?:[{part}-]*[{part}])?\.)+\p{{L}}{{2,}}");
    Regex::new(&format!("^(?:{one}|{several})$")).ok()
});

/// Whether a text is a host name of at most 255 bytes, with labels of at most 63.
///
/// Behaviour: `IsHostname` of `k8s.io/kube-openapi/pkg/validation/strfmt`.
pub(super) fn is_host(text: &str) -> bool {
    let is_short = text.len() <= 255 && text.split('.').all(|label| label.len() <= 63);
    is_short && HOST.as_ref().is_some_and(|host| host.is_match(text))
}

/// Whether a text is a day of the calendar, such as `2026-02-28`.
pub(super) fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut next = |width: usize| digits(parts.next()?, width);
    let (Some(year), Some(month), Some(day)) = (next(4), next(2), next(2)) else {
        return false;
    };
    let month_and_day = i8::try_from(month).ok().zip(i8::try_from(day).ok());
    month_and_day.is_some_and(|(month, day)| civil::Date::new(year, month, day).is_ok())
}

/// The number of a text that is exactly `width` digits.
fn digits(text: &str, width: usize) -> Option<i16> {
    let is_number = text.len() == width && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Whether a text is a date, a `T` and a time with a zone. What follows another `T` is not looked at.
///
/// Behaviour: `IsDateTime` of `k8s.io/kube-openapi/pkg/validation/strfmt`.
pub(super) fn is_date_time(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let mut parts = text.split('t');
    match (parts.next(), parts.next()) {
        (Some(date), Some(time)) => is_date(date) && is_time(time),
        _ => false,
    }
}

/// Whether a text is an hour, a minute, a second, perhaps a fraction, and a zone, which has no bounds.
fn is_time(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else {
        return false;
    };
    let mut parts = clock.splitn(3, ':');
    let mut within = |last: i16| {
        let number = parts.next().and_then(|part| digits(part, 2));
        number.is_some_and(|number| number <= last)
    };
    if !(within(23) && within(59) && within(59)) {
        return false;
    }

    // Any character but the end of a line takes the place of the dot of a fraction.
    let mut after = rest.chars();
    let separator = after.next();
    let fraction = after.as_str();
    let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_fraction = separator != Some('\n') && zone.len() < fraction.len();
    is_zone(rest) || has_fraction && is_zone(zone)
}

/// Whether a text is `z`, or a sign, two digits, a colon and two digits.
fn is_zone(text: &str) -> bool {
    let offset = |text: &str| {
        let (hours, minutes) = text.split_once(':')?;
        digits(hours, 2).zip(digits(minutes, 2))
    };
    text == "z"
        || text
            .strip_prefix(['+', '-'])
            .is_some_and(|text| offset(text).is_some())
}
