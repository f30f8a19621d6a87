//! Times in the format of the Kubernetes API.

use std::fmt::{self, Write};
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::{Date, date};

/// An instant, parsed from RFC 3339 as Go's `time.Parse(time.RFC3339, ...)` does and written in whole seconds of UTC.
///
/// Accepts the years 0000 to 9999, an hour of one digit, a fraction of any length after a point or a comma, and offsets
/// up to `24:60`. Refuses lower-case `t` and `z`, a missing second, the second 60 and names of time zones.
///
/// Behaviour: `Time.UnmarshalJSON` and `Time.MarshalJSON` of `k8s.io/apimachinery/pkg/apis/meta/v1`.
///
/// ```
/// use fieldmanager_structural::internal::Timestamp;
/// let time: Timestamp = "2020-03-01T0:30:00,5+01:00".parse()?;
/// assert_eq!(time.to_string(), "2020-02-29T23:30:00Z");
/// assert_eq!(time.unix_seconds(), 1_583_019_000);
/// assert!("2020-03-01t00:30:00z".parse::<Timestamp>().is_err());
/// # Ok::<(), fieldmanager_structural::internal::TimestampError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
}

/// An error for a string that is not a time. The message is that of Go's `time.Parse`.
///
/// ```
/// use fieldmanager_structural::internal::Timestamp;
/// let error = "2020-13-01T00:00:00Z".parse::<Timestamp>().unwrap_err();
/// assert_eq!(error.to_string(), r#"parsing time "2020-13-01T00:00:00Z": month out of range"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TimestampError(String);

/// Years in which the Gregorian calendar repeats. Dates are computed one cycle earlier, because an offset can move the
/// year 9999 to 10000, which [`jiff::civil`] does not represent.
const CYCLE: i16 = 400;

/// The days of [`CYCLE`] years.
const CYCLE_DAYS: i64 = 146_097;

/// The seconds of a day.
const DAY: i64 = 86_400;

/// 0001-01-01T00:00:00Z, the zero value of Go's `time.Time`, in seconds since 1970.
const ZERO: i64 = -62_135_596_800;

/// 0000-01-01T00:00:00Z in seconds since 1970.
const FIRST: i64 = -62_167_219_200;

/// 9999-12-31T23:59:59Z in seconds since 1970.
const LAST: i64 = 253_402_300_799;

impl Timestamp {
    /// The instant that is this number of seconds after 1970-01-01T00:00:00Z; `None` outside the years 0000 to 9999.
    ///
    /// ```
    /// use fieldmanager_structural::internal::Timestamp;
    /// let time = Timestamp::from_unix_seconds(253_402_300_799);
    /// assert_eq!(time.map(|time| time.to_string()).as_deref(), Some("9999-12-31T23:59:59Z"));
    /// assert!(Timestamp::from_unix_seconds(253_402_300_800).is_none());
    /// ```
    pub fn from_unix_seconds(seconds: i64) -> Option<Self> {
        let time = Timestamp {
            seconds,
            nanoseconds: 0,
        };
        time.has_four_digit_year().then_some(time)
    }

    /// The seconds since 1970-01-01T00:00:00Z, rounded down.
    pub fn unix_seconds(self) -> i64 {
        self.seconds
    }

    /// Whether this is the zero value of Go's `time.Time`, 0001-01-01T00:00:00Z, which Kubernetes writes as null.
    pub fn is_zero(self) -> bool {
        self.seconds == ZERO && self.nanoseconds == 0
    }

    /// Whether the instant is in the years 0000 to 9999 of UTC. An offset can move an accepted time out of this range;
    /// Go writes such an instant in a format that it cannot parse.
    pub fn has_four_digit_year(self) -> bool {
        (FIRST..=LAST).contains(&self.seconds)
    }
}

