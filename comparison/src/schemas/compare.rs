//! The comparison of two answers to one request.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::published::{comparable, cut_pattern, remove};
use crate::json::{items, member, text, with_each};

/// A part of an answer that differs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// The name of the part; `outcome` if only one side refuses.
    pub what: String,
    /// The answer of the Kubernetes packages.
    pub reference: Value,
    /// The answer of the library.
    pub candidate: Value,
}

impl Part {
    /// The same difference at the smallest part that contains all of it.
    #[must_use]
    pub(super) fn narrowed(&self) -> Part {
        let mut found = self.clone();
        while let Some((step, reference, candidate)) =
            only_difference(&found.reference, &found.candidate)
        {
            found = Part {
                what: format!("{}/{step}", found.what),
                reference,
                candidate,
            };
        }

        found
    }
}

/// The step to the only member or item that differs.
fn only_difference(a: &Value, b: &Value) -> Option<(String, Value, Value)> {
    let mut different = match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let names = names
                .into_iter()
                .filter(|name| a.get(*name) != b.get(*name));
            let part =
                |side: &Map<String, Value>, name| side.get(name).cloned().unwrap_or_default();
            names
                .map(|name| (name.clone(), part(a, name), part(b, name)))
                .collect::<Vec<_>>()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
            pairs
                .map(|(i, (a, b))| (i.to_string(), a.clone(), b.clone()))
                .collect()
        }
        _ => return None,
    };

    // A part with several differences is shown as a whole.
    if different.len() == 1 {
        different.pop()
    } else {
        None
    }
}

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// It has the result.
    Answered,
    /// The schema or object cannot be read.
    Unreadable,
    /// It was read, and is refused.
    Refused,
    /// The program crashed.
    Panic,
    /// The library cannot answer such requests.
    Missing,
    /// The request itself is wrong, which is a fault of this program.
    BadRequest,
}

/// The kind of an answer to a request of an op.
pub(super) fn outcome(op: &str, answer: &Value) -> Outcome {
    let has = |name: &str| answer.get(name).is_some();
    // If the process ends, the answer has the form of a scenario's.
    if has("panic") || has("results") {
        Outcome::Panic
    } else if has("missing") {
        Outcome::Missing
    } else if has("requestError") {
        Outcome::BadRequest
    } else if has("decodeError") {
        Outcome::Unreadable
    } else if has("conversionError") || has("error") || op == "openapi" && has("errors") {
        Outcome::Refused
    } else {
        Outcome::Answered
    }
}

/// All differences of two answers.
pub(super) fn compare(op: &str, reference: &Value, candidate: &Value) -> Vec<Part> {
    let kinds = (outcome(op, reference), outcome(op, candidate));
    let refuses = |outcome| matches!(outcome, Outcome::Unreadable | Outcome::Refused);
    match kinds {
        (_, Outcome::Missing) => Vec::new(),
        (Outcome::Answered, Outcome::Answered) if op == "crd" => {
            let (reference, candidate) = comparable(reference, candidate);
            members(op, &reference, &candidate)
        }
        (Outcome::Answered, Outcome::Answered) => members(op, reference, candidate),
        // One side reads the whole schema before it checks any part, the other does not.
        (a, b) if refuses(a) && refuses(b) && (op == "openapi" || a != b) => Vec::new(),
        (Outcome::Unreadable, Outcome::Unreadable) => Vec::new(),
        (Outcome::Refused, Outcome::Refused) => members(op, reference, candidate),
        _ => vec![Part {
            what: "outcome".to_owned(),
            reference: reference.clone(),
            candidate: candidate.clone(),
        }],
    }
}

/// The members that differ. A member that the candidate does not answer is not compared.
fn members(op: &str, reference: &Value, candidate: &Value) -> Vec<Part> {
    let names = |answer: &Value| -> BTreeSet<String> {
        answer
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .cloned()
            .collect()
    };
    let skipped = |name: &str| {
        items(candidate, "unanswered")
            .iter()
            .any(|skipped| skipped == name)
    };

    let mut out = Vec::new();
    for name in names(reference).union(&names(candidate)) {
        if name == "unanswered" || skipped(name) {
            continue;
        }
        // An absent member counts as null, because Go omits what is empty.
        let part = |answer: &Value| plain(op, name, member(answer, name));
        let (reference, candidate) = (part(reference), part(candidate));

        if reference != candidate {
            out.push(Part {
                what: name.clone(),
                reference,
                candidate,
            });
        }
    }

    out
}

/// A part of an answer without the details that may differ.
fn plain(op: &str, name: &str, part: &Value) -> Value {
    let mut part = numbers(part);
    match (op, name) {
        // One side sorts types by name, the other puts the common ones last.
        ("openapi" | "crd", "schema") => {
            sort_types(&mut part);
            remove(&mut part, &["unions"]);
        }
        // The messages about faults of definitions differ.
        ("crd", "schemaErrors") => part = json!(!part.is_null()),
        ("structural", "errors") => part
            .as_array_mut()
            .into_iter()
            .flatten()
            .for_each(cut_pattern),
        _ => {}
    }

    part
}

/// Sorts the types of a schema.
pub(super) fn sort_types(schema: &mut Value) {
    if let Some(types) = schema.get_mut("types").and_then(Value::as_array_mut) {
        types.sort_by_key(|ty| text(ty, "name").to_owned());
    }
}

/// The oracle writes floats without a fraction as integers.
fn numbers(value: &Value) -> Value {
    with_each(value, |part| {
        if let Some(float) = part.as_f64().filter(|_| part.is_f64())
            && float.fract() == 0.0
            && float.abs() < 1e15
        {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "it is small and has no fraction"
            )]
            let whole = float as i64;
            *part = json!(whole);
        }
    })
}
