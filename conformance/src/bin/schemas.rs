//! The command that compares schemas with the Kubernetes packages.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Parser;
use fieldmanager_conformance::oracle::CoProcess;
use fieldmanager_conformance::schemas::compare::Difference;
use fieldmanager_conformance::schemas::generate::request;
use fieldmanager_conformance::schemas::sides::Sides;
use fieldmanager_conformance::schemas::tally::Tally;
use fieldmanager_conformance::schemas::{corpus, shared};
use fieldmanager_conformance::{Error, document, program};
use serde_json::Value;

/// How many smaller requests to try for a failure.
const SHRINK_TRIES: usize = 2000;

/// How many requests are sent at a time.
const BATCH: u64 = 64;

/// Asks the library and the Kubernetes packages about generated schemas, and
/// reports where they differ.
#[derive(Parser)]
#[command(name = "schemas", version, about)]
struct Arguments {
    /// How many requests to generate
    #[arg(long, default_value_t = 1000)]
    cases: u64,
    /// The seed of the first request; the others count up from it
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Generate requests of this op only, such as `openapi` or `crd`
    #[arg(long)]
    op: Option<String>,
    /// How many threads to use [default: one per processor]
    #[arg(long)]
    threads: Option<usize>,
    /// The folder of requests that are replayed first and where failures are kept
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus-schemas"))]
    corpus: PathBuf,
    /// A folder with published OpenAPI documents below `data`
    #[arg(long)]
    shared: Option<PathBuf>,
    /// Stop after this many differences
    #[arg(long, default_value_t = 1)]
    keep_going: usize,
    /// How many of them to make small, print and keep
    #[arg(long, default_value_t = 10)]
    report: usize,
    /// A built oracle to use instead of building it
    #[arg(long)]
    oracle: Option<PathBuf>,
    /// Print the requests as JSON lines and end
    #[arg(long)]
    print: bool,
}

impl Arguments {
    /// The request of a number, if it is wanted.
    fn request(&self, number: u64) -> Option<Value> {
        let request = request(self.seed.wrapping_add(number));
        let wanted =
            self.op.as_deref().is_none_or(|op| request.get("op").and_then(Value::as_str) == Some(op));
        wanted.then_some(request)
    }
}

fn main() -> ExitCode {
    program::end(start(&Arguments::parse(), &mut io::stdout().lock()))
}

fn start(arguments: &Arguments, out: &mut dyn Write) -> Result<ExitCode, Error> {
    let printed = |source| Error::File { path: PathBuf::from("standard output"), source };
    if arguments.print {
        for request in (0..arguments.cases).filter_map(|number| arguments.request(number)) {
            writeln!(out, "{request}").map_err(printed)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let program = program::oracle(arguments.oracle.as_deref(), "oracle-kubernetes")?;
    let sides = || Sides::new(CoProcess::new(&program, vec!["-workers=1".to_owned()]));

    let mut tally = Tally::default();
    let mut failures = Vec::new();
    let replayed: Vec<Value> =
        document::folder(&arguments.corpus)?.into_iter().map(|(_, kept)| kept).collect();
    for (finding, request) in sides().check(&replayed)?.into_iter().zip(&replayed) {
        tally.add(request, &finding);
        if !finding.differences.is_empty() {
            failures.push(request.clone());
        }
    }
    if let Some(folder) = &arguments.shared {
        documents(folder, &mut sides(), &mut tally, out)?;
    }
    if failures.len() < arguments.keep_going {
        let (more, found) = run(arguments, &sides)?;
        tally.merge(more);
        failures.extend(found);
    }
    for failure in failures.iter().take(arguments.report) {
        let known = replayed.contains(failure);
        report(out, &mut sides(), failure, (!known).then_some(&arguments.corpus))?;
    }
    write!(out, "{tally}").map_err(printed)?;
    Ok(if tally.differences() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Compares the published documents. They are too large to be shrunk or kept.
fn documents(folder: &Path, sides: &mut Sides, tally: &mut Tally, out: &mut dyn Write) -> Result<(), Error> {
    let printed = |source| Error::File { path: PathBuf::from("standard output"), source };
    for (path, request) in shared::requests(folder)? {
        for finding in sides.check(std::slice::from_ref(&request))? {
            tally.add(&request, &finding);
            let rules = if finding.rules.is_empty() { "agrees".to_owned() } else { finding.rules.join(", ") };
            let name = path.strip_prefix(folder).unwrap_or(&path).display();
            match finding.differences.first() {
                None => writeln!(out, "{name}: {rules}"),
                Some(difference) => writeln!(out, "{name}: differs in {}", difference.what),
            }
            .map_err(printed)?;
        }
    }
    Ok(())
}

/// Runs all requests, and stops soon after as many failures as are wanted.
fn run(arguments: &Arguments, sides: &(dyn Fn() -> Sides + Sync)) -> Result<(Tally, Vec<Value>), Error> {
    let next = AtomicU64::new(0);
    let total = Mutex::new((Tally::default(), Vec::new()));
    let work = || -> Result<(), Error> {
        let mut sides = sides();
        loop {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            let enough = total.lock().map_err(|_| Error::Worker)?.1.len() >= arguments.keep_going;
            if first >= arguments.cases || enough {
                return Ok(());
            }
            let numbers = first..(first + BATCH).min(arguments.cases);
            let requests: Vec<_> = numbers.filter_map(|number| arguments.request(number)).collect();
            let findings = sides.check(&requests)?;
            let mut total = total.lock().map_err(|_| Error::Worker)?;
            for (finding, request) in findings.iter().zip(requests) {
                total.0.add(&request, finding);
                if !finding.differences.is_empty() {
                    total.1.push(request);
                }
            }
        }
    };
    program::in_threads(program::threads(arguments.threads), work)?;
    total.into_inner().map_err(|_| Error::Worker)
}

/// Prints a failure, made small, and keeps it in a folder if there is one.
fn report(
    out: &mut dyn Write,
    sides: &mut Sides,
    request: &Value,
    folder: Option<&PathBuf>,
) -> Result<(), Error> {
    let printed = |source| Error::File { path: PathBuf::from("standard output"), source };
    let request = sides.shrink(request, SHRINK_TRIES);
    writeln!(out, "{request:#}").map_err(printed)?;
    for finding in sides.check(std::slice::from_ref(&request))? {
        if finding.differences.is_empty() {
            writeln!(out, "which cannot be seen a second time\n").map_err(printed)?;
            continue;
        }
        for difference in finding.differences.iter().map(Difference::narrowed) {
            writeln!(out, "differ: {}", difference.what).map_err(printed)?;
            writeln!(out, "Kubernetes:  {}", difference.reference).map_err(printed)?;
            writeln!(out, "the library: {}", difference.candidate).map_err(printed)?;
        }
        if let Some(folder) = folder {
            let path = corpus::keep(folder, &request)?;
            writeln!(out, "kept in {}", path.display()).map_err(printed)?;
        }
        writeln!(out).map_err(printed)?;
    }
    Ok(())
}
