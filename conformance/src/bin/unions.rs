//! The command that compares unions with the last Go release that had them.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use clap::Parser;
use fieldmanager_conformance::Error;
use fieldmanager_conformance::oracle::CoProcess;
use fieldmanager_conformance::unions::check::{Counts, Sides};
use fieldmanager_conformance::unions::generate::scenario;
use serde_json::Value;

/// How many smaller scenarios to try for a failure.
const SHRINK_TRIES: usize = 3000;

/// How many scenarios are sent at a time.
const BATCH: u64 = 128;

/// Runs generated scenarios about unions through the library and through
/// structured-merge-diff v4.3.0, and counts by rule where they differ.
#[derive(Parser)]
#[command(name = "unions", version, about)]
struct Arguments {
    /// How many scenarios to generate
    #[arg(long, default_value_t = 1000)]
    cases: u64,
    /// The seed of the first scenario; the others count up from it
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many threads to use [default: one per processor]
    #[arg(long)]
    threads: Option<usize>,
    /// A built oracle to use instead of building it
    #[arg(long)]
    oracle: Option<PathBuf>,
    /// Print the scenarios as JSON lines and end
    #[arg(long)]
    print: bool,
}

fn main() -> ExitCode {
    match start(&Arguments::parse(), &mut io::stdout().lock()) {
        Ok(code) => code,
        Err(error) => {
            // Nobody is left to tell when standard error is gone too.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn start(arguments: &Arguments, out: &mut dyn Write) -> Result<ExitCode, Error> {
    let printed = |source| Error::File { path: PathBuf::from("standard output"), source };
    if arguments.print {
        for number in 0..arguments.cases {
            writeln!(out, "{}", scenario(arguments.seed.wrapping_add(number))).map_err(printed)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let program = match &arguments.oracle {
        Some(program) => program.clone(),
        None => build()?,
    };
    let sides = || Sides::new(CoProcess::new(&program, Vec::new()));
    let (counts, failure) = run(arguments, &sides)?;
    if let Some(scenario) = failure {
        report(out, &mut sides(), &scenario).map_err(printed)?;
    }
    write!(out, "{counts}").map_err(printed)?;
    Ok(if counts.unexplained == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs all scenarios, and stops soon after the first that nothing explains.
fn run(arguments: &Arguments, sides: &(dyn Fn() -> Sides + Sync)) -> Result<(Counts, Option<Value>), Error> {
    let next = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let total = Mutex::new((Counts::default(), None));
    let work = || -> Result<(), Error> {
        let mut sides = sides();
        let mut counts = Counts::default();
        let mut failure = None;
        while !failed.load(Ordering::Relaxed) {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            if first >= arguments.cases {
                break;
            }
            let numbers = first..(first + BATCH).min(arguments.cases);
            let scenarios: Vec<_> =
                numbers.map(|number| scenario(arguments.seed.wrapping_add(number))).collect();
            for (finding, scenario) in sides.check(&scenarios)?.iter().zip(scenarios) {
                counts.add(finding);
                if finding.difference.is_some() {
                    failed.store(true, Ordering::Relaxed);
                    failure.get_or_insert(scenario);
                }
            }
        }
        let mut total = total.lock().map_err(|_| Error::Worker)?;
        total.0.merge(counts);
        total.1 = total.1.take().or(failure);
        Ok(())
    };
    let threads = arguments.threads.or_else(|| thread::available_parallelism().ok().map(Into::into));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.unwrap_or(1).max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| Error::Worker)?)
    })?;
    total.into_inner().map_err(|_| Error::Worker)
}

fn report(out: &mut dyn Write, sides: &mut Sides, scenario: &Value) -> io::Result<()> {
    let (scenario, difference) = sides.shrink(scenario, SHRINK_TRIES);
    writeln!(out, "{scenario:#}")?;
    let Some(difference) = difference else {
        return writeln!(out, "which cannot be seen a second time");
    };
    writeln!(out, "differ: {}", difference.what)?;
    match difference.step {
        Some(step) => writeln!(out, "at step {step} (the first is 0)")?,
        None => writeln!(out, "for the whole scenario")?,
    }
    writeln!(out, "v4.3.0:      {}", difference.reference)?;
    writeln!(out, "the library: {}", difference.candidate)?;
    writeln!(out)
}

/// Builds the oracle in the target folder of Cargo; Go sees to it that a second build costs next to nothing.
fn build() -> Result<PathBuf, Error> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = package.join("oracle-unions");
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| package.join("..").join("target"), PathBuf::from)
        .join("conformance");
    let failed = |source| Error::File { path: target.clone(), source };
    std::fs::create_dir_all(&target).map_err(failed)?;
    let program = target.canonicalize().map_err(failed)?;
    let program = program.join(format!("fieldmanager-oracle-unions{}", env::consts::EXE_SUFFIX));
    let mut command = Command::new("go");
    command.args(["build", "-o"]).arg(&program).arg(".").current_dir(&folder);
    let output = command.output().map_err(Error::GoMissing)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::OracleBuild { folder, message });
    }
    Ok(program)
}
