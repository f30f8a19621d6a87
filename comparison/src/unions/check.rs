//! Runs scenarios on both sides, and explains or keeps every difference.

use serde_json::{Value, json};

use super::generate::scenario;
use super::model::{Types, for_v4, is_sound, without_unions};
use super::predict::{Cleared, Plan, Prediction, Rules, with_cleared};
use crate::engine::compare::{Outcome, acts_on_state, compare, outcome, step_kind};
use crate::engine::{answer, cuts};
use crate::json::{items, member, set};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::{Difference, Error, Judged, Suite, Verdict};

/// The rule for a conflict that only this library reports: the apply clears a member that another manager owns.
pub(super) const CLEARED_CONFLICT: &str = "cleared-member-conflict";

/// The section of the tally for steps.
const STEPS: &str = "steps";

/// The suite.
pub struct Unions;

/// A scenario without unions. With unions, v4 must have given its last result, if v4 follows its rules.
struct Proof {
    scenario: Value,
    step: usize,
    theirs: Value,
    ours: Value,
}

/// A scenario and the known facts about it.
struct KnownScenario<'s> {
    scenario: &'s Value,
    types: Types<'s>,
    ty: &'s str,
    steps: &'s [Value],
    theirs: &'s [Value],
    ours: &'s [Value],
}

impl Suite for Unions {
    const NAME: &'static str = "unions";
    const ORACLE: &'static str = "unions";
    const BATCH: u64 = 128;
    const REPEATS: usize = 0;

    fn generate(&self, seed: u64) -> Value {
        scenario(seed)
    }

    fn requests(&self, case: &Value) -> Vec<Value> {
        vec![asked_of_v4(case), asked_of_v4(&switched_off(case))]
    }

    fn compare(&mut self, oracle: &mut dyn Oracle, case: &Value, answers: &[Value]) -> Judged {
        let mut out = Verdict::default();
        let [theirs, plain] = answers else {
            return Err(Error::Worker);
        };
        let off = switched_off(case);

        // Here a difference between v4 and v6 that has nothing to do with unions would be taken for one of a rule.
        if compare(&off, plain, &answer(&off)?, &|_| None)
            .difference
            .is_some()
        {
            out.tally
                .count("scenarios skipped", "the engines differ without unions");
            return Ok(out);
        }

        let proofs = examine(case, theirs, &answer(case)?, &mut out)?;
        let asked: Vec<_> = proofs
            .iter()
            .map(|proof| asked_of_v4(&proof.scenario))
            .collect();
        let answers = if asked.is_empty() {
            Vec::new()
        } else {
            oracle.run(&asked)?
        };

        // v4 must give the same result to the scenario without unions, otherwise the rules do not describe it.
        for (proof, answer) in proofs.into_iter().zip(answers) {
            let last = items(&answer, "results").last();
            if last.is_none_or(|expected| differs(expected, &proof.theirs).is_some()) {
                let what = format!(
                    "v4 and its rules, which say {}",
                    last.unwrap_or(&Value::Null)
                );
                let found = difference(case, Some(proof.step), what, &proof.theirs, &proof.ours);
                out.difference.get_or_insert(found);
            }
        }

        Ok(out)
    }

    fn cuts(&self, case: &Value) -> Vec<Cut> {
        cuts(case)
    }

    fn is_sound(&self, case: &Value) -> bool {
        is_sound(member(case, "schema"))
    }
}

fn difference(
    scenario: &Value,
    step: Option<usize>,
    what: String,
    reference: &Value,
    candidate: &Value,
) -> Difference {
    let kind = step
        .and_then(|step| items(scenario, "steps").get(step))
        .map(step_kind);
    let label = format!(
        "{} {}",
        what.split(',').next().unwrap_or_default(),
        kind.unwrap_or_default()
    );

    Difference {
        step,
        what,
        label,
        reference: reference.clone(),
        candidate: candidate.clone(),
    }
}

