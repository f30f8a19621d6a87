//! Compares both sides, and explains every difference or keeps it.

use std::collections::BTreeMap;
use std::fmt;

use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

use super::answer::{answer, class_of_reference};
use super::{rules, shrink};
use crate::oracle::CoProcess;
use crate::{Error, Implementation};

/// How often the reference is asked again before a difference counts: some outcomes depend on chance there.
const REPEATS: u32 = 40;

/// What came of one case.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The operation and what the reference answered.
    pub outcome: String,
    /// The rule that explains a difference.
    pub deviation: Option<&'static str>,
    /// What both sides name of several faults.
    pub faults: Option<String>,
    /// A difference that nothing explains.
    pub difference: Option<Difference>,
}

/// Both answers.
#[derive(Clone, Debug)]
pub struct Difference {
    /// What the Go packages say.
    pub reference: Json,
    /// What the library says.
    pub candidate: Json,
}

/// Compares what both sides say about some cases.
///
/// # Errors
///
/// When the oracle cannot answer.
pub fn check(oracle: &mut CoProcess, cases: &[Json]) -> Result<Vec<Finding>, Error> {
    let answers = oracle.run(cases)?;
    let mut findings = Vec::with_capacity(cases.len());
    for (case, theirs) in cases.iter().zip(answers) {
        let ours = answer(case);
        let mut finding =
            Finding { outcome: outcome(case, &theirs), deviation: None, faults: None, difference: None };
        if !agree(&theirs, &ours) {
            finding.deviation = rules::explain(case, std::slice::from_ref(&theirs), &ours);
            if finding.deviation.is_none() {
                let variants = variants(oracle, case, theirs.clone())?;
                finding.deviation = if variants.iter().any(|theirs| agree(theirs, &ours)) {
                    Some("go-map-order")
                } else {
                    rules::explain(case, &variants, &ours)
                        .or_else(|| rules::other_fault(case, &variants, &ours))
                };
            }
            if finding.deviation == Some("patch-other-fault") {
                let class = ours.get("class").and_then(Json::as_str).unwrap_or_default();
                finding.faults = Some(format!("{}, here {class}", class_of_reference(&theirs)));
            }
            if finding.deviation.is_none() {
                finding.difference = Some(Difference { reference: theirs, candidate: ours });
            }
        }
        findings.push(finding);
    }
    Ok(findings)
}

fn variants(oracle: &mut CoProcess, case: &Json, first: Json) -> Result<Vec<Json>, Error> {
    let mut repeated = case.clone();
    if let Some(members) = repeated.as_object_mut() {
        members.insert("repeat".to_owned(), REPEATS.into());
    }
    let mut out = vec![first];
    for mut answer in oracle.run(&[repeated])? {
        if let Some(Json::Array(variants)) = answer.get_mut("variants").map(Json::take) {
            out.extend(variants);
        }
        out.extend(answer.get_mut("answer").map(Json::take));
    }
    Ok(out)
}

fn value(json: &Json) -> Value {
    Value::from_json(&json.to_string()).unwrap_or_default()
}

/// Whether both results are the same; numbers compare as numbers.
pub(super) fn same(left: &Json, right: &Json) -> bool {
    value(left) == value(right)
}

pub(super) fn is_error(answer: &Json) -> bool {
    answer.get("error").is_some()
}

fn agree(theirs: &Json, ours: &Json) -> bool {
    // The reference refuses the case itself; the outcomes tell how often.
    if theirs.get("setupError").is_some() || theirs.get("requestError").is_some() {
        return true;
    }
    for member in ["result", "conflicts"] {
        match (theirs.get(member), ours.get(member)) {
            (Some(theirs), Some(ours)) => return same(theirs, ours),
            (None, None) => {}
            _ => return false,
        }
    }
    if !is_error(theirs) || !is_error(ours) {
        return theirs == ours;
    }
    if let Some(code) = theirs.get("code") {
        return ours.get("code") == Some(code);
    }
    let class = ours.get("class").and_then(Json::as_str).unwrap_or_default();
    let theirs = class_of_reference(theirs);
    theirs == class
        || matches!(
            (theirs.as_str(), class),
            // An item that is null is one of another type.
            ("mixed", "null")
            // Go has two texts for this.
            | ("badSetElementOrder", "differ") | ("type", "badSetElementOrder")
            | ("other", "badDocument" | "conflict")
            // Go looks for the key with the empty name.
            | ("noKey", "noDeclaredKey")
        )
}

