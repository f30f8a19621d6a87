//! Counts what happened, so that a generator that has become useless shows.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::compare::{Comparison, Outcome, acts_on_state, outcome, step_kind};

/// Counts over all scenarios of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Scenarios that were run.
    pub scenarios: u64,
    /// Steps of those scenarios.
    pub steps: u64,
    /// Differences that nothing explains.
    pub differences: u64,
    outcomes: BTreeMap<String, u64>,
    by_step: BTreeMap<String, [u64; 2]>,
    deviations: BTreeMap<&'static str, u64>,
    refused: u64,
    pruned: u64,
    reconciled: u64,
    schema_changes: u64,
    skipped: u64,
}

impl Tally {
    /// How many steps ended this way: `success`, `conflicts`, `panic`, or
    /// `error` and a kind.
    pub fn outcomes(&self, name: &str) -> u64 {
        self.outcomes.get(name).copied().unwrap_or_default()
    }

    /// How many applies took something out of the live object, and after how
    /// many changes of the schema the fields of other managers moved.
    pub fn pruned_and_reconciled(&self) -> (u64, u64) {
        (self.pruned, self.reconciled)
    }

    /// Counts what the reference said about a scenario.
    pub fn add_answer(&mut self, scenario: &Value, answer: &Value) {
        self.scenarios += 1;
        let no_values = Vec::new();
        let Some(results) = answer.get("results").and_then(Value::as_array) else {
            self.refused += 1;
            return;
        };
        let steps = scenario.get("steps").and_then(Value::as_array).unwrap_or(&no_values);
        let mut before: Option<&Value> = None;
        let mut changed = false;
        for (step, result) in steps.iter().zip(results) {
            self.steps += 1;
            let kind = step_kind(step);
            let name = match outcome(result) {
                Outcome::Success => "success".to_owned(),
                Outcome::Conflicts => "conflicts".to_owned(),
                Outcome::Error(kind) => format!("error {kind}"),
                Outcome::Panic => "panic".to_owned(),
            };
            let succeeded = name == "success";
            *self.outcomes.entry(name).or_default() += 1;
            let [successes, failures] = self.by_step.entry(kind.to_owned()).or_default();
            *(if succeeded { successes } else { failures }) += 1;
            if !succeeded || !acts_on_state(kind) {
                continue;
            }
            if kind == "changeSchema" {
                self.schema_changes += 1;
                changed = true;
            } else if let Some(before) = before {
                let member = |result: &Value, name: &str| result.get(name).cloned().unwrap_or_default();
                if kind != "update" && lost(&member(before, "object"), &member(result, "object")) {
                    self.pruned += 1;
                }
                if changed {
                    let actor = step.get(kind).and_then(|body| body.get("manager")).and_then(Value::as_str);
                    self.reconciled += u64::from(others_changed(before, result, actor));
                    changed = false;
                }
            }
            before = Some(result);
        }
    }

    /// Counts what came of comparing the answers to a scenario.
    pub fn add_comparison(&mut self, comparison: &Comparison) {
        self.differences += u64::from(comparison.difference.is_some());
        self.skipped += u64::try_from(comparison.skipped).unwrap_or(u64::MAX);
        for rule in &comparison.deviations {
            *self.deviations.entry(rule).or_default() += 1;
        }
    }

    /// Adds the counts of another part of the run.
    pub fn merge(&mut self, other: Self) {
        self.scenarios += other.scenarios;
        self.steps += other.steps;
        self.differences += other.differences;
        self.refused += other.refused;
        self.pruned += other.pruned;
        self.reconciled += other.reconciled;
        self.schema_changes += other.schema_changes;
        self.skipped += other.skipped;
        for (name, count) in other.outcomes {
            *self.outcomes.entry(name).or_default() += count;
        }
        for (name, [successes, failures]) in other.by_step {
            let [all_successes, all_failures] = self.by_step.entry(name).or_default();
            *all_successes += successes;
            *all_failures += failures;
        }
        for (name, count) in other.deviations {
            *self.deviations.entry(name).or_default() += count;
        }
    }
}

/// Whether a field or a list item of the old object is gone.
fn lost(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            old.iter().any(|(key, value)| new.get(key).is_none_or(|other| lost(value, other)))
        }
        (Value::Array(old), Value::Array(new)) => old.len() > new.len(),
        _ => false,
    }
}

fn others_changed(before: &Value, after: &Value, actor: Option<&str>) -> bool {
    let managed =
        |result: &'_ Value| result.get("managed").and_then(Value::as_object).cloned().unwrap_or_default();
    let (before, after) = (managed(before), managed(after));
    before.iter().any(|(name, entry)| Some(name.as_str()) != actor && after.get(name) != Some(entry))
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{} scenarios, {} steps, {} differences",
            self.scenarios, self.steps, self.differences
        )?;
        writeln!(out, "outcomes of the reference:")?;
        for (name, count) in &self.outcomes {
            writeln!(out, "  {name:<20}{count:>10}{:>7.1}%", percent(*count, self.steps))?;
        }
        writeln!(out, "by step, with the share that succeeded:")?;
        for (name, [successes, failures]) in &self.by_step {
            let all = successes + failures;
            writeln!(out, "  {name:<20}{all:>10}{:>7.1}%", percent(*successes, all))?;
        }
        writeln!(out, "applies that pruned:                    {}", self.pruned)?;
        writeln!(out, "schema changes:                         {}", self.schema_changes)?;
        writeln!(out, "  after which other managers' sets moved: {}", self.reconciled)?;
        if self.refused > 0 {
            writeln!(out, "scenarios that the reference refused:   {}", self.refused)?;
        }
        if self.skipped > 0 {
            writeln!(out, "steps not compared after a deviation:   {}", self.skipped)?;
        }
        for (rule, count) in &self.deviations {
            writeln!(out, "deviation {rule:<30}{count}")?;
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share for people to read")]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}
