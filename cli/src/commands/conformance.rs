//! `conformance`: checks server-side apply on an API server.

use std::process::ExitCode;

use fieldmanager_conformance_suite::{Connection, RunOptions, ServerOptions, Suite, area};
use fieldmanager_harness::{Loader, Report};

use crate::args::{ConformanceArgs, ConformanceReport};
use crate::commands::test::lines;
use crate::error::Failure;
use crate::files::Files;
use crate::output;

pub(crate) fn run(args: &ConformanceArgs, files: Files) -> Result<ExitCode, Failure> {
    let suite = suite(args, files)?;
    if args.list {
        let line = |scenario: &fieldmanager_harness::Scenario| format!("{}: {}", area(scenario), scenario.name);
        output::print_lines(suite.scenarios.iter().map(line))?;
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Other(error.to_string()))?;
    let report = runtime.block_on(on_server(args, &suite))?;
    print(args, &report)?;
    Ok(match report.failed() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    })
}

/// The cases to run.
fn suite(args: &ConformanceArgs, files: Files) -> Result<Suite, Failure> {
    let several = |errors: fieldmanager_harness::Errors| {
        Failure::Several(errors.iter().map(ToString::to_string).collect())
    };
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
        true => Err(Failure::Usage("no case is left: expected other values of --only, --skip or --filter".into())),
        false => Ok(suite),
    }
}

async fn on_server(args: &ConformanceArgs, suite: &Suite) -> Result<Report, Failure> {
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
    connection.version().await.map_err(failed)?;
    let options = RunOptions { name: name(), jobs: args.jobs.get(), keep: args.keep };
    Ok(suite.run(&connection, &options, |_| {}, std::future::pending()).await)
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

fn print(args: &ConformanceArgs, report: &Report) -> Result<(), Failure> {
    match args.report {
        ConformanceReport::Json => output::out().json(report.json().trim_end()),
        _ => output::print_lines(lines(report)),
    }
}
