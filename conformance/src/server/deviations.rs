//! Listed deviations: differences that have a reason, see `docs/deviations.md`.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::kinds::Kind;
use super::request::{Answer, Step};
use crate::json::{items, member, set, text};
use crate::suite::Difference;

/// A request at which the real server panicked, and closed the connection.
pub(super) const PANIC: &str = "server-panic";
/// A message about an object that does not fit its type, in the words of the library.
pub(super) const TYPE_WORDS: &str = "server-type-words";
/// Conflicts in another order.
pub(super) const CONFLICT_ORDER: &str = "server-conflict-order";
/// Faults or causes in another order, since the validators of Kubernetes visit Go maps.
pub(super) const CAUSE_ORDER: &str = "server-cause-order";
/// An apply to `scale` of a custom resource, which fails in the real server.
pub(super) const SCALE_APPLY: &str = "server-scale-apply";
/// A `resourceVersion` that is not a number.
pub(super) const VERSION_NUMBER: &str = "server-version-number";
/// A message of the YAML parser.
pub(super) const YAML_WORDS: &str = "server-yaml-words";

/// A custom resource that the real server writes again although it is equal to the stored one.
pub(super) const WRITTEN_AGAIN: &str = "server-written-again";

/// The rule that explains a difference.
pub(super) fn explain(
    kind: &Kind,
    step: &Step<'_>,
    real: &Answer,
    ours: &Answer,
    found: &Difference,
) -> Option<&'static str> {
    let (theirs, our) = (message(real), message(ours));
    let same_code = real.code == ours.code;
    if real.code == 0 {
        return Some(PANIC);
    }
    if real.code == 500
        && kind.definition.is_some()
        && step.sub == "scale"
        && theirs.contains("request to convert CR")
    {
        return Some(SCALE_APPLY);
    }
    if real.code == 500 && theirs.starts_with("strconv.ParseUint: parsing") && ours.code == 409 {
        return Some(VERSION_NUMBER);
    }
    if found.what == "write" && kind.definition.is_some() && found.reference == json!(true) {
        return Some(WRITTEN_AGAIN);
    }
    if same_code && real.warnings == ours.warnings {
        if real.code == 500 && step.verb == "apply" && same_paths(theirs, our) {
            return Some(TYPE_WORDS);
        }
        if real.code == 400 && theirs.contains("yaml: ") && our.contains("YAML") && step.verb == "apply" {
            return Some(YAML_WORDS);
        }
        if !real.is_success() && sorted(&real.body) == sorted(&ours.body) {
            return Some(if real.code == 409 { CONFLICT_ORDER } else { CAUSE_ORDER });
        }
    }
    None
}

fn message(answer: &Answer) -> &str {
    text(&answer.body, "message")
}

/// The paths that a message about types names: words that start with a dot.
fn paths(message: &str) -> BTreeSet<String> {
    let words = message.split([' ', '\n']);
    let words = words.filter(|word| word.starts_with('.') && word.len() > 1);
    // The library gives the key of an item where Go gives its list, or the place of the item.
    let whole = words.map(|word| word.trim_end_matches(':').split('[').next().unwrap_or_default().to_owned());
    whole.collect()
}

/// Whether a message is about fields of another one, and both are equal before the first of them. Go stops at the first
/// field of a map that its type does not declare.
fn same_paths(real: &str, ours: &str) -> bool {
    let before = |message: &str| message.split(": ").next().unwrap_or_default().to_owned();
    let same_start = before(real) == before(ours) || !real.starts_with("failed to create typed");
    same_start && !paths(real).is_empty() && paths(real).is_subset(&paths(ours))
}

/// A status whose causes, and the parts of whose message, are in one order.
fn sorted(status: &Json) -> Json {
    let mut out = status.clone();
    let mut causes: Vec<String> =
        items(member(status, "details"), "causes").iter().map(Json::to_string).collect();
    causes.sort();
    if let Some(details) = out.get_mut("details") {
        set(details, "causes", json!(causes));
    }
    let mut parts: Vec<&str> =
        text(status, "message").split(['\n', ',', '[', ']', '"']).map(str::trim).collect();
    parts.sort_unstable();
    set(&mut out, "message", json!(parts));
    out
}
