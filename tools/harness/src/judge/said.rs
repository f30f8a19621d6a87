//! What a server says beside an object: a `Status`, headers and warnings.

use fieldmanager_value::{Str, Value};

use super::differences::{different, different_text, texts, unpaired};
use crate::report::Failure;
use crate::server::{Answer, ExpectedCause, ExpectedStatus};

/// The parts of an answer that only a server has.
#[derive(Clone, Debug)]
pub struct ObservedAnswer<'o> {
    /// The code.
    pub code: u16,
    /// The headers, by their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The texts of warnings.
    pub warnings: Vec<String>,
    /// The body.
    pub body: &'o Value,
    /// The object as it was in the answer before.
    pub before: Option<&'o Value>,
}

/// Compares a `Status`.
pub(super) fn status(expected: &ExpectedStatus, status: &Value) -> Vec<Failure> {
    let mut out = Vec::new();
    let text = |name: &str| status.get(name).and_then(Value::as_str).unwrap_or_default();
    if let Some(reason) = &expected.reason
        && reason != text("reason")
    {
        out.push(different_text("status.reason", reason, text("reason")));
    }

    if let Some(message) = &expected.message
        && !text("message").contains(message.as_str())
    {
        out.push(different_text("status.message", message, text("message")));
    }

    // Causes are compared one to one, in any order.
    if let Some(causes) = &expected.causes {
        let found = status
            .get("details")
            .and_then(|details| details.get("causes"))
            .and_then(Value::as_list);
        let found: Vec<Value> = found.into_iter().flatten().cloned().collect();
        let (missing, surplus) = unpaired(causes, &found, is_cause);
        let is_equal = missing.is_empty() && surplus.is_empty();
        let paths = (!is_equal).then(|| ".details.causes".to_owned());
        let expected = causes.iter().map(cause_value).collect();
        out.extend(different(
            "status.causes",
            paths.into_iter().collect(),
            Value::List(expected),
            Value::from(found),
        ));
    }

    out
}

fn is_cause(expected: &ExpectedCause, found: &Value) -> bool {
    let text = |name: &str| found.get(name).and_then(Value::as_str).unwrap_or_default();
    let is =
        |expected: &Option<Str>, fits: &dyn Fn(&Str) -> bool| expected.as_ref().is_none_or(fits);
    is(&expected.reason, &|reason| reason == text("reason"))
        && is(&expected.field, &|field| field == text("field"))
        && is(&expected.message, &|part| {
            text("message").contains(part.as_str())
        })
}

fn cause_value(cause: &ExpectedCause) -> Value {
    let fields = [
        ("reason", &cause.reason),
        ("message", &cause.message),
        ("field", &cause.field),
    ];
    let given = fields
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.as_ref()?.as_str())));
    Value::Map(given.collect())
}

/// Compares headers and warnings.
pub(super) fn headers(expected: &Answer, answer: &ObservedAnswer<'_>) -> Vec<Failure> {
    let mut out = Vec::new();
    for (name, expected) in &expected.headers {
        // Names of headers are case-insensitive, and those of the answer are in lower case.
        let wanted_name = name.to_ascii_lowercase();
        let found = answer.headers.iter().find(|(name, _)| *name == wanted_name);
        let found = found.map(|(_, value)| value.as_str());
        let fits = match (expected, found) {
            (None, found) => found.is_none(),
            (Some(part), found) => found.is_some_and(|found| found.contains(part.as_str())),
        };

        // An expected null stands for an absent header.
        if !fits {
            let expected = expected.as_deref().unwrap_or("no such header");
            let expected = format!("{name}: {expected}");
            out.push(different_text(
                "headers",
                &expected,
                found.unwrap_or("none"),
            ));
        }
    }

    // Warnings are compared one to one, so an additional warning is a failure too.
    if let Some(expected) = &expected.warnings {
        let (missing, surplus) = unpaired(expected, &answer.warnings, |part, warning| {
            warning.contains(part.as_str())
        });
        if !(missing.is_empty() && surplus.is_empty()) {
            out.push(Failure::of_values(
                "warnings",
                vec!["Warning".into()],
                texts(expected.iter().map(Str::as_str)),
                texts(answer.warnings.iter().map(String::as_str)),
            ));
        }
    }

    out
}
