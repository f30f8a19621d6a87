//! `test`: runs scenario files.

use std::process::ExitCode;

use fieldmanager_conformance_suite::{Connection, RunOptions, Suite};
use fieldmanager_harness::internal::Part;
use fieldmanager_harness::{Loader, Report, Scenario, run_all};

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

    let report = report(scenarios)?;
    match args.format {
        ReportFormat::Json => output::out().json(report.json().trim_end())?,
        ReportFormat::Text => output::print_lines(lines(&report))?,
    }

    if let Some(path) = &args.junit {
        let failed =
            |error| Failure::input(files::name(path), format!("cannot be written: {error}"));
        std::fs::write(path, output::junit_for_jenkins(&report.junit())).map_err(failed)?;
    }

    Ok(match report.failed() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    })
}

/// Runs scenarios in the given order: those that need a server on one inside this program.
fn report(scenarios: Vec<Scenario>) -> Result<Report, Failure> {
    // The results of scenarios that need a server are replaced below, so that the report keeps the order of the files.
    let mut report = run_all(&scenarios);
    let (numbers, on_server): (Vec<_>, Vec<_>) = scenarios
        .into_iter()
        .enumerate()
        .filter(|(_, scenario)| scenario.needs_server())
        .unzip();
    if on_server.is_empty() {
        return Ok(report);
    }

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::Other(error.to_string()))?;
    let suite = Suite {
        scenarios: on_server,
    };
    let run = async {
        let connection = Connection::in_process().await;
        let connection = connection.map_err(|error| Failure::Other(error.to_string()))?;
        // The server ends with the program, so nothing has to be removed.
        let options = RunOptions {
            name: "test".into(),
            jobs: 8,
            keep: true,
        };
        let outcome = suite
            .run(&connection, &options, |_| {}, std::future::pending())
            .await;

        Ok::<_, Failure>(outcome.report)
    };

    for (number, result) in numbers.into_iter().zip(runtime.block_on(run)?.scenarios) {
        if let Some(place) = report.scenarios.get_mut(number) {
            *place = result;
        }
    }
    Ok(report)
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
