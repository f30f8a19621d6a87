//! Functions of times and durations.

use fieldmanager_value::internal::go_format::quote;
use jiff::Zoned;
use jiff::tz::{Offset, TimeZone};

use super::function::Run;
use crate::value::{Fault, Val, fault, no_overload};

/// The implementation of a function, which is a part of a time or of a duration.
pub(super) fn run(name: &str) -> Option<Run> {
    let is_part = name.starts_with("get") && part(name, &Zoned::default()).is_some();
    is_part.then_some(|a, call| {
        let (time, zone) = match a {
            [Val::Timestamp(time)] => (time, TimeZone::UTC),
            [Val::Timestamp(time), Val::String(zone)] => (time, time_zone(zone)?),
            [Val::Duration(nanoseconds)] => {
                let divisor = match call.name {
                    "getHours" => 3_600_000_000_000,
                    "getMinutes" => 60_000_000_000,
                    "getSeconds" => 1_000_000_000,
                    "getMilliseconds" => 1_000_000,
                    _ => return no_overload(),
                };
                return Ok(Val::Int(nanoseconds / divisor));
            }
            _ => return no_overload(),
        };

        part(call.name, &time.to_zoned(zone)).map_or_else(no_overload, |part| Ok(Val::Int(part)))
    })
}

/// The part of a time that a function returns.
fn part(name: &str, time: &Zoned) -> Option<i64> {
    Some(match name {
        "getFullYear" => i64::from(time.year()),
        "getMonth" => i64::from(time.month()) - 1,
        "getDate" => i64::from(time.day()),
        "getDayOfMonth" => i64::from(time.day()) - 1,
        "getDayOfWeek" => i64::from(time.weekday().to_sunday_zero_offset()),
        "getDayOfYear" => i64::from(time.day_of_year()) - 1,
        "getHours" => i64::from(time.hour()),
        "getMinutes" => i64::from(time.minute()),
        "getSeconds" => i64::from(time.second()),
        "getMilliseconds" => i64::from(time.millisecond()),
        _ => return None,
    })
}

/// A time zone: `UTC`, an offset, such as `-02:00`, or a name.
fn time_zone(name: &str) -> Result<TimeZone, Fault> {
    if matches!(name, "UTC" | "") {
        return Ok(TimeZone::UTC);
    }
    let Some((hours, minutes)) = name.split_once(':') else {
        if name.starts_with(['/', '\\']) || name.contains("..") {
            return fault("time: invalid location name");
        }
        return named_time_zone(name);
    };
    let number = |text: &str| {
        let fault = |_| format!("strconv.Atoi: parsing {}: invalid syntax", quote(text));
        text.parse::<i32>()
            .map_err(|error| Fault::Error(fault(error)))
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let sign = if name.starts_with('-') { -1 } else { 1 };
    let seconds = hours
        .saturating_mul(60)
        .saturating_add(minutes.saturating_mul(sign));
    let offset = Offset::from_seconds(seconds.saturating_mul(60)).ok();

    match offset {
        Some(offset) => Ok(TimeZone::fixed(offset)),
        None => fault(format!("unknown time zone {name}")),
    }
}

/// A time zone of the database of the system, whose names have upper and lower case.
///
/// Behaviour: `LoadLocation` of the package `time`, which reads the file of the name.
fn named_time_zone(name: &str) -> Result<TimeZone, Fault> {
    let database = jiff::tz::db();
    let found = database.get(name).ok();
    if let Some(zone) = found.filter(|zone| zone.iana_name() == Some(name)) {
        return Ok(zone);
    }

    let is_in = |zone: &str| {
        let rest = zone.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    if name == "." || database.available().any(|zone| is_in(zone.as_str())) {
        return fault("is a directory");
    }
    fault(format!("unknown time zone {name}"))
}
