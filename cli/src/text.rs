//! Texts that fit the terminal and do nothing to it.

use fieldmanager_managedfields::{Identity, Operation, Time};
use fieldmanager_openapi::is_print;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What stands for characters that are left out.
const CUT: char = '…';

/// A text of somebody else's, without characters that would move the cursor, change colours or the direction of
/// writing.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_print(c) {
            true => out.push(c),
            false => out.extend(c.escape_unicode()),
        }
    }
    out
}

/// [`printable`] for a line of YAML, which may have tabs.
pub(crate) fn printable_line(line: &str) -> String {
    line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text of at most so many columns: beginning and end of it, if it is longer.
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

/// A text with blanks behind it.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The lines of a text that is broken where there is no more room; all but the first are indented.
pub(crate) fn wrap(text: &str, room: Option<usize>, indent: usize) -> Vec<String> {
    let Some(room) = room.filter(|room| width(text) > *room && *room > indent + 8) else {
        return vec![text.to_owned()];
    };
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    // Where the line could be broken, and how much of it that is.
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

/// A manager as people are told of it.
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

/// How long ago something was, in the largest unit of which it is at least two.
pub(crate) fn age(then: Time, now: Time) -> String {
    // Clocks differ: what lies ahead is now.
    let seconds = now.unix_seconds().saturating_sub(then.unix_seconds()).max(0);
    let units = [("y", 365 * 86_400), ("d", 86_400), ("h", 3_600), ("m", 60)];
    let unit = units.into_iter().find(|(_, length)| seconds >= 2 * length);
    unit.map_or_else(|| format!("{seconds}s"), |(name, length)| format!("{}{name}", seconds / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shortened_in_the_middle() {
        assert_eq!(shortened("kube-controller-manager", 30), "kube-controller-manager");
        assert_eq!(shortened("kube-controller-manager", 11), "kube-…nager");
        assert_eq!(shortened("部署控制器", 6), "部…器");
        assert_eq!(shortened("abc", 0), "…");
    }

    #[test]
    fn lines_are_broken_at_blanks_or_anywhere() {
        assert_eq!(wrap("one two three four five", Some(14), 2), ["one two three", "  four five"]);
        assert_eq!(
            wrap("abcdefghijklmnopqrstuvwxyz", Some(12), 2),
            ["abcdefghijkl", "  mnopqrstuv", "  wxyz"]
        );
        assert_eq!(wrap("short", None, 2), ["short"]);
    }

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        assert_eq!(printable("a\x1b[31mb\u{202e}c\n"), r"a\u{1b}[31mb\u{202e}c\u{a}");
    }

    #[test]
    fn ages_have_one_unit() {
        let at = |seconds| Time::from_unix_seconds(seconds).unwrap();
        for (seconds, text) in
            [(-5, "0s"), (119, "119s"), (120, "2m"), (7_200, "2h"), (259_200, "3d"), (63_072_000, "2y")]
        {
            assert_eq!(age(at(0), at(seconds)), text);
        }
    }
}
