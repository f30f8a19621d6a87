//! Runs requests on both sides, step by step beside each other.

use serde_json::{Value, json};

use super::answers::{Answer, differs as differs_otherwise};
use super::candidate::Sequence;
use super::compare::{differs, outcome, shown};
use super::deviations::{Case, explain};
use super::resource::Known;
use super::tally::Tally;
use crate::compare::GO_MAP_ORDER;
use crate::oracle::CoProcess;
use crate::shrink::shrink_all;
use crate::{Error, Implementation};

/// How often the reference is asked before a difference counts as one: it may depend on chance.
const REPEATS: usize = 16;

/// The first difference in a request that nothing explains.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The number of the step; none for a request that is no sequence.
    pub step: Option<usize>,
    /// What differs.
    pub what: &'static str,
    /// What Go said.
    pub reference: Value,
    /// What the library said.
    pub ours: Value,
}

/// Both sides.
pub struct Sides {
    oracle: CoProcess,
    known: Known,
}

impl Sides {
    /// With a program that answers as the oracle does.
    pub fn new(oracle: CoProcess) -> Self {
        Sides { oracle, known: Known::new() }
    }

    /// Runs the requests; one result for each.
    ///
    /// # Errors
    ///
    /// When the oracle cannot answer.
    pub fn check(&mut self, requests: &[Value], tally: &mut Tally) -> Result<Vec<Option<Difference>>, Error> {
        let references = self.oracle.run(requests)?;
        let mut out = Vec::with_capacity(requests.len());
        for (request, reference) in requests.iter().zip(&references) {
            let mut counts = Tally::default();
            let mut found = self.compare(request, reference, &mut counts)?;
            if found.is_some() && self.by_chance(request, &mut counts)? {
                found = None;
            }
            counts.differences = u64::from(found.is_some());
            tally.merge(counts);
            out.push(found);
        }
        Ok(out)
    }

    /// Whether the reference agrees at another time.
    fn by_chance(&mut self, request: &Value, tally: &mut Tally) -> Result<bool, Error> {
        let mut again = request.clone();
        if let Some(members) = again.as_object_mut() {
            members.insert("repeat".to_owned(), json!(REPEATS));
        }
        let answer = self.oracle.run(&[again])?.pop().unwrap_or_default();
        let variants = answer.get("variants").and_then(Value::as_array).cloned().unwrap_or_default();
        for reference in answer.get("answer").cloned().into_iter().chain(variants) {
            let mut counts = Tally::default();
            if self.compare(request, &reference, &mut counts)?.is_none() {
                counts.deviation(GO_MAP_ORDER);
                *tally = counts;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn compare(
        &mut self,
        request: &Value,
        reference: &Value,
        tally: &mut Tally,
    ) -> Result<Option<Difference>, Error> {
        tally.request(request);
        if request.get("op").and_then(Value::as_str) != Some("managed") {
            tally.other(request, reference);
            let Some(Answer { what, ours, deviation }) = differs_otherwise(request, reference) else {
                return Ok(None);
            };
            if let Some(name) = deviation {
                tally.deviation(name);
                return Ok(None);
            }
            return Ok(Some(Difference { step: None, what, reference: reference.clone(), ours }));
        }
        let theirs = reference.get("steps").and_then(Value::as_array);
        let (theirs, mut sequence) = match (theirs, Sequence::new(request, &mut self.known)) {
            (Some(theirs), Ok(sequence)) => (theirs, sequence),
            (None, Err(_)) => return Ok(None),
            (_, ours) => {
                let ours = ours.err().map_or(Value::Null, Value::from);
                return Ok(Some(Difference {
                    step: None,
                    what: "setup",
                    reference: reference.clone(),
                    ours,
                }));
            }
        };
        let steps = request.get("steps").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut live = request.get("live").cloned().unwrap_or(Value::Null);
        for (number, (step, reference)) in steps.iter().zip(theirs).enumerate() {
            tally.step(step, &live, reference);
            let ours = sequence.step(step, number);
            if let Some(what) = differs(reference, &ours) {
                let case = Case { step, live: &live, what, reference, ours: &ours };
                let mut name = explain(&case);
                if name.is_none() && step.get("noErrors").is_some() {
                    let loud = self.loud(request, number)?;
                    name = explain(&Case { reference: &loud, ..case });
                }
                let Some(name) = name else {
                    let [reference, ours] = [reference, &ours].map(|answer| shown(what, answer));
                    return Ok(Some(Difference { step: Some(number), what, reference, ours }));
                };
                tally.deviation(name);
                // What comes next is compared from the same object on.
                match reference.get("live") {
                    Some(theirs) => sequence.adopt(theirs),
                    None => sequence.adopt_or_none(&live),
                }
            }
            if let Some(next) = reference.get("live") {
                live = next.clone();
            }
        }
        Ok(None)
    }

    /// What Go says about a step if it does not keep an error to itself.
    fn loud(&mut self, request: &Value, number: usize) -> Result<Value, Error> {
        let mut again = request.clone();
        if let Some(step) = again.pointer_mut(&format!("/steps/{number}")).and_then(Value::as_object_mut) {
            step.remove("noErrors");
        }
        let answer = self.oracle.run(&[again])?.pop().unwrap_or_default();
        Ok(answer.pointer(&format!("/steps/{number}")).cloned().unwrap_or_default())
    }

    /// The request with everything left out that its difference does not need.
    pub fn shrink(&mut self, request: &Value, difference: &Difference, tries: usize) -> (Value, Difference) {
        let mut smallest = difference.clone();
        // Only the same difference counts: on the way down requests come by that differ for a duller reason.
        let label = |request: &Value, found: &Difference| {
            let steps = request.get("steps").and_then(Value::as_array);
            let step = found.step.and_then(|step| steps?.get(step)?.get("kind").cloned());
            let outcomes = [&found.reference, &found.ours].map(outcome);
            (found.what, step, outcomes)
        };
        let wanted = label(request, difference);
        let shrunk = shrink_all(request, tries, &mut |candidate| {
            let found =
                self.check(std::slice::from_ref(candidate), &mut Tally::default()).unwrap_or_default();
            match found.into_iter().next().flatten() {
                Some(found) if label(candidate, &found) == wanted => {
                    smallest = found;
                    true
                }
                _ => false,
            }
        });
        (shrunk, smallest)
    }
}
