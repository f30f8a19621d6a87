//! Times in metadata.

use fieldmanager_value::go_format::quote_in_time_error as quote;

/// Why a text is no time, in the words of Go's `time.Parse`.
type Fault = String;

/// A time of RFC 3339 as metadata writes it: in UTC, in whole seconds. None for the zero time.
///
/// What is accepted is what Go accepts: an hour of one digit, a comma before the fraction, offsets up to `24:60`.
pub(super) fn canonical(text: &str) -> Result<Option<String>, Fault> {
    let mut parser = Parser { text, rest: text };
    let year = parser.digits(4, "2006")?;
    parser.literal('-')?;
    let month = parser.two("01", true)?;
    parser.range((1..=12).contains(&month), "month")?;
    parser.literal('-')?;
    let day = parser.two("02", true)?;
    parser.literal('T')?;
    let hour = parser.two("15", false)?;
    parser.range(hour < 24, "hour")?;
    parser.literal(':')?;
    let minute = parser.two("04", true)?;
    parser.range(minute < 60, "minute")?;
    parser.literal(':')?;
    let second = parser.two("05", true)?;
    parser.range(second < 60, "second")?;
    let nanoseconds = parser.fraction();
    let offset = parser.zone()?;
    if !parser.rest.is_empty() {
        return Err(format!("parsing time {}: extra text: {}", quote(text), quote(parser.rest)));
    }
    parser.range((1..=days_in(year, month)).contains(&day), "day")?;
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    // The zero time is the first instant of the year 1.
    let is_zero = seconds == days(1, 1, 1) * 86_400 && !nanoseconds;
    Ok((!is_zero).then(|| format(seconds)))
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Parser<'_> {
    fn bad<T>(&self, rest: &str, element: &str) -> Result<T, Fault> {
        Err(format!(
            "parsing time {} as \"2006-01-02T15:04:05Z07:00\": cannot parse {} as {}",
            quote(self.text),
            quote(rest),
            quote(element)
        ))
    }

    fn range(&self, fits: bool, what: &str) -> Result<(), Fault> {
        if fits { Ok(()) } else { Err(format!("parsing time {}: {what} out of range", quote(self.text))) }
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

    fn digits(&mut self, count: usize, element: &str) -> Result<i64, Fault> {
        match self.rest.split_at_checked(count) {
            Some((digits, rest)) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                self.rest = rest;
                Ok(digits.parse().unwrap_or_default())
            }
            _ => self.bad(self.rest, element),
        }
    }

    /// Two digits, or one where that is allowed.
    fn two(&mut self, element: &str, fixed: bool) -> Result<i64, Fault> {
        let is_two = self.rest.bytes().take(2).filter(u8::is_ascii_digit).count() == 2;
        self.digits(if is_two || fixed { 2 } else { 1 }, element)
    }

    /// Skips a fraction of a second; whether there are nanoseconds in it.
    fn fraction(&mut self) -> bool {
        let Some(digits) = self.rest.strip_prefix(['.', ',']) else { return false };
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let Some((digits, rest)) = digits.split_at_checked(end).filter(|(digits, _)| !digits.is_empty())
        else {
            return false;
        };
        self.rest = rest;
        digits.bytes().take(9).any(|b| b != b'0')
    }

    /// The offset from UTC in seconds.
    fn zone(&mut self) -> Result<i64, Fault> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let whole = self.rest;
        let number = |text: Option<&str>| -> Option<i64> {
            text.filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
        };
        let sign = match whole.bytes().next() {
            Some(b'+') => Some(1),
            Some(b'-') => Some(-1),
            _ => None,
        };
        let (Some(":"), Some(hours), Some(minutes)) =
            (whole.get(3..4), number(whole.get(1..3)), number(whole.get(4..6)))
        else {
            return self.bad(whole, "Z07:00");
        };
        self.range(hours <= 24, "time zone offset hour")?;
        self.range(minutes <= 60, "time zone offset minute")?;
        let Some(sign) = sign else { return self.bad(whole, "Z07:00") };
        self.rest = whole.get(6..).unwrap_or_default();
        Ok(sign * (hours * 3600 + minutes * 60))
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from the first of March of the year 0, in the calendar without end in both directions.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // A year that begins in March has its leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year.div_euclid(400);
    let year = year.rem_euclid(400);
    era * 146_097 + year * 365 + year / 4 - year / 100 + (month * 153 + 2) / 5 + day - 1
}

fn format(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (year * 365 + year / 4 - year / 100);
    let month = (day * 5 + 2) / 153;
    let day = day - (month * 153 + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let year = year + era * 400;
    let sign = if year < 0 { "-" } else { "" };
    format!(
        "{sign}{:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        year.abs(),
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_utc() {
        for (text, time) in [
            ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
            ("2020-03-01T00:30:00+01:00", "2020-02-29T23:30:00Z"),
            ("1999-12-31T23:59:59.999-00:01", "2000-01-01T00:00:59Z"),
            ("2020-01-01T1:02:03,5Z", "2020-01-01T01:02:03Z"),
            ("2020-01-01T01:00:00+24:60", "2019-12-31T00:00:00Z"),
            ("0000-01-01T01:00:00+02:00", "-0001-12-31T23:00:00Z"),
            ("9999-12-31T23:59:59-00:01", "10000-01-01T00:00:59Z"),
            ("0001-01-01T00:00:00.5Z", "0001-01-01T00:00:00Z"),
        ] {
            assert_eq!(canonical(text).unwrap().as_deref(), Some(time), "{text}");
        }
        assert_eq!(canonical("0001-01-01T01:00:00+01:00").unwrap(), None);
    }

    #[test]
    fn faults_are_those_of_go() {
        let layout = "2006-01-02T15:04:05Z07:00";
        for (text, fault) in [
            ("x", format!(r#" as "{layout}": cannot parse "x" as "2006""#)),
            ("2020-1-01T00:00:00Z", format!(r#" as "{layout}": cannot parse "1-01T00:00:00Z" as "01""#)),
            ("2020-13-01T00:00:00Z", ": month out of range".to_owned()),
            ("2021-02-29T00:00:00Z", ": day out of range".to_owned()),
            ("2020-01-01T24:00:00Z", ": hour out of range".to_owned()),
            ("2020-01-01T00:00:00", format!(r#" as "{layout}": cannot parse "" as "Z07:00""#)),
            ("2020-01-01T00:00:00Zx", r#": extra text: "x""#.to_owned()),
        ] {
            assert_eq!(canonical(text), Err(format!("parsing time \"{text}\"{fault}")));
        }
    }
}
