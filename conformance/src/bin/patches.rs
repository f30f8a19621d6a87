//! The command that compares patches with the packages of Kubernetes.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use clap::Parser;
use fieldmanager_conformance::oracle::CoProcess;
use fieldmanager_conformance::patches::case;
use fieldmanager_conformance::patches::check::{Counts, both, check, smaller};
use fieldmanager_conformance::{Error, document, program};
use serde_json::Value;

/// How many smaller cases to try for a difference.
const SHRINK_TRIES: usize = 3000;

/// How many differences are shown.
const FAILURES: usize = 6;

/// How many cases are sent at a time.
const BATCH: u64 = 256;

/// Runs generated patches through the library and through strategicpatch, jsonmergepatch and json-patch, and counts
/// by rule where they differ.
#[derive(Parser)]
#[command(name = "patches", version, about)]
struct Arguments {
    /// How many cases to generate
    #[arg(long, default_value_t = 10_000)]
    cases: u64,
    /// The seed of the first case; the others count up from it
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many threads to use [default: one per processor]
    #[arg(long)]
    threads: Option<usize>,
    /// A built oracle to use instead of building it
    #[arg(long)]
    oracle: Option<PathBuf>,
    /// The folder of cases that are run first
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Keep the first difference in this file
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Print one case for each deviation
    #[arg(long)]
    samples: bool,
    /// Print the cases as JSON lines and end
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
            writeln!(out, "{}", case(arguments.seed.wrapping_add(number))).map_err(printed)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let program = program::oracle(arguments.oracle.as_deref(), "oracle-kubernetes")?;
    let oracle = || CoProcess::new(&program, Vec::new());
    let folder = arguments
        .corpus
        .clone()
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus-patches"));
    let replayed = replay(&mut oracle(), &folder, out)?;
    let run = run(arguments, &oracle)?;
    for case in run.failures.iter().take(FAILURES) {
        let mut oracle = oracle();
        let small = smaller(&mut oracle, case, SHRINK_TRIES);
        writeln!(out, "{small}\ndiffer: {}\n", both(&mut oracle, &small)?).map_err(printed)?;
        if let Some(path) = &arguments.keep {
            let failed = |source| Error::File { path: path.clone(), source };
            fs::write(path, format!("{small:#}\n")).map_err(failed)?;
        }
    }
    for (rule, case) in run.samples.iter().filter(|_| arguments.samples) {
        writeln!(out, "{rule}: {case}\n{}\n", both(&mut oracle(), case)?).map_err(printed)?;
    }
    write!(out, "{}", run.counts).map_err(printed)?;
    Ok(if run.counts.differences == 0 && replayed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the cases of the corpus. One that names a deviation must still show it, another one must show none.
fn replay(oracle: &mut CoProcess, folder: &Path, out: &mut dyn Write) -> Result<bool, Error> {
    let mut good = true;
    for (path, case) in document::folder(folder)? {
        let wanted = case.get("deviation").and_then(Value::as_str);
        for finding in check(oracle, std::slice::from_ref(&case))? {
            if finding.deviation != wanted || finding.difference.is_some() {
                good = false;
                let what = (wanted, finding.deviation, &finding.difference);
                writeln!(out, "{}: expected, found: {what:?}", path.display())
                    .map_err(|source| Error::File { path: PathBuf::from("standard output"), source })?;
            }
        }
    }
    Ok(good)
}

#[derive(Default)]
struct Run {
    counts: Counts,
    failures: Vec<Value>,
    samples: Vec<(&'static str, Value)>,
}

/// Runs all cases, and stops soon after the first difference that nothing explains.
fn run(arguments: &Arguments, oracle: &(dyn Fn() -> CoProcess + Sync)) -> Result<Run, Error> {
    let next = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let total = Mutex::new(Run::default());
    let work = || -> Result<(), Error> {
        let mut oracle = oracle();
        let mut run = Run::default();
        while !failed.load(Ordering::Relaxed) {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            if first >= arguments.cases {
                break;
            }
            let numbers = first..(first + BATCH).min(arguments.cases);
            let cases: Vec<_> = numbers.map(|number| case(arguments.seed.wrapping_add(number))).collect();
            for (finding, case) in check(&mut oracle, &cases)?.iter().zip(cases) {
                run.counts.add(finding);
                if let Some(rule) = finding.deviation
                    && !run.samples.iter().any(|(known, _)| *known == rule)
                {
                    run.samples.push((rule, case.clone()));
                }
                if finding.difference.is_some() {
                    failed.store(true, Ordering::Relaxed);
                    run.failures.push(case);
                }
            }
        }
        let mut total = total.lock().map_err(|_| Error::Worker)?;
        total.counts.merge(run.counts);
        total.failures.extend(run.failures);
        for sample in run.samples {
            if !total.samples.iter().any(|(known, _)| *known == sample.0) {
                total.samples.push(sample);
            }
        }
        Ok(())
    };
    program::in_threads(program::threads(arguments.threads), work)?;
    total.into_inner().map_err(|_| Error::Worker)
}
