//! `test`: runs scenario files.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use fieldmanager_harness::{Style, load, run_all};

use crate::args::{ReportFormat, TestArgs};
use crate::error::Failure;

pub(crate) fn run(args: &TestArgs) -> Result<ExitCode, Failure> {
    let mut scenarios = load(&args.paths).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::Other(lines.join("\n       "))
    })?;
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
    let mut out = anstream::stdout().lock();
    match args.format {
        ReportFormat::Json => writeln!(out, "{}", report.json())?,
        ReportFormat::Text => {
            let style = if std::io::stdout().is_terminal() { Style::Ansi } else { Style::Plain };
            write!(out, "{}", report.text(style))?;
        }
    }
    if let Some(path) = &args.junit {
        let failed = |error| Failure::input(path.display(), format!("cannot be written: {error}"));
        let text = report.junit();
        std::fs::write(path, text).map_err(failed)?;
    }
    Ok(match report.failed() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    })
}
