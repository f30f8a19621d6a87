//! Compares both sides.

use fieldmanager_rules::{BUDGET, Rules as Compiled};
use fieldmanager_structural::{FieldPath, Structural};
use serde_json::{Value as Json, json};

use crate::json::{member, own};
use crate::oracle::Oracle;
use crate::shrink::Cut;
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

    fn compare(&mut self, _: &mut dyn Oracle, case: &Json, answers: &[Json]) -> Result<Verdict, Error> {
        let reference = answers.first().unwrap_or(&Json::Null);
        if reference.get("requestError").is_some() {
            return Err(Error::Request(format!("{case}: {reference}")));
        }
        let mut out = Verdict::default();
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
        match explain(reference, &candidate) {
            Some(rule) => out.deviations.push(rule),
            None => {
                let label = if candidate.get("refused").is_some() { "refused" } else { "answer" };
                let label = label.to_owned();
                out.difference =
                    Some(Difference { label, ..Difference::of("answer", reference, &candidate) });
            }
        }
        Ok(out)
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
    let (evaluated, cost) = rules.measure(&FieldPath::empty(), &object, old.as_ref(), BUDGET);
    let mut errors: Vec<String> = evaluated.errors.iter().map(ToString::to_string).collect();
    let mut warnings = evaluated.warnings;
    errors.sort();
    warnings.sort();
    json!({"errors": errors, "warnings": warnings, "cost": cost})
}

/// The rule that explains a difference in the texts of errors.
fn explain(reference: &Json, candidate: &Json) -> Option<&'static str> {
    let texts = |side: &Json, name: &str| -> Option<Vec<String>> {
        let all = side.get(name)?.as_array()?;
        Some(all.iter().filter_map(Json::as_str).map(str::to_owned).collect())
    };
    let (theirs, ours) = (texts(reference, "errors")?, texts(candidate, "errors")?);
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
    const MARKERS: [&str; 7] =
        ["parse error", "Invalid ", "Illegal regex", "semver", "parsing", "conversion error", "Version"];
    match text.split_once(" evaluating rule: ") {
        Some((before, rule))
            if MARKERS.iter().any(|marker| before.contains(marker) || rule.contains(marker)) =>
        {
            let path = before.split_once(": ").map_or(before, |(path, _)| path);
            format!("{path}: .. evaluating rule: {rule}")
        }
        _ => text.to_owned(),
    }
}
