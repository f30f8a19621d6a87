//! Compares the outcome of a step with the expectations.

use fieldmanager_fieldpath::{Owners, Set};
use fieldmanager_typed::UnionFault;
use fieldmanager_value::Value;

use crate::diff;
use crate::outcome::{
    ErrorKind, Outcome, State, StepError, conflicts_to_value, faults_to_value, map, owners_to_value,
};
use crate::report::Failure;
use crate::runner::Runner;
use crate::scenario::{ConflictAt, Expect, ExpectedError, ExpectedFault, Scenario};

/// Runs every step of a scenario and collects the unmet expectations. Steps after a failed one are run and judged too.
pub(crate) fn failures(scenario: &Scenario) -> Vec<Failure> {
    let mut runner = match Runner::new(scenario) {
        Ok(runner) => runner,
        Err(error) => return vec![Failure::new("schema", error.to_string())],
    };
    let mut out = Vec::new();
    for (i, step) in scenario.steps.iter().enumerate() {
        let outcome = runner.step(&step.action);
        let state = step.action.acts_on_state().then(|| runner.state());
        let found = judge(&step.expect, &outcome, state.as_ref());
        out.extend(found.into_iter().map(|failure| Failure {
            step: Some(i + 1),
            action: Some(step.action.name()),
            ..failure
        }));
    }
    out
}

/// `state` is given for steps that act on it. A failed step does not change the state, which can be expected too.
fn judge(expect: &Expect, outcome: &Outcome, state: Option<&State>) -> Vec<Failure> {
    if let Some(failure) = ending(expect, outcome) {
        // The other expectations presume the expected ending.
        return vec![failure];
    }
    let checks = match (outcome, state) {
        (_, Some(state)) => vec![
            object(expect.object.as_ref(), &state.object),
            managed(expect.managed.as_ref(), &state.managed),
        ],
        (Outcome::Object(actual), _) => vec![object(expect.object.as_ref(), actual)],
        (Outcome::Faults(actual), _) => vec![faults(expect.faults.as_deref(), actual)],
        (Outcome::Fields(actual), _) => vec![fields("fields", expect.fields.as_ref(), actual)],
        (Outcome::Compared { added, modified, removed }, _) => vec![
            fields("added", expect.added.as_ref(), added),
            fields("modified", expect.modified.as_ref(), modified),
            fields("removed", expect.removed.as_ref(), removed),
        ],
        _ => Vec::new(),
    };
    checks.into_iter().flatten().collect()
}

/// Compares success, conflicts or error with the expected ending.
fn ending(expect: &Expect, outcome: &Outcome) -> Option<Failure> {
    let conflicts = expect.conflicts.as_ref().filter(|conflicts| !conflicts.is_empty());
    match outcome {
        Outcome::Error(error) => failed(expect, error),
        Outcome::Conflicts(actual) => match (conflicts, &expect.error) {
            (Some(expected), None) => {
                let expected: Vec<_> = expected.iter().collect();
                different_conflicts(&expected, actual)
            }
            (_, Some(error)) => Some(Failure {
                actual: Some(conflicts_to_value(actual)),
                ..Failure::new("error", format!("expected {}, got conflicts{}", wanted(error), brief(actual)))
            }),
            (None, None) => Some(Failure {
                paths: actual.iter().map(|conflict| conflict.path.clone()).collect(),
                actual: Some(conflicts_to_value(actual)),
                ..Failure::new("conflicts", format!("expected success, got conflicts{}", brief(actual)))
            }),
        },
        _ => match (&expect.error, conflicts) {
            (Some(error), _) => {
                let message = format!("expected {}, but the step succeeded", wanted(error));
                Some(Failure::new("error", message))
            }
            (None, Some(expected)) => Some(Failure {
                paths: expected.iter().map(|conflict| conflict.path.clone()).collect(),
                expected: Some(conflicts_to_value(expected)),
                ..Failure::new(
                    "conflicts",
                    format!("expected conflicts{}, but the step succeeded", brief(expected)),
                )
            }),
            (None, None) => None,
        },
    }
}