/// Compares the answers step by step. Returns the requests by which v4 proves that it follows its rules.
fn examine(
    scenario: &Value,
    theirs: &Value,
    ours: &Value,
    out: &mut Verdict,
) -> Result<Vec<Proof>, Error> {
    let types = scenario.get("types").and_then(Value::as_object);
    let case = KnownScenario {
        scenario,
        types: Types::new(member(scenario, "schema")),
        ty: types
            .and_then(|types| types.values().next()?.as_str())
            .unwrap_or_default(),
        steps: items(scenario, "steps"),
        theirs: items(theirs, "results"),
        ours: items(ours, "results"),
    };
    let mut proofs = Vec::new();

    if case.theirs.len() != case.steps.len() || case.ours.len() != case.steps.len() {
        out.difference = Some(difference(
            scenario,
            None,
            "number of results".to_owned(),
            theirs,
            ours,
        ));
        return Ok(proofs);
    }

    let mut states = [&Value::Null; 2];
    let mut parted = false;
    for (at, ((step, theirs), ours)) in case
        .steps
        .iter()
        .zip(case.theirs)
        .zip(case.ours)
        .enumerate()
    {
        let stateful = acts_on_state(step_kind(step));
        let unlike = |what: String| difference(scenario, Some(at), what, theirs, ours);
        let Some(table) = case.predict(Rules::Table, step, states[1]) else {
            continue;
        };
        for row in &table.rows {
            out.tally
                .count("rows of the tables, once for each union of each step", *row);
        }

        // The library must do what the table says in every step, also where v4 does the same.
        let (expected, clearing) = expected(&case, at, &table.plan, states[1])?;
        if !agrees(&table.plan, expected.as_ref(), ours) {
            let says =
                expected.map_or_else(|| format!("{:?}", table.plan), |value| value.to_string());
            out.difference = Some(unlike(format!(
                "the library and the table, which says {says}"
            )));
            return Ok(proofs);
        }

        // After an explained difference the states differ, so that the table alone judges the library.
        if stateful && parted {
            out.tally
                .count(STEPS, "not compared, since the states differ already");
        } else {
            out.tally.operations += 1;
            out.tally.count(STEPS, "compared");
            if let Some(what) = differs(theirs, ours) {
                let Some(v4) = case.predict(Rules::V4, step, states[0]) else {
                    continue;
                };
                let mut rules = Prediction::rules(&v4, &table, step.get("apply").is_some());
                if clearing {
                    rules.push(CLEARED_CONFLICT);
                }

                // The steps of a plan are proved by one request for all of them; a refusal or an object is compared at
                // once.
                let proved = match &v4.plan {
                    Plan::Steps(steps, _) => {
                        proofs.push(Proof {
                            scenario: case.without_unions_from(at, steps),
                            step: at,
                            theirs: theirs.clone(),
                            ours: ours.clone(),
                        });
                        true
                    }
                    plan => agrees(plan, None, theirs),
                };

                // A difference needs a rule for a union that it has, and v4 must follow its own rules.
                if rules.is_empty() || !proved {
                    let by = if proved {
                        "no rule"
                    } else {
                        "v4 and its rules"
                    };
                    out.difference = Some(unlike(format!("{what}, {by}")));
                    return Ok(proofs);
                }

                out.tally.count(STEPS, "of which differ, and are explained");
                out.deviations.extend(rules);
                let unchanged = |result| outcome(result) != Outcome::Success;
                // A step that failed on both sides left both states as they were.
                parted |= stateful && !(unchanged(theirs) && unchanged(ours));
            }
        }

        // Only steps on the state answer with managed fields.
        for (state, result) in states.iter_mut().zip([theirs, ours]) {
            if result.get("managed").is_some() {
                *state = result;
            }
        }
    }

    Ok(proofs)
}

