//! Runs scenarios from Rust.

use std::fmt;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::Errors;
use crate::judge::{Observed, ObservedRefusal, judge};
use crate::load::load;
use crate::outcome::{ErrorKind, Outcome, State};
use crate::report::{Failure, Report, ScenarioReport, Style};
use crate::runner::Runner;
use crate::scenario::Scenario;
use crate::server::ExpectedEntry;

/// Runs one scenario.
///
/// ```
/// use fieldmanager_harness::{Scenario, run};
///
/// let scenario = Scenario::from_yaml("
/// schema: {types: [{name: app, scalar: numeric}]}
/// types: {v1: app}
/// steps:
/// - validate: {apiVersion: v1, object: text}
///   expect: {error: expected numeric}
/// ")?;
/// assert!(run(&scenario).passed);
/// # Ok::<(), fieldmanager_harness::Error>(())
/// ```
pub fn run(scenario: &Scenario) -> ScenarioReport {
    if scenario.needs_server() {
        ScenarioReport::skipped(scenario, "the scenario needs an API server")
    } else {
        ScenarioReport::new(scenario, failures(scenario))
    }
}

/// Runs every step of a scenario and collects the unmet expectations. Steps after a failed one are run and judged too.
fn failures(scenario: &Scenario) -> Vec<Failure> {
    let mut runner = match Runner::new(scenario) {
        Ok(runner) => runner,
        Err(error) => return vec![Failure::new("schema", error.to_string())],
    };
    let mut out = Vec::new();

    for (i, step) in scenario.steps.iter().enumerate() {
        let outcome = runner.step(&step.action);
        let found = match outcome {
            // Otherwise, a scenario that expects an error would pass for the wrong reason.
            Outcome::Error(error) if error.kind == ErrorKind::Unsupported => {
                vec![Failure::new("error", error.message)]
            }
            outcome => {
                let state = step.action.acts_on_state().then(|| runner.state());
                judge(&step.expect, &observed(outcome, state))
            }
        };
        out.extend(found.into_iter().map(|failure| Failure {
            step: Some(i + 1),
            action: Some(step.action.name()),
            ..failure
        }));
    }

    out
}

/// `state` is given for steps that act on it. A failed step does not change the state, which can be expected too.
fn observed(outcome: Outcome, state: Option<State>) -> Observed<'static> {
    let mut observed = Observed::default();
    if let Some(state) = state {
        observed.entries = Some(ExpectedEntry::of_owners(&state.managed));
        observed.object = Some(state.object);
    }

    match outcome {
        Outcome::State(_) | Outcome::Valid => {}
        Outcome::Object(object) => observed.object = Some(object),
        Outcome::Sets(sets) => observed.sets = sets,
        Outcome::Faults(faults) => observed.faults = Some(faults),
        Outcome::Conflicts(conflicts) => {
            observed.refusal = Some(ObservedRefusal {
                conflicts,
                ..ObservedRefusal::default()
            });
        }
        Outcome::Error(error) => {
            observed.refusal = Some(ObservedRefusal {
                message: error.message,
                ..ObservedRefusal::default()
            });
        }
    }

    observed
}

/// Runs scenarios in parallel. The report has them in the given order.
pub fn run_all(scenarios: &[Scenario]) -> Report {
    /// The minimum number of scenarios per thread.
    const PER_THREAD: usize = 50;
    let most = thread::available_parallelism().map_or(1, usize::from);
    let threads = most.min(scenarios.len() / PER_THREAD);
    if threads < 2 {
        return Report {
            scenarios: scenarios.iter().map(run).collect(),
            ..Report::default()
        };
    }

    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            match scenarios.get(number) {
                Some(scenario) => done.push((number, run(scenario))),
                None => return done,
            }
        }
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .flat_map(|done| done.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });

    done.sort_by_key(|(number, _)| *number);
    Report {
        scenarios: done.into_iter().map(|(_, report)| report).collect(),
        ..Report::default()
    }
}

/// Runs every scenario in files and folders, for use in a test.
///
/// ```no_run
/// // #[test]
/// fn scenarios() -> Result<(), fieldmanager_harness::CheckError> {
///     fieldmanager_harness::check(["tests/scenarios"])
/// }
/// # scenarios().unwrap();
/// ```
///
/// # Errors
///
/// [`CheckError`] if a file cannot be read, if there is no scenario, or if one fails. `Debug` prints the whole report
/// like `Display`, so that a test that returns the error shows the failures.
pub fn check<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<(), CheckError> {
    let scenarios = load(paths).map_err(CheckError::Unreadable)?;
    if scenarios.is_empty() {
        return Err(CheckError::Nothing);
    }
    let report = run_all(&scenarios);
    if report.failed() == 0 {
        Ok(())
    } else {
        Err(CheckError::Failed(report))
    }
}

/// An error of [`check`].
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// Files cannot be read as scenarios.
    #[error("{0}")]
    Unreadable(Errors),
    /// The files and folders contain no scenario.
    #[error("expected at least one scenario, found none")]
    Nothing,
    /// Some scenarios failed.
    #[error("{}", .0.text(Style::Plain).trim_end())]
    Failed(Report),
}

/// Prints the same as `Display`, because a test prints this form of a returned error.
impl fmt::Debug for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
