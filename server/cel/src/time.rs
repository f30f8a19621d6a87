//! Times and durations.

use std::borrow::Cow;

use fieldmanager_structural::internal::parse_go_duration;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// A time in RFC 3339.
pub(crate) fn timestamp(text: &str) -> Option<Timestamp> {
    // Go reads an hour of one digit, too.
    let padded = match text.split_once('T') {
        Some((date, time)) if time.as_bytes().get(1) == Some(&b':') => {
            Cow::Owned(format!("{date}T0{time}"))
        }
        _ => Cow::Borrowed(text),
    };
    let (text, bytes) = (&*padded, padded.as_bytes());

    // Jiff accepts more forms.
    let has_form = bytes.get(10) == Some(&b'T')
        && bytes.get(13) == Some(&b':')
        && bytes.get(16) == Some(&b':')
        && (text.ends_with('Z')
            || matches!(bytes.get(bytes.len().wrapping_sub(6)), Some(b'+' | b'-')));

    if has_form && !text.contains('[') {
        text.parse().ok()
    } else {
        None
    }
}

/// A time in a field of the format `date-time`: in RFC 3339, in local time, or empty.
pub(crate) fn date_time(text: &str) -> Result<Timestamp, String> {
    if text.is_empty() {
        return Ok(Timestamp::UNIX_EPOCH);
    }
    if let Some(time) = timestamp(text) {
        return Ok(time);
    }

    let local: Option<DateTime> = if text.len() == 19 {
        text.parse().ok()
    } else {
        None
    };
    let zoned = local.and_then(|local| local.to_zoned(TimeZone::UTC).ok());
    zoned
        .map(|zoned| zoned.timestamp())
        .ok_or_else(|| format!("cannot parse \"{text}\" as a time"))
}

/// A date, such as `2006-01-02`.
pub(crate) fn date(text: &str) -> Result<Timestamp, String> {
    let date: Option<Date> = if text.len() == 10 {
        text.parse().ok()
    } else {
        None
    };
    let zoned = date.and_then(|date| date.to_zoned(TimeZone::UTC).ok());
    zoned
        .map(|zoned| zoned.timestamp())
        .ok_or_else(|| format!("cannot parse \"{text}\" as a date"))
}

/// A duration of Go, such as `1h30m`, in nanoseconds.
pub(crate) fn duration(text: &str) -> Option<i64> {
    parse_go_duration(text).ok()
}

/// A duration in a field of the format `duration`: of Go, or with names of units, such as `3 days`.
pub(crate) fn loose_duration(text: &str) -> Result<i64, String> {
    if let Some(nanoseconds) = duration(text) {
        return Ok(nanoseconds);
    }
    const UNITS: [(&[&str], i64); 8] = [
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], 1_000_000_000),
        (&["m", "min"], 60_000_000_000),
        (&["h", "hr", "hour"], 3_600_000_000_000),
        (&["d", "day"], 86_400_000_000_000),
        (&["w", "wk", "week"], 604_800_000_000_000),
    ];

    // The text between a unit and the next number is skipped, such as a comma.
    let unknown = || format!("unable to parse {text} as duration");
    let mut total: Option<i64> = None;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = rest.get(start..).unwrap_or_default();
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let after = after.trim_start();
        let end = after
            .find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ'))
            .unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(end).unwrap_or((after, ""));
        rest = after;
        // A number without a unit counts as nothing.
        if unit.is_empty() {
            continue;
        }

        let number: i64 = number.parse().map_err(|_| unknown())?;
        let unit = unit.to_lowercase();
        // The last name of a unit is only the beginning of a word, so that `day` stands for `days` too.
        for (names, factor) in UNITS {
            for (at, name) in names.iter().enumerate() {
                let is_prefix = at + 1 == names.len() && unit.starts_with(name);
                if is_prefix || unit == *name {
                    total = Some(total.unwrap_or(0).wrapping_add(number.wrapping_mul(factor)));
                }
            }
        }
    }

    total.ok_or_else(unknown)
}

/// A duration in seconds, such as `1.5s`.
pub(crate) fn seconds(nanoseconds: i64) -> String {
    let (whole, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let fraction = format!("{:09}", rest.unsigned_abs());
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}s", whole.unsigned_abs())
}
