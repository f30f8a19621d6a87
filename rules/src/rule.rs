//! One rule.

use fieldmanager_structural::internal::resolve_field;
use fieldmanager_structural::{FieldError, FieldPath, Structural};
use fieldmanager_value::Value;

use crate::expression::{Program, compile};

/// The reason of an error.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reason {
    Invalid,
    Forbidden,
    Required,
    Duplicate,
}

/// A compiled rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The expression, without white space around it.
    source: String,
    message: String,
    reason: Reason,
    /// The path of the field that an error names, relative to the value.
    pub(crate) field_path: String,
    /// Whether `oldSelf` is an optional value, so that the rule runs without an old value too.
    pub(crate) has_optional_old: bool,
    pub(crate) program: Program,
    /// The expression that makes the message, and its source.
    pub(crate) message_expression: Option<(Program, String)>,
}

/// Why a rule cannot be run.
pub(crate) struct Refusal {
    pub(crate) source: String,
    pub(crate) reason: String,
}

/// Compiles a rule; `None` if it is empty.
pub(crate) fn rule(declared: &Value, schema: &Structural) -> Option<Result<Rule, Refusal>> {
    let text = |name: &str| declared.get(name).and_then(Value::as_str).unwrap_or_default();
    let source = text("rule").trim();
    if source.is_empty() {
        return None;
    }
    let program = match compile(text("rule")) {
        Ok(program) => program,
        Err(fault) => return Some(Err(Refusal { source: source.to_owned(), reason: fault })),
    };
    let message_expression = match text("messageExpression") {
        "" => None,
        source => match compile(source) {
            Ok(program) => Some((program, source.to_owned())),
            Err(fault) => {
                return Some(Err(Refusal {
                    source: source.trim().to_owned(),
                    reason: format!("messageExpression: {fault}"),
                }));
            }
        },
    };
    Some(Ok(Rule {
        source: source.to_owned(),
        message: text("message").trim().to_owned(),
        reason: match text("reason") {
            "FieldValueForbidden" => Reason::Forbidden,
            "FieldValueRequired" => Reason::Required,
            "FieldValueDuplicate" => Reason::Duplicate,
            _ => Reason::Invalid,
        },
        field_path: resolve_field(text("fieldPath"), schema, true)
            .map(|found| found.path)
            .unwrap_or_default(),
        has_optional_old: declared.get("optionalOldSelf") == Some(&Value::Bool(true)),
        program,
        message_expression,
    }))
}

impl Rule {
    /// The rule in errors: its message or its source.
    pub(crate) fn name(&self) -> &str {
        if self.message.is_empty() { &self.source } else { &self.message }
    }

    /// The detail of an error.
    pub(crate) fn detail(&self) -> String {
        if self.message.is_empty() { format!("failed rule: {}", self.source) } else { self.message.clone() }
    }

    /// The error of a value that violates the rule. Lists and maps are not shown.
    pub(crate) fn error(&self, path: FieldPath, value: Option<&Value>, detail: String) -> FieldError {
        match self.reason {
            Reason::Forbidden => FieldError::forbidden(path, detail),
            Reason::Required => FieldError::required(path, detail),
            Reason::Duplicate => {
                let mut error = FieldError::duplicate(path, Value::Null);
                error.value = value.cloned();
                error
            }
            Reason::Invalid => {
                let mut error = FieldError::invalid(path, Value::Null, detail);
                error.value = value.cloned();
                error
            }
        }
    }
}
