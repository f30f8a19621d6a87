//! The definition of a suite; the [driver](crate::driver) provides everything else.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};

use crate::Error;
use crate::json::{member, same_value};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::tally::Tally;

/// The rule that explains an operation at which the Go code panicked.
pub const GO_PANIC: &str = "go-panic";
/// The rule that explains a result that the Go code also returns by chance, because it iterates over maps in random
/// order.
pub const GO_MAP_ORDER: &str = "go-map-order";

/// A comparison of the library with Go on cases of one form. A case is a JSON object that an oracle understands.
///
/// Each thread has its own suite and oracle process.
pub trait Suite {
    /// The name of the subcommand and of the folder in the corpus.
    const NAME: &'static str;
    /// The package of the oracle in the Go module.
    const ORACLE: &'static str;
    /// The number of cases that are sent at a time.
    const BATCH: u64 = 64;
    /// The number of times that Go is asked again before a difference counts, since its answer may depend on chance: on the
    /// order of a map of two keys, of which the rarer one has the probability 1/8.
    const REPEATS: usize = 64;

    /// The case of a seed.
    fn generate(&self, seed: u64) -> Value;

    /// The requests to the oracle for a case.
    fn requests(&self, case: &Value) -> Vec<Value> {
        vec![case.clone()]
    }

    /// Compares Go's answers to the requests of a case with those of the library. May send more requests to the oracle.
    ///
    /// # Errors
    ///
    /// If one of the sides cannot answer.
    fn compare(&mut self, oracle: &mut dyn Oracle, case: &Value, answers: &[Value]) -> Judged;

    /// Judges a differing case by all answers of Go to repeated requests, including the first answer; `None` if they do
    /// not explain the difference.
    ///
    /// # Errors
    ///
    /// If one of the sides cannot answer.
    fn by_chance(
        &mut self,
        oracle: &mut dyn Oracle,
        case: &Value,
        variants: &[Value],
    ) -> Result<Option<Verdict>, Error> {
        any_agrees(self, oracle, case, variants)
    }

    /// The parts of a case that the shrinker may cut, in the order in which it tries them.
    fn cuts(&self, case: &Value) -> Vec<Cut>;

    /// Whether a smaller case could still be generated; others are not tried.
    fn is_sound(&self, _: &Value) -> bool {
        true
    }

    /// A case of the corpus in runnable form; `None` if it requires a document that was not given.
    fn load(&self, case: Value) -> Option<Value> {
        Some(case)
    }

    /// The form of a case in the corpus.
    fn store(&self, case: Value) -> Value {
        case
    }

    /// Cases that are run besides the generated ones, with their names. They are neither shrunk nor kept.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    fn documents(&self) -> Result<Vec<(String, Value)>, Error> {
        Ok(Vec::new())
    }
}

/// The verdict of the first answer of Go with which the library agrees.
///
/// # Errors
///
/// If one of the sides cannot answer.
pub(crate) fn any_agrees<S: Suite + ?Sized>(
    suite: &mut S,
    oracle: &mut dyn Oracle,
    case: &Value,
    variants: &[Value],
) -> Result<Option<Verdict>, Error> {
    for variant in variants {
        let mut verdict = suite.compare(oracle, case, std::slice::from_ref(variant))?;
        if verdict.difference.is_none() {
            verdict.deviations.push(GO_MAP_ORDER);
            return Ok(Some(verdict));
        }
    }
    Ok(None)
}

/// The answer of Go to a case of one request.
///
/// # Errors
///
/// If the oracle cannot read the request.
pub(crate) fn answer_of<'a>(case: &Value, answers: &'a [Value]) -> Result<&'a Value, Error> {
    let answer = answers.first().unwrap_or(&Value::Null);
    if answer.get("requestError").is_some() {
        return Err(Error::Request(format!("{case}: {answer}")));
    }
    Ok(answer)
}

/// Whether the cost of an answer is as near to the costs of Go as these are to one another: a loop over a map visits it in a
/// random order, so that all answers of Go can miss the cost of one order.
pub(crate) fn has_near_cost(answer: &Value, variants: &[Value]) -> bool {
    let cost = |answer: &Value| member(answer, "cost").as_u64();
    let costs: Vec<u64> = variants.iter().filter_map(cost).collect();
    let (Some(least), Some(most)) = (costs.iter().min(), costs.iter().max()) else {
        return false;
    };
    // Go always has the same cost where no order counts, and then nothing is near.
    let near = least.saturating_sub(most - least)..=most + (most - least);
    cost(answer).is_some_and(|cost| near.contains(&cost))
}

/// A verdict, or the reason for which there is none.
pub type Judged = Result<Verdict, Error>;

/// The result of comparing both sides on one case.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The listed deviations that explain differences.
    pub deviations: Vec<&'static str>,
    /// The first difference that no deviation explains.
    pub difference: Option<Difference>,
    /// The counts of the case.
    pub tally: Tally,
}

/// A difference that no deviation explains.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The number of the step; `None` if the case as a whole differs.
    pub step: Option<usize>,
    /// The part that differs: `outcome`, `kind`, `object`, `managed`, ...
    pub what: String,
    /// Distinguishes differences in the same part: a smaller case must have a difference with the same label.
    pub label: String,
    /// Go's answer.
    pub reference: Value,
    /// The library's answer.
    pub candidate: Value,
}

impl Difference {
    /// A difference of whole cases in a part, which is the label too.
    pub(crate) fn of(what: &str, reference: &Value, candidate: &Value) -> Self {
        let (reference, candidate) = (reference.clone(), candidate.clone());
        Difference {
            step: None,
            what: what.to_owned(),
            label: what.to_owned(),
            reference,
            candidate,
        }
    }

    /// The difference in the first of some members that differs.
    pub(crate) fn in_members(names: &[&str], reference: &Value, candidate: &Value) -> Option<Self> {
        let mut members = names
            .iter()
            .map(|name| (*name, member(reference, name), member(candidate, name)));
        let (name, reference, candidate) =
            members.find(|(_, reference, candidate)| !same_value(reference, candidate))?;
        Some(Difference::of(name, reference, candidate))
    }
}

/// The answer of the library. A panic is an answer, and a difference.
pub(crate) fn caught(answer: impl FnOnce() -> Value) -> Value {
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| json!({"panic": "the library"}))
}
