//! Counts what happened, so that a generator that has become useless shows.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::candidate::text;
use super::compare::outcome;

/// Counts over a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Operations: steps of sequences, and requests of other ops.
    pub operations: u64,
    /// Sequences and other requests.
    pub requests: u64,
    /// Differences that nothing explains.
    pub differences: u64,
    outcomes: BTreeMap<String, u64>,
    steps: BTreeMap<String, [u64; 2]>,
    types: BTreeMap<&'static str, u64>,
    seen: BTreeMap<&'static str, u64>,
    deviations: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Counts a request.
    pub fn request(&mut self, request: &Value) {
        self.requests += 1;
        let types = match text(request, "op") {
            "managed" if request.get("definitionsFile").is_some() => "sequences of real kinds",
            "managed" if request.get("schemas").is_some() => "sequences of generated kinds",
            "managed" => "sequences of deduced types",
            _ => "other requests",
        };
        *self.types.entry(types).or_default() += 1;
    }

    /// Counts a request that is no sequence.
    pub fn other(&mut self, request: &Value, reference: &Value) {
        self.operations += 1;
        let failed =
            ["error", "decodeError", "encodeError"].iter().any(|name| reference.get(*name).is_some());
        self.ended(text(request, "op"), !failed);
    }

    /// Counts a step and what Go said about it.
    pub fn step(&mut self, step: &Value, before: &Value, reference: &Value) {
        self.operations += 1;
        *self.outcomes.entry(outcome(reference)).or_default() += 1;
        self.ended(text(step, "kind"), reference.get("live").is_some());
        let after = reference.get("live").unwrap_or(&Value::Null);
        let has = |object: &Value, manager: &str| {
            let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
            entries.into_iter().flatten().any(|entry| text(entry, "manager") == manager)
        };
        let mut seen = |name| *self.seen.entry(name).or_default() += 1;
        for (name, manager) in
            [("before-first-apply", "before-first-apply"), ("ancient-changes", "ancient-changes")]
        {
            if has(after, manager) && !has(before, manager) {
                seen(name);
            }
        }
        if !after.is_null() && after == before {
            seen("no change");
        }
        let annotation = |object: &Value| {
            object.pointer("/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration").cloned()
        };
        if text(step, "kind") == "apply" && !after.is_null() && annotation(after) != annotation(before) {
            seen("annotation renewed");
        }
        let entries = |object: &Value| object.pointer("/metadata/managedFields").is_some();
        if entries(before) && !after.is_null() && !entries(after) {
            seen("entries gone");
        }
    }

    /// Counts a difference that is explained.
    pub fn deviation(&mut self, name: &'static str) {
        *self.deviations.entry(name).or_default() += 1;
    }

    fn ended(&mut self, kind: &str, success: bool) {
        let [successes, failures] = self.steps.entry(kind.to_owned()).or_default();
        *if success { successes } else { failures } += 1;
    }

    /// Adds the counts of another part of the run.
    pub fn merge(&mut self, other: Tally) {
        self.operations += other.operations;
        self.requests += other.requests;
        self.differences += other.differences;
        for (name, count) in other.outcomes {
            *self.outcomes.entry(name).or_default() += count;
        }
        for (name, [successes, failures]) in other.steps {
            let counts = self.steps.entry(name).or_default();
            counts[0] += successes;
            counts[1] += failures;
        }
        for (all, more) in [
            (&mut self.types, other.types),
            (&mut self.seen, other.seen),
            (&mut self.deviations, other.deviations),
        ] {
            for (name, count) in more {
                *all.entry(name).or_default() += count;
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { operations, requests, differences, .. } = self;
        writeln!(out, "{operations} operations in {requests} requests, {differences} differences")?;
        for (name, count) in &self.types {
            writeln!(out, "  {name:<42}{count:>9}")?;
        }
        writeln!(out, "outcomes of the reference:")?;
        for (name, count) in &self.outcomes {
            writeln!(out, "  {name:<60}{count:>9}")?;
        }
        writeln!(out, "by kind: succeeded, failed")?;
        for (name, [successes, failures]) in &self.steps {
            writeln!(out, "  {name:<42}{successes:>9}{failures:>9}")?;
        }
        writeln!(out, "seen:")?;
        for (name, count) in &self.seen {
            writeln!(out, "  {name:<42}{count:>9}")?;
        }
        for (name, count) in &self.deviations {
            writeln!(out, "deviation {name:<34}{count:>9}")?;
        }
        Ok(())
    }
}
