//! Schedules of jobs, and their time zones.
//!
//! Behaviour: `ParseStandard` of `github.com/robfig/cron/v3`.

use fieldmanager_structural::internal::parse_go_duration;

use crate::number::integer;

/// The numbers that a field may have, and the names of the numbers from the least.
struct Bounds {
    least: u64,
    most: u64,
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The minute, the hour, the day of the month, the month and the day of the week.
const FIELDS: [Bounds; 5] = [
    Bounds::of(0, 59, &[]),
    Bounds::of(0, 23, &[]),
    Bounds::of(1, 31, &[]),
    Bounds::of(1, 12, &MONTHS),
    Bounds::of(0, 6, &DAYS),
];

const DESCRIPTORS: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

impl Bounds {
    const fn of(least: u64, most: u64, names: &'static [&'static str]) -> Self {
        Bounds { least, most, names }
    }

    /// Reads a number or a name.
    fn number(&self, text: &str) -> Result<u64, String> {
        let mut names = (self.least..).zip(self.names);
        let named = names.find(|(_, name)| name.eq_ignore_ascii_case(text));
        named.map_or_else(|| count(text), |(number, _)| Ok(number))
    }

    /// Checks a range with a step, such as `1-5/2`.
    fn check(&self, range: &str) -> Result<(), String> {
        let parts: Vec<&str> = range.split('/').collect();
        let (ends, step) = match parts.as_slice() {
            [ends] => (*ends, None),
            [ends, step] => (*ends, Some(*step)),
            [ends, ..] => (*ends, None),
            [] => return Ok(()),
        };
        let (first, last) = match ends.split('-').collect::<Vec<_>>().as_slice() {
            ["*" | "?", ..] => (self.least, self.most),
            [only] => {
                let number = self.number(only)?;
                // With a step, a number is the begin of a range without end.
                (number, if step.is_some() { self.most } else { number })
            }
            [first, last] => (self.number(first)?, self.number(last)?),
            _ => return Err(format!("too many hyphens: {range}")),
        };
        let step = match parts.len() {
            1 | 2 => step.map_or(Ok(1), count)?,
            _ => return Err(format!("too many slashes: {range}")),
        };

        let (least, most) = (self.least, self.most);
        if first < least {
            return Err(format!(
                "beginning of range ({first}) below minimum ({least}): {range}"
            ));
        }
        if last > most {
            return Err(format!(
                "end of range ({last}) above maximum ({most}): {range}"
            ));
        }
        if first > last {
            return Err(format!(
                "beginning of range ({first}) beyond end of range ({last}): {range}"
            ));
        }
        if step == 0 {
            return Err(format!(
                "step of range should be a positive number: {range}"
            ));
        }
        Ok(())
    }
}

/// Reads a number that is not negative.
fn count(text: &str) -> Result<u64, String> {
    let number = integer("Atoi", text)
        .map_err(|fault| format!("failed to parse int from {text}: {fault}"))?;
    u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
}

/// What is wrong with a schedule that is not empty.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let mut rest = schedule;
    if let Some(zone) = ["TZ=", "CRON_TZ="]
        .into_iter()
        .find_map(|prefix| schedule.strip_prefix(prefix))
    {
        let Some((zone, times)) = zone.split_once(' ') else {
            return Err(
                "invalid schedule format: runtime error: slice bounds out of range [:-1]"
                    .to_owned(),
            );
        };
        check_zone(zone).map_err(|fault| format!("provided bad location {zone}: {fault}"))?;
        rest = times.trim();
    }
    if rest.starts_with('@') {
        return descriptor(rest);
    }

    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let (found, all) = (fields.len(), fields.join(" "));
        return Err(format!("expected exactly 5 fields, found {found}: [{all}]"));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        let mut ranges = field.split(',').filter(|range| !range.is_empty());
        ranges.try_for_each(|range| bounds.check(range))?;
    }
    Ok(())
}

fn descriptor(text: &str) -> Result<(), String> {
    if DESCRIPTORS.contains(&text) {
        return Ok(());
    }
    let Some(duration) = text.strip_prefix("@every ") else {
        return Err(format!("unrecognized descriptor: {text}"));
    };
    let read = parse_go_duration(duration);
    // Any duration is accepted: shorter ones than a second count as one.
    let fault = |fault| format!("failed to parse duration {text}: time: {fault}");
    read.map(drop).map_err(fault)
}

/// Whether the system knows a time zone.
pub(super) fn check_zone(name: &str) -> Result<(), String> {
    let zones = jiff::tz::db();
    // Without a database nothing is known, and nothing is refused.
    if ["", "UTC", "Local"].contains(&name) || zones.is_definitively_empty() {
        return Ok(());
    }
    // Names have one spelling in Go.
    let found = zones.get(name);
    let is_known = found.is_ok_and(|zone| zone.iana_name() == Some(name));
    is_known
        .then_some(())
        .ok_or_else(|| format!("unknown time zone {name}"))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn schedules_have_the_faults_of_the_parser_of_kubernetes() {
        for schedule in [
            "* * * * *",
            "*/5 0-23/2 1,15 JAN-dec sun",
            "@hourly",
            "@every 1h",
            "CRON_TZ=UTC 0 0 ? * 1",
        ] {
            assert_eq!(check(schedule), Ok(()), "{schedule}");
        }
        for (schedule, fault) in [
            ("50%", "expected exactly 5 fields, found 1: [50%]"),
            ("@often", "unrecognized descriptor: @often"),
            (
                "@every 5",
                "failed to parse duration @every 5: time: missing unit in duration \"5\"",
            ),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "5-1 * * * *",
                "beginning of range (5) beyond end of range (1): 5-1",
            ),
            (
                "*/0 * * * *",
                "step of range should be a positive number: */0",
            ),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            (
                "* * * * mond",
                "failed to parse int from mond: strconv.Atoi: parsing \"mond\": invalid syntax",
            ),
            (
                "99999999999999999999 * * * *",
                "failed to parse int from 99999999999999999999: strconv.Atoi: parsing \"99999999999999999999\": value out of range",
            ),
            (
                "TZ=Nowhere/Land * * * * *",
                "provided bad location Nowhere/Land: unknown time zone Nowhere/Land",
            ),
        ] {
            assert_eq!(check(schedule), Err(fault.to_owned()), "{schedule}");
        }
    }
}
