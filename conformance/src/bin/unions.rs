//! The command that compares unions with the last Go release that had them.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use clap::Parser;
use fieldmanager_conformance::oracle::CoProcess;
use fieldmanager_conformance::unions::check::{Counts, Sides};
use fieldmanager_conformance::unions::generate::scenario;
use fieldmanager_conformance::{Error, program};
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
    program::end(start(&Arguments::parse(), &mut io::stdout().lock()))
}

fn start(arguments: &Arguments, out: &mut dyn Write) -> Result<ExitCode, Error> {
    let printed = |source| Error::File { path: PathBuf::from("standard output"), source };
    if arguments.print {
        for number in 0..arguments.cases {
            writeln!(out, "{}", scenario(arguments.seed.wrapping_add(number))).map_err(printed)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let program = program::oracle(arguments.oracle.as_deref(), "oracle-unions")?;
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
    program::in_threads(program::threads(arguments.threads), work)?;
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
