//! Compares what two implementations said about one scenario.
//!
//! # What has to agree
//!
//! - Objects: completely, with the order of lists; numbers as numbers, so that
//!   `1` and `1.0` are the same.
//! - Managers: names, versions, operations, and the FieldsV1 as JSON, which
//!   includes the text of every path element.
//! - Conflicts: exactly, as a set of managers and paths.
//! - Errors: by kind only. Two errors agree when both are errors and their
//!   kinds (`validation`, `schema`, `merge`, `conversion`, `other`) are equal;
//!   the messages are for people and are tested elsewhere.
//!
//! A panic of the reference is not a result that anyone has to agree with. It
//! is counted as the deviation [`GO_PANIC`]. The library must never panic.
//!
//! After a step that was explained as a deviation the two states may differ, so
//! the later steps that act on the state are not compared; unless the library
//! failed as well, which leaves both states as they were.

use std::collections::BTreeSet;

use serde_json::Value;

/// The rule that explains a step at which the Go code panicked.
pub const GO_PANIC: &str = "go-panic";
/// The rule that explains a result that the Go code also gives, by chance: it
/// iterates over maps in random order.
pub const GO_MAP_ORDER: &str = "go-map-order";

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// It did what it should.
    Success,
    /// It conflicted with other managers.
    Conflicts,
    /// It failed; the text is the kind of the error.
    Error(&'a str),
    /// The implementation panicked.
    Panic,
}

/// How the step with this result ended.
pub fn outcome(result: &Value) -> Outcome<'_> {
    if result.get("panic").is_some() {
        Outcome::Panic
    } else if result.get("conflicts").is_some() {
        Outcome::Conflicts
    } else if result.get("error").is_some() {
        Outcome::Error(result.get("kind").and_then(Value::as_str).unwrap_or("other"))
    } else {
        Outcome::Success
    }
}

/// The name of a step's kind, such as `apply`.
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
    matches!(kind, "apply" | "update" | "extractApply" | "changeSchema" | "patch")
}

/// One difference, as a deviation rule sees it.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The whole scenario.
    pub scenario: &'a Value,
    /// The number of the step; none when the scenario as a whole differs.
    pub step: Option<usize>,
    /// What differs: `outcome`, `kind`, `object`, `managed`, ...
    pub what: &'a str,
    /// The state before the step, as the reference last gave it.
    pub state: Option<&'a Value>,
    /// What the reference said.
    pub reference: &'a Value,
    /// What the library said.
    pub candidate: &'a Value,
}

/// Explains a difference by the name of a listed deviation, or does not.
pub type Explain<'a> = dyn Fn(&Case<'_>) -> Option<&'static str> + Sync + 'a;

/// A difference that nothing explains.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The number of the step; none when the scenario as a whole differs.
    pub step: Option<usize>,
    /// What differs: `outcome`, `kind`, `object`, `managed`, ...
    pub what: String,
    /// What the reference said.
    pub reference: Value,
    /// What the library said.
    pub candidate: Value,
}

/// The outcome of comparing the answers to one scenario.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The first difference that nothing explains.
    pub difference: Option<Difference>,
    /// The rules that explained differences, one entry per difference.
    pub deviations: Vec<&'static str>,
    /// Steps that were not compared since the states had already parted.
    pub skipped: usize,
}

/// Compares two answers to the same scenario.
pub fn compare(scenario: &Value, reference: &Value, candidate: &Value, explain: &Explain<'_>) -> Comparison {
    let mut out = Comparison::default();
    let (Some(ours), Some(theirs)) = (results(candidate), results(reference)) else {
        // Both refuse the schema, or they disagree about the whole scenario.
        if results(candidate).is_some() != results(reference).is_some() {
            out.judge(
                explain,
                &Case { scenario, step: None, what: "schema", state: None, reference, candidate },
            );
        }
        return out;
    };
    let no_steps = Vec::new();
    let steps = scenario.get("steps").and_then(Value::as_array).unwrap_or(&no_steps);
    if ours.len() != theirs.len() {
        out.judge(
            explain,
            &Case { scenario, step: None, what: "number of results", state: None, reference, candidate },
        );
        return out;
    }
    let mut parted = false;
    let mut last_state = None;
    for (number, (reference, candidate)) in theirs.iter().zip(ours).enumerate() {
        let stateful = steps.get(number).is_some_and(|step| acts_on_state(step_kind(step)));
        let state = last_state;
        if reference.get("managed").is_some() {
            last_state = Some(reference);
        }
        let unchanged = |result| outcome(result) != Outcome::Success;
        let changes_schema = steps.get(number).is_some_and(|step| step_kind(step) == "changeSchema");
        let types_part = changes_schema && unchanged(reference) != unchanged(candidate);
        if parted && stateful {
            out.skipped += 1;
            if types_part {
                out.skipped += ours.len() - number - 1;
                return out;
            }
            continue;
        }
        let Some(what) = differs(reference, candidate) else {
            continue;
        };
        if !out.judge(explain, &Case { scenario, step: Some(number), what, state, reference, candidate }) {
            return out;
        }
        parted |= stateful && !(unchanged(reference) && unchanged(candidate));
        if types_part {
            // From here on the two sides speak of different types.
            out.skipped += ours.len() - number - 1;
            return out;
        }
    }
    out
}

