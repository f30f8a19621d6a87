//! Runs requests on both sides, step by step.

use serde_json::{Value, json};

use super::answers::{OtherAnswer, differs as differs_otherwise};
use super::candidate::Sequence;
use super::compare::{differs, outcome, shown};
use super::deviations::{StepDifference, explain};
use super::generate::{Real, request};
use super::resource::Known;
use crate::json::{items, member, set, text};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::tally::Tally;
use crate::{Difference, Error, Judged, Suite, Verdict};

/// Replaces the path of the document in cases that are kept.
const DOCUMENT: &str = "DEFINITIONS";

/// The suite.
pub struct Managed {
    real: Option<Real>,
    known: Known,
}

impl Managed {
    /// Creates the suite, with real kinds if a document is given.
    pub fn new(real: Option<Real>) -> Self {
        Managed {
            real,
            known: Known::new(),
        }
    }

    /// Compares a sequence of writes.
    fn sequence(
        &mut self,
        oracle: &mut dyn Oracle,
        case: &Value,
        reference: &Value,
        out: &mut Verdict,
    ) -> Result<Option<Difference>, Error> {
        let theirs = reference.get("steps").and_then(Value::as_array);
        // A request that neither side can set up shows nothing, and is no difference.
        let (theirs, mut sequence) = match (theirs, Sequence::new(case, &mut self.known)) {
            (Some(theirs), Ok(sequence)) => (theirs, sequence),
            (None, Err(_)) => return Ok(None),
            (_, ours) => {
                let ours = ours.err().map_or(Value::Null, Value::from);
                return Ok(Some(difference(case, None, "setup", reference, ours)));
            }
        };
        let mut live = member(case, "live").clone();

        // A difference that is explained does not end the sequence.
        for (number, (step, reference)) in items(case, "steps").iter().zip(theirs).enumerate() {
            count(&mut out.tally, step, &live, reference);
            let ours = sequence.step(step, number);
            if let Some(what) = differs(reference, &ours) {
                let found = StepDifference {
                    step,
                    live: &live,
                    what,
                    reference,
                    ours: &ours,
                };
                let mut name = explain(&found);

                // Without errors, an answer does not say why it differs, so Go gets the step again with errors.
                if name.is_none() && step.get("noErrors").is_some() {
                    let loud = loud(oracle, case, number)?;
                    name = explain(&StepDifference {
                        reference: &loud,
                        ..found
                    });
                }

                let Some(name) = name else {
                    return Ok(Some(difference(case, Some(number), what, reference, ours)));
                };
                out.deviations.push(name);

                // The following steps start from the same object on both sides.
                match reference.get("live") {
                    Some(theirs) => sequence.adopt(theirs),
                    None => sequence.adopt_or_none(&live),
                }
            }

            // Later steps are explained by the live object of Go.
            if let Some(next) = reference.get("live") {
                live = next.clone();
            }
        }

        Ok(None)
    }
}

impl Suite for Managed {
    const NAME: &'static str = "managed";
    const ORACLE: &'static str = "kubernetes";
    const BATCH: u64 = 32;

    fn generate(&self, seed: u64) -> Value {
        request(seed, self.real.as_ref())
    }

    fn compare(&mut self, oracle: &mut dyn Oracle, case: &Value, answers: &[Value]) -> Judged {
        let reference = answers.first().unwrap_or(&Value::Null);
        let mut out = Verdict::default();
        let is_sequence = text(case, "op") == "managed";
        let form = if !is_sequence {
            "other requests"
        } else if case.get("definitionsFile").is_some() {
            "sequences of real kinds"
        } else if case.get("schemas").is_some() {
            "sequences of generated kinds"
        } else {
            "sequences of deduced types"
        };
        out.tally.count("requests", form);

        if is_sequence {
            out.difference = self.sequence(oracle, case, reference, &mut out)?;
            return Ok(out);
        }
        // Every other request is one operation, with one outcome.
        let failed = ["error", "decodeError", "encodeError"]
            .iter()
            .any(|name| reference.get(*name).is_some());
        ended(&mut out.tally, text(case, "op"), !failed);

        if let Some(OtherAnswer {
            what,
            ours,
            deviation,
        }) = differs_otherwise(case, reference)
        {
            match deviation {
                Some(name) => out.deviations.push(name),
                None => out.difference = Some(difference(case, None, what, reference, ours)),
            }
        }

        Ok(out)
    }

