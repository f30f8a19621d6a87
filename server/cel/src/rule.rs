//! One rule.

use fieldmanager_structural::internal::resolve_field;
use fieldmanager_structural::{FieldError, FieldPath, Structural};
use fieldmanager_value::Value;

use crate::check::RuleOptions;
use crate::expression::Program;
use crate::resolve::compile;

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
    /// The expression, or why it cannot be run.
    pub(crate) program: Result<Program, String>,
    /// The expression that makes the message, and its source.
    pub(crate) message_expression: Option<(Program, String)>,
}

/// Compiles a rule of a schema, with the schema by which values are read; `None` if it is empty.
pub(crate) fn rule(declared: &Value, schema: &Structural, values: &Structural) -> Option<Rule> {
    let text = |name: &str| {
        declared
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let source = text("rule").trim();
    if source.is_empty() {
        return None;
    }

    let options = RuleOptions {
        has_optional_old: declared.get("optionalOldSelf") == Some(&Value::Bool(true)),
        is_stored: true,
        ..RuleOptions::default()
    };
    let message = text("messageExpression");
    // As in an API server, an expression that cannot be run makes no message.
    let message_program = (!message.is_empty())
        .then(|| compile(message, values, options).ok())
        .flatten();
    Some(Rule {
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
        has_optional_old: options.has_optional_old,
        program: compile(text("rule"), values, options),
        message_expression: message_program.map(|program| (program, message.to_owned())),
    })
}

impl Rule {
    /// Whether it refers to `oldSelf`.
    pub(crate) fn uses_old_self(&self) -> bool {
        self.program
            .as_ref()
            .is_ok_and(|program| program.uses_old_self)
    }

    /// The rule in errors: its message or its source.
    pub(crate) fn name(&self) -> &str {
        if self.message.is_empty() {
            &self.source
        } else {
            &self.message
        }
    }

    /// The detail of an error.
    pub(crate) fn detail(&self) -> String {
        if self.message.is_empty() {
            format!("failed rule: {}", self.source)
        } else {
            self.message.clone()
        }
    }

    /// The error of a value that violates the rule. Lists and maps are not shown.
    pub(crate) fn error(
        &self,
        path: FieldPath,
        value: Option<&Value>,
        detail: String,
    ) -> FieldError {
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
