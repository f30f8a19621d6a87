//! Runs scenarios on both sides and explains every difference, or keeps it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::model::{Types, for_v4, is_sound, without_unions};
use super::predict::{Cleared, Plan, Prediction, Rules, with_cleared};
use crate::candidate::Candidate;
use crate::compare::{Difference, Outcome, acts_on_state, compare, outcome, step_kind};
use crate::oracle::CoProcess;
use crate::shrink::shrink;
use crate::{Error, Implementation};

/// The rule under which a conflict is counted that only this library reports: the apply clears a member
/// that another manager owns.
pub const CLEARED_CONFLICT: &str = "cleared-member-conflict";

/// What came of one scenario.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// The two engines differ already without unions, so that nothing can be said.
    pub engine: bool,
    /// The rules that explain differences, one entry for each union.
    pub rules: Vec<&'static str>,
    /// The rows of the tables that were met, whether the sides differed or not.
    pub rows: Vec<&'static str>,
    /// Steps whose results were compared, and how many of them differ.
    pub compared: u64,
    /// Steps that differ, each explained.
    pub explained: u64,
    /// Steps not compared, since the states had parted.
    pub skipped: u64,
    /// The first difference that nothing explains.
    pub difference: Option<Difference>,
}

/// Both sides.
pub struct Sides {
    v4: CoProcess,
    library: Candidate,
}

/// What v4 must answer to prove that its result is what its rules say.
struct Proof {
    finding: usize,
    scenario: Value,
    step: usize,
    theirs: Value,
    ours: Value,
}

/// A scenario with what was found out about it so far.
struct Case<'s> {
    scenario: &'s Value,
    types: Types<'s>,
    ty: &'s str,
    steps: &'s [Value],
    theirs: &'s [Value],
    ours: &'s [Value],
}

impl Sides {
    /// The library, and a built oracle.
    pub fn new(v4: CoProcess) -> Self {
        Self { v4, library: Candidate }
    }

    /// Compares what both sides say about the scenarios.
    ///
    /// # Errors
    ///
    /// When one of the sides cannot answer.
    pub fn check(&mut self, scenarios: &[Value]) -> Result<Vec<Finding>, Error> {
        let mut ours = self.library.run(scenarios)?;
        let off: Vec<_> = scenarios.iter().map(switched_off).collect();
        ours.extend(self.library.run(&off)?);
        let asked: Vec<_> = scenarios.iter().chain(&off).map(asked_of_v4).collect();
        let theirs = self.v4.run(&asked)?;
        let mut proofs = Vec::new();
        let mut findings = Vec::new();
        for (number, scenario) in scenarios.iter().enumerate() {
            let pair = |at: usize| Some((theirs.get(at)?, ours.get(at)?));
            let (Some(on), Some(plain), Some(off)) =
                (pair(number), pair(number + scenarios.len()), off.get(number))
            else {
                return Err(Error::Worker);
            };
            let mut finding = Finding {
                engine: compare(off, plain.0, plain.1, &|_| None).difference.is_some(),
                ..Finding::default()
            };
            if !finding.engine {
                self.examine(scenario, on, number, &mut finding, &mut proofs)?;
            }
            findings.push(finding);
        }
        let asked: Vec<_> = proofs.iter().map(|proof| asked_of_v4(&proof.scenario)).collect();
        for (proof, answer) in proofs.iter().zip(self.v4.run(&asked)?) {
            let last = results(&answer).last();
            let Some(finding) = findings.get_mut(proof.finding) else {
                continue;
            };
            if last.is_none_or(|expected| differs(expected, &proof.theirs).is_some()) {
                finding.difference.get_or_insert_with(|| Difference {
                    step: Some(proof.step),
                    what: format!("v4 and its rules, which say {}", last.unwrap_or(&Value::Null)),
                    reference: proof.theirs.clone(),
                    candidate: proof.ours.clone(),
                });
            }
        }
        Ok(findings)
    }

