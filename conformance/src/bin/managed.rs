//! The command that compares managed fields with Kubernetes.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use clap::Parser;
use fieldmanager_conformance::managed::check::{Difference, Sides};
use fieldmanager_conformance::managed::generate::{Real, request};
use fieldmanager_conformance::managed::tally::Tally;
use fieldmanager_conformance::oracle::CoProcess;
use fieldmanager_conformance::{Error, document, program};
use serde_json::{Value, json};

/// How many requests are sent at a time.
const BATCH: u64 = 32;

/// What stands for the document in requests that are kept.
const DOCUMENT: &str = "DEFINITIONS";

/// Runs generated sequences of writes through the library and through the field managers of Kubernetes, and counts
/// by name where they differ.
#[derive(Parser)]
#[command(name = "managed", version, about)]
struct Arguments {
    /// How many operations to run: steps of sequences, and other requests
    #[arg(long, default_value_t = 10_000)]
    operations: u64,
    /// The seed of the first request; the others count up from it
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// An OpenAPI v2 document with the kinds of Kubernetes, for sequences of real objects; it may be gzipped
    #[arg(long)]
    definitions: Option<PathBuf>,
    /// How many threads to use [default: one per processor]
    #[arg(long)]
    threads: Option<usize>,
    /// The folder of requests that are replayed first and where failures are kept
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus-managed"))]
    corpus: PathBuf,
    /// Stop after this many differences
    #[arg(long, default_value_t = 1)]
    keep_going: usize,
    /// How many smaller requests to try for a difference
    #[arg(long, default_value_t = 5000)]
    shrink: usize,
    /// A built oracle to use instead of building it
    #[arg(long)]
    oracle: Option<PathBuf>,
    /// Print the requests of so many seeds as JSON lines and end
    #[arg(long)]
    print: Option<u64>,
}

fn main() -> ExitCode {
    program::end(start(&Arguments::parse(), &mut io::stdout().lock()))
}

fn start(arguments: &Arguments, out: &mut dyn Write) -> Result<ExitCode, Error> {
    let printed = |source| Error::File { path: PathBuf::from("standard output"), source };
    let real = arguments.definitions.as_deref().map(read_document).transpose()?;
    if let Some(count) = arguments.print {
        for number in 0..count {
            writeln!(out, "{}", request(arguments.seed.wrapping_add(number), real.as_ref()))
                .map_err(printed)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let program = program::oracle(arguments.oracle.as_deref(), "oracle-kubernetes")?;
    let sides = || Sides::new(CoProcess::new(&program, vec!["-workers=1".to_owned()]));
    let mut tally = Tally::default();
    let kept = corpus(&arguments.corpus, real.as_ref())?;
    let replayed = sides().check(&kept, &mut tally)?;
    let mut failures: Failures = differing(kept, replayed).collect();
    if failures.is_empty() {
        writeln!(out, "{} requests of the corpus agree", tally.requests).map_err(printed)?;
        let (more, found) = run(arguments, real.as_ref(), &sides)?;
        tally.merge(more);
        failures = found;
    }
    for (request, difference) in failures.into_iter().take(arguments.keep_going) {
        let (request, difference) = sides().shrink(&request, &difference, arguments.shrink);
        let path = keep(&arguments.corpus, request.clone())?;
        report(out, &request, &difference, &path).map_err(printed)?;
    }
    write!(out, "{tally}").map_err(printed)?;
    Ok(if tally.differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

type Failures = Vec<(Value, Difference)>;

fn differing(
    requests: Vec<Value>,
    found: Vec<Option<Difference>>,
) -> impl Iterator<Item = (Value, Difference)> {
    requests.into_iter().zip(found).filter_map(|(request, found)| Some((request, found?)))
}

/// Runs all requests, and stops soon after enough differences that nothing explains.
fn run(
    arguments: &Arguments,
    real: Option<&Real>,
    sides: &(dyn Fn() -> Sides + Sync),
) -> Result<(Tally, Failures), Error> {
    let next = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    let failed = AtomicUsize::new(0);
    let total = Mutex::new((Tally::default(), Vec::new()));
    let work = || -> Result<(), Error> {
        let mut sides = sides();
        let mut tally = Tally::default();
        let mut failures = Vec::new();
        while failed.load(Ordering::Relaxed) < arguments.keep_going
            && done.load(Ordering::Relaxed) < arguments.operations
        {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            let requests: Vec<_> = (first..first + BATCH)
                .map(|number| request(arguments.seed.wrapping_add(number), real))
                .collect();
            let before = tally.operations;
            let found = sides.check(&requests, &mut tally)?;
            done.fetch_add(tally.operations - before, Ordering::Relaxed);
            let before = failures.len();
            failures.extend(differing(requests, found));
            failed.fetch_add(failures.len() - before, Ordering::Relaxed);
        }
        let mut total = total.lock().map_err(|_| Error::Worker)?;
        total.0.merge(tally);
        total.1.extend(failures);
        Ok(())
    };
    program::in_threads(program::threads(arguments.threads), work)?;
    total.into_inner().map_err(|_| Error::Worker)
}

/// The definitions of a document.
fn read_document(path: &Path) -> Result<Real, Error> {
    let document = document::read(path)?;
    let definitions = document.get("definitions").and_then(Value::as_object).cloned().unwrap_or_default();
    Ok(Real { definitions, file: path.display().to_string() })
}

/// The requests of earlier differences, by file name. Those of real kinds need the document.
fn corpus(folder: &Path, real: Option<&Real>) -> Result<Vec<Value>, Error> {
    let mut out = Vec::new();
    for (_, mut request) in document::folder(folder)? {
        if request.get("definitionsFile").is_some() {
            let (Some(real), Some(members)) = (real, request.as_object_mut()) else { continue };
            members.insert("definitionsFile".to_owned(), json!(real.file));
        }
        out.push(request);
    }
    Ok(out)
}

/// Writes the request to the corpus, under a name that comes from its content.
fn keep(folder: &Path, mut request: Value) -> Result<PathBuf, Error> {
    if let Some(file) = request.get_mut("definitionsFile") {
        *file = json!(DOCUMENT);
    }
    document::keep(folder, "managed", request)
}

fn report(out: &mut dyn Write, request: &Value, difference: &Difference, path: &Path) -> io::Result<()> {
    writeln!(out, "difference in {}, kept as {}", difference.what, path.display())?;
    writeln!(out, "{request:#}")?;
    match difference.step {
        Some(step) => writeln!(out, "at step {step} (the first is 0)")?,
        None => writeln!(out, "for the whole request")?,
    }
    writeln!(out, "the reference: {:#}", difference.reference)?;
    writeln!(out, "the library:   {:#}", difference.ours)?;
    writeln!(out)
}
