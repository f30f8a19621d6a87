//! `test`: runs scenario files.

use std::process::ExitCode;

use fieldmanager_harness::internal::Part;
use fieldmanager_harness::{Loader, Report, run_all};

use crate::args::{ReportFormat, TestArgs};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output::{self, Line, Style};

pub(crate) fn run(args: &TestArgs, files: Files) -> Result<ExitCode, Failure> {
    let mut scenarios = Loader::new()
        .max_input(files.max_input)
        .load(&args.paths)
        .map_err(|errors| Failure::Several(errors.iter().map(ToString::to_string).collect()))?;
    if let Some(text) = &args.filter {
        scenarios.retain(|scenario| scenario.name.contains(text.as_str()));
    }
    if scenarios.is_empty() {
        return Err(Failure::Usage(match &args.filter {
            Some(text) => format!("no scenario has a name that contains `{text}`"),
            None => "no scenarios found: expected files with `schema` and `steps`".into(),
        }));
    }
    let report = run_all(&scenarios);
    match args.format {
        ReportFormat::Json => output::out().json(report.json().trim_end())?,
        ReportFormat::Text => output::print_lines(lines(&report))?,
    }
    if let Some(path) = &args.junit {
        let failed = |error| Failure::input(files::name(path), format!("cannot be written: {error}"));
        std::fs::write(path, report.junit()).map_err(failed)?;
    }
    Ok(match report.failed() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    })
}

/// The failures and the last line.
pub(crate) fn lines(report: &Report) -> Vec<Line> {
    let mut lines = Vec::new();
    for scenario in report.scenarios.iter().filter(|scenario| scenario.failed()) {
        for line in scenario.lines() {
            let style = match line.part {
                Part::Title => Style::Error,
                Part::Added => Style::Added,
                Part::Removed => Style::Removed,
                Part::Hunk => Style::Owned,
                _ => {
                    lines.push(line.text.into());
                    continue;
                }
            };
            let text = line.text.trim_start();
            let indent = " ".repeat(line.text.len() - text.len());
            lines.push(Line::from(indent).and(style.paint(text)));
        }
        lines.push(Line::default());
    }
    lines.push(report.summary().into());
    lines
}
