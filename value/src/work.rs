//! Work that can be stopped: by another thread, or after a number of steps.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Work that another thread can stop, and that stops itself after a number of steps.
///
/// What can take long, such as the validation of a large value, counts its steps and ends early when its work was
/// stopped. Its result is then incomplete, and [`run`](Work::run) does not return it.
///
/// ```
/// use fieldmanager_value::internal::{Stopped, Work};
/// let work = Work::new();
/// assert_eq!(work.run(|| 1 + 1), Ok(2));
/// work.clone().stop(); // all clones are the same work
/// assert_eq!(work.run(|| 1 + 1), Err(Stopped));
/// ```
#[derive(Clone, Debug)]
pub struct Work(Arc<WorkState>);

/// The error of [`Work::run`]: the work was stopped, by a call of [`Work::stop`] or after its last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the work was stopped before its end")]
pub struct Stopped;

#[derive(Debug)]
struct WorkState {
    is_stopped: AtomicBool,
    steps: AtomicU64,
    limit: u64,
}

thread_local! {
    /// The work of this thread, if it has one.
    static CURRENT: RefCell<Option<Work>> = const { RefCell::new(None) };
}

impl Work {
    /// Work that ends when it is done or stopped.
    #[expect(
        clippy::new_without_default,
        reason = "a new work is not a neutral value"
    )]
    pub fn new() -> Self {
        Work::with_limit(u64::MAX)
    }

    /// Work that stops itself after a number of steps. A step is a visit of a part of a value, an operation of an
    /// expression, or the like.
    ///
    /// ```
    /// use fieldmanager_value::internal::Work;
    /// assert!(Work::with_limit(1000).run(|| "few steps").is_ok());
    /// ```
    pub fn with_limit(steps: u64) -> Self {
        Work(Arc::new(WorkState {
            is_stopped: AtomicBool::new(false),
            steps: AtomicU64::new(0),
            limit: steps,
        }))
    }

    /// Stops the work.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the work was stopped.
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::Relaxed)
    }

    /// The number of steps so far.
    pub fn steps(&self) -> u64 {
        self.0.steps.load(Ordering::Relaxed)
    }

    /// Runs a function as this work, on the same thread. Within it, other work can run, which replaces this one until it
    /// ends.
    ///
    /// # Errors
    ///
    /// [`Stopped`] if the work was stopped before the function returned.
    pub fn run<T>(&self, function: impl FnOnce() -> T) -> Result<T, Stopped> {
        if self.is_stopped() {
            return Err(Stopped);
        }

        let _outer = Outer(CURRENT.replace(Some(self.clone())));
        let out = function();
        if self.is_stopped() {
            Err(Stopped)
        } else {
            Ok(out)
        }
    }

    fn step(&self, steps: u64) -> bool {
        // Only the thread that runs the work counts, so that a step needs no locked instruction.
        let taken = self.steps().saturating_add(steps);
        self.0.steps.store(taken, Ordering::Relaxed);
        if taken > self.0.limit {
            self.stop();
        }
        !self.is_stopped()
    }
}

/// The work that a thread had before, which it gets back, after a panic too.
struct Outer(Option<Work>);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Counts steps of the work of this thread before they are taken. If it returns false, the work was stopped, and the caller
/// ends with any result: [`Work::run`] drops it. A thread without work always proceeds.
pub fn proceed(steps: u64) -> bool {
    CURRENT.with_borrow(|work| work.as_ref().is_none_or(|work| work.step(steps)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_beyond_the_limit_stop_the_work() {
        let work = Work::with_limit(10);
        assert_eq!(
            work.run(|| (0..100).take_while(|_| proceed(1)).count()),
            Err(Stopped)
        );
        assert_eq!(work.steps(), 11);
    }

    #[test]
    fn another_thread_stops_the_work() {
        let work = Work::new();
        let stopping = work.clone();
        let thread = std::thread::spawn(move || stopping.stop());
        assert_eq!(work.run(|| while proceed(1) {}), Err(Stopped));
        thread.join().unwrap();
    }

    #[test]
    fn inner_work_counts_alone_and_ends_with_its_function() {
        let (outer, inner) = (Work::new(), Work::with_limit(1));
        let out = outer.run(|| {
            assert_eq!(inner.run(|| proceed(5)), Err(Stopped));
            proceed(2)
        });
        assert_eq!((out, outer.steps(), inner.steps()), (Ok(true), 2, 5));
        assert!(proceed(1), "a thread without work always proceeds");
    }

    #[test]
    fn work_ends_with_a_panic_of_its_function() {
        let work = Work::with_limit(0);
        let panicked = std::panic::catch_unwind(|| work.run(|| panic!("as tested")));
        assert!(panicked.is_err() && proceed(1));
    }
}
