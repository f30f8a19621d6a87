//! All output of the command goes through this module.
//!
//! Most output contains strings of files and arguments, which are untrusted: a name may contain terminal escapes or
//! bidi controls. A [`Line`] escapes every string that it includes, on a terminal and in pipes, so only this module can
//! emit a control character. A [`Printer`] ends each line.
//!
//! Documents are printed unchanged, because programs read them. Their writers escape control characters where the
//! format allows it: YAML escapes C0, C1, DEL and line separators, and keeps bidi controls as kubectl does. This module
//! escapes JSON to ASCII wherever a character is not printable, which preserves the value.

#![expect(
    clippy::disallowed_methods,
    reason = "this module is the one that prints"
)]

use std::fmt::Write as _;
use std::io::Write;

use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::is_print;
use indicatif::{ProgressBar, ProgressStyle};

use crate::args::Format;
use crate::error::Failure;

pub(crate) use crate::line::{Line, Style, paint};

/// Writes lines and documents to standard output or standard error.
pub(crate) struct Printer<W>(W);

/// The printer of standard output.
pub(crate) fn out() -> Printer<impl Write> {
    Printer(anstream::stdout().lock())
}

/// The printer of standard error.
pub(crate) fn err() -> Printer<impl Write> {
    Printer(anstream::stderr().lock())
}

/// Where `serve` writes its log: lines whose values the logger has escaped.
pub(crate) fn log() -> impl Write {
    anstream::stderr()
}

/// Where `serve` writes its log in JSON, whose writer does not escape all that a terminal takes for controls.
pub(crate) fn json_log() -> impl Write {
    EscapedJson(anstream::stderr())
}

/// Escapes JSON that is written in whole lines.
struct EscapedJson<W>(W);

impl<W: Write> Write for EscapedJson<W> {
    fn write(&mut self, json: &[u8]) -> std::io::Result<usize> {
        let escaped = escape_json(&String::from_utf8_lossy(json));
        self.0.write_all(escaped.as_bytes())?;
        Ok(json.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write> Printer<W> {
    pub(crate) fn line(&mut self, line: impl Into<Line>) -> Result<(), Failure> {
        writeln!(self.0, "{}", line.into())?;
        Ok(())
    }

    pub(crate) fn lines<L: Into<Line>>(
        &mut self,
        lines: impl IntoIterator<Item = L>,
    ) -> Result<(), Failure> {
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    /// Prints a warning about a file.
    pub(crate) fn warning(&mut self, file: &str, message: &str) -> Result<(), Failure> {
        self.line(
            Style::Modified
                .paint("warning:")
                .and(format!(" {file}: {message}")),
        )
    }

    /// Prints a JSON document and a newline.
    pub(crate) fn json(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.0, "{}", escape_json(text))?;
        Ok(())
    }
}

/// Escapes every character of a JSON document that is not printable. JSON writers escape the C0 controls in strings,
/// and characters beyond ASCII occur only in strings.
fn escape_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || is_print(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }

    out
}

/// Prints a value as a document.
pub(crate) fn print(value: &Value, format: Format) -> Result<(), Failure> {
    match format {
        // The writer escapes control characters, so the stream has nothing to strip.
        Format::Yaml => std::io::stdout()
            .lock()
            .write_all(value.to_yaml().as_bytes())?,
        Format::Json => out().json(&value.to_json_pretty())?,
    }
    Ok(())
}

/// Prints lines to standard output.
pub(crate) fn print_lines<L: Into<Line>>(
    lines: impl IntoIterator<Item = L>,
) -> Result<(), Failure> {
    out().lines(lines)
}

/// How many objects a command is done with, on standard error if that is a terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{pos} objects {elapsed}") {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// One more is done, of which this prints.
    pub(crate) fn done<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.inc(1);
        self.0.suspend(print)
    }

    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}

/// Prints a document unchanged: an HTML page, which escapes its strings itself, or a file with insertions.
pub(crate) fn print_document(document: &str) -> Result<(), Failure> {
    std::io::stdout().lock().write_all(document.as_bytes())?;
    Ok(())
}

/// A report in the format of JUnit as the schema of Jenkins wants it, which has no number of skipped cases at the root.
pub(crate) fn junit_for_jenkins(report: &str) -> String {
    let root = report.find("<testsuites").unwrap_or_default();
    let (before, root) = report.split_at(root);
    let (root, suites) = root.split_at(root.find('>').unwrap_or_default());
    match root.split_once(" skipped=\"") {
        Some((start, rest)) => {
            let end = rest.split_once('"').map_or("", |(_, end)| end);
            format!("{before}{start}{end}{suites}")
        }
        None => report.to_owned(),
    }
}

/// The width of the output if neither the terminal nor the environment provides one.
const WIDTH: usize = 100;

/// The width of the terminal on standard output, or `COLUMNS`. Without either, the output goes to a file or a pipe and
/// has no limit.
pub(crate) fn room() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout())
        .map(|(width, _)| width.0.into())
        .or_else(columns)
}

fn columns() -> Option<usize> {
    std::env::var("COLUMNS")
        .ok()?
        .parse()
        .ok()
        .filter(|columns| *columns > 0)
}

/// The width of standard output.
pub(crate) fn width() -> usize {
    room().unwrap_or(WIDTH)
}

/// The width of standard error.
pub(crate) fn error_width() -> usize {
    let width = terminal_size::terminal_size_of(std::io::stderr()).map(|(width, _)| width.0.into());
    width.or_else(columns).unwrap_or(WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_json_has_the_same_value() {
        let value = Value::from("\u{7f}\u{9b}\u{202e}\u{2028}\u{e0001}\u{1b}\n名");
        let json = escape_json(&value.to_json_pretty());
        assert_eq!(json, r#""\u007f\u009b\u202e\u2028\udb40\udc01\u001b\n名""#);
        assert_eq!(Value::from_json(&json), Ok(value));
    }
}
