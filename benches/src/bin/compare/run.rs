//! Measures both sides alternately.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use fieldmanager_benches::operations::{Prepared, prepare};
use fieldmanager_benches::{per_run, threads};
use serde_json::Value;

use crate::cells::Plan;
use crate::error::Error;
use crate::go::Go;
use crate::memory::memory;

/// The duration of the measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Rounds of each cell.
    pub(crate) rounds: usize,
    /// The duration of a round on each side, in milliseconds, unless one run takes longer.
    pub(crate) millis: u64,
}

/// The time of one cell, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    /// The Go side; `None` if it has no such cell.
    pub(crate) go: Option<f64>,
    /// The Rust side.
    pub(crate) rust: f64,
}

impl Measured {
    /// The ratio of Go's time to Rust's time.
    pub(crate) fn ratio(self) -> Option<f64> {
        self.go.map(|go| go / self.rust)
    }
}

/// All measurements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    /// By cell.
    pub(crate) cells: BTreeMap<String, Measured>,
    /// Cells with different results on the two sides; there should be none.
    pub(crate) different: Vec<String>,
    /// The size of objects and sets on the heap, in bytes: the Rust side and the Go side.
    pub(crate) memory: BTreeMap<String, (f64, Option<f64>)>,
    /// Operations per second by number of threads.
    pub(crate) threads: Vec<(usize, f64)>,
}

impl Results {
    /// The time of the Rust side.
    pub(crate) fn rust(&self, cell: &str) -> Option<f64> {
        Some(self.cells.get(cell)?.rust)
    }

    /// The ratio of Go's time to Rust's time.
    pub(crate) fn ratio(&self, cell: &str) -> Option<f64> {
        self.cells.get(cell)?.ratio()
    }

    fn add(&mut self, cell: &str, best: Measured, log: &mut dyn Write) {
        let ratio = best.ratio().map_or_else(String::new, |ratio| format!("{ratio:8.1} x"));
        // A closed log does not stop the measurement.
        let _ = writeln!(log, "{cell:40} {:>14.0} {:>14.0} {ratio}", best.go.unwrap_or_default(), best.rust);
        self.cells.insert(cell.to_owned(), best);
    }
}

fn prepared(cell: &str) -> Result<Prepared, Error> {
    prepare(cell)
        .ok_or_else(|| Error::Program { program: "compare".to_owned(), message: format!("no cell `{cell}`") })
}

/// The maximum duration of a cell, unless two rounds take longer.
const LONGEST: Duration = Duration::from_secs(8);

/// Measures the cells of a plan, and memory and threads unless only some cells are selected.
///
/// # Errors
///
/// If the Go side or a program does not answer.
pub(crate) fn measure(
    plan: &Plan,
    settings: Settings,
    go: &mut Go,
    whole: bool,
    log: &mut dyn Write,
) -> Result<Results, Error> {
    let mut results = Results::default();
    for cell in &plan.both {
        let mut prepared = prepared(cell)?;
        // Comparing large outputs would take longer than everything else.
        let comparable = !plan.sizes.iter().skip(1).any(|size| cell.ends_with(&format!("/{size}")));
        if comparable && !same(&(prepared.output)(), &go.output(cell)?) {
            results.different.push(cell.clone());
        }
        let started = Instant::now();
        let mut best = Measured { go: None, rust: f64::INFINITY };
        for round in 0..settings.rounds.max(1) {
            if round >= 2 && started.elapsed() > LONGEST {
                break;
            }
            let time = go.time(cell, settings.millis)?;
            best.go = Some(best.go.map_or(time, |known| known.min(time)));
            let time = per_run(&mut prepared.run, Duration::from_millis(settings.millis));
            best.rust = best.rust.min(time);
        }
        results.add(cell, best, log);
    }
    // Cells of one object are compared with each other, so they take turns.
    let object = |cell: &str| cell.rsplit_once('/').map(|(object, _)| object.to_owned());
    for cells in plan.alone.chunk_by(|a, b| object(a) == object(b)) {
        let mut turns = Vec::new();
        for cell in cells {
            turns.push((cell, prepared(cell)?, Measured { go: None, rust: f64::INFINITY }));
        }
        for _ in 0..settings.rounds.max(1) {
            for (_, prepared, best) in &mut turns {
                let time = per_run(&mut prepared.run, Duration::from_millis(settings.millis));
                best.rust = best.rust.min(time);
            }
        }
        for (cell, _, best) in turns {
            results.add(cell, best, log);
        }
    }
    if whole {
        results.memory = memory(go)?;
        results.threads = scaling(settings);
    }
    Ok(results)
}

/// Whether two outputs are equal; numbers are compared by value.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// Operations per second with one thread, two, and so on up to the number of cores; the best of the rounds.
fn scaling(settings: Settings) -> Vec<(usize, f64)> {
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    let mut best: Vec<(usize, f64)> = (1..=cores).map(|threads| (threads, 0.0)).collect();
    for _ in 0..settings.rounds.max(1) {
        for (threads, rate) in &mut best {
            *rate =
                rate.max(threads::per_second(*threads, "Pod", Duration::from_millis(settings.millis * 3)));
        }
    }
    best
}
