//! Runs requests on both sides and explains every difference, or keeps it.

use serde_json::{Value, json};

use super::compare::{Difference, Outcome, compare, outcome};
use super::deviations::explain;
use super::shrink::shrink;
use super::{candidate, deviations};
use crate::oracle::CoProcess;
use crate::{Error, Implementation};

/// How often the reference is asked again before a difference counts: it visits maps in random order.
const TRIES: u64 = 24;

/// What came of one request.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What the reference said.
    pub reference: Value,
    /// What the library said.
    pub candidate: Value,
    /// The deviations that were met.
    pub rules: Vec<&'static str>,
    /// What differs and is not explained.
    pub differences: Vec<Difference>,
}

/// Both sides: the oracle, and the library in this process.
pub struct Sides {
    oracle: CoProcess,
}

impl Sides {
    /// With an oracle.
    pub fn new(oracle: CoProcess) -> Self {
        Sides { oracle }
    }

    /// What comes of each request.
    ///
    /// # Errors
    ///
    /// When the oracle does not answer, or does not understand a request.
    pub fn check(&mut self, requests: &[Value]) -> Result<Vec<Finding>, Error> {
        let answers = self.oracle.run(requests)?;
        requests.iter().zip(answers).map(|(request, reference)| self.find(request, reference)).collect()
    }

    fn find(&mut self, request: &Value, reference: Value) -> Result<Finding, Error> {
        let op = request.get("op").and_then(Value::as_str).unwrap_or_default();
        if outcome(op, &reference) == Outcome::BadRequest {
            return Err(Error::Engine(format!("the oracle does not understand {request}: {reference}")));
        }
        let candidate = candidate::answer(request);
        let mut differences = compare(op, &reference, &candidate);
        let mut rules = Vec::new();
        if !differences.is_empty()
            && let Some(found) = self.explained(op, request, &reference, &candidate, &differences)?
        {
            (rules, differences) = (found, Vec::new());
            rules.sort_unstable();
            rules.dedup();
        }
        Ok(Finding { reference, candidate, rules, differences })
    }

    /// The deviations that explain all differences, if they do.
    fn explained(
        &mut self,
        op: &str,
        request: &Value,
        reference: &Value,
        candidate: &Value,
        differences: &[Difference],
    ) -> Result<Option<Vec<&'static str>>, Error> {
        if let Some(rules) = explain(request, reference, candidate, differences) {
            return Ok(Some(rules));
        }
        // What remains to be explained if the reference says something else.
        let with = |rule: &'static str, reference: &Value| {
            let differences = compare(op, reference, candidate);
            let rules = match differences.is_empty() {
                true => Some(Vec::new()),
                false => explain(request, reference, candidate, &differences),
            };
            rules.map(|mut rules| {
                rules.push(rule);
                rules
            })
        };
        if let Some(plain) = deviations::without_empty_keywords(request) {
            let answers = self.oracle.run(&[plain])?;
            let met = with(deviations::EMPTY_KEYWORD, answers.first().unwrap_or(&Value::Null));
            if met.is_some() {
                return Ok(met);
            }
        }
        if let Some(apart) = deviations::with_versions_apart(request) {
            let answers = self.oracle.run(&[apart])?;
            let mut reference = reference.clone();
            if let (Some(errors), Some(apart)) = (reference.get_mut("errors"), answers.first()) {
                *errors = apart.get("errors").cloned().unwrap_or_default();
            }
            let met = with(deviations::CRD_PATH, &reference);
            if met.is_some() {
                return Ok(met);
            }
        }
        let variants = self.variants(request)?;
        Ok(variants.iter().find_map(|variant| with(deviations::MAP_ORDER, variant)))
    }

    /// Every answer that the reference can give.
    fn variants(&mut self, request: &Value) -> Result<Vec<Value>, Error> {
        let mut request = request.clone();
        if let Value::Object(members) = &mut request {
            members.insert("repeat".to_owned(), json!(TRIES));
        }
        let answers = self.oracle.run(&[request])?;
        let answers = answers.first();
        let others =
            answers.and_then(|all| all.get("variants")).and_then(Value::as_array).into_iter().flatten();
        Ok(others.chain(answers.and_then(|all| all.get("answer"))).cloned().collect())
    }

    /// A smaller request that differs in the same part.
    pub fn shrink(&mut self, request: &Value, max_tries: usize) -> Value {
        let parts = |finding: &Finding| -> Vec<String> {
            finding.differences.iter().map(|difference| difference.what.clone()).collect()
        };
        let mut look = |request: &Value| -> Option<Vec<String>> {
            let findings = self.check(std::slice::from_ref(request)).ok()?;
            findings.first().map(parts)
        };
        let Some(wanted) = look(request).and_then(|parts| parts.into_iter().next()) else {
            return request.clone();
        };
        shrink(request, max_tries, &mut |request| look(request).is_some_and(|parts| parts.contains(&wanted)))
    }
}