    fn examine(
        &mut self,
        scenario: &Value,
        (theirs, ours): (&Value, &Value),
        number: usize,
        finding: &mut Finding,
        proofs: &mut Vec<Proof>,
    ) -> Result<(), Error> {
        let schema = scenario.get("schema").unwrap_or(&Value::Null);
        let types = scenario.get("types").and_then(Value::as_object);
        let case = Case {
            scenario,
            types: Types::new(schema),
            ty: types.and_then(|types| types.values().next()?.as_str()).unwrap_or_default(),
            steps: scenario.get("steps").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default(),
            theirs: results(theirs),
            ours: results(ours),
        };
        if case.theirs.len() != case.steps.len() || case.ours.len() != case.steps.len() {
            finding.difference = Some(Difference {
                step: None,
                what: "number of results".to_owned(),
                reference: theirs.clone(),
                candidate: ours.clone(),
            });
            return Ok(());
        }
        let mut states = [&Value::Null; 2];
        let mut parted = false;
        for (at, ((step, theirs), ours)) in case.steps.iter().zip(case.theirs).zip(case.ours).enumerate() {
            let stateful = acts_on_state(step_kind(step));
            let unlike = |what: String| Difference {
                step: Some(at),
                what,
                reference: theirs.clone(),
                candidate: ours.clone(),
            };
            let Some(table) = case.predict(Rules::Table, step, states[1], &mut self.library) else {
                continue;
            };
            finding.rows.extend(&table.rows);
            let (expected, clearing) = self.expected(&case, at, &table.plan, states[1])?;
            if !agrees(&table.plan, expected.as_ref(), ours) {
                let says = expected.map_or_else(|| format!("{:?}", table.plan), |value| value.to_string());
                finding.difference = Some(unlike(format!("the library and the table, which says {says}")));
                return Ok(());
            }
            if stateful && parted {
                finding.skipped += 1;
            } else {
                finding.compared += 1;
                if let Some(what) = differs(theirs, ours) {
                    let Some(v4) = case.predict(Rules::V4, step, states[0], &mut self.library) else {
                        continue;
                    };
                    let mut rules = Prediction::rules(&v4, &table, step.get("apply").is_some());
                    if clearing {
                        rules.push(CLEARED_CONFLICT);
                    }
                    let proved = match &v4.plan {
                        Plan::Steps(steps, _) => {
                            proofs.push(Proof {
                                finding: number,
                                scenario: case.without_unions_from(at, steps),
                                step: at,
                                theirs: theirs.clone(),
                                ours: ours.clone(),
                            });
                            true
                        }
                        plan => agrees(plan, None, theirs),
                    };
                    if rules.is_empty() || !proved {
                        let by = if proved { "no rule" } else { "v4 and its rules" };
                        finding.difference = Some(unlike(format!("{what}, {by}")));
                        return Ok(());
                    }
                    finding.explained += 1;
                    finding.rules.extend(rules);
                    let unchanged = |result| outcome(result) != Outcome::Success;
                    parted |= stateful && !(unchanged(theirs) && unchanged(ours));
                }
            }
            for (state, result) in states.iter_mut().zip([theirs, ours]) {
                if result.get("managed").is_some() {
                    *state = result;
                }
            }
        }
        Ok(())
    }

    /// What the table says the library must answer, and whether clearing alone makes it a conflict.
    fn expected(
        &mut self,
        case: &Case<'_>,
        at: usize,
        plan: &Plan,
        state: &Value,
    ) -> Result<(Option<Value>, bool), Error> {
        let Plan::Steps(steps, cleared) = plan else {
            return Ok((None, false));
        };
        let answers = self.library.run(&[case.without_unions_from(at, steps)])?;
        let last = answers.first().and_then(|answer| results(answer).last());
        let applier = case.steps.get(at).and_then(|step| step.get("apply")?.get("manager")?.as_str());
        let nobody: &[Cleared] = &[];
        let cleared = if applier.is_some() { cleared.as_slice() } else { nobody };
        let managed = state.get("managed").unwrap_or(&Value::Null);
        let merged = last.map(|last| with_cleared(last, cleared, managed, applier.unwrap_or_default()));
        Ok(merged.map_or((None, false), |(expected, clearing)| (Some(expected), clearing)))
    }

