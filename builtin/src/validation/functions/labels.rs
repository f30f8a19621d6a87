//! Labels and their selectors.

use fieldmanager_structural::internal::{NameSyntax, label_value, qualified_name};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::field::Field;
use crate::validation::operation::Operation;

/// Checks the keys and values of labels.
pub(super) fn labels(labels: &Field<'_>, errors: &mut Vec<FieldError>) {
    for (key, value) in labels.entries() {
        let error = |shown: &str, fault: String| FieldError::invalid(labels.path.clone(), shown, fault);
        errors.extend(qualified_name(key).into_iter().map(|fault| error(key, fault)));
        errors.extend(label_value(value.text()).into_iter().map(|fault| error(value.text(), fault)));
    }
}

/// Checks a label selector.
pub(super) fn selector(selector: &Field<'_>, errors: &mut Vec<FieldError>) {
    labels(&selector.get("matchLabels"), errors);
    for requirement in selector.get("matchExpressions").items() {
        let (operator, values) = (requirement.get("operator"), requirement.get("values"));
        match operator.text() {
            "In" | "NotIn" => {
                if values.is_empty() {
                    errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
                }
            }
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                    errors.push(values.forbidden(detail));
                }
            }
            _ => errors.push(operator.invalid_text("not a valid selector operator")),
        }
        let key = requirement.get("key");
        errors.extend(key.faults(qualified_name(key.text())));
        for value in values.items() {
            errors.extend(value.faults(label_value(value.text())));
        }
    }
}

pub(super) fn label_selector(
    path: &FieldPath,
    value: &Value,
    _: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    selector(&Field::new(path, value), errors);
}

pub(super) fn label_map(path: &FieldPath, value: &Value, _: Operation<'_>, errors: &mut Vec<FieldError>) {
    labels(&Field::new(path, value), errors);
}

/// Requires a label of RFC 1123, if there is a string.
pub(super) fn short_name(path: &FieldPath, value: &Value, _: Operation<'_>, errors: &mut Vec<FieldError>) {
    let field = Field::new(path, value);
    if !field.is_empty() {
        errors.extend(field.faults(NameSyntax::Label.faults(field.text(), false)));
    }
}

/// Requires a qualified name in lower case, if there is a string. Messages show it in lower case.
pub(super) fn qualified(path: &FieldPath, value: &Value, _: Operation<'_>, errors: &mut Vec<FieldError>) {
    let name = Field::new(path, value).text().to_lowercase();
    if !name.is_empty() {
        let faults = qualified_name(&name).into_iter();
        errors.extend(faults.map(|fault| FieldError::invalid(path.clone(), name.as_str(), fault)));
    }
}
