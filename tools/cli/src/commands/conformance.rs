//! `conformance`: checks server-side apply on an API server.

use std::collections::BTreeSet;
use std::process::ExitCode;

use fieldmanager_conformance_suite::{
    Baseline, ConnectError, Outcome, RunOptions, ServerOptions, Suite, Target, area, markdown,
};
use fieldmanager_harness::{Errors, Loader, Report, ReportServer, Scenario};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::args::{ConformanceArgs, ConformanceReport};
use crate::commands::test::lines;
use crate::conformance::{Progress, page, table};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output::{self, Line};
use crate::text;

pub(crate) fn run(args: &ConformanceArgs, files: Files) -> Result<ExitCode, Failure> {
    let mut suite = suite(args, files)?;
    // The baseline may have cases that the arguments exclude, so the names of all cases are kept.
    let names: BTreeSet<String> = suite.scenarios.iter().map(full_name).collect();
    select(&mut suite, args)?;
    if args.list {
        output::print_lines(
            suite
                .scenarios
                .iter()
                .map(|scenario| Line::from(full_name(scenario))),
        )?;
        return Ok(ExitCode::SUCCESS);
    }

    // A file that cannot be read is found before the run.
    let baseline = baseline(args, files)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::Other(error.to_string()))?;
    let name = name();
    let run = runtime.block_on(on_server(args, &suite, &name))?;
    let report = &run.report;
    print(args, report)?;
    output::err().lines(remains(args, &run, &name))?;
    if let Some(error) = run.error {
        return Err(Failure::Usage(error));
    }

    // A run that was stopped has no results for some cases, and is not compared.
    if report.not_run > 0 {
        return Ok(ExitCode::from(1));
    }
    let Some(mut baseline) = baseline else {
        return Ok(if report.failed() == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(1)
        });
    };

    let comparison = baseline.compare(report);
    let unknown = baseline.unknown(&names);
    if args.update_baseline {
        baseline.update(report);
        // Entries of other cases remain after a run of selected ones.
        if suite.scenarios.len() == names.len() {
            baseline.remove_unknown(&names);
        }
        write_baseline(args, &baseline)?;
        return Ok(ExitCode::SUCCESS);
    }

    // Only worse cases fail the command. The others show that the baseline is out of date.
    let mut err = output::err();
    err.lines(
        comparison
            .worse
            .iter()
            .map(|case| format!("worse than the baseline: {case}")),
    )?;
    err.lines(
        unknown
            .iter()
            .map(|case| format!("in the baseline, but there is no such case: {case}")),
    )?;

    err.lines(
        comparison
            .better
            .iter()
            .map(|case| format!("better than the baseline: {case}")),
    )?;
    Ok(if comparison.worse.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

/// The cases to run.
fn suite(args: &ConformanceArgs, files: Files) -> Result<Suite, Failure> {
    let several =
        |errors: Errors| Failure::Several(errors.iter().map(ToString::to_string).collect());
    if args.paths.is_empty() {
        return Suite::embedded().map_err(several);
    }
    let scenarios = Loader::new()
        .max_input(files.max_input)
        .load(&args.paths)
        .map_err(several)?;
    Ok(Suite { scenarios })
}

/// Removes the cases that the arguments exclude.
fn select(suite: &mut Suite, args: &ConformanceArgs) -> Result<(), Failure> {
    suite
        .select(&args.only, &args.skip)
        .map_err(Failure::Usage)?;
    if let Some(text) = &args.filter {
        suite
            .scenarios
            .retain(|scenario| scenario.name.contains(text.as_str()));
    }

    if suite.scenarios.is_empty() {
        Err(Failure::Usage(
            "no case is left: expected other values of --only, --skip or --filter".into(),
        ))
    } else {
        Ok(())
    }
}

/// The name of a case in lists and baselines.
fn full_name(scenario: &Scenario) -> String {
    format!("{}: {}", area(scenario), scenario.name)
}

/// What a run that was stopped, or could not remove everything, says of what it created.
fn remains(args: &ConformanceArgs, run: &Outcome, name: &str) -> Vec<String> {
    let mut lines: Vec<String> = run
        .left
        .iter()
        .map(|left| format!("not removed: {}: {}", left.path, left.reason))
        .collect();

    if !lines.is_empty() {
        lines.push(format!(
            "to remove namespaces and definitions of the run: kubectl delete \
             namespaces,customresourcedefinitions -l fieldmanager-comparison={name}"
        ));
    }

    if run.report.not_run > 0 {
        let rest = match (args.keep, run.left.is_empty()) {
            (true, _) => "what the run created is kept",
            (false, true) => "what the run created is removed",
            (false, false) => "a part of what the run created is not removed",
        };
        lines.push(format!(
            "stopped before the end of {} cases; {rest}",
            run.report.not_run
        ));
    }

    lines
}

fn baseline(args: &ConformanceArgs, files: Files) -> Result<Option<Baseline>, Failure> {
    let Some(path) = &args.baseline else {
        return Ok(None);
    };
    // The first update creates the file.
    if args.update_baseline && !path.exists() {
        return Ok(Some(Baseline::default()));
    }
    if !path.exists() {
        let message = "the file does not exist: --update-baseline writes it";
        return Err(Failure::input(files::name(path), message));
    }
    let text = files.text(path)?;

    Baseline::from_json(&text)
        .map(Some)
        .map_err(|message| Failure::input(files::name(path), message))
}

fn write_baseline(args: &ConformanceArgs, baseline: &Baseline) -> Result<(), Failure> {
    let Some(path) = &args.baseline else {
        return Ok(());
    };
    let failed = |error| Failure::input(files::name(path), format!("cannot be written: {error}"));
    std::fs::write(path, baseline.to_json()).map_err(failed)
}

async fn on_server(args: &ConformanceArgs, suite: &Suite, name: &str) -> Result<Outcome, Failure> {
    let failed = |error: ConnectError| Failure::Usage(error.to_string());
    let server = ServerOptions {
        url: args.server.clone(),
        token: args.token.clone(),
        certificate_authority: args.certificate_authority.clone(),
        insecure: args.insecure,
        kubeconfig: args.kubeconfig.clone(),
        context: args.context.clone(),
    };
    let target = Target::read(&server).await.map_err(failed)?;

    // Before the client is made, which may run a plugin of the kubeconfig.
    if let Some(reason) = target.refusal().filter(|_| !args.yes) {
        let context = target
            .context()
            .map(|context| format!(" (context `{context}`)"))
            .unwrap_or_default();
        return Err(Failure::Usage(format!(
            "{}{context} does not look like a server for tests, and a run creates namespaces and \
             CustomResourceDefinitions: {reason}; --yes runs on it nevertheless",
            target.url()
        )));
    }

    let connection = target.connect().map_err(failed)?;
    let version = connection.version().await.map_err(failed)?;
    let progress = Progress::new(suite.scenarios.len());
    let signalled = signals()?;
    let stop = async {
        // The sender lives until the second signal.
        let _ = signalled.await;
        progress.say("stopping: what the run created is being removed");
    };
    let options = RunOptions {
        name: name.to_owned(),
        jobs: args.jobs.get(),
        keep: args.keep,
    };

    let mut outcome = suite
        .run(&connection, &options, |case| progress.done(case), stop)
        .await;
    progress.end();
    outcome.report.server = Some(ReportServer {
        url: connection.url().to_owned(),
        version,
    });

    Ok(outcome)
}

/// Waits for a signal that stops the run. A second one ends the program at once.
fn signals() -> Result<oneshot::Receiver<()>, Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut next = async move || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    };
    let (stop, stopped) = oneshot::channel();
    tokio::spawn(async move {
        next().await;
        let _ = stop.send(());
        next().await;
        std::process::exit(130);
    });

    Ok(stopped)
}

