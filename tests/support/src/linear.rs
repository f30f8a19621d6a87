//! Linear time.

use std::time::Duration;

use cpu_time::ThreadTime;

/// How many times the small input the large one is.
const TIMES: usize = 16;

/// Asserts that the processor time of a function is linear in the size of its input.
///
/// Compares one run on an input of 16 times the size with 16 runs on an input of this size. Both take about the same time
/// if growth is linear, and the first takes 16 times as long if it is quadratic. The time is that of the thread, which
/// other processes hardly change, and the least of several runs counts.
///
/// # Panics
///
/// If the run on the large input takes more than three times as long.
pub fn assert_linear<I>(name: &str, size: usize, make: impl Fn(usize) -> I, run: impl Fn(&I)) {
    let (small, large) = (make(size), make(TIMES * size));
    let time = |times: usize, input: &I| {
        let start = ThreadTime::now();
        (0..times).for_each(|_| run(input));
        start.elapsed()
    };
    let mut least = (Duration::MAX, Duration::MAX);
    for _ in 0..20 {
        least = (
            least.0.min(time(TIMES, &small)),
            least.1.min(time(1, &large)),
        );
        if least.1 < least.0 * 3 {
            return;
        }
    }
    panic!("{name}: {least:?} for {TIMES} small inputs and a large one");
}