impl Comparison {
    /// Files the difference under a rule, or keeps it; true when explained.
    fn judge(&mut self, explain: &Explain<'_>, case: &Case<'_>) -> bool {
        let panicked = outcome(case.reference) == Outcome::Panic && outcome(case.candidate) != Outcome::Panic;
        if let Some(rule) = if panicked { Some(GO_PANIC) } else { explain(case) } {
            self.deviations.push(rule);
            return true;
        }
        self.difference = Some(Difference {
            step: case.step,
            what: case.what.to_owned(),
            reference: case.reference.clone(),
            candidate: case.candidate.clone(),
        });
        false
    }
}

fn results(answer: &Value) -> Option<&Vec<Value>> {
    answer.get("results").and_then(Value::as_array)
}

/// What differs between two results of a step, if anything does.
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
    let list = result.get("conflicts").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|conflict| {
            let text = |member| conflict.get(member).and_then(Value::as_str).unwrap_or_default();
            (text("manager"), text("path"))
        })
        .collect()
}

/// Whether two JSON values are the same with numbers compared as numbers.
pub fn same_value(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_f64() == b.as_f64(),
        },
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(left, right)| same_value(left, right))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, left)| b.get(key).is_some_and(|right| same_value(left, right)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(reference: &Value, candidate: &Value, expected: Option<&str>) {
        let scenario = json!({"steps": [{"apply": {}}]});
        let compared =
            compare(&scenario, &json!({"results": [reference]}), &json!({"results": [candidate]}), &|_| None);
        assert_eq!(compared.difference.map(|difference| difference.what).as_deref(), expected);
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        check(&json!({"object": {"a": [1]}}), &json!({"object": {"a": [1.0]}}), None);
        check(&json!({"object": {"a": [1]}}), &json!({"object": {"a": [2]}}), Some("object"));
        let large = 9_007_199_254_740_993_i64;
        check(&json!({"object": large}), &json!({"object": large - 1}), Some("object"));
    }

    #[test]
    fn conflicts_are_a_set() {
        let (a, b) = (json!({"manager": "a", "path": ".x"}), json!({"manager": "b", "path": ".y"}));
        check(&json!({"conflicts": [a, b]}), &json!({"conflicts": [b, a]}), None);
        check(&json!({"conflicts": [a, b]}), &json!({"conflicts": [a]}), Some("conflicts"));
    }

    #[test]
    fn errors_agree_by_kind() {
        let error = |message: &str, kind: &str| json!({"error": message, "kind": kind});
        check(&error("one", "merge"), &error("two", "merge"), None);
        check(&error("one", "merge"), &error("one", "schema"), Some("kind"));
        check(&error("one", "merge"), &json!({"object": 1, "managed": {}}), Some("outcome"));
    }

    #[test]
    fn a_panic_of_the_reference_is_a_deviation_and_parts_the_states() {
        let scenario = json!({"steps": [{"apply": {}}, {"apply": {}}, {"fieldset": {}}]});
        let reference = json!({"results": [{"panic": "nil"}, {"object": 1}, {"fields": {}}]});
        let candidate = json!({"results": [{"object": 0}, {"object": 0}, {"fields": {}}]});
        let compared = compare(&scenario, &reference, &candidate, &|_| None);
        assert!(compared.difference.is_none());
        assert_eq!((compared.deviations, compared.skipped), (vec![GO_PANIC], 1));
    }

    #[test]
    fn a_panic_of_the_library_is_a_difference() {
        check(&json!({"object": 1}), &json!({"panic": "no"}), Some("panic"));
        check(&json!({"panic": "nil"}), &json!({"panic": "no"}), Some("panic"));
    }
}