fn failed(expect: &Expect, error: &StepError) -> Option<Failure> {
    if error.kind == ErrorKind::Unsupported {
        // Otherwise, a scenario that expects an error would pass for the wrong reason.
        return Some(Failure::new("error", error.message.clone()));
    }
    let wanted = match &expect.error {
        Some(ExpectedError::Any) => return None,
        Some(ExpectedError::Containing(part)) if error.message.contains(part.as_str()) => {
            return None;
        }
        Some(other) => wanted(other),
        None if expect.conflicts.as_ref().is_some_and(|conflicts| !conflicts.is_empty()) => {
            "conflicts".into()
        }
        None => "success".into(),
    };
    Some(Failure {
        actual: Some(error.message.as_str().into()),
        ..Failure::new("error", format!("expected {wanted}, got the error: {}", error.message))
    })
}

fn wanted(error: &ExpectedError) -> String {
    match error {
        ExpectedError::Any => "an error".into(),
        ExpectedError::Containing(part) => format!("an error with `{part}` in its message"),
    }
}

/// The first of the conflicts, for a message.
fn brief<'c>(conflicts: impl IntoIterator<Item = &'c ConflictAt>) -> String {
    let mut conflicts = conflicts.into_iter();
    let Some(first) = conflicts.next() else {
        return String::new();
    };
    let more = match conflicts.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(" with `{}` at {}{more}", first.manager, shown(&first.path))
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "the object itself" } else { path }
}

fn different_conflicts(expected: &[&ConflictAt], actual: &[ConflictAt]) -> Option<Failure> {
    let missing = expected.iter().copied().filter(|conflict| !actual.contains(conflict));
    let surplus = actual.iter().filter(|conflict| !expected.contains(conflict));
    let mut paths: Vec<_> = missing.chain(surplus).map(|conflict| conflict.path.clone()).collect();
    paths.sort();
    paths.dedup();
    let expected = conflicts_to_value(expected.iter().copied());
    different("conflicts", paths, expected, conflicts_to_value(actual))
}

fn object(expected: Option<&Value>, actual: &Value) -> Option<Failure> {
    let expected = expected?;
    different("object", diff::paths(expected, actual), expected.clone(), actual.clone())
}

/// Fails unless the expected faults and the found faults match one to one.
fn faults(expected: Option<&[ExpectedFault]>, actual: &[UnionFault]) -> Option<Failure> {
    let expected = expected?;
    let mut surplus: Vec<&UnionFault> = actual.iter().collect();
    let mut paths = Vec::new();
    for wanted in expected {
        let is_wanted = |fault: &&UnionFault| {
            fault.path.to_string() == wanted.path && fault.message.contains(&wanted.message)
        };
        match surplus.iter().position(is_wanted) {
            Some(at) => {
                surplus.remove(at);
            }
            None => paths.push(wanted.path.clone()),
        }
    }
    paths.extend(surplus.iter().map(|fault| fault.path.to_string()));
    let expected = expected
        .iter()
        .map(|fault| map([("path", fault.path.as_str().into()), ("message", fault.message.as_str().into())]));
    different("faults", paths, Value::List(expected.collect()), faults_to_value(actual))
}

fn fields(what: &'static str, expected: Option<&Set>, actual: &Set) -> Option<Failure> {
    let expected = expected?;
    different(what, set_paths(expected, actual), expected.to_value(), actual.to_value())
}

fn set_paths(expected: &Set, actual: &Set) -> Vec<String> {
    let either = expected.difference(actual).union(&actual.difference(expected));
    either.paths().map(|path| path.to_string()).collect()
}

fn managed(expected: Option<&Owners>, actual: &Owners) -> Option<Failure> {
    let expected = expected?;
    let mut names: Vec<_> = expected.iter().chain(actual).map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    let mut paths = Vec::new();
    for name in names {
        let (expected, actual) = match (expected.get(name), actual.get(name)) {
            (Some(expected), Some(actual)) => (expected, actual),
            _ => {
                paths.push(name.to_string());
                continue;
            }
        };
        if expected.api_version() != actual.api_version() {
            paths.push(format!("{name}: apiVersion"));
        }
        if expected.is_applied() != actual.is_applied() {
            paths.push(format!("{name}: operation"));
        }
        let fields = set_paths(expected.set(), actual.set());
        paths.extend(fields.into_iter().map(|path| format!("{name}: {path}")));
    }
    different("managed", paths, owners_to_value(expected), owners_to_value(actual))
}

fn different(what: &'static str, paths: Vec<String>, expected: Value, actual: Value) -> Option<Failure> {
    (!paths.is_empty()).then(|| Failure::of_values(what, paths, expected, actual))
}