    /// The scenario with everything left out that its difference does not need.
    pub fn shrink(&mut self, scenario: &Value, max_tries: usize) -> (Value, Option<Difference>) {
        let label = |scenario: &Value, difference: &Difference| {
            let step = difference.step.and_then(|step| scenario.get("steps")?.get(step));
            let what = difference.what.split(',').next().unwrap_or_default();
            (what.to_owned(), step.map(|step| step_kind(step).to_owned()))
        };
        let found = |sides: &mut Self, scenario: &Value| {
            let finding = sides.check(std::slice::from_ref(scenario)).unwrap_or_default().into_iter().next();
            finding.and_then(|finding| finding.difference)
        };
        let Some(first) = found(self, scenario) else {
            return (scenario.clone(), None);
        };
        let wanted = label(scenario, &first);
        let mut smallest = first;
        // The shrinker cuts into the objects of steps by the names that they have elsewhere.
        let shrunk =
            shrink(&renamed(scenario, [("old", "lhs"), ("new", "rhs")]), max_tries, &mut |candidate| {
                let candidate = renamed(candidate, [("lhs", "old"), ("rhs", "new")]);
                // What a schema that cannot work leads to is another question.
                if !candidate.get("schema").is_some_and(is_sound) {
                    return false;
                }
                match found(self, &candidate) {
                    Some(difference) if label(&candidate, &difference) == wanted => {
                        smallest = difference;
                        true
                    }
                    _ => false,
                }
            });
        (renamed(&shrunk, [("lhs", "old"), ("rhs", "new")]), Some(smallest))
    }
}

impl Case<'_> {
    fn predict(
        &self,
        rules: Rules,
        step: &Value,
        state: &Value,
        library: &mut Candidate,
    ) -> Option<Prediction> {
        let live = state.get("object").unwrap_or(&Value::Null);
        let library = std::cell::RefCell::new(library);
        let version = step.get("apply").and_then(|body| body.get("apiVersion")).cloned();
        let merge = |live: &Value, config: &Value| {
            let step = json!({"merge": {"apiVersion": version, "lhs": live, "rhs": config}});
            let answer = library.borrow_mut().run(&[self.with_steps(vec![step])]).ok()?;
            results(answer.first()?).first()?.get("object").cloned()
        };
        Prediction::new(rules, &self.types, self.ty, step, live, &merge)
    }

    /// The scenario up to a step, which is replaced by others that know nothing of unions.
    fn without_unions_from(&self, at: usize, instead: &[Value]) -> Value {
        let stateful = |step: &&Value| acts_on_state(step_kind(step));
        let mut steps: Vec<Value> = self.steps.iter().take(at).filter(stateful).cloned().collect();
        let schema = without_unions(self.scenario.get("schema").unwrap_or(&Value::Null));
        steps.push(json!({"changeSchema": {"schema": schema}}));
        steps.extend(instead.iter().cloned());
        self.with_steps(steps)
    }

    fn with_steps(&self, steps: Vec<Value>) -> Value {
        let mut out = self.scenario.clone();
        if let Some(members) = out.as_object_mut() {
            members.insert("steps".to_owned(), steps.into());
        }
        out
    }
}

