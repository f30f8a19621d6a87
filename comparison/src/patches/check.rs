//! Compares both sides, and explains or keeps every difference.

use serde_json::Value as Json;

use super::answer::{answer, class_of_reference};
use super::rules::{self, is_error, same};
use crate::json::text;
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::{Difference, Error, GO_MAP_ORDER, Judged, Suite, Verdict};

/// The suite.
pub struct Patches;

impl Suite for Patches {
    const NAME: &'static str = "patches";
    const ORACLE: &'static str = "kubernetes";
    const BATCH: u64 = 256;

    fn generate(&self, seed: u64) -> Json {
        super::generate::case(seed)
    }

    fn compare(&mut self, _: &mut dyn Oracle, case: &Json, answers: &[Json]) -> Judged {
        let theirs = answers.first().unwrap_or(&Json::Null);
        let ours = answer(case);
        let rule = (!agree(theirs, &ours)).then(|| rules::explain(case, answers, &ours));
        Ok(verdict(case, theirs, ours, rule))
    }

    fn by_chance(
        &mut self,
        _: &mut dyn Oracle,
        case: &Json,
        variants: &[Json],
    ) -> Result<Option<Verdict>, Error> {
        let Some(theirs) = variants.first() else {
            return Ok(None);
        };
        let ours = answer(case);
        // Only after all answers of Go are known may a fault count as another one of the same case.
        let rule = if variants.iter().any(|theirs| agree(theirs, &ours)) {
            Some(GO_MAP_ORDER)
        } else {
            rules::explain(case, variants, &ours)
                .or_else(|| rules::other_fault(case, variants, &ours))
        };
        let mut out = verdict(case, theirs, ours.clone(), Some(rule));

        if rule == Some(rules::OTHER_FAULT) {
            let faults = format!(
                "{}, here {}",
                class_of_reference(theirs),
                text(&ours, "class")
            );
            out.tally.count("faults that Go names, of several", faults);
        }

        Ok(out.difference.is_none().then_some(out))
    }

    fn cuts(&self, _: &Json) -> Vec<Cut> {
        let parts = [
            "patches",
            "patch",
            "original",
            "modified",
            "current",
            "definitions",
            "preconditions",
        ];
        parts.map(|part| Cut::names(format!("/{part}"))).into()
    }
}

/// The verdict on a case: the sides agree, or differ with or without a rule.
fn verdict(case: &Json, theirs: &Json, ours: Json, rule: Option<Option<&'static str>>) -> Verdict {
    let mut out = Verdict::default();
    out.tally.count("outcomes in Go", outcome(case, theirs));
    match rule {
        None => {}
        Some(Some(rule)) => out.deviations.push(rule),
        Some(None) => {
            out.difference = Some(Difference::of("answer", theirs, &ours));
        }
    }
    out
}

fn agree(theirs: &Json, ours: &Json) -> bool {
    // The oracle refuses the case, which the outcomes count.
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

    // Messages are worded differently, so errors without a code are compared by their class.
    let class = text(ours, "class");
    let theirs = class_of_reference(theirs);
    theirs == class
        || matches!(
            (theirs.as_str(), class),
            // An item that is null counts as an item of another type.
            ("mixed", "null")
            // Go has two messages for this fault.
            | ("badSetElementOrder", "differ") | ("type", "badSetElementOrder")
            | ("other", "badDocument" | "conflict")
            // Go searches for the key with the empty name.
            | ("noKey", "noDeclaredKey")
        )
}

fn outcome(case: &Json, theirs: &Json) -> String {
    // Counts by outcome show whether the generator still reaches every fault.
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

    format!("{} {}: {what}", text(case, "op"), text(case, "function"))
}
