//! Label selectors.

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::{label_value, qualified_name};
use fieldmanager_value::Value;

use crate::place::{Errors, Place, faults};

pub(super) const NO_OPERATOR: &str = "not a valid selector operator";
const NEEDS_VALUES: &str = "must be specified when `operator` is 'In' or 'NotIn'";
const NEEDS_VALUE: &str = "must be specified single value when `operator` is 'Lt' or 'Gt'";
const NO_VALUES: &str = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";

/// Checks a label selector.
pub(super) fn check(selector: &Place<'_>, errors: &mut Errors) {
    selector.labels("matchLabels", errors);
    for expression in selector.items("matchExpressions") {
        operator(&expression, false, errors);
        key_and_values(&expression, errors);
    }
}

/// Checks the operator of an expression and the number of its values. Some expressions may compare numbers.
pub(super) fn operator(expression: &Place<'_>, has_order: bool, errors: &mut Errors) {
    let count = expression.len("values");
    match expression.text("operator") {
        "In" | "NotIn" if count == 0 => expression.missing("values", NEEDS_VALUES, errors),
        "Gt" | "Lt" if has_order && count != 1 => expression.missing("values", NEEDS_VALUE, errors),
        "Exists" | "DoesNotExist" if count > 0 => expression.forbid("values", NO_VALUES, errors),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        "Gt" | "Lt" if has_order => {}
        other => errors.push(FieldError::invalid(
            expression.at("operator"),
            other,
            NO_OPERATOR,
        )),
    }
}

/// Checks the key and the values of an expression.
pub(super) fn key_and_values(expression: &Place<'_>, errors: &mut Errors) {
    expression.faults("key", qualified_name, errors);
    for value in expression.items("values") {
        let text = value.value.as_str().unwrap_or_default();
        faults(&value.path, text, label_value(text), errors);
    }
}

/// Whether a selector has no terms.
pub(super) fn is_empty(selector: &Place<'_>) -> bool {
    selector
        .map("matchLabels")
        .is_none_or(|labels| labels.is_empty())
        && selector.len("matchExpressions") == 0
}

/// Whether a selector, which is absent if it is `None`, selects labels; an error if it is not valid.
pub(super) fn selects(selector: Option<&Place<'_>>, labels: Option<&Value>) -> Result<bool, ()> {
    // An absent selector selects nothing, an empty one everything.
    let Some(selector) = selector else {
        return Ok(false);
    };
    let mut found = Vec::new();
    check(selector, &mut found);
    if !found.is_empty() {
        return Err(());
    }

    let label = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .and_then(Value::as_str)
    };
    let equal = selector
        .map("matchLabels")
        .into_iter()
        .flatten()
        .all(|(key, value)| label(key) == value.as_str());
    let expressions = selector.items("matchExpressions").all(|expression| {
        let found = label(expression.text("key"));
        let is_listed = || {
            expression
                .values("values")
                .any(|value| value.as_str() == found)
        };

        // A label that is absent satisfies the negative operators.
        match expression.text("operator") {
            "In" => found.is_some() && is_listed(),
            "NotIn" => found.is_none() || !is_listed(),
            "Exists" => found.is_some(),
            _ => found.is_none(),
        }
    });

    Ok(equal && expressions)
}
