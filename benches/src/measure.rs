//! Runs an operation and measures its time.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Runs an operation a number of times and returns the time without preparations, as Criterion's `iter_custom` needs it.
pub type Runner = Box<dyn FnMut(u64) -> Duration>;

/// An operation that is ready to be measured.
pub struct Prepared {
    /// Runs it.
    pub run: Runner,
    /// Its result, for the comparison with Go.
    pub output: Box<dyn Fn() -> Value>,
}

/// Nanoseconds of one run, as the mean over about the given time.
pub fn per_run(run: &mut Runner, time: Duration) -> f64 {
    let mut runs = 1;
    loop {
        let took = run(runs);
        let mean = took.as_nanos() as f64 / runs as f64;
        if took * 2 >= time || runs >= 1 << 30 {
            return mean;
        }
        // Enough runs to fill the time, but at most a hundred times as many as before: a first run is not reliable.
        let wanted = (time.as_nanos() as f64 / mean.max(1.0)).ceil() as u64;
        runs = wanted.clamp(runs + 1, runs * 100);
    }
}

/// Runs the operation on the same input every time.
pub(crate) fn reused<O: 'static>(op: impl Fn() -> O + 'static) -> Runner {
    Box::new(move |runs| timed(&(), runs, &|()| op()))
}

/// Runs the operation on fresh inputs, for which the library has not cached anything yet. The time includes dropping
/// the result but not creating the inputs.
pub(crate) fn fresh<I: 'static, O: 'static>(
    batch: u64,
    make: impl Fn() -> I + 'static,
    op: impl Fn(&I) -> O + 'static,
) -> Runner {
    Box::new(move |runs| {
        let mut total = Duration::ZERO;
        let mut left = runs;
        while left > 0 {
            let inputs: Vec<I> = (0..left.min(batch)).map(|_| make()).collect();
            total += timed_each(&inputs, &op);
            left -= inputs.len() as u64;
        }
        total
    })
}

/// Not inlined, so that callgrind can count this function only.
#[inline(never)]
fn timed<I, O>(input: &I, runs: u64, op: &impl Fn(&I) -> O) -> Duration {
    let start = Instant::now();
    for _ in 0..runs {
        drop(black_box(op(black_box(input))));
    }
    start.elapsed()
}

/// Like [`timed`], once for each input.
#[inline(never)]
fn timed_each<I, O>(inputs: &[I], op: &impl Fn(&I) -> O) -> Duration {
    let start = Instant::now();
    for input in inputs {
        drop(black_box(op(black_box(input))));
    }
    start.elapsed()
}
