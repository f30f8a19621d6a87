//! Runs a suite: replays its corpus, generates cases on several threads, shrinks and keeps failing cases, and reports.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use clap::Args;
use serde_json::{Value, json};

use crate::oracle::{CoProcess, Oracle};
use crate::suite::{Difference, GO_MAP_ORDER, Suite, Verdict};
use crate::tally::Tally;
use crate::{Error, files, oracle, shrink};

/// Options shared by all suites.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// The number of cases to generate [default: 1000, or as many as --operations needs]
    #[arg(long)]
    pub cases: Option<u64>,
    /// Stop after this many operations: steps of sequences, and cases that are not sequences
    #[arg(long)]
    pub operations: Option<u64>,
    /// The seed of the first case; the others count up from it
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Only cases whose `op` is this, such as `openapi` or `scale`
    #[arg(long)]
    pub op: Option<String>,
    /// The number of threads [default: one per processor]
    #[arg(long)]
    pub threads: Option<usize>,
    /// The folder of cases to replay first, in which failures are kept [default: corpus/SUITE]
    #[arg(long)]
    pub corpus: Option<PathBuf>,
    /// Keep the first failure in this file, and no failure in the corpus
    #[arg(long)]
    pub keep: Option<PathBuf>,
    /// Stop after this many cases with differences
    #[arg(long, default_value_t = 1)]
    pub keep_going: usize,
    /// The number of differences to shrink, print and keep
    #[arg(long, default_value_t = 10)]
    pub report: usize,
    /// The number of smaller cases to try for a difference
    #[arg(long, default_value_t = 4000)]
    pub shrink: usize,
    /// A built oracle to use instead of building it
    #[arg(long)]
    pub oracle: Option<PathBuf>,
    /// Print one case for each deviation
    #[arg(long)]
    pub samples: bool,
    /// Print the cases as JSON lines and exit
    #[arg(long)]
    pub print: bool,
}

/// A case with a difference, and its file in the corpus.
struct Failure {
    case: Value,
    difference: Difference,
    file: Option<PathBuf>,
}

#[derive(Default)]
struct Run {
    tally: Tally,
    failures: Vec<Failure>,
    samples: BTreeMap<&'static str, Value>,
}

impl Run {
    fn add(&mut self, case: &Value, verdict: Verdict, file: Option<&Path>) {
        self.tally.cases += 1;
        // A case without steps counts as one operation.
        self.tally.operations += u64::from(verdict.tally.operations == 0);
        self.tally.merge(verdict.tally);
        for rule in verdict.deviations {
            self.tally.count("deviations", rule);
            self.samples.entry(rule).or_insert_with(|| case.clone());
        }

        if let Some(difference) = verdict.difference {
            self.tally.differences += 1;
            self.failures.push(Failure {
                case: case.clone(),
                difference,
                file: file.map(Path::to_owned),
            });
        }
    }

    fn merge(&mut self, other: Run) {
        self.tally.merge(other.tally);
        self.failures.extend(other.failures);
        // The first sample of each deviation stays, since one is printed.
        for (rule, case) in other.samples {
            self.samples.entry(rule).or_insert(case);
        }
    }
}

/// A suite with an oracle.
pub struct Pair<S> {
    suite: S,
    oracle: Box<dyn Oracle>,
}

impl<S: Suite> Pair<S> {
    /// Creates the pair. The oracle is a program, which starts with the first case.
    pub fn new(suite: S, oracle: &Path) -> Self {
        Self::with(
            suite,
            Box::new(CoProcess::new(oracle, vec!["-workers=1".to_owned()])),
        )
    }

    /// Creates the pair with any oracle.
    pub fn with(suite: S, oracle: Box<dyn Oracle>) -> Self {
        Pair { suite, oracle }
    }

    /// Compares both sides on some cases.
    ///
    /// # Errors
    ///
    /// If one of the sides cannot answer.
    pub fn check(&mut self, cases: &[Value]) -> Result<Vec<Verdict>, Error> {
        // All requests go to the oracle at once, because a case may need several and a round trip for each is slow.
        let requests: Vec<Vec<Value>> =
            cases.iter().map(|case| self.suite.requests(case)).collect();
        let mut answers = self.oracle.run(&requests.concat())?.into_iter();
        let mut out = Vec::with_capacity(cases.len());
        for (case, requests) in cases.iter().zip(&requests) {
            let mut answers: Vec<Value> = answers.by_ref().take(requests.len()).collect();
            let mut verdict = self.suite.compare(&mut *self.oracle, case, &answers)?;
            // Another order of a map in Go may give an answer that agrees, or that a deviation explains.
            if verdict.difference.is_some() && S::REPEATS > 0 {
                answers.extend(self.oracle.variants(case, S::REPEATS)?);
                let judged = self.suite.by_chance(&mut *self.oracle, case, &answers)?;
                verdict = judged.unwrap_or(verdict);
            }
            out.push(verdict);
        }

        Ok(out)
    }

