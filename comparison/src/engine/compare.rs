//! Compares the answers of two implementations to one scenario.
//!
//! # Compared parts
//!
//! - Objects: completely, with the order of lists; numbers as numbers, so that `1` equals `1.0`.
//! - Managers: names, versions, operations, and the FieldsV1 as JSON, including the notation of every path element.
//! - Conflicts: exactly, as a set of managers and paths.
//! - Errors: by kind only. Two errors agree if their kinds (`validation`, `schema`, `merge`, `conversion`, `other`) are
//!   equal; messages are not compared.
//!
//! A panic of the reference is counted as the deviation [`GO_PANIC`]. The library must never panic.
//!
//! After a step that was explained as a deviation the two states may differ, so later steps that act on the state are
//! not compared, unless the library failed as well and both states are unchanged.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::json::{items, same_value, text};
use crate::{Difference, GO_PANIC, Verdict};

/// The section of the tally for steps that are not compared.
pub const SKIPPED: &str = "steps not compared after a deviation";

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// It succeeded.
    Success,
    /// It conflicted with other managers.
    Conflicts,
    /// It failed with an error of this kind.
    Error(&'a str),
    /// The implementation panicked.
    Panic,
}

/// The outcome of the step with this result.
pub fn outcome(result: &Value) -> Outcome<'_> {
    if result.get("panic").is_some() {
        Outcome::Panic
    } else if result.get("conflicts").is_some() {
        Outcome::Conflicts
    } else if result.get("error").is_some() {
        Outcome::Error(
            result
                .get("kind")
                .and_then(Value::as_str)
                .unwrap_or("other"),
        )
    } else {
        Outcome::Success
    }
}

/// The kind of a step, such as `apply`.
pub fn step_kind(step: &Value) -> &str {
    step.as_object()
        .into_iter()
        .flatten()
        .map(|(kind, _)| kind.as_str())
        .find(|kind| *kind != "expect")
        .unwrap_or("")
}

/// Whether steps of this kind read and change the state.
pub fn acts_on_state(kind: &str) -> bool {
    matches!(
        kind,
        "apply" | "update" | "extractApply" | "changeSchema" | "patch"
    )
}

/// A difference, as deviation rules receive it.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioDifference<'a> {
    /// The whole scenario.
    pub scenario: &'a Value,
    /// The number of the step; `None` if the scenario as a whole differs.
    pub step: Option<usize>,
    /// The part that differs: `outcome`, `kind`, `object`, `managed`, ...
    pub what: &'a str,
    /// The state before the step, as in the last answer of the reference.
    pub state: Option<&'a Value>,
    /// The answer of the reference.
    pub reference: &'a Value,
    /// The answer of the library.
    pub candidate: &'a Value,
}

/// Explains a difference by the name of a listed deviation.
pub type Explain<'a> = dyn Fn(&ScenarioDifference<'_>) -> Option<&'static str> + Sync + 'a;

/// Compares two answers to the same scenario.
pub fn compare(
    scenario: &Value,
    reference: &Value,
    candidate: &Value,
    explain: &Explain<'_>,
) -> Verdict {
    let mut out = Verdict::default();
    let whole = |what| ScenarioDifference {
        scenario,
        step: None,
        what,
        state: None,
        reference,
        candidate,
    };
    let (Some(ours), Some(theirs)) = (results(candidate), results(reference)) else {
        // Either both refuse the schema, or the scenario as a whole differs.
        if results(candidate).is_some() != results(reference).is_some() {
            judge(&mut out, explain, &whole("schema"));
        }
        return out;
    };

    let steps = items(scenario, "steps");
    if ours.len() != theirs.len() {
        judge(&mut out, explain, &whole("number of results"));
        return out;
    }
    let mut parted = false;
    let mut last_state = None;

    for (number, (reference, candidate)) in theirs.iter().zip(ours).enumerate() {
        let stateful = steps
            .get(number)
            .is_some_and(|step| acts_on_state(step_kind(step)));
        let state = last_state;
        if reference.get("managed").is_some() {
            last_state = Some(reference);
        }

        let unchanged = |result| outcome(result) != Outcome::Success;
        let changes_schema = steps
            .get(number)
            .is_some_and(|step| step_kind(step) == "changeSchema");
        let types_part = changes_schema && unchanged(reference) != unchanged(candidate);

        // After a deviation the states of both sides differ. Only steps on values of their own are still compared.
        if parted && stateful {
            skip(&mut out, 1);
            if types_part {
                skip(&mut out, ours.len() - number - 1);
                return out;
            }
            continue;
        }

        let Some(what) = differs(reference, candidate) else {
            continue;
        };
        let case = ScenarioDifference {
            scenario,
            step: Some(number),
            what,
            state,
            reference,
            candidate,
        };
        if !judge(&mut out, explain, &case) {
            return out;
        }

        // A step that failed on both sides left both states as they were.
        parted |= stateful && !(unchanged(reference) && unchanged(candidate));
        if types_part {
            // From here on, the two sides have different types.
            skip(&mut out, ours.len() - number - 1);
            return out;
        }
    }

    out
}

