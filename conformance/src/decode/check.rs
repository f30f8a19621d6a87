//! Runs requests on both sides and compares the answers.

use fieldmanager_builtin::Kind;
use fieldmanager_structural::GroupVersionKind;
use serde_json::{Value, json};

use super::generate;
use crate::json::{back, items, member, own, text};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::suite::caught;
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
        judge(case, answers.first().unwrap_or(&Value::Null))
    }

    fn cuts(&self, _: &Value) -> Vec<Cut> {
        vec![Cut::tree("/object")]
    }
}

/// Compares the answer of Go to a case with that of the library.
pub(crate) fn judge(case: &Value, reference: &Value) -> Result<Verdict, Error> {
    if reference.get("panic").is_some() {
        return Err(Error::Request(format!("{case}: {reference}")));
    }
    let mut candidate = caught(|| answer(case));
    // Go finds one of several faults by chance.
    let errors = items(reference, "errors");
    if errors.iter().any(|error| error == member(&candidate, "error")) {
        candidate = json!({"errors": errors});
    }
    let mut out = Verdict::default();
    let kind = format!("{}/{} {}", text(case, "group"), text(case, "version"), text(case, "kind"));
    out.tally.count("kinds", kind);
    let refused = reference.get("error").or(reference.get("errors"));
    let result = match (refused, reference.get("unknown")) {
        (Some(_), _) => "refused",
        (None, Some(_)) => "with unknown fields",
        (None, None) if reference.get("object") == case.get("object") => "unchanged",
        (None, None) => "changed",
    };
    out.tally.count("requests by op", format!("{}: {result}", text(case, "op")));
    let parts = ["error", "errors", "unknown", "object", "panic"];
    out.difference = Difference::in_members(&parts, reference, &candidate);
    Ok(out)
}

/// The answer of the library.
fn answer(request: &Value) -> Value {
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
    let object = own(member(request, "object"));
    let decoded = if text(request, "op") == "unstructured" {
        kind.from_unstructured(&object)
    } else {
        kind.decode(&object)
    };
    let decoded = match decoded {
        Ok(decoded) => decoded,
        Err(error) => return json!({"error": error.to_string()}),
    };
    let mut out = json!({"object": back(&decoded.object)});
    if !decoded.unknown.is_empty() {
        crate::json::set(&mut out, "unknown", decoded.unknown);
    }
    out
}
