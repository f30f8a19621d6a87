//! Runs requests on both sides and compares the answers.

use fieldmanager_builtin::Kind;
use fieldmanager_structural::GroupVersionKind;
use serde_json::{Value, json};

use super::{BuiltInSuite, generate};
use crate::json::{back, items, member, own, text};
use crate::suite::caught;
use crate::{Difference, Error, Verdict};

/// The suite.
pub struct Decode;

impl BuiltInSuite for Decode {
    const NAME: &'static str = "decode";
    const ORACLE: &'static str = "server/cmd/decode";

    fn generate(seed: u64) -> Value {
        generate::decode(seed)
    }

    fn judge(case: &Value, reference: &Value) -> Result<Verdict, Error> {
        judge(case, reference)
    }
}

/// Counts the kind of a case.
pub(super) fn count_kind(out: &mut Verdict, case: &Value) {
    let (group, version) = (text(case, "group"), text(case, "version"));
    let kind = format!("{group}/{version} {}", text(case, "kind"));
    out.tally.count("kinds", kind);
}

fn judge(case: &Value, reference: &Value) -> Result<Verdict, Error> {
    if reference.get("panic").is_some() {
        return Err(Error::Request(format!("{case}: {reference}")));
    }
    let mut candidate = caught(|| answer(case));

    // Go finds one of several faults by chance.
    let errors = items(reference, "errors");
    if errors
        .iter()
        .any(|error| error == member(&candidate, "error"))
    {
        candidate = json!({"errors": errors});
    }

    let mut out = Verdict::default();
    count_kind(&mut out, case);
    let refused = reference.get("error").or(reference.get("errors"));
    let result = match (refused, reference.get("unknown")) {
        (Some(_), _) => "refused",
        (None, Some(_)) => "with unknown fields",
        (None, None) if reference.get("object") == case.get("object") => "unchanged",
        (None, None) => "changed",
    };
    out.tally
        .count("requests by op", format!("{}: {result}", text(case, "op")));
    let parts = ["error", "errors", "unknown", "object", "panic"];
    out.difference = Difference::in_members(&parts, reference, &candidate);

    Ok(out)
}

/// The answer of the library.
fn answer(request: &Value) -> Value {
    let find = |group: &str, version: &str| {
        let gvk = GroupVersionKind::new(
            text(request, group),
            text(request, version),
            text(request, "kind"),
        );
        Kind::of(&gvk)
    };
    let (op, object) = (text(request, "op"), own(member(request, "object")));
    let Some(kind) = find("group", "version") else {
        return json!({"missing": "kind"});
    };

    // A patch is decoded from a parsed object and a body from text: Go has a decoder for each, with different errors.
    let decoded = match op {
        "unstructured" => kind.from_unstructured(&object),
        _ => kind.decode(&object),
    };
    let decoded = match decoded {
        Ok(decoded) => decoded,
        Err(error) => return json!({"error": error.to_string()}),
    };

    // Events are in two groups, so the target has a group of its own.
    if op == "convert" {
        let Some(to) = find("toGroup", "to") else {
            return json!({"missing": "kind"});
        };
        return match kind.convert(&decoded.object, &to) {
            Ok(object) => json!({"object": back(&object)}),
            Err(error) => json!({"error": error.to_string()}),
        };
    }

    let mut out = json!({"object": back(&decoded.object)});
    if !decoded.unknown.is_empty() {
        crate::json::set(&mut out, "unknown", decoded.unknown);
    }
    out
}
