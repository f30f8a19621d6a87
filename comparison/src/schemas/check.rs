//! Runs requests on both sides, and explains or keeps every difference.

use serde_json::Value;

use super::compare::{Outcome, Part, compare, outcome};
use super::deviations::{self, explain};
use super::{candidate, generate, shared};
use crate::json::{items, member, text};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::{Difference, Error, GO_MAP_ORDER, Judged, Suite, Verdict};

/// The suite.
pub struct Schemas {
    /// A folder with published OpenAPI documents below `data`.
    pub shared: Option<std::path::PathBuf>,
}

impl Suite for Schemas {
    const NAME: &'static str = "schemas";
    const ORACLE: &'static str = "kubernetes";

    fn generate(&self, seed: u64) -> Value {
        generate::request(seed)
    }

    fn compare(&mut self, oracle: &mut dyn Oracle, case: &Value, answers: &[Value]) -> Judged {
        let op = text(case, "op");
        let reference = answers.first().unwrap_or(&Value::Null);
        if outcome(op, reference) == Outcome::BadRequest {
            return Err(Error::Request(format!("{case}: {reference}")));
        }
        let candidate = candidate::answer(case);
        // Some deviations show only in what Go answers to a case without their subject.
        let rules = match judge(case, reference, &candidate) {
            Ok(rules) => Ok(rules),
            Err(parts) => otherwise_asked(oracle, case, reference, &candidate)?.ok_or(parts),
        };
        let mut out = counted(case, reference, &candidate);

        match rules {
            Ok(rules) => out.deviations = rules,
            Err(parts) => {
                // Shrinking moves the place of a difference, so the label has the part and not the place.
                let label = parts
                    .first()
                    .map(|part| part.what.clone())
                    .unwrap_or_default();
                let narrowed: Vec<Part> = parts.iter().map(Part::narrowed).collect();
                let side = |side: fn(&Part) -> &Value| {
                    let parts = narrowed
                        .iter()
                        .map(|part| (part.what.clone(), side(part).clone()));
                    Value::Object(parts.collect())
                };
                let (reference, candidate) =
                    (side(|part| &part.reference), side(|part| &part.candidate));

                let what = narrowed
                    .iter()
                    .map(|part| part.what.as_str())
                    .collect::<Vec<_>>()
                    .join(", ");
                out.difference = Some(Difference {
                    step: None,
                    what,
                    label,
                    reference,
                    candidate,
                });
            }
        }

        Ok(out)
    }

    fn by_chance(
        &mut self,
        _: &mut dyn Oracle,
        case: &Value,
        variants: &[Value],
    ) -> Result<Option<Verdict>, Error> {
        let candidate = candidate::answer(case);
        // Each answer of Go is judged alone: an agreement in parts of two answers would explain too much.
        let found = variants
            .iter()
            .find_map(|variant| Some((variant, judge(case, variant, &candidate).ok()?)));
        Ok(found.map(|(variant, rules)| {
            let deviations = with(rules, GO_MAP_ORDER);
            Verdict {
                deviations,
                ..counted(case, variant, &candidate)
            }
        }))
    }

    fn cuts(&self, case: &Value) -> Vec<Cut> {
        // The first version stays, because a definition without its storage version would fail for another reason.
        let versions = case
            .pointer("/crd/spec/versions")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let mut out: Vec<Cut> = (1..versions)
            .rev()
            .map(|at| Cut::whole(format!("/crd/spec/versions/{at}")))
            .collect();
        out.extend([
            Cut::schema("/definitions"),
            Cut::schema("/schema"),
            Cut::tree("/object"),
        ]);

        out.extend((0..versions).map(|at| Cut::schema(format!("/crd/spec/versions/{at}/schema"))));
        let flags = [
            "preserveUnknownFields",
            "isResourceRoot",
            "dropInvalid",
            "returnUnknown",
        ];
        out.extend(flags.map(|flag| Cut::whole(format!("/{flag}"))));

        out
    }

    fn documents(&self) -> Result<Vec<(String, Value)>, Error> {
        self.shared
            .as_deref()
            .map_or(Ok(Vec::new()), shared::requests)
    }
}

/// The deviations that explain all differences of two answers, or the parts that differ.
fn judge(
    case: &Value,
    reference: &Value,
    candidate: &Value,
) -> Result<Vec<&'static str>, Vec<Part>> {
    let parts = compare(text(case, "op"), reference, candidate);
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let mut rules = explain(case, reference, candidate, &parts).ok_or(parts)?;
    rules.sort_unstable();
    rules.dedup();
    Ok(rules)
}

/// The deviations that remain if Go is asked about a request that differs only in the subject of a deviation.
fn otherwise_asked(
    oracle: &mut dyn Oracle,
    case: &Value,
    reference: &Value,
    candidate: &Value,
) -> Result<Option<Vec<&'static str>>, Error> {
    if let Some(plain) = deviations::without_empty_keywords(case) {
        let answer = oracle.run(&[plain])?.pop().unwrap_or_default();
        if let Ok(rules) = judge(case, &answer, candidate) {
            return Ok(Some(with(rules, deviations::EMPTY_KEYWORD)));
        }
    }

    if let Some(distinct) = deviations::with_distinct_versions(case) {
        let answer = oracle.run(&[distinct])?.pop().unwrap_or_default();
        // The titles also change what is published, so only the errors are taken from this answer.
        let mut reference = reference.clone();
        if let Some(errors) = reference.get_mut("errors") {
            *errors = member(&answer, "errors").clone();
        }
        if let Ok(rules) = judge(case, &reference, candidate) {
            return Ok(Some(with(rules, deviations::CRD_PATH)));
        }
    }

    Ok(None)
}

fn with(mut rules: Vec<&'static str>, rule: &'static str) -> Vec<&'static str> {
    rules.push(rule);
    rules.sort_unstable();
    rules.dedup();
    rules
}

fn counted(case: &Value, reference: &Value, candidate: &Value) -> Verdict {
    let op = text(case, "op");
    let mut out = Verdict::default();
    out.tally.count(
        "requests by op",
        format!("{op}: {}", result(op, case, reference)),
    );

    if outcome(op, candidate) == Outcome::Missing {
        out.tally.count(
            "requests by op",
            format!("{op}: not answered by the library"),
        );
    }
    out
}

/// The kind of Go's answer, for counting: whether the op changed the object or found faults.
fn result(op: &str, case: &Value, answer: &Value) -> &'static str {
    // A generator whose objects are mostly left alone tests little, so effects are counted.
    let has_effect = match op {
        "prune" | "default" | "nulls" | "coerce" => answer.get("object") != case.get("object"),
        "prunedefaults" => answer.get("schema") != case.get("schema"),
        "openapi" => true,
        _ => !items(answer, "errors").is_empty(),
    };

    match outcome(op, answer) {
        Outcome::Unreadable => "unreadable",
        Outcome::Refused => "refused",
        Outcome::Panic => "panic",
        _ if has_effect => "answered, with an effect",
        _ => "answered, without an effect",
    }
}
