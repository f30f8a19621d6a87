//! Fits strings to the width of a terminal.

pub(crate) use fieldmanager_blame::{printable, printable_line};
use fieldmanager_managedfields::{Identity, Operation};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Marks omitted characters.
const CUT: char = '…';

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
    head.into_iter()
        .chain([CUT])
        .chain(tail.into_iter().rev())
        .collect()
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

        // A break in the first half would leave most of the line empty.
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
    // An applier has one identity at all versions, an updater one for each.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_keeps_beginning_and_end() {
        assert_eq!(
            shortened("kube-controller-manager", 30),
            "kube-controller-manager"
        );
        assert_eq!(shortened("kube-controller-manager", 11), "kube-…nager");
        assert_eq!(shortened("部署控制器", 6), "部…器");
        assert_eq!(shortened("abc", 0), "…");
    }

    #[test]
    fn wrap_breaks_at_blanks_or_anywhere() {
        assert_eq!(
            wrap("one two three four five", Some(14), 2),
            ["one two three", "  four five"]
        );
        assert_eq!(
            wrap("abcdefghijklmnopqrstuvwxyz", Some(12), 2),
            ["abcdefghijkl", "  mnopqrstuv", "  wxyz"]
        );
        assert_eq!(wrap("short", None, 2), ["short"]);
    }
}