/// Times with six digits of a fraction of a second.
///
/// Behaviour: `MicroTime.UnmarshalJSON` and `MicroTime.MarshalJSON` of `k8s.io/apimachinery/pkg/apis/meta/v1`.
impl Timestamp {
    /// Parses a time that has exactly six digits of a fraction of a second.
    ///
    /// # Errors
    ///
    /// The message of Go's `time.Parse`.
    ///
    /// ```
    /// use fieldmanager_structural::internal::Timestamp;
    /// let time = Timestamp::parse_micro("2020-03-01T01:30:00.012300+01:00")?;
    /// assert_eq!(time.to_micro_string(), "2020-03-01T00:30:00.012300Z");
    /// assert!(Timestamp::parse_micro("2020-03-01T01:30:00Z").is_err());
    /// # Ok::<(), fieldmanager_structural::internal::TimestampError>(())
    /// ```
    pub fn parse_micro(text: &str) -> Result<Self, TimestampError> {
        parse(text, Layout::Micro).map_err(TimestampError)
    }

    /// The instant with six digits of a fraction of a second, in UTC.
    pub fn to_micro_string(self) -> String {
        let mut text = self.to_string();
        text.pop();
        format!("{text}.{:06}Z", self.nanoseconds / 1000)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        parse(text, Layout::Seconds).map_err(TimestampError)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.seconds.div_euclid(DAY) - CYCLE_DAYS;
        let date = date(1970, 1, 1).checked_add(SignedDuration::from_hours(days * 24));
        let date = date.map_err(|_| fmt::Error)?;
        let year = i32::from(date.year()) + i32::from(CYCLE);
        let second = self.seconds.rem_euclid(DAY);

        // Each write of an object formats its time three times. Numbers formatted one by one cost ten times as much.
        let mut text = *b"-00-00T00:00:00Z";
        for (at, number) in [
            (1, i64::from(date.month())),
            (4, i64::from(date.day())),
            (7, second / 3600),
            (10, second / 60 % 60),
            (13, second % 60),
        ] {
            put(&mut text, at, number);
        }
        let text = std::str::from_utf8(&text).unwrap_or_default();
        let Ok(year @ 0..=9999) = u16::try_from(year) else {
            let sign = if year < 0 { "-" } else { "" };
            return write!(f, "{sign}{:04}{text}", year.abs());
        };

        let mut digits = *b"0000";
        put(&mut digits, 0, i64::from(year / 100));
        put(&mut digits, 2, i64::from(year % 100));
        f.write_str(std::str::from_utf8(&digits).unwrap_or_default())?;
        f.write_str(text)
    }
}

/// Writes a number below 100 as two digits.
fn put(text: &mut [u8], at: usize, number: i64) {
    if let Some([tens, ones]) = text.get_mut(at..at + 2) {
        *tens = b'0' + (number / 10) as u8;
        *ones = b'0' + (number % 10) as u8;
    }
}

/// The format of a time.
#[derive(Clone, Copy)]
enum Layout {
    /// In seconds, with an optional fraction.
    Seconds,
    /// With six digits of a fraction.
    Micro,
}

impl Layout {
    /// The format in Go's notation.
    fn as_str(self) -> &'static str {
        match self {
            Layout::Seconds => "2006-01-02T15:04:05Z07:00",
            Layout::Micro => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

fn parse(text: &str, layout: Layout) -> Result<Timestamp, Fault> {
    let mut parser = Parser {
        text,
        rest: text,
        layout,
    };
    // Each element is checked as soon as it is read, since Go reports the first fault of the text.
    let year = parser.digits(4, "2006")?;
    parser.literal('-')?;
    let month = parser.two("01", true)?;
    parser.range((1..=12).contains(&month), "month")?;
    parser.literal('-')?;
    let day = parser.two("02", true)?;
    parser.literal('T')?;

    // As in Go, only the hour may have one digit.
    let hour = parser.two("15", false)?;
    parser.range(hour < 24, "hour")?;
    parser.literal(':')?;
    let minute = parser.two("04", true)?;
    parser.range(minute < 60, "minute")?;
    parser.literal(':')?;
    let second = parser.two("05", true)?;
    parser.range(second < 60, "second")?;
    let nanoseconds = match layout {
        Layout::Seconds => parser.fraction(),
        Layout::Micro => parser.six_digits()?,
    };

    // Text behind the zone is reported before a day that the month does not have.
    let offset = parser.zone()?;
    if !parser.rest.is_empty() {
        return Err(format!(
            "parsing time {}: extra text: {}",
            quote(text),
            quote(parser.rest)
        ));
    }

    let Ok(date) = Date::new(year - CYCLE, month as i8, day as i8) else {
        return Err(format!("parsing time {}: day out of range", quote(text)));
    };
    let midnight = date
        .duration_since(jiff::civil::date(1970 - CYCLE, 1, 1))
        .as_secs();
    let of_day = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);

    Ok(Timestamp {
        seconds: midnight + of_day - offset,
        nanoseconds,
    })
}

/// The message of Go's `time.Parse`.
type Fault = String;

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    layout: Layout,
}

