//! What goes to standard output, and its colours.

use std::io::Write;

use anstyle::{AnsiColor, Style as Ansi};
use fieldmanager_value::Value;

use crate::args::Format;
use crate::error::Failure;

/// The few meanings that have a colour. Colours reach terminals only: the streams strip them elsewhere.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Error,
    Added,
    Modified,
    Removed,
    Strong,
}

impl Style {
    pub(crate) fn paint(self, text: &str) -> String {
        let style = match self {
            Style::Error => AnsiColor::Red.on_default().bold(),
            Style::Added => AnsiColor::Green.on_default(),
            Style::Modified => AnsiColor::Yellow.on_default(),
            Style::Removed => AnsiColor::Red.on_default(),
            Style::Strong => Ansi::new().bold(),
        };
        format!("{style}{text}{style:#}")
    }
}

/// Prints a value as a document.
pub(crate) fn print(value: &Value, format: Format) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match format {
        Format::Yaml => write!(out, "{}", value.to_yaml())?,
        Format::Json => writeln!(out, "{}", value.to_json_pretty())?,
    }
    Ok(())
}

/// Prints lines of text.
pub(crate) fn print_lines(lines: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
