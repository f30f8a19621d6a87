//! The command that compares managed fields with Kubernetes.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use clap::Parser;
use fieldmanager_conformance::managed::check::{Difference, Sides};
use fieldmanager_conformance::managed::generate::{Real, request};
use fieldmanager_conformance::managed::tally::Tally;
use fieldmanager_conformance::oracle::CoProcess;
use fieldmanager_conformance::{Error, document};
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
    let real = arguments.definitions.as_deref().map(read_document).transpose()?;
    if let Some(count) = arguments.print {
        for number in 0..count {
            writeln!(out, "{}", request(arguments.seed.wrapping_add(number), real.as_ref()))
                .map_err(printed)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let program = match &arguments.oracle {
        Some(program) => program.clone(),
        None => build()?,
    };
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
    let threads = arguments.threads.or_else(|| thread::available_parallelism().ok().map(Into::into));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.unwrap_or(1).max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| Error::Worker)?)
    })?;
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
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let failed = |source| Error::File { path: folder.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let mut out = Vec::new();
    for path in paths {
        let mut request = document::read(&path)?;
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
    if let Some(members) = request.as_object_mut() {
        members.remove("name");
    }
    let hash = request.to_string().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    if let Some(members) = request.as_object_mut() {
        members.insert("name".to_owned(), Value::from(format!("managed {hash:016x}")));
    }
    let path = folder.join(format!("{hash:016x}.json"));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, format!("{request:#}\n")))
        .map_err(|source| Error::File { path: path.clone(), source })?;
    Ok(path)
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

/// Builds the oracle in the target folder of Cargo; Go sees to it that a second build costs next to nothing.
fn build() -> Result<PathBuf, Error> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = package.join("oracle-kubernetes");
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| package.join("..").join("target"), PathBuf::from)
        .join("conformance");
    let failed = |source| Error::File { path: target.clone(), source };
    fs::create_dir_all(&target).map_err(failed)?;
    let program = target.canonicalize().map_err(failed)?;
    let program = program.join(format!("fieldmanager-oracle-kubernetes{}", env::consts::EXE_SUFFIX));
    let mut command = Command::new("go");
    command.args(["build", "-o"]).arg(&program).arg(".").current_dir(&folder);
    let output = command.output().map_err(Error::GoMissing)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::OracleBuild { folder, message });
    }
    Ok(program)
}