/// The result of the library that the table predicts, and whether it is a conflict only because a member is cleared.
fn expected(
    case: &KnownScenario<'_>,
    at: usize,
    plan: &Plan,
    state: &Value,
) -> Result<(Option<Value>, bool), Error> {
    let Plan::Steps(steps, cleared) = plan else {
        return Ok((None, false));
    };
    let answer = answer(&case.without_unions_from(at, steps))?;
    let last = items(&answer, "results").last();
    let applier = case
        .steps
        .get(at)
        .and_then(|step| step.get("apply")?.get("manager")?.as_str());
    // An update takes cleared members from their owners without a conflict.
    let none: &[Cleared] = &[];
    let cleared = if applier.is_some() {
        cleared.as_slice()
    } else {
        none
    };

    let managed = member(state, "managed");
    let merged = last.map(|last| with_cleared(last, cleared, managed, applier.unwrap_or_default()));
    Ok(merged.map_or((None, false), |(expected, clearing)| {
        (Some(expected), clearing)
    }))
}

impl KnownScenario<'_> {
    fn predict(&self, rules: Rules, step: &Value, state: &Value) -> Option<Prediction> {
        let version = step
            .get("apply")
            .and_then(|body| body.get("apiVersion"))
            .cloned();
        // This step merges two values and normalizes nothing.
        let merge = |live: &Value, config: &Value| {
            let step = json!({"merge": {"apiVersion": version, "lhs": live, "rhs": config}});
            let answer = answer(&self.with_steps(vec![step])).ok()?;
            items(&answer, "results").first()?.get("object").cloned()
        };

        Prediction::new(
            rules,
            &self.types,
            self.ty,
            step,
            member(state, "object"),
            &merge,
        )
    }

    /// The scenario up to a step, which is replaced by steps without unions.
    fn without_unions_from(&self, at: usize, instead: &[Value]) -> Value {
        let stateful = |step: &&Value| acts_on_state(step_kind(step));
        let mut steps: Vec<Value> = self
            .steps
            .iter()
            .take(at)
            .filter(stateful)
            .cloned()
            .collect();
        let schema = without_unions(member(self.scenario, "schema"));
        // The earlier steps keep their unions, so that the state is the one that the step found.
        steps.push(json!({"changeSchema": {"schema": schema}}));
        steps.extend(instead.iter().cloned());

        self.with_steps(steps)
    }

    fn with_steps(&self, steps: Vec<Value>) -> Value {
        let mut out = self.scenario.clone();
        set(&mut out, "steps", steps);
        out
    }
}

/// Whether a result equals the prediction of a plan. For a plan of steps, `expected` is their result.
fn agrees(plan: &Plan, expected: Option<&Value>, result: &Value) -> bool {
    match plan {
        Plan::Refused => matches!(outcome(result), Outcome::Error(_)),
        Plan::Panics => outcome(result) == Outcome::Panic,
        Plan::Object(object) => differs(&json!({"object": object}), result).is_none(),
        Plan::Steps(..) => expected.is_some_and(|expected| differs(expected, result).is_none()),
    }
}

/// The part that differs between two results; all errors are equal.
fn differs(left: &Value, right: &Value) -> Option<String> {
    let plain = |result: &Value| match outcome(result) {
        Outcome::Error(_) => json!({"results": [{"error": "", "kind": ""}]}),
        _ => json!({"results": [result]}),
    };
    let scenario = json!({"steps": [{"update": {}}]});

    // `compare` explains a panic of the reference; here it is a difference.
    if (outcome(left) == Outcome::Panic) != (outcome(right) == Outcome::Panic) {
        return Some("panic".to_owned());
    }
    compare(&scenario, &plain(left), &plain(right), &|_| None)
        .difference
        .map(|difference| difference.what)
}

/// The scenario with unions turned off, and without the steps that only normalize unions.
fn switched_off(scenario: &Value) -> Value {
    let mut out = scenario.clone();
    set(&mut out, "options", json!({"unions": false}));
    if let Some(steps) = out.get_mut("steps").and_then(Value::as_array_mut) {
        steps.retain(|step| step.get("normalize").is_none());
    }
    out
}

/// The scenario in a form that the v4 code can read.
fn asked_of_v4(scenario: &Value) -> Value {
    let mut out = scenario.clone();
    if let Some(schema) = out.get_mut("schema") {
        *schema = for_v4(schema);
    }
    out
}
