//! The command that compares the library with the Go implementation.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use fieldmanager_conformance::candidate::Candidate;
use fieldmanager_conformance::deviations;
use fieldmanager_conformance::generate::{Profile, scenario};
use fieldmanager_conformance::oracle::CoProcess;
use fieldmanager_conformance::run::{Failure, Settings, Sides, generated};
use fieldmanager_conformance::tally::Tally;
use fieldmanager_conformance::{Error, Implementation, document, program};
use serde_json::Value;

/// How many smaller scenarios to try for one failure.
const SHRINK_TRIES: usize = 4000;

/// Runs generated scenarios through the library and through the Go
/// implementation and reports where they differ.
#[derive(Parser)]
#[command(version, about)]
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
    /// The folder of scenarios that are replayed first and where failures are kept
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"))]
    corpus: PathBuf,
    /// How large the objects are
    #[arg(long, value_enum, default_value_t = Size::All)]
    profile: Size,
    /// Stop after this many differences
    #[arg(long, default_value_t = 1)]
    keep_going: usize,
    /// A built oracle to use instead of building it
    #[arg(long)]
    oracle: Option<PathBuf>,
    /// A program to compare with in the place of the library: it reads
    /// scenarios as JSON lines and answers each with a line, as the oracle does
    #[arg(long)]
    engine: Option<PathBuf>,
    /// Only run the oracle and count what the generator makes
    #[arg(long)]
    oracle_only: bool,
    /// Print the scenarios as JSON lines and end
    #[arg(long)]
    print: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Size {
    Small,
    Large,
    All,
}

fn main() -> ExitCode {
    program::end(start(&Arguments::parse(), &mut io::stdout().lock()))
}

fn start(arguments: &Arguments, out: &mut dyn Write) -> Result<ExitCode, Error> {
    let printed = |source| Error::File { path: PathBuf::from("standard output"), source };
    let profile = match arguments.profile {
        Size::Small => Profile::Small,
        Size::Large => Profile::Large,
        Size::All => Profile::All,
    };
    if arguments.print {
        for number in 0..arguments.cases {
            writeln!(out, "{}", scenario(arguments.seed.wrapping_add(number), profile)).map_err(printed)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let program = program::oracle(arguments.oracle.as_deref(), "oracle")?;
    let sides = || Sides {
        oracle: CoProcess::new(&program, vec!["-workers=1".to_owned()]),
        candidate: candidate(arguments),
        explain: &deviations::explain,
    };

    let mut tally = Tally::default();
    let kept: Vec<Value> = document::folder(&arguments.corpus)?.into_iter().map(|(_, kept)| kept).collect();
    let mut failures = sides().check(&kept, &mut tally)?;
    if failures.is_empty() {
        let settings = Settings {
            cases: arguments.cases,
            seed: arguments.seed,
            profile,
            threads: program::threads(arguments.threads),
            keep_going: arguments.keep_going.max(1),
        };
        let (more, found) = generated(&settings, &sides)?;
        tally.merge(more);
        failures = found;
    }
    let mut both = sides();
    for failure in failures.iter().take(arguments.keep_going.max(1)) {
        let shrunk = both.shrink(failure, SHRINK_TRIES);
        let path = document::keep(&arguments.corpus, "conformance", shrunk.scenario.clone())?;
        report(out, &shrunk, &path).map_err(printed)?;
    }
    write!(out, "{tally}").map_err(printed)?;
    Ok(if tally.differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn candidate(arguments: &Arguments) -> Option<Box<dyn Implementation>> {
    match &arguments.engine {
        _ if arguments.oracle_only => None,
        Some(program) => Some(Box::new(CoProcess::new(program, Vec::new()))),
        None => Some(Box::new(Candidate)),
    }
}

fn report(out: &mut dyn Write, failure: &Failure, path: &Path) -> io::Result<()> {
    let Failure { scenario, difference } = failure;
    writeln!(out, "difference in {}, kept as {}", difference.what, path.display())?;
    writeln!(out, "{scenario:#}")?;
    match difference.step {
        Some(step) => writeln!(out, "at step {step} (the first is 0)")?,
        None => writeln!(out, "for the whole scenario")?,
    }
    writeln!(out, "the reference: {:#}", difference.reference)?;
    writeln!(out, "the library:   {:#}", difference.candidate)?;
    writeln!(out)
}
