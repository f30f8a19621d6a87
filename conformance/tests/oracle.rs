//! Runs the generator through the Go implementation, where there is a Go.

use fieldmanager_conformance::generate::{Profile, scenario};
use fieldmanager_conformance::oracle::CoProcess;
use fieldmanager_conformance::run::{Settings, Sides, generated};
use fieldmanager_conformance::{Error, program};
use std::path::PathBuf;

/// The oracle; none where there is no Go to build it with.
fn oracle() -> Result<Option<PathBuf>, Error> {
    match program::oracle(None, "oracle") {
        Err(Error::GoMissing(_)) => Ok(None),
        built => built.map(Some),
    }
}

#[test]
fn generated_scenarios_are_worth_running() {
    let Some(program) = oracle().unwrap() else {
        return;
    };
    let sides =
        || Sides { oracle: CoProcess::new(&program, Vec::new()), candidate: None, explain: &|_| None };
    let settings = Settings { cases: 600, seed: 7, profile: Profile::Small, threads: 1, keep_going: 1 };
    let (tally, failures) = generated(&settings, &sides).unwrap();
    assert!(failures.is_empty());
    assert_eq!(tally.scenarios, 600);
    let share = |name| tally.outcomes(name) * 1000 / tally.steps;
    assert!(share("success") >= 700, "{tally}");
    assert!(share("conflicts") >= 20, "{tally}");
    assert!(share("panic") <= 5, "{tally}");
    let (pruned, reconciled) = tally.pruned_and_reconciled();
    assert!(pruned >= 100 && reconciled >= 15, "{tally}");
}

#[test]
fn the_oracle_agrees_with_itself() {
    let Some(program) = oracle().unwrap() else {
        return;
    };
    let start = || CoProcess::new(&program, Vec::new());
    let mut sides = Sides { oracle: start(), candidate: Some(Box::new(start())), explain: &|_| None };
    // A panic on the candidate's side is always a difference.
    let scenarios: Vec<_> = (0..200)
        .map(|seed| scenario(seed, Profile::Small))
        .filter(|scenario| scenario.pointer("/options/ignoredFields").is_none())
        .collect();
    let failures = sides.check(&scenarios, &mut Default::default()).unwrap();
    assert!(failures.is_empty(), "{failures:?}");
}
