//! Fits strings to the width of a terminal.

use fieldmanager_harness::internal::escape_untrusted;
use fieldmanager_managedfields::{Identity, Operation, Time};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Marks omitted characters.
const CUT: char = '…';

/// Escapes an untrusted string as [`Line`](crate::output::Line) prints it, for layouts that depend on its width.
pub(crate) fn printable(text: &str) -> String {
    escape_untrusted(text).into_owned()
}

/// [`printable`] for a line of YAML, which may have tabs.
pub(crate) fn printable_line(line: &str) -> String {
    line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

/// The display width of a string in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Shortens a string to its beginning and end if it exceeds the columns.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let left = columns.saturating_sub(1);
    let head = taken(text.chars(), left.div_ceil(2));
    let tail = taken(text.chars().rev(), left / 2);
    head.into_iter().chain([CUT]).chain(tail.into_iter().rev()).collect()
}

fn taken(chars: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= columns
        })
        .collect()
}

/// Pads a string with blanks to the columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Breaks a string into lines that fit the available width. All lines but the first are indented.
pub(crate) fn wrap(text: &str, room: Option<usize>, indent: usize) -> Vec<String> {
    let Some(room) = room.filter(|room| width(text) > *room && *room > indent + 8) else {
        return vec![text.to_owned()];
    };
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    // The last position at which the line can be broken.
    let mut blank: Option<usize> = None;
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        if used + columns > room {
            let rest = blank.map(|at| line.split_off(at)).unwrap_or_default();
            lines.push(line.trim_end().to_owned());
            line = format!("{}{}", " ".repeat(indent), rest.trim_start());
            used = width(&line);
            blank = None;
        }
        if c == ' ' && used > indent + room / 2 {
            blank = Some(line.len());
        }
        line.push(c);
        used += columns;
    }
    lines.push(line);
    lines
}

/// Formats a manager with its operation for messages.
pub(crate) fn identity(identity: &Identity) -> String {
    let mut out = format!("{} ({}", printable(&identity.manager), identity.operation);
    if identity.operation == Operation::Update && !identity.api_version.as_str().is_empty() {
        out.push(' ');
        out.push_str(&printable(identity.api_version.as_str()));
    }
    if !identity.subresource.is_empty() {
        out.push_str(", ");
        out.push_str(&printable(&identity.subresource));
    }
    out.push(')');
    out
}

/// The time between two times, in the largest unit of which it contains at least two.
pub(crate) fn age(then: Time, now: Time) -> String {
    // Clocks differ, so a time in the future counts as now.
    let seconds = now.unix_seconds().saturating_sub(then.unix_seconds()).max(0);
    let units = [("y", 365 * 86_400), ("d", 86_400), ("h", 3_600), ("m", 60)];
    let unit = units.into_iter().find(|(_, length)| seconds >= 2 * length);
    unit.map_or_else(|| format!("{seconds}s"), |(name, length)| format!("{}{name}", seconds / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_keeps_beginning_and_end() {
        assert_eq!(shortened("kube-controller-manager", 30), "kube-controller-manager");
        assert_eq!(shortened("kube-controller-manager", 11), "kube-…nager");
        assert_eq!(shortened("部署控制器", 6), "部…器");
        assert_eq!(shortened("abc", 0), "…");
    }

    #[test]
    fn wrap_breaks_at_blanks_or_anywhere() {
        assert_eq!(wrap("one two three four five", Some(14), 2), ["one two three", "  four five"]);
        assert_eq!(
            wrap("abcdefghijklmnopqrstuvwxyz", Some(12), 2),
            ["abcdefghijkl", "  mnopqrstuv", "  wxyz"]
        );
        assert_eq!(wrap("short", None, 2), ["short"]);
    }

    #[test]
    fn age_has_one_unit() {
        let at = |seconds| Time::from_unix_seconds(seconds).unwrap();
        for (seconds, text) in
            [(-5, "0s"), (119, "119s"), (120, "2m"), (7_200, "2h"), (259_200, "3d"), (63_072_000, "2y")]
        {
            assert_eq!(age(at(0), at(seconds)), text);
        }
    }
}
