//! Lines of output, which escape untrusted strings.

use std::fmt;

use anstyle::{AnsiColor, Style as Ansi};
use fieldmanager_harness::internal::escape_untrusted;

/// A line of output: strings escaped with [`escape_untrusted`], some of them with a style. Newlines are escaped too,
/// since one line is one record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(String);

impl Line {
    /// Appends another part.
    pub(crate) fn and(mut self, part: impl Into<Line>) -> Self {
        self.0.push_str(&part.into().0);
        self
    }

    /// A line of YAML. Tabs are kept.
    pub(crate) fn yaml(line: &str) -> Self {
        let parts: Vec<_> = line.split('\t').map(escape_untrusted).collect();
        Line(parts.join("\t"))
    }

    /// Removes trailing blanks.
    pub(crate) fn trimmed(mut self) -> Self {
        self.0.truncate(self.0.trim_end().len());
        self
    }

    /// Joins several parts with a separator.
    pub(crate) fn join(parts: impl IntoIterator<Item = Line>, separator: &str) -> Self {
        let mut joined = Line::default();
        for (i, part) in parts.into_iter().enumerate() {
            joined = if i == 0 {
                part
            } else {
                joined.and(separator).and(part)
            };
        }
        joined
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Line(escape_untrusted(text).into_owned())
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<&String> for Line {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

/// The meanings that have a colour. Only terminals get colours; elsewhere the streams strip them.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Error,
    Added,
    Modified,
    Removed,
    Strong,
    /// The granularity of ownership.
    Owned,
    /// Less important than the rest.
    Faint,
}

impl Style {
    /// Paints the string in this style.
    pub(crate) fn paint(self, text: &str) -> Line {
        let style = match self {
            Style::Error => AnsiColor::Red.on_default().bold(),
            Style::Added => AnsiColor::Green.on_default(),
            Style::Modified => AnsiColor::Yellow.on_default(),
            Style::Removed => AnsiColor::Red.on_default(),
            Style::Strong => Ansi::new().bold(),
            Style::Owned => AnsiColor::Cyan.on_default(),
            Style::Faint => Ansi::new().dimmed(),
        };
        paint(style, text)
    }
}

/// Paints the string in a terminal style.
pub(crate) fn paint(style: Ansi, text: &str) -> Line {
    Line(format!("{style}{}{style:#}", escape_untrusted(text)))
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_escape_every_part() {
        let hostile = "a\x1b[31m\u{202e}\n";
        let line = Line::from(hostile)
            .and(hostile.to_owned())
            .and(Style::Error.paint(hostile));
        let escaped = r"a\u{1b}[31m\u{202e}\u{a}";
        let red = AnsiColor::Red.on_default().bold();
        assert_eq!(line.0, format!("{escaped}{escaped}{red}{escaped}{red:#}"));
        assert_eq!(Line::yaml("a\tb\x07").0, "a\tb\\u{7}");
    }
}