fn results(answer: &Value) -> &[Value] {
    answer.get("results").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Whether a result is what a plan says; a plan of steps, by what they came to.
fn agrees(plan: &Plan, expected: Option<&Value>, result: &Value) -> bool {
    match plan {
        Plan::Refused => matches!(outcome(result), Outcome::Error(_)),
        Plan::Panics => outcome(result) == Outcome::Panic,
        Plan::Object(object) => differs(&json!({"object": object}), result).is_none(),
        Plan::Steps(..) => expected.is_some_and(|expected| differs(expected, result).is_none()),
    }
}

/// What differs between two results; errors are not told apart.
fn differs(left: &Value, right: &Value) -> Option<String> {
    let plain = |result: &Value| match outcome(result) {
        Outcome::Error(_) => json!({"results": [{"error": "", "kind": ""}]}),
        _ => json!({"results": [result]}),
    };
    let scenario = json!({"steps": [{"update": {}}]});
    // An explained panic of the reference is no difference to `compare`.
    if (outcome(left) == Outcome::Panic) != (outcome(right) == Outcome::Panic) {
        return Some("panic".to_owned());
    }
    compare(&scenario, &plain(left), &plain(right), &|_| None).difference.map(|difference| difference.what)
}

/// The scenario with unions turned off, and without the steps that are about nothing else.
fn switched_off(scenario: &Value) -> Value {
    let mut out = scenario.clone();
    if let Some(members) = out.as_object_mut() {
        members.insert("options".to_owned(), json!({"unions": false}));
    }
    if let Some(steps) = out.get_mut("steps").and_then(Value::as_array_mut) {
        steps.retain(|step| step.get("normalize").is_none());
    }
    out
}

/// The scenario as the v4 code can read it.
fn asked_of_v4(scenario: &Value) -> Value {
    let mut out = scenario.clone();
    if let Some(schema) = out.get_mut("schema") {
        *schema = for_v4(schema);
    }
    out
}

fn renamed(scenario: &Value, names: [(&str, &str); 2]) -> Value {
    let mut out = scenario.clone();
    for step in out.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(body) = step.get_mut("normalize").and_then(Value::as_object_mut) {
            for (from, to) in names {
                if let Some(value) = body.remove(from) {
                    body.insert(to.to_owned(), value);
                }
            }
        }
    }
    out
}

/// Counts over all scenarios of a run.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    scenarios: u64,
    engine: u64,
    compared: u64,
    explained: u64,
    skipped: u64,
    /// Scenarios with a difference that nothing explains.
    pub unexplained: u64,
    rules: BTreeMap<&'static str, u64>,
    rows: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// How often a rule explained a difference.
    pub fn of(&self, rule: &str) -> u64 {
        self.rules.get(rule).copied().unwrap_or_default()
    }

    /// Counts what came of one scenario.
    pub fn add(&mut self, finding: &Finding) {
        self.scenarios += 1;
        self.engine += u64::from(finding.engine);
        self.compared += finding.compared;
        self.explained += finding.explained;
        self.skipped += finding.skipped;
        self.unexplained += u64::from(finding.difference.is_some());
        for rule in &finding.rules {
            *self.rules.entry(rule).or_default() += 1;
        }
        for row in &finding.rows {
            *self.rows.entry(row).or_default() += 1;
        }
    }

    /// Adds the counts of another part of the run.
    pub fn merge(&mut self, other: Self) {
        self.scenarios += other.scenarios;
        self.engine += other.engine;
        self.compared += other.compared;
        self.explained += other.explained;
        self.skipped += other.skipped;
        self.unexplained += other.unexplained;
        for (rule, count) in other.rules {
            *self.rules.entry(rule).or_default() += count;
        }
        for (row, count) in other.rows {
            *self.rows.entry(row).or_default() += count;
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(out, "rows of the tables that were met, once for each union of each step:")?;
        for (row, count) in &self.rows {
            writeln!(out, "  {row:<36}{count:>10}")?;
        }
        writeln!(out, "steps compared:                       {:>10}", self.compared)?;
        writeln!(out, "  of which differ, and are explained: {:>10}", self.explained)?;
        writeln!(out, "steps after the states parted:        {:>10}", self.skipped)?;
        writeln!(out, "scenarios skipped as engine-v4:       {:>10}", self.engine)?;
        writeln!(out, "differences by rule, once for each union:")?;
        for (rule, count) in &self.rules {
            writeln!(out, "  {rule:<36}{count:>10}")?;
        }
        let steps = self.compared + self.skipped;
        writeln!(out, "{} scenarios, {steps} steps, {} unexplained", self.scenarios, self.unexplained)
    }
}
