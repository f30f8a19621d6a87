//! One schema and one field manager, used by several threads on different objects.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::operations::{SharedApply, shared_apply};

/// Operations per second of several threads together: for the given time, each reads its own copy of an object, applies to
/// it with the shared field manager, and writes it.
pub fn per_second(threads: usize, object: &str, time: Duration) -> f64 {
    let Some(shared) = shared_apply(object) else {
        return 0.0;
    };
    let shared: &SharedApply = &shared;
    let barrier = &Barrier::new(threads);
    let rates = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(move || {
                    barrier.wait();
                    let start = Instant::now();
                    let mut runs = 0_u64;
                    while start.elapsed() < time {
                        shared.run();
                        runs += 1;
                    }
                    runs as f64 / start.elapsed().as_secs_f64()
                })
            })
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect::<Vec<f64>>()
    });
    rates.iter().sum()
}
