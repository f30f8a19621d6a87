//! Runs many scenarios through both sides.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde_json::Value;

use crate::compare::{Comparison, Difference, Explain, GO_MAP_ORDER, compare, step_kind};
use crate::generate::{Profile, scenario};
use crate::oracle::CoProcess;
use crate::shrink::shrink;
use crate::tally::Tally;
use crate::{Error, Implementation, program};

/// How often the reference is asked before a difference counts as one: it may
/// depend on chance, and agree at another time.
const REPEATS: usize = 24;

/// How many scenarios are sent at a time.
const BATCH: u64 = 64;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many scenarios to generate.
    pub cases: u64,
    /// The seed of the first scenario; the others count up from it.
    pub seed: u64,
    /// How large their objects are.
    pub profile: Profile,
    /// How many threads work, each with processes of its own.
    pub threads: usize,
    /// How many differences to find before giving up.
    pub keep_going: usize,
}

/// A scenario on which the two sides differ.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The scenario.
    pub scenario: Value,
    /// The first difference in it.
    pub difference: Difference,
}

/// Both sides, and what is known about their differences.
pub struct Sides<'a> {
    /// The reference.
    pub oracle: CoProcess,
    /// The library; none to only see what the generator makes.
    pub candidate: Option<Box<dyn Implementation + 'a>>,
    /// The listed deviations.
    pub explain: &'a Explain<'a>,
}

impl Sides<'_> {
    /// Runs the scenarios and returns those on which the sides differ.
    ///
    /// # Errors
    ///
    /// When one of the sides cannot answer.
    pub fn check(&mut self, scenarios: &[Value], tally: &mut Tally) -> Result<Vec<Failure>, Error> {
        let references = self.oracle.run(scenarios)?;
        for (scenario, reference) in scenarios.iter().zip(&references) {
            tally.add_answer(scenario, reference);
        }
        let Some(candidate) = &mut self.candidate else {
            return Ok(Vec::new());
        };
        let candidates = candidate.run(scenarios)?;
        let mut failures = Vec::new();
        for ((scenario, reference), candidate) in scenarios.iter().zip(&references).zip(&candidates) {
            let mut comparison = compare(scenario, reference, candidate, self.explain);
            if comparison.difference.is_some() {
                comparison = self.by_chance(scenario, candidate)?.unwrap_or(comparison);
            }
            tally.add_comparison(&comparison);
            if let Some(difference) = comparison.difference {
                failures.push(Failure { scenario: scenario.clone(), difference });
            }
        }
        Ok(failures)
    }

    /// Whether the reference agrees at another time.
    fn by_chance(&mut self, scenario: &Value, candidate: &Value) -> Result<Option<Comparison>, Error> {
        for variant in self.oracle.variants(scenario, REPEATS)? {
            let mut comparison = compare(scenario, &variant, candidate, self.explain);
            if comparison.difference.is_none() {
                comparison.deviations.push(GO_MAP_ORDER);
                return Ok(Some(comparison));
            }
        }
        Ok(None)
    }

    /// The failure with everything left out that it does not need.
    pub fn shrink(&mut self, failure: &Failure, max_tries: usize) -> Failure {
        let label = |failure: &Failure| {
            let steps = failure.scenario.get("steps").and_then(Value::as_array);
            let kind = failure
                .difference
                .step
                .and_then(|step| steps?.get(step))
                .map(|step| step_kind(step).to_owned());
            (failure.difference.what.clone(), kind)
        };
        let wanted = label(failure);
        let mut smallest = failure.clone();
        shrink(&failure.scenario, max_tries, &mut |scenario| {
            // Only the same difference counts: on the way down scenarios come
            // by that differ for a duller reason, such as a broken schema.
            let found = self.check(std::slice::from_ref(scenario), &mut Tally::default()).unwrap_or_default();
            match found.into_iter().next() {
                Some(found) if label(&found) == wanted => {
                    smallest = found;
                    true
                }
                _ => false,
            }
        });
        smallest
    }
}

/// Generates scenarios and runs them on several threads; returns the counts and
/// the failures, those of the lowest seeds that were found first.
///
/// # Errors
///
/// When one of the sides cannot answer.
pub fn generated<'a>(
    settings: &Settings,
    sides: &(dyn Fn() -> Sides<'a> + Sync),
) -> Result<(Tally, Vec<Failure>), Error> {
    let next = AtomicU64::new(0);
    let found = AtomicUsize::new(0);
    let total = Mutex::new((Tally::default(), Vec::new()));
    let work = || -> Result<(), Error> {
        let mut sides = sides();
        let mut tally = Tally::default();
        let mut failures = Vec::new();
        while found.load(Ordering::Relaxed) < settings.keep_going {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            if first >= settings.cases {
                break;
            }
            let scenarios: Vec<_> = (first..(first + BATCH).min(settings.cases))
                .map(|number| scenario(settings.seed.wrapping_add(number), settings.profile))
                .collect();
            let new = sides.check(&scenarios, &mut tally)?;
            found.fetch_add(new.len(), Ordering::Relaxed);
            failures.extend(new);
        }
        let mut total = total.lock().map_err(|_| Error::Worker)?;
        total.0.merge(tally);
        total.1.extend(failures);
        Ok(())
    };
    program::in_threads(settings.threads, work)?;
    total.into_inner().map_err(|_| Error::Worker)
}