    fn cuts(&self, _: &Value) -> Vec<Cut> {
        let mut out: Vec<Cut> = ["/steps", "", "/schemas/definitions", "/live"]
            .map(Cut::children)
            .into();
        out.push(Cut::tree(""));
        out
    }

    fn load(&self, mut case: Value) -> Option<Value> {
        if case.get("definitionsFile").is_some() {
            set(
                &mut case,
                "definitionsFile",
                self.real.as_ref()?.file.as_str(),
            );
        }
        Some(case)
    }

    fn store(&self, mut case: Value) -> Value {
        if let Some(file) = case.get_mut("definitionsFile") {
            *file = json!(DOCUMENT);
        }
        case
    }
}

/// A difference, with both answers shortened. A smaller case must have the same outcome on both sides.
fn difference(
    case: &Value,
    step: Option<usize>,
    what: &'static str,
    reference: &Value,
    ours: Value,
) -> Difference {
    let [theirs, ours] = [reference, &ours].map(|answer| {
        if step.is_some() {
            shown(what, answer)
        } else {
            answer.clone()
        }
    });
    let kind = step
        .and_then(|step| items(case, "steps").get(step))
        .map(|step| text(step, "kind"));
    // Both outcomes are in the label, so that shrinking does not end at another fault of the same part.
    let label = format!(
        "{what} {} {} {}",
        kind.unwrap_or_default(),
        outcome(&theirs),
        outcome(&ours)
    );

    Difference {
        step,
        what: what.to_owned(),
        label,
        reference: theirs,
        candidate: ours,
    }
}

/// Go's answer to a step if errors are not ignored.
fn loud(oracle: &mut dyn Oracle, case: &Value, number: usize) -> Result<Value, Error> {
    let mut again = case.clone();
    if let Some(step) = again
        .pointer_mut(&format!("/steps/{number}"))
        .and_then(Value::as_object_mut)
    {
        step.remove("noErrors");
    }

    let answer = oracle.run(&[again])?.pop().unwrap_or_default();
    Ok(answer
        .pointer(&format!("/steps/{number}"))
        .cloned()
        .unwrap_or_default())
}

fn ended(tally: &mut Tally, kind: &str, success: bool) {
    tally.count(
        "operations by kind",
        format!("{kind} {}", if success { "succeeded" } else { "failed" }),
    );
}

/// Counts a step and its outcome in Go.
fn count(tally: &mut Tally, step: &Value, before: &Value, reference: &Value) {
    tally.operations += 1;
    tally.count("outcomes in Go", outcome(reference));
    ended(tally, text(step, "kind"), reference.get("live").is_some());
    let after = member(reference, "live");
    // Rare results are counted, so that a generator that no longer reaches them is visible.
    let has = |object: &Value, manager: &str| {
        let entries = items(member(object, "metadata"), "managedFields");
        entries
            .iter()
            .any(|entry| text(entry, "manager") == manager)
    };
    let mut reached = |name: &str, reached: bool| tally.add("reached", name, u64::from(reached));
    for manager in ["before-first-apply", "ancient-changes"] {
        reached(manager, has(after, manager) && !has(before, manager));
    }

    reached("no change", !after.is_null() && after == before);
    // An apply by kubectl keeps the annotation of client-side apply up to date.
    let annotation = |object: &Value| {
        object
            .pointer("/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration")
            .cloned()
    };
    let applies = text(step, "kind") == "apply" && !after.is_null();
    reached(
        "annotation renewed",
        applies && annotation(after) != annotation(before),
    );
    let entries = |object: &Value| object.pointer("/metadata/managedFields").is_some();

    reached(
        "entries gone",
        entries(before) && !after.is_null() && !entries(after),
    );
}