/// A name that no other run has.
fn name() -> String {
    use std::hash::{BuildHasher, RandomState};
    let mut number = RandomState::new().hash_one(std::process::id());
    // The name is a part of namespaces and groups, so it has only letters.
    let mut name = String::new();
    for _ in 0..5 {
        let letter = u32::try_from(number % 26)
            .ok()
            .and_then(|letter| char::from_digit(letter + 10, 36));
        name.extend(letter);
        number /= 26;
    }

    name
}

fn print(args: &ConformanceArgs, report: &Report) -> Result<(), Failure> {
    let ReportServer {
        url: server,
        version,
    } = &report.server.clone().unwrap_or_default();
    match args.report {
        ConformanceReport::Text => {
            // The sum remains the last line.
            let mut lines = lines(report);
            let sum = lines.pop();
            lines.extend(table(report));
            lines.push(Line::from(text::printable(&format!(
                "server {server}, version {version}"
            ))));
            lines.extend(sum);
            output::print_lines(lines)
        }
        ConformanceReport::Json => output::out().json(report.json().trim_end()),
        ConformanceReport::Junit => {
            output::print_document(&output::junit_for_jenkins(&report.junit()))
        }
        ConformanceReport::Markdown => output::print_document(&markdown(report, server, version)),
        ConformanceReport::Html => output::print_document(&page(report, server, version)),
    }
}
