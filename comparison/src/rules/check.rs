//! Compares both sides.

use fieldmanager_cel::{BUDGET, Rules as Compiled};
use fieldmanager_structural::{FieldPath, Structural};
use serde_json::{Value as Json, json};

use crate::json::{member, own};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::suite::{GO_MAP_ORDER, answer_of, any_agrees, has_near_cost};
use crate::{Difference, Error, Suite, Verdict};

/// The rule for errors whose text quotes a Go package: what a parser of times, addresses or versions found.
const PARSE_TEXT: &str = "rules-parse-text";

/// The suite.
pub struct Rules;

impl Suite for Rules {
    const NAME: &'static str = "rules";
    const ORACLE: &'static str = "kubernetes";
    const BATCH: u64 = 64;

    fn generate(&self, seed: u64) -> Json {
        super::generate::case(seed)
    }

    fn compare(
        &mut self,
        _: &mut dyn Oracle,
        case: &Json,
        answers: &[Json],
    ) -> Result<Verdict, Error> {
        let reference = answer_of(case, answers)?;
        let mut out = Verdict::default();
        // The API server refuses a definition with such a rule, so that it is never evaluated.
        if reference.get("refused").is_some() || reference.get("errors").is_none() {
            out.tally.count("rules", "refused by Go");
            return Ok(out);
        }

        let candidate = answer(case);
        let errors = member(reference, "errors").as_array().map_or(0, Vec::len);
        let outcome = if errors == 0 { "satisfied" } else { "violated" };
        out.tally.count("rules", outcome);
        if *reference == candidate {
            return Ok(out);
        }

        // Only the words of a parser may differ: the paths of errors, the warnings and the cost must be equal.
        match explain(reference, &candidate) {
            Some(rule) => out.deviations.push(rule),
            None => {
                let label = if candidate.get("refused").is_some() {
                    "refused"
                } else {
                    "answer"
                };
                let label = label.to_owned();
                out.difference = Some(Difference {
                    label,
                    ..Difference::of("answer", reference, &candidate)
                });
            }
        }

        Ok(out)
    }

    /// A loop in a loop visits a map in several random orders, which decide about the cost alone.
    fn by_chance(
        &mut self,
        oracle: &mut dyn Oracle,
        case: &Json,
        variants: &[Json],
    ) -> Result<Option<Verdict>, Error> {
        let agreeing = any_agrees(self, oracle, case, variants)?;
        if agreeing.is_some() {
            return Ok(agreeing);
        }

        let candidate = answer(case);
        let is_near = has_near_cost(&candidate, variants);
        let is_same = |name| {
            let mut answers = variants.iter();
            answers.all(|variant| variant.get(name) == candidate.get(name))
        };

        let verdict = Verdict {
            deviations: vec![GO_MAP_ORDER],
            ..Verdict::default()
        };
        Ok((is_near && is_same("errors") && is_same("warnings")).then_some(verdict))
    }

    fn cuts(&self, _: &Json) -> Vec<Cut> {
        vec![
            Cut::children("/schema/properties/spec/x-kubernetes-validations"),
            Cut::names("/object/spec"),
            Cut::names("/old/spec"),
            Cut::whole("/old"),
        ]
    }
}

/// The answer of the library.
fn answer(case: &Json) -> Json {
    let schema = match Structural::from_value(&own(member(case, "schema"))) {
        Ok(schema) => schema,
        Err(error) => return json!({"conversionError": error.to_string()}),
    };
    let rules = Compiled::compile(&schema);
    let object = own(member(case, "object"));
    let old = case.get("old").map(own);
    let (evaluated, cost) = rules.measure(&FieldPath::default(), &object, old.as_ref(), BUDGET);
    let mut errors: Vec<String> = evaluated.errors.iter().map(ToString::to_string).collect();
    let mut warnings = evaluated.warnings;
    // Both sides sort, so that the order of errors is not compared.
    errors.sort();
    warnings.sort();

    json!({"errors": errors, "warnings": warnings, "cost": cost})
}

/// The rule that explains a difference in the texts of errors.
fn explain(reference: &Json, candidate: &Json) -> Option<&'static str> {
    let texts = |side: &Json, name: &str| -> Option<Vec<String>> {
        let all = side.get(name)?.as_array()?;
        Some(
            all.iter()
                .filter_map(Json::as_str)
                .map(str::to_owned)
                .collect(),
        )
    };
    let (theirs, ours) = (texts(reference, "errors")?, texts(candidate, "errors")?);
    // A rule costs the same whatever the words of its error are.
    if reference.get("cost") != candidate.get("cost") {
        return None;
    }

    let without_texts = |texts: &[String]| -> Vec<String> {
        let mut out: Vec<String> = texts.iter().map(|text| without_parse_text(text)).collect();
        out.sort();
        out
    };
    let is_same = without_texts(&theirs) == without_texts(&ours)
        && texts(reference, "warnings") == texts(candidate, "warnings");

    is_same.then_some(PARSE_TEXT)
}

/// An error of an evaluation without what a parser said.
fn without_parse_text(text: &str) -> String {
    const MARKERS: [&str; 7] = [
        "parse error",
        "Invalid ",
        "Illegal regex",
        "semver",
        "parsing",
        "conversion error",
        "Version",
    ];

    // The path and the rule stay, so that both sides must fail at the same place.
    match text.split_once(" evaluating rule: ") {
        Some((before, rule))
            if MARKERS
                .iter()
                .any(|marker| before.contains(marker) || rule.contains(marker)) =>
        {
            let path = before.split_once(": ").map_or(before, |(path, _)| path);
            format!("{path}: .. evaluating rule: {rule}")
        }
        _ => text.to_owned(),
    }
}
