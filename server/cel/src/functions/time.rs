//! Functions of times and durations.

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

/// A time zone: `UTC` or an offset, such as `-02:00`. Named zones are not known.
fn time_zone(name: &str) -> Result<TimeZone, Fault> {
    if matches!(name, "UTC" | "") {
        return Ok(TimeZone::UTC);
    }
    let (sign, digits) = match name.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, name.strip_prefix('+').unwrap_or(name)),
    };
    let offset = digits.split_once(':').and_then(|(hours, minutes)| {
        let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
        Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
    });

    match offset {
        Some(offset) => Ok(TimeZone::fixed(offset)),
        None => fault(format!("unknown time zone {name}")),
    }
}
