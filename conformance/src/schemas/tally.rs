//! Counts what happened, so that a generator that has become useless, or a rule that explains too much, is seen.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::compare::{Outcome, outcome};
use super::sides::Finding;

/// Counts over all requests of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    by_op: BTreeMap<String, Counts>,
    rules: BTreeMap<(String, &'static str), u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    requests: u64,
    unreadable: u64,
    refused: u64,
    panics: u64,
    /// Answers that say more than that all is well.
    telling: u64,
    missing: u64,
    explained: u64,
    differences: u64,
}

impl Tally {
    /// Adds what came of a request.
    pub fn add(&mut self, request: &Value, finding: &Finding) {
        let op = request.get("op").and_then(Value::as_str).unwrap_or_default();
        let counts = self.by_op.entry(op.to_owned()).or_default();
        counts.requests += 1;
        match outcome(op, &finding.reference) {
            Outcome::Unreadable => counts.unreadable += 1,
            Outcome::Refused => counts.refused += 1,
            Outcome::Panic => counts.panics += 1,
            _ => counts.telling += u64::from(telling(op, request, &finding.reference)),
        }
        counts.missing += u64::from(outcome(op, &finding.candidate) == Outcome::Missing);
        counts.explained += u64::from(!finding.rules.is_empty());
        counts.differences += u64::from(!finding.differences.is_empty());
        for rule in &finding.rules {
            *self.rules.entry((op.to_owned(), rule)).or_default() += 1;
        }
    }

    /// Adds the counts of another part of the run.
    pub fn merge(&mut self, other: Self) {
        for (op, more) in other.by_op {
            let counts = self.by_op.entry(op).or_default();
            counts.requests += more.requests;
            counts.unreadable += more.unreadable;
            counts.refused += more.refused;
            counts.panics += more.panics;
            counts.telling += more.telling;
            counts.missing += more.missing;
            counts.explained += more.explained;
            counts.differences += more.differences;
        }
        for (rule, count) in other.rules {
            *self.rules.entry(rule).or_default() += count;
        }
    }

    /// How many requests differ without an explanation.
    pub fn differences(&self) -> u64 {
        self.by_op.values().map(|counts| counts.differences).sum()
    }
}

/// Whether an answer shows that the op did something: it changed the object, or found faults.
fn telling(op: &str, request: &Value, answer: &Value) -> bool {
    let filled = |name: &str| answer.get(name).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    match op {
        "prune" | "default" | "nulls" | "coerce" => answer.get("object") != request.get("object"),
        "prunedefaults" => answer.get("schema") != request.get("schema"),
        "openapi" => true,
        _ => filled("errors"),
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: u64 = self.by_op.values().map(|counts| counts.requests).sum();
        writeln!(out, "{all} requests, {} differences", self.differences())?;
        let heads =
            ["requests", "unreadable", "refused", "panics", "telling", "no answer", "deviating", "differ"];
        write!(out, "{:<15}", "op")?;
        for head in heads {
            write!(out, "{head:>11}")?;
        }
        writeln!(out)?;
        for (op, c) in &self.by_op {
            write!(out, "{op:<15}")?;
            for count in [
                c.requests,
                c.unreadable,
                c.refused,
                c.panics,
                c.telling,
                c.missing,
                c.explained,
                c.differences,
            ] {
                write!(out, "{count:>11}")?;
            }
            writeln!(out)?;
        }
        for ((op, rule), count) in &self.rules {
            writeln!(out, "deviation {op:<15}{rule:<30}{count}")?;
        }
        Ok(())
    }
}
