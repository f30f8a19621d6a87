//! `conformance`: checks server-side apply on an API server.

use std::process::ExitCode;

use fieldmanager_conformance_suite::{
    Baseline, Connection, RunOptions, ServerOptions, Suite, area, markdown,
};
use fieldmanager_harness::{Errors, Loader, Report, Scenario};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{ConformanceArgs, ConformanceReport};
use crate::commands::test::lines;
use crate::conformance::{Progress, page, table};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output::{self, Line};

/// A run, and the server on which it was.
struct Run {
    report: Report,
    server: String,
    version: String,
}

pub(crate) fn run(args: &ConformanceArgs, files: Files) -> Result<ExitCode, Failure> {
    let suite = suite(args, files)?;
    if args.list {
        let line = |scenario: &Scenario| Line::from(format!("{}: {}", area(scenario), scenario.name));
        output::print_lines(suite.scenarios.iter().map(line))?;
        return Ok(ExitCode::SUCCESS);
    }
    // A file that cannot be read is found before the run.
    let baseline = baseline(args, files)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Other(error.to_string()))?;
    let run = runtime.block_on(on_server(args, &suite))?;
    print(args, &run)?;
    let report = &run.report;
    let missing = suite.scenarios.len() - report.scenarios.len();
    if missing > 0 {
        output::err()
            .line(format!("stopped before the end of {missing} cases; what the run created is removed"))?;
        return Ok(ExitCode::from(1));
    }
    let Some(mut baseline) = baseline else {
        return Ok(if report.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) });
    };
    let comparison = baseline.compare(report);
    if args.update_baseline {
        baseline.update(report);
        write_baseline(args, &baseline)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut err = output::err();
    err.lines(comparison.worse.iter().map(|case| format!("worse than the baseline: {case}")))?;
    err.lines(comparison.better.iter().map(|case| format!("better than the baseline: {case}")))?;
    Ok(if comparison.worse.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The cases to run.
fn suite(args: &ConformanceArgs, files: Files) -> Result<Suite, Failure> {
    let several = |errors: Errors| Failure::Several(errors.iter().map(ToString::to_string).collect());
    let mut suite = if args.paths.is_empty() {
        Suite::embedded().map_err(several)?
    } else {
        let scenarios = Loader::new().max_input(files.max_input).load(&args.paths).map_err(several)?;
        Suite { scenarios }
    };
    suite.select(&args.only, &args.skip).map_err(Failure::Usage)?;
    if let Some(text) = &args.filter {
        suite.scenarios.retain(|scenario| scenario.name.contains(text.as_str()));
    }
    match suite.scenarios.is_empty() {
        true => {
            Err(Failure::Usage("no case is left: expected other values of --only, --skip or --filter".into()))
        }
        false => Ok(suite),
    }
}

fn baseline(args: &ConformanceArgs, files: Files) -> Result<Option<Baseline>, Failure> {
    let Some(path) = &args.baseline else { return Ok(None) };
    if args.update_baseline && !path.exists() {
        return Ok(Some(Baseline::default()));
    }
    let text = files.text(path)?;
    Baseline::from_json(&text).map(Some).map_err(|message| Failure::input(files::name(path), message))
}

fn write_baseline(args: &ConformanceArgs, baseline: &Baseline) -> Result<(), Failure> {
    let Some(path) = &args.baseline else { return Ok(()) };
    let failed = |error| Failure::input(files::name(path), format!("cannot be written: {error}"));
    std::fs::write(path, baseline.to_json()).map_err(failed)
}

async fn on_server(args: &ConformanceArgs, suite: &Suite) -> Result<Run, Failure> {
    let failed = |error: fieldmanager_conformance_suite::ConnectError| Failure::Usage(error.to_string());
    let server = ServerOptions {
        url: args.server.clone(),
        token: args.token.clone(),
        certificate_authority: args.certificate_authority.clone(),
        insecure: args.insecure,
        kubeconfig: args.kubeconfig.clone(),
        context: args.context.clone(),
    };
    let connection = Connection::new(&server).await.map_err(failed)?;
    if !args.yes && !connection.looks_like_test() {
        let context =
            connection.context().map(|context| format!(" (context `{context}`)")).unwrap_or_default();
        return Err(Failure::Usage(format!(
            "{}{context} does not look like a server for tests, and a run creates namespaces and \
             CustomResourceDefinitions: --yes runs on it nevertheless",
            connection.url()
        )));
    }
    let version = connection.version().await.map_err(failed)?;
    let progress = Progress::new(suite.scenarios.len());
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        progress.say("stopping: what the run created is being removed");
    };
    let options = RunOptions { name: name(), jobs: args.jobs.get(), keep: args.keep };
    let report = suite.run(&connection, &options, |case| progress.done(case), stop).await;
    progress.end();
    Ok(Run { report, server: connection.url().to_owned(), version })
}

/// A name that no other run has.
fn name() -> String {
    use std::hash::{BuildHasher, RandomState};
    let mut number = RandomState::new().hash_one(std::process::id());
    let mut name = String::new();
    for _ in 0..5 {
        let letter = u32::try_from(number % 26).ok().and_then(|letter| char::from_digit(letter + 10, 36));
        name.extend(letter);
        number /= 26;
    }
    name
}

fn print(args: &ConformanceArgs, run: &Run) -> Result<(), Failure> {
    let Run { report, server, version } = run;
    match args.report {
        ConformanceReport::Text => {
            let mut lines = lines(report);
            let sum = lines.pop();
            lines.extend(table(report));
            lines.extend(sum);
            output::print_lines(lines)
        }
        ConformanceReport::Json => output::out().json(report.json().trim_end()),
        ConformanceReport::Junit => output::print_document(&report.junit()),
        ConformanceReport::Markdown => output::print_document(&markdown(report, server, version)),
        ConformanceReport::Html => output::print_document(&page(report, server, version)),
    }
}