    fn check_one(&mut self, case: &Value) -> Result<Verdict, Error> {
        Ok(self
            .check(std::slice::from_ref(case))?
            .pop()
            .unwrap_or_default())
    }

    /// A smaller case with the same difference. Other differences do not count: on the way to a smaller case many
    /// fail for an uninteresting reason, such as an invalid schema.
    fn shrink(&mut self, failure: Failure, tries: usize) -> Failure {
        let mut difference = failure.difference.clone();
        let pair = std::cell::RefCell::new(self);
        let cuts = |case: &Value| pair.borrow().suite.cuts(case);
        let case = shrink::shrink(&failure.case, tries, &cuts, &mut |case| {
            let mut pair = pair.borrow_mut();
            if !pair.suite.is_sound(case) {
                return false;
            }
            // A smaller case that cannot be answered does not have the difference.
            let found = pair
                .check_one(case)
                .ok()
                .and_then(|verdict| verdict.difference);
            let same = found.filter(|found| found.label == failure.difference.label);
            let fails = same.is_some();
            difference = same.unwrap_or_else(|| difference.clone());

            fails
        });

        Failure {
            case,
            difference,
            file: failure.file,
        }
    }
}

/// Runs a suite with the given options; the oracle is a Go program. Returns whether both sides agree.
///
/// # Errors
///
/// If one of the sides cannot answer, or a file cannot be read or written.
pub fn run<S: Suite>(
    options: &Options,
    suite: &(dyn Fn() -> S + Sync),
    out: &mut dyn Write,
) -> Result<bool, Error> {
    if options.print {
        return print(options, &suite(), out);
    }
    let program = match &options.oracle {
        Some(program) => program.clone(),
        None => oracle::build(S::ORACLE)?,
    };
    run_pairs(options, &|| Pair::new(suite(), &program), out)
}

fn limit(options: &Options) -> u64 {
    options.cases.unwrap_or(if options.operations.is_some() {
        u64::MAX
    } else {
        1000
    })
}

fn print<S: Suite>(options: &Options, suite: &S, out: &mut dyn Write) -> Result<bool, Error> {
    for case in (0..limit(options)).filter_map(|number| case(suite, options, number)) {
        writeln!(out, "{case}").map_err(Error::Output)?;
    }
    Ok(true)
}

/// Runs a suite with the oracles of its pairs, one pair for each thread. Returns whether both sides agree.
///
/// # Errors
///
/// If one of the sides cannot answer, or a file cannot be read or written.
pub fn run_pairs<S: Suite>(
    options: &Options,
    pair: &(dyn Fn() -> Pair<S> + Sync),
    out: &mut dyn Write,
) -> Result<bool, Error> {
    let corpus = options
        .corpus
        .clone()
        .unwrap_or_else(|| files::folder("corpus").join(S::NAME));
    let mut run = replay(&mut pair(), &corpus, out)?;
    // Cases of the corpus run first: if they fail, generated cases would only repeat what is known.
    if run.failures.len() < options.keep_going {
        run.merge(generated(options, limit(options), pair)?);
    }

    // A failure of the corpus is small already, and its file must stay as it is; others are shrunk and kept.
    let failures = by_label(std::mem::take(&mut run.failures));
    for (number, failure) in failures.into_iter().take(options.report).enumerate() {
        let mut pair = pair();
        let file = failure.file.clone();
        let failure = if file.is_some() {
            failure
        } else {
            pair.shrink(failure, options.shrink)
        };
        let kept = match (file, &options.keep) {
            (Some(file), _) => file,
            (None, Some(file)) if number == 0 => {
                files::write(file, &pair.suite.store(failure.case.clone()))?
            }
            (None, Some(file)) => file.clone(),
            (None, None) => files::keep(&corpus, S::NAME, pair.suite.store(failure.case.clone()))?,
        };
        report(out, &failure, &kept).map_err(Error::Output)?;
    }

    // A run keeps the cases of samples and not the answers, so Go is asked again.
    for (rule, case) in run.samples.iter().filter(|_| options.samples) {
        let mut pair = pair();
        let answers = pair.oracle.run(&pair.suite.requests(case))?;
        writeln!(out, "{rule}: {case}\nGo: {}\n", json!(answers)).map_err(Error::Output)?;
    }
    write!(out, "{}", run.tally).map_err(Error::Output)?;
    Ok(run.tally.differences == 0)
}

/// The smallest failure of each label, those with the most failures first.
fn by_label(failures: Vec<Failure>) -> Vec<Failure> {
    let mut groups: BTreeMap<String, Vec<Failure>> = BTreeMap::new();
    for failure in failures {
        groups
            .entry(failure.difference.label.clone())
            .or_default()
            .push(failure);
    }

    // The limit of `--report` must not hide the most frequent differences.
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let smallest = |group: Vec<Failure>| {
        group
            .into_iter()
            .min_by_key(|failure| failure.case.to_string().len())
    };

    groups.into_iter().filter_map(smallest).collect()
}

