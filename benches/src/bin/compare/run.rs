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

impl Settings {
    /// The share of the rounds that one pass runs, at least one.
    fn of_pass(self, pass: usize) -> Self {
        let rounds = (self.rounds + PASSES - 1 - pass) / PASSES;
        Settings {
            rounds: rounds.max(1),
            ..self
        }
    }

    /// The time of one run on the Rust side.
    fn time(self, prepared: &mut Prepared) -> f64 {
        per_run(&mut prepared.run, Duration::from_millis(self.millis))
    }
}

/// The time of one cell, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// The Go side; `None` if it has no such cell.
    pub(crate) go: Option<f64>,
    /// The Rust side.
    pub(crate) rust: f64,
}

impl Default for Measured {
    fn default() -> Self {
        Measured {
            go: None,
            rust: f64::INFINITY,
        }
    }
}

impl Measured {
    /// The faster time of each side.
    fn or_faster(self, other: Measured) -> Self {
        let go = [self.go, other.go].into_iter().flatten().reduce(f64::min);
        Measured {
            go,
            rust: self.rust.min(other.rust),
        }
    }

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

    fn add(&mut self, cell: &str, measured: Measured) {
        let best = self
            .cells
            .get(cell)
            .copied()
            .unwrap_or_default()
            .or_faster(measured);
        self.cells.insert(cell.to_owned(), best);
    }
}

fn prepared(cell: &str) -> Result<Prepared, Error> {
    prepare(cell).ok_or_else(|| Error::Program {
        program: "compare".to_owned(),
        message: format!("no cell `{cell}`"),
    })
}

/// The number of passes over all cells, which share the rounds. A slow phase of the machine, which may last for many
/// rounds of a cell, affects one pass only.
const PASSES: usize = 4;

/// The maximum duration of the rounds of a cell in one pass, unless two rounds take longer. The first round of a pass
/// builds what later rounds find built, such as the index of a list.
const LONGEST: Duration = Duration::from_secs(2);

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
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    results.threads = (1..=cores).map(|threads| (threads, 0.0)).collect();
    for pass in 0..PASSES {
        let settings = settings.of_pass(pass);
        for cell in &plan.both {
            let mut prepared = prepared(cell)?;
            // Comparing large outputs would take longer than everything else.
            let comparable = !plan
                .sizes
                .iter()
                .skip(1)
                .any(|size| cell.ends_with(&format!("/{size}")));
            if pass == 0 && comparable && !same(&(prepared.output)(), &go.output(cell)?) {
                results.different.push(cell.clone());
            }
            let mut best = Measured::default();
            let started = Instant::now();
            for round in 0..settings.rounds {
                if round >= 2 && started.elapsed() > LONGEST {
                    break;
                }
                let go = Some(go.time(cell, settings.millis)?);
                best = best.or_faster(Measured {
                    go,
                    rust: settings.time(&mut prepared),
                });
            }
            results.add(cell, best);
        }
        for cells in plan.alone.chunk_by(|a, b| object(a) == object(b)) {
            let mut turns = Vec::new();
            for cell in cells {
                turns.push((cell, prepared(cell)?));
            }
            for _ in 0..settings.rounds {
                for (cell, prepared) in &mut turns {
                    results.add(
                        cell,
                        Measured {
                            go: None,
                            rust: settings.time(prepared),
                        },
                    );
                }
            }
        }
        if whole {
            scale(&mut results.threads, settings);
        }
        // A closed log does not stop the measurement.
        let _ = writeln!(log, "pass {} of {PASSES}", pass + 1);
    }
    if whole {
        results.memory = memory(go)?;
    }
    Ok(results)
}

/// The object of a cell without a Go side. The cells of one object are compared with each other, so they take turns.
fn object(cell: &str) -> Option<&str> {
    cell.rsplit_once('/').map(|(object, _)| object)
}

/// Whether two outputs are equal; numbers are compared by value.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// Measures the operations per second of each number of threads; the best of the rounds counts. A round of several threads
/// is undisturbed only if every core is, so there are more rounds than of a cell.
fn scale(best: &mut [(usize, f64)], settings: Settings) {
    let time = Duration::from_millis(settings.millis * 3);
    for _ in 0..settings.rounds * 5 {
        for (threads, rate) in best.iter_mut() {
            *rate = rate.max(threads::per_second(*threads, "Pod", time));
        }
    }
}