impl Parser<'_> {
    fn bad<T>(&self, rest: &str, element: &str) -> Result<T, Fault> {
        Err(format!(
            "parsing time {} as \"{}\": cannot parse {} as {}",
            quote(self.text),
            self.layout.as_str(),
            quote(rest),
            quote(element)
        ))
    }

    fn range(&self, fits: bool, what: &str) -> Result<(), Fault> {
        if fits {
            Ok(())
        } else {
            Err(format!(
                "parsing time {}: {what} out of range",
                quote(self.text)
            ))
        }
    }

    fn literal(&mut self, c: char) -> Result<(), Fault> {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => self.bad(self.rest, c.encode_utf8(&mut [0; 4])),
        }
    }

    fn digits(&mut self, count: usize, element: &str) -> Result<i16, Fault> {
        match self.rest.split_at_checked(count) {
            Some((digits, rest)) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                self.rest = rest;
                Ok(digits.parse().unwrap_or_default())
            }
            _ => self.bad(self.rest, element),
        }
    }

    /// Parses two digits, or one digit unless `fixed`.
    fn two(&mut self, element: &str, fixed: bool) -> Result<i16, Fault> {
        let is_two = self.rest.bytes().take(2).filter(u8::is_ascii_digit).count() == 2;
        self.digits(if is_two || fixed { 2 } else { 1 }, element)
    }

    /// Parses the nanoseconds of a fraction of a second. Excess digits are skipped.
    fn fraction(&mut self) -> u32 {
        let Some(digits) = self.rest.strip_prefix(['.', ',']) else {
            return 0;
        };
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        let Some((digits, rest)) = digits
            .split_at_checked(end)
            .filter(|(digits, _)| !digits.is_empty())
        else {
            return 0;
        };

        // Missing digits are zeros, and those beyond nanoseconds are dropped, not rounded.
        self.rest = rest;
        let digits = digits.bytes().map(|digit| u32::from(digit - b'0'));
        digits
            .chain(std::iter::repeat(0))
            .take(9)
            .fold(0, |number, digit| number * 10 + digit)
    }

    /// Parses the nanoseconds of a fraction of six digits. The first may be a plus sign, as in Go.
    fn six_digits(&mut self) -> Result<u32, Fault> {
        let whole = self.rest;
        let Some((fraction, rest)) = whole.split_at_checked(7) else {
            return self.bad(whole, ".000000");
        };
        let Some(digits) = fraction.strip_prefix(['.', ',']) else {
            return self.bad(whole, ".000000");
        };

        let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        let Some(micros) = unsigned
            .parse::<u32>()
            .ok()
            .filter(|_| unsigned.bytes().all(|b| b.is_ascii_digit()))
        else {
            return self.bad(whole, ".000000");
        };
        self.range(!digits.starts_with('-') || micros == 0, "fractional second")?;
        self.rest = rest;

        Ok(micros * 1000)
    }

    /// Parses the offset from UTC in seconds.
    fn zone(&mut self) -> Result<i64, Fault> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let whole = self.rest;
        let number = |text: Option<&str>| -> Option<i64> {
            text.filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?
                .parse()
                .ok()
        };
        let sign = match whole.bytes().next() {
            Some(b'+') => Some(1),
            Some(b'-') => Some(-1),
            _ => None,
        };

        let (Some(":"), Some(hours), Some(minutes)) = (
            whole.get(3..4),
            number(whole.get(1..3)),
            number(whole.get(4..6)),
        ) else {
            return self.bad(whole, "Z07:00");
        };

        // Go checks the numbers before the sign, and allows 24 hours and 60 minutes.
        self.range(hours <= 24, "time zone offset hour")?;
        self.range(minutes <= 60, "time zone offset minute")?;
        let Some(sign) = sign else {
            return self.bad(whole, "Z07:00");
        };
        self.rest = whole.get(6..).unwrap_or_default();
        Ok(sign * (hours * 3600 + minutes * 60))
    }
}