fn skip(out: &mut Verdict, steps: usize) {
    out.tally.add(SKIPPED, "steps", steps as u64);
}

/// Counts the difference under a rule, or keeps it. Returns whether it is explained.
fn judge(out: &mut Verdict, explain: &Explain<'_>, case: &ScenarioDifference<'_>) -> bool {
    // A panic of the library is a fault of its own, whatever the reference does.
    let panicked =
        outcome(case.reference) == Outcome::Panic && outcome(case.candidate) != Outcome::Panic;
    if let Some(rule) = if panicked {
        Some(GO_PANIC)
    } else {
        explain(case)
    } {
        out.deviations.push(rule);
        return true;
    }

    let kind = case
        .step
        .and_then(|step| items(case.scenario, "steps").get(step))
        .map(step_kind);
    out.difference = Some(Difference {
        step: case.step,
        what: case.what.to_owned(),
        label: format!("{} {}", case.what, kind.unwrap_or_default()),
        reference: case.reference.clone(),
        candidate: case.candidate.clone(),
    });

    false
}

fn results(answer: &Value) -> Option<&Vec<Value>> {
    answer.get("results").and_then(Value::as_array)
}

/// The part that differs between two results of a step; `None` if they are equal.
fn differs(reference: &Value, candidate: &Value) -> Option<&'static str> {
    match (outcome(reference), outcome(candidate)) {
        (_, Outcome::Panic) | (Outcome::Panic, _) => return Some("panic"),
        (Outcome::Error(left), Outcome::Error(right)) => return (left != right).then_some("kind"),
        (Outcome::Conflicts, Outcome::Conflicts) => {
            return (conflicts(reference) != conflicts(candidate)).then_some("conflicts");
        }
        (Outcome::Success, Outcome::Success) => {}
        _ => return Some("outcome"),
    }

    // A step on sets has no object. Numbers in objects are compared by value, and those in sets by their notation.
    let objects = (reference.get("object"), candidate.get("object"));
    match objects {
        (None, None) => {}
        (Some(left), Some(right)) if same_value(left, right) => {}
        _ => return Some("object"),
    }

    ["managed", "fields", "added", "modified", "removed"]
        .into_iter()
        .find(|member| reference.get(member) != candidate.get(member))
}

fn conflicts(result: &Value) -> BTreeSet<(&str, &str)> {
    items(result, "conflicts")
        .iter()
        .map(|conflict| (text(conflict, "manager"), text(conflict, "path")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(reference: &Value, candidate: &Value, expected: Option<&str>) {
        let scenario = json!({"steps": [{"apply": {}}]});
        let compared = compare(
            &scenario,
            &json!({"results": [reference]}),
            &json!({"results": [candidate]}),
            &|_| None,
        );
        assert_eq!(
            compared
                .difference
                .map(|difference| difference.what)
                .as_deref(),
            expected
        );
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        check(
            &json!({"object": {"a": [1]}}),
            &json!({"object": {"a": [1.0]}}),
            None,
        );
        check(
            &json!({"object": {"a": [1]}}),
            &json!({"object": {"a": [2]}}),
            Some("object"),
        );
        let large = 9_007_199_254_740_993_i64;
        check(
            &json!({"object": large}),
            &json!({"object": large - 1}),
            Some("object"),
        );
    }

    #[test]
    fn conflicts_are_compared_as_a_set() {
        let (a, b) = (
            json!({"manager": "a", "path": ".x"}),
            json!({"manager": "b", "path": ".y"}),
        );
        check(
            &json!({"conflicts": [a, b]}),
            &json!({"conflicts": [b, a]}),
            None,
        );
        check(
            &json!({"conflicts": [a, b]}),
            &json!({"conflicts": [a]}),
            Some("conflicts"),
        );
    }

    #[test]
    fn errors_are_compared_by_kind() {
        let error = |message: &str, kind: &str| json!({"error": message, "kind": kind});
        check(&error("one", "merge"), &error("two", "merge"), None);
        check(
            &error("one", "merge"),
            &error("one", "schema"),
            Some("kind"),
        );
        check(
            &error("one", "merge"),
            &json!({"object": 1, "managed": {}}),
            Some("outcome"),
        );
    }

    #[test]
    fn later_steps_are_skipped_after_a_panic_of_the_reference() {
        let scenario = json!({"steps": [{"apply": {}}, {"apply": {}}, {"fieldset": {}}]});
        let reference = json!({"results": [{"panic": "nil"}, {"object": 1}, {"fields": {}}]});
        let candidate = json!({"results": [{"object": 0}, {"object": 0}, {"fields": {}}]});
        let compared = compare(&scenario, &reference, &candidate, &|_| None);
        assert!(compared.difference.is_none());
        assert_eq!(
            (compared.deviations, compared.tally.get(SKIPPED, "steps")),
            (vec![GO_PANIC], 1)
        );
    }

    #[test]
    fn a_panic_of_the_library_is_a_difference() {
        check(
            &json!({"object": 1}),
            &json!({"panic": "no"}),
            Some("panic"),
        );
        check(
            &json!({"panic": "nil"}),
            &json!({"panic": "no"}),
            Some("panic"),
        );
    }
}