fn outcome(case: &Json, theirs: &Json) -> String {
    let text = |name: &str| case.get(name).and_then(Json::as_str).unwrap_or_default();
    let what = if let Some(conflicts) = theirs.get("conflicts") {
        format!("conflicts {conflicts}")
    } else if theirs.get("result").is_some() {
        "result".to_owned()
    } else if is_error(theirs) {
        match theirs.get("code") {
            Some(code) => format!("error {code}"),
            None => format!("error {}", class_of_reference(theirs)),
        }
    } else if theirs.get("panic").is_some() {
        "panic".to_owned()
    } else {
        "refused".to_owned()
    };
    format!("{} {}: {what}", text("op"), text("function"))
}

/// Counts over all cases of a run.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// How many cases were run.
    pub cases: u64,
    /// How many differences nothing explains.
    pub differences: u64,
    outcomes: BTreeMap<String, u64>,
    deviations: BTreeMap<&'static str, u64>,
    faults: BTreeMap<String, u64>,
}

impl Counts {
    /// Counts one finding.
    pub fn add(&mut self, finding: &Finding) {
        self.cases += 1;
        self.differences += u64::from(finding.difference.is_some());
        *self.outcomes.entry(finding.outcome.clone()).or_default() += 1;
        if let Some(faults) = &finding.faults {
            *self.faults.entry(faults.clone()).or_default() += 1;
        }
        if let Some(rule) = finding.deviation {
            *self.deviations.entry(rule).or_default() += 1;
        }
    }

    /// Adds the counts of another part of the run.
    pub fn merge(&mut self, other: Self) {
        self.cases += other.cases;
        self.differences += other.differences;
        for (name, count) in other.outcomes {
            *self.outcomes.entry(name).or_default() += count;
        }
        for (name, count) in other.faults {
            *self.faults.entry(name).or_default() += count;
        }
        for (name, count) in other.deviations {
            *self.deviations.entry(name).or_default() += count;
        }
    }

    /// How often a rule explained a difference.
    pub fn deviations(&self, name: &str) -> u64 {
        self.deviations.get(name).copied().unwrap_or_default()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{} cases, {} differences", self.cases, self.differences)?;
        writeln!(out, "outcomes of the reference:")?;
        for (name, count) in &self.outcomes {
            writeln!(out, "  {name:<52}{count:>9}")?;
        }
        for (rule, count) in &self.deviations {
            writeln!(out, "deviation {rule:<44}{count:>9}")?;
        }
        for (faults, count) in &self.faults {
            writeln!(out, "  of several faults: {faults:<35}{count:>9}")?;
        }
        Ok(())
    }
}

/// A smaller case with a difference that nothing explains.
pub fn smaller(oracle: &mut CoProcess, case: &Json, tries: usize) -> Json {
    shrink::shrink(case, tries, &mut |candidate| {
        check(oracle, std::slice::from_ref(candidate))
            .is_ok_and(|findings| findings.iter().any(|finding| finding.difference.is_some()))
    })
}

/// Both answers to a case, for people.
///
/// # Errors
///
/// When the oracle cannot answer.
pub fn both(oracle: &mut CoProcess, case: &Json) -> Result<Json, Error> {
    let theirs = oracle.run(std::slice::from_ref(case))?;
    Ok(json!({"reference": theirs, "candidate": answer(case)}))
}
