//! The parts of validation rules (`x-kubernetes-validations`) besides their expressions.

use fieldmanager_value::{Map, Value};

use super::keywords::{given, string};
use crate::field_path;
use crate::{FieldError, FieldPath};

const KEYWORD: &str = "x-kubernetes-validations";

/// The reasons that a rule may give, in the order of messages.
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// Adds the faults of the rules of one schema. Their field paths are followed if the schema can be read.
pub(super) fn check(
    schema: &Map,
    path: &FieldPath,
    is_readable: bool,
    errors: &mut Vec<FieldError>,
) {
    let rules = schema.get(KEYWORD).and_then(Value::as_list);
    for (at, rule) in rules.into_iter().flatten().enumerate() {
        if let Value::Map(rule) = rule {
            let path = path.child(KEYWORD).index(at);
            message(rule, &path, errors);
            if let Some(reason) = given(rule, "reason").and_then(Value::as_str)
                && !REASONS.contains(&reason)
            {
                errors.push(FieldError::not_supported(
                    path.child("reason"),
                    reason,
                    &REASONS,
                ));
            }
            field(rule, schema, &path.child("fieldPath"), is_readable, errors);
        }
    }
}

fn message(rule: &Map, path: &FieldPath, errors: &mut Vec<FieldError>) {
    // As in the API server, only the first fault of the rule and its message is reported.
    let (source, message) = (string(rule, "rule").trim(), string(rule, "message"));
    let here = || path.child("message");
    if source.is_empty() {
        errors.push(FieldError::required(
            path.child("rule"),
            "rule is not specified",
        ));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(FieldError::invalid(
            here(),
            message,
            "must be non-empty if specified",
        ));
    } else if has_line_break(message.trim()) {
        errors.push(FieldError::invalid(
            here(),
            message,
            "must not contain line breaks",
        ));
    } else if has_line_break(source) && message.trim().is_empty() {
        errors.push(FieldError::required(
            here(),
            "message must be specified if rule contains line breaks",
        ));
    }

    // An empty expression is like an absent one.
    let expression = string(rule, "messageExpression");
    if !expression.is_empty() && expression.trim().is_empty() {
        errors.push(FieldError::required(
            path.child("messageExpression"),
            "messageExpression must be non-empty if specified",
        ));
    }
}

fn field(
    rule: &Map,
    schema: &Map,
    path: &FieldPath,
    is_readable: bool,
    errors: &mut Vec<FieldError>,
) {
    let found = string(rule, "fieldPath");
    if found.is_empty() {
        return;
    }
    let mut invalid = |detail: &str| errors.push(FieldError::invalid(path.clone(), found, detail));
    if found.trim().is_empty() {
        invalid("must be non-empty if specified");
    }
    if has_line_break(found) {
        invalid("must not contain line breaks");
    }

    // A path can only be followed in a schema that can be read; its other faults are reported instead.
    if is_readable && field_path::resolve(found, schema, true).is_err() {
        invalid("must be a valid path");
    }
}

fn has_line_break(text: &str) -> bool {
    text.contains(['\n', '\r'])
}
