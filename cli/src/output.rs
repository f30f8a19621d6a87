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
    /// How something is owned.
    Owned,
    /// What is left out.
    Faint,
}

impl Style {
    pub(crate) fn paint(self, text: &str) -> String {
        let style = match self {
            Style::Error => AnsiColor::Red.on_default().bold(),
            Style::Added => AnsiColor::Green.on_default(),
            Style::Modified => AnsiColor::Yellow.on_default(),
            Style::Removed => AnsiColor::Red.on_default(),
            Style::Strong => Ansi::new().bold(),
            Style::Owned => AnsiColor::Cyan.on_default(),
            Style::Faint => Ansi::new().dimmed(),
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

/// The width of what is printed where neither terminal nor environment say.
const WIDTH: usize = 100;

/// The width of the terminal that standard output goes to, or what `COLUMNS` says of it. Without either there is room
/// for everything: what is not for a terminal is for a file or a program.
pub(crate) fn room() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into()).or_else(columns)
}

fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

/// The width of what goes to standard output.
pub(crate) fn width() -> usize {
    room().unwrap_or(WIDTH)
}

/// The width of what goes to standard error.
pub(crate) fn error_width() -> usize {
    let width = terminal_size::terminal_size_of(std::io::stderr()).map(|(width, _)| width.0.into());
    width.or_else(columns).unwrap_or(WIDTH)
}

/// Prints lines of text.
pub(crate) fn print_lines(lines: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Prints a text as it is.
pub(crate) fn print_text(text: &str) -> Result<(), Failure> {
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}
