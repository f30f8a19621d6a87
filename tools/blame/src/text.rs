//! Names, operations and ages of managers.

use fieldmanager_managedfields::{Operation, Time};
use fieldmanager_value::internal::escape_untrusted;

/// A string with every character escaped that could affect a terminal, is invisible, or changes the direction of text.
///
/// ```
/// assert_eq!(fieldmanager_blame::printable("a\u{202e}b"), r"a\u{202e}b");
/// ```
pub fn printable(text: &str) -> String {
    escape_untrusted(text).into_owned()
}

/// [`printable`] for a line of YAML, which may have tabs.
pub fn printable_line(line: &str) -> String {
    line.split('\t')
        .map(printable)
        .collect::<Vec<_>>()
        .join("\t")
}

/// The displayed name of a manager; an entry may have no name.
pub fn shown_name(name: &str) -> String {
    if name.is_empty() {
        "(no name)".to_owned()
    } else {
        printable(name)
    }
}

/// The letter that marks an operation.
pub fn mark(operation: Operation) -> char {
    match operation {
        Operation::Apply => 'A',
        Operation::Update => 'U',
    }
}

/// The time between two times, in the largest unit of which it contains at least two.
pub fn age(then: Time, now: Time) -> String {
    // Clocks differ, so a time in the future counts as now.
    let seconds = now
        .unix_seconds()
        .saturating_sub(then.unix_seconds())
        .max(0);
    let units = [("y", 365 * 86_400), ("d", 86_400), ("h", 3_600), ("m", 60)];
    let unit = units.into_iter().find(|(_, length)| seconds >= 2 * length);

    unit.map_or_else(
        || format!("{seconds}s"),
        |(name, length)| format!("{}{name}", seconds / length),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_has_one_unit() {
        let at = |seconds| Time::from_unix_seconds(seconds).unwrap();
        for (seconds, text) in [
            (-5, "0s"),
            (119, "119s"),
            (120, "2m"),
            (7_200, "2h"),
            (259_200, "3d"),
            (63_072_000, "2y"),
        ] {
            assert_eq!(age(at(0), at(seconds)), text);
        }
    }
}
