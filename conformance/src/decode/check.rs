//! Runs requests on both sides and compares the answers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fieldmanager_builtin::Kind;
use fieldmanager_structural::GroupVersionKind;
use serde_json::{Value, json};

use super::generate;
use crate::json::{back, member, own, same_value, text};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::{Difference, Error, Suite, Verdict};

/// The suite.
pub struct Decode;

impl Suite for Decode {
    const NAME: &'static str = "decode";
    const ORACLE: &'static str = "server/cmd/decode";
    const REPEATS: usize = 0;

    fn generate(&self, seed: u64) -> Value {
        generate::request(seed)
    }

    fn compare(&mut self, _: &mut dyn Oracle, case: &Value, answers: &[Value]) -> Result<Verdict, Error> {
        let reference = answers.first().unwrap_or(&Value::Null);
        if reference.get("panic").is_some() {
            return Err(Error::Request(format!("{case}: {reference}")));
        }
        let candidate = answer(case);
        let mut out = Verdict::default();
        let kind = format!("{}/{} {}", text(case, "group"), text(case, "version"), text(case, "kind"));
        out.tally.count("kinds", kind);
        let result = match (reference.get("error"), reference.get("unknown")) {
            (Some(_), _) => "refused",
            (None, Some(_)) => "with unknown fields",
            (None, None) if reference.get("object") == case.get("object") => "unchanged",
            (None, None) => "changed",
        };
        out.tally.count("requests by op", format!("{}: {result}", text(case, "op")));
        for part in ["error", "unknown", "object", "panic"] {
            let (reference, candidate) = (member(reference, part), member(&candidate, part));
            if !same_value(reference, candidate) {
                out.difference = Some(Difference {
                    step: None,
                    what: part.to_owned(),
                    label: part.to_owned(),
                    reference: reference.clone(),
                    candidate: candidate.clone(),
                });
                break;
            }
        }
        Ok(out)
    }

    fn cuts(&self, _: &Value) -> Vec<Cut> {
        vec![Cut::tree("/object")]
    }
}

/// The answer of the library. A panic is an answer, and a difference.
fn answer(request: &Value) -> Value {
    catch_unwind(AssertUnwindSafe(|| answer_one(request))).unwrap_or_else(|_| json!({"panic": "the library"}))
}

fn answer_one(request: &Value) -> Value {
    let find =
        |group: &str, version: &str, kind: &str| Kind::of(&GroupVersionKind::new(group, version, kind));
    let Some(kind) = find(text(request, "group"), text(request, "version"), text(request, "kind")) else {
        return json!({"missing": "kind"});
    };
    if text(request, "op") == "convert" {
        let Some(to) = find(text(request, "toGroup"), text(request, "to"), text(request, "kind")) else {
            return json!({"missing": "kind"});
        };
        let decoded = match kind.decode(&own(member(request, "object"))) {
            Ok(decoded) => decoded.object,
            Err(error) => return json!({"error": error.to_string()}),
        };
        return match kind.convert(&decoded, &to) {
            Ok(object) => json!({"object": back(&object)}),
            Err(error) => json!({"error": error.to_string()}),
        };
    }
    let decoded = match kind.decode(&own(member(request, "object"))) {
        Ok(decoded) => decoded,
        Err(error) => return json!({"error": error.to_string()}),
    };
    let mut out = json!({"object": back(&decoded.object)});
    if !decoded.unknown.is_empty() {
        crate::json::set(&mut out, "unknown", decoded.unknown);
    }
    out
}
