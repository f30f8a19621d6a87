//! Functions of times and durations.

use jiff::Zoned;
use jiff::tz::{Offset, TimeZone};

use super::function::{Function, member, one};
use crate::value::{Fault, Outcome, Val, fault, no_overload};

/// A part of a time or a duration.
type Part = fn(&Zoned) -> i64;

macro_rules! getters {
    ($($name:literal => $part:expr),* $(,)?) => {
        &[$(
            member($name, 1, one, |a, _| part(a, $part, $name)),
            member($name, 2, one, |a, _| part(a, $part, $name)),
        )*]
    };
}

pub(super) const ALL: &[Function] = getters! {
    "getFullYear" => |time| i64::from(time.year()),
    "getMonth" => |time| i64::from(time.month()) - 1,
    "getDate" => |time| i64::from(time.day()),
    "getDayOfMonth" => |time| i64::from(time.day()) - 1,
    "getDayOfWeek" => |time| i64::from(time.weekday().to_sunday_zero_offset()),
    "getDayOfYear" => |time| i64::from(time.day_of_year()) - 1,
    "getHours" => |time| i64::from(time.hour()),
    "getMinutes" => |time| i64::from(time.minute()),
    "getSeconds" => |time| i64::from(time.second()),
    "getMilliseconds" => |time| i64::from(time.millisecond()),
};

fn part<'a>(arguments: &[Val<'a>], part: Part, name: &str) -> Outcome<'a> {
    let (time, zone) = match arguments {
        [Val::Timestamp(time)] => (time, TimeZone::UTC),
        [Val::Timestamp(time), Val::String(zone)] => (time, time_zone(zone)?),
        [Val::Duration(nanoseconds)] => {
            let divisor = match name {
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
    Ok(Val::Int(part(&time.to_zoned(zone))))
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
