//! Runs the generator through the Go implementation, if Go is installed.

use std::path::{Path, PathBuf};

use fieldmanager_comparison::driver::{Options, Pair, run};
use fieldmanager_comparison::engine::{
    Engine, EngineOptions, OUTCOMES, PRUNED, REACHED, RECONCILED,
};
use fieldmanager_comparison::generate::{Profile, scenario};
use fieldmanager_comparison::tally::Tally;
use fieldmanager_comparison::{Error, GO_MAP_ORDER, GO_PANIC, Verdict, oracle};
use serde_json::Value;

/// The oracle; `None` if Go is not installed.
fn oracle() -> Result<Option<PathBuf>, Error> {
    match oracle::build("engine") {
        Err(Error::GoMissing(_)) => Ok(None),
        built => built.map(Some),
    }
}

fn check(cases: &[Value], options: &EngineOptions, oracle: &Path) -> Result<Vec<Verdict>, Error> {
    Pair::new(Engine::new(options), oracle).check(cases)
}

#[test]
fn generated_scenarios_reach_every_kind_of_outcome() {
    let Some(program) = oracle().unwrap() else {
        return;
    };
    let cases: Vec<_> = (7..607)
        .map(|seed| scenario(seed, Profile::Small))
        .collect();
    let options = EngineOptions {
        oracle_only: true,
        ..EngineOptions::default()
    };
    let mut tally = Tally::default();
    for verdict in check(&cases, &options, &program).unwrap() {
        assert!(verdict.difference.is_none());
        tally.merge(verdict.tally);
    }
    let share = |name| tally.get(OUTCOMES, name) * 1000 / tally.operations;
    assert!(share("success") >= 700, "{tally}");
    assert!(share("conflicts") >= 20, "{tally}");
    assert!(share("panic") <= 5, "{tally}");
    assert!(
        tally.get(REACHED, PRUNED) >= 100 && tally.get(REACHED, RECONCILED) >= 15,
        "{tally}"
    );
}

#[test]
fn oracle_agrees_with_itself() {
    let Some(program) = oracle().unwrap() else {
        return;
    };
    // A panic on the library's side is always a difference.
    let cases: Vec<_> = (0..200)
        .map(|seed| scenario(seed, Profile::Small))
        .filter(|scenario| scenario.pointer("/options/ignoredFields").is_none())
        .collect();
    let options = EngineOptions {
        engine: Some(program.clone()),
        ..EngineOptions::default()
    };
    for verdict in check(&cases, &options, &program).unwrap() {
        let by_chance = verdict
            .deviations
            .iter()
            .all(|rule| [GO_PANIC, GO_MAP_ORDER].contains(rule));
        assert!(verdict.difference.is_none() && by_chance, "{verdict:?}");
    }
}

#[test]
fn a_run_prints_the_cases_of_its_seeds() {
    let mut out = Vec::new();
    let options = Options {
        cases: Some(2),
        seed: 5,
        print: true,
        ..Options::default()
    };
    assert!(
        run(
            &options,
            &|| Engine::new(&EngineOptions::default()),
            &mut out
        )
        .unwrap()
    );
    let expected = format!(
        "{}\n{}\n",
        scenario(5, Profile::All),
        scenario(6, Profile::All)
    );
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