/// Quotes a string like Go's `time` package: bytes outside printable ASCII are written in hexadecimal.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            ' '..='\x7f' => write!(out, "{c}"),
            _ => c
                .encode_utf8(&mut [0; 4])
                .bytes()
                .try_for_each(|b| write!(out, "\\x{b:02x}")),
        };
    }
    out.push('"');

    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_is_written_in_utc() {
        for (text, time) in [
            ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
            ("2020-03-01T00:30:00+01:00", "2020-02-29T23:30:00Z"),
            ("1999-12-31T23:59:59.999-00:01", "2000-01-01T00:00:59Z"),
            ("2020-01-01T1:02:03,5Z", "2020-01-01T01:02:03Z"),
            ("2020-01-01T01:00:00+24:60", "2019-12-31T00:00:00Z"),
            ("0000-01-01T01:00:00+02:00", "-0001-12-31T23:00:00Z"),
            ("9999-12-31T23:59:59-00:01", "10000-01-01T00:00:59Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
            (
                "2020-01-01T00:00:00.1234567890123456789Z",
                "2020-01-01T00:00:00Z",
            ),
            ("0001-01-01T00:00:00.5Z", "0001-01-01T00:00:00Z"),
        ] {
            let parsed: Timestamp = text.parse().unwrap();
            assert_eq!(parsed.to_string(), time);
            assert!(!parsed.is_zero(), "{text}");
            assert_eq!(
                parsed.has_four_digit_year(),
                time.parse::<Timestamp>().is_ok(),
                "{text}"
            );
        }
        assert!(
            "0001-01-01T01:00:00+01:00"
                .parse::<Timestamp>()
                .unwrap()
                .is_zero()
        );
    }

    #[test]
    fn error_messages_equal_those_of_go() {
        let layout = "2006-01-02T15:04:05Z07:00";
        for (text, fault) in [
            (
                "x",
                format!(r#" as "{layout}": cannot parse "x" as "2006""#),
            ),
            (
                "2020-1-01T00:00:00Z",
                format!(r#" as "{layout}": cannot parse "1-01T00:00:00Z" as "01""#),
            ),
            ("2020-13-01T00:00:00Z", ": month out of range".to_owned()),
            ("2021-02-29T00:00:00Z", ": day out of range".to_owned()),
            ("2020-01-01T24:00:00Z", ": hour out of range".to_owned()),
            (
                "2020-01-01T00:00:00",
                format!(r#" as "{layout}": cannot parse "" as "Z07:00""#),
            ),
            ("2020-01-01T00:00:00Zx", r#": extra text: "x""#.to_owned()),
            (
                "2020-01-01T00:00:00Z[UTC]",
                r#": extra text: "[UTC]""#.to_owned(),
            ),
            ("2020-01-01T00:00:60Z", ": second out of range".to_owned()),
            (
                "2020-01-01T00:00Z",
                format!(r#" as "{layout}": cannot parse "Z" as ":""#),
            ),
            (
                "2020-01-01t00:00:00Z",
                format!(r#" as "{layout}": cannot parse "t00:00:00Z" as "T""#),
            ),
            (
                "2020-01-01T00:00:00z",
                format!(r#" as "{layout}": cannot parse "z" as "Z07:00""#),
            ),
            (
                "2020-01-01 00:00:00Z",
                format!(r#" as "{layout}": cannot parse " 00:00:00Z" as "T""#),
            ),
            (
                "2020-01-01T00:00:00+25:00",
                ": time zone offset hour out of range".to_owned(),
            ),
            (
                "2020-01-01T00:00:00+24:61",
                ": time zone offset minute out of range".to_owned(),
            ),
        ] {
            assert_eq!(
                parse(text, Layout::Seconds),
                Err(format!("parsing time \"{text}\"{fault}"))
            );
        }
    }
}