/// The case with a number, if its op is selected.
fn case<S: Suite>(suite: &S, options: &Options, number: u64) -> Option<Value> {
    let case = suite.generate(options.seed.wrapping_add(number));
    let op = options.op.as_deref();
    op.is_none_or(|op| case.get("op").and_then(Value::as_str) == Some(op))
        .then_some(case)
}

/// Runs the corpus and the documents of a suite. A case must show exactly the `deviation` that it names; Go may agree
/// by chance.
fn replay<S: Suite>(pair: &mut Pair<S>, corpus: &Path, out: &mut dyn Write) -> Result<Run, Error> {
    let mut run = Run::default();
    for (path, case) in files::documents(corpus)? {
        let Some(mut case) = pair.suite.load(case) else {
            continue;
        };
        // `deviation` is the expectation of the corpus, not a part of the request.
        let wanted: Vec<Value> = case
            .as_object_mut()
            .and_then(|members| members.remove("deviation"))
            .into_iter()
            .collect();
        let mut verdict = pair.check_one(&case)?;
        let mut found = verdict.deviations.clone();
        found.retain(|rule| *rule != GO_MAP_ORDER);
        found.dedup();

        // A deviation that no longer explains its case, or another one that does, is a difference too.
        if verdict.difference.is_none() && found != wanted {
            verdict.difference = Some(Difference::of("deviation", &json!(wanted), &json!(found)));
        }
        run.add(&case, verdict, Some(&path));
    }

    writeln!(
        out,
        "{} cases of the corpus, {} differ",
        run.tally.cases,
        run.failures.len()
    )
    .map_err(Error::Output)?;

    // Documents have no expectation, so what explains their differences is printed.
    for (name, case) in pair.suite.documents()? {
        let verdict = pair.check_one(&case)?;
        let (what, rules) = (
            verdict.difference.as_ref().map(|found| &found.what),
            &verdict.deviations,
        );
        match (what, rules.is_empty()) {
            (Some(what), _) => writeln!(out, "{name}: differs in {what}"),
            (None, true) => writeln!(out, "{name}: agrees"),
            (None, false) => writeln!(out, "{name}: {}", rules.join(", ")),
        }
        .map_err(Error::Output)?;

        // The document is too large for the report.
        run.add(&json!(name), verdict, Some(Path::new(&name)));
    }

    Ok(run)
}

/// Runs generated cases on several threads, and stops soon after the limit on differences is reached.
fn generated<S: Suite>(
    options: &Options,
    limit: u64,
    pair: &(dyn Fn() -> Pair<S> + Sync),
) -> Result<Run, Error> {
    let (next, operations, failed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicUsize::new(0));
    let wanted = options.operations.unwrap_or(u64::MAX);
    let total = Mutex::new(Run::default());
    // Threads take batches of numbers from one counter, so every number is one case of the run.
    let work = || -> Result<(), Error> {
        let mut pair = pair();
        let mut run = Run::default();
        while failed.load(Ordering::Relaxed) < options.keep_going
            && operations.load(Ordering::Relaxed) < wanted
        {
            let first = next.fetch_add(S::BATCH, Ordering::Relaxed);
            if first >= limit {
                break;
            }
            let numbers = first..first.saturating_add(S::BATCH).min(limit);
            let cases: Vec<_> = numbers
                .filter_map(|number| case(&pair.suite, options, number))
                .collect();
            // The limits are on the whole run, so each thread adds the counts of a batch to the shared ones.
            let before = (run.tally.operations, run.failures.len());
            for (case, verdict) in cases.iter().zip(pair.check(&cases)?) {
                run.add(case, verdict, None);
            }
            operations.fetch_add(run.tally.operations - before.0, Ordering::Relaxed);
            failed.fetch_add(run.failures.len() - before.1, Ordering::Relaxed);
        }
        total.lock().map_err(|_| Error::Worker)?.merge(run);

        Ok(())
    };

    let threads = options
        .threads
        .or_else(|| thread::available_parallelism().ok().map(Into::into));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.unwrap_or(1).max(1))
            .map(|_| scope.spawn(work))
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| Error::Worker)?)
    })?;

    total.into_inner().map_err(|_| Error::Worker)
}

fn report(out: &mut dyn Write, failure: &Failure, path: &Path) -> io::Result<()> {
    let Failure {
        case, difference, ..
    } = failure;
    writeln!(
        out,
        "difference in {}, see {}",
        difference.what,
        path.display()
    )?;
    writeln!(out, "{case:#}")?;
    match difference.step {
        Some(step) => writeln!(out, "at step {step} (the first is 0)")?,
        None => writeln!(out, "in the case as a whole")?,
    }
    writeln!(out, "Go:          {:#}", difference.reference)?;

    writeln!(out, "the library: {:#}\n", difference.candidate)
}
