//! Labels and their selectors.

use fieldmanager_structural::internal::{NameSyntax, label_value, qualified_name};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::field::Field;
use crate::place::Place;
use crate::validation::operation::Operation;

/// Checks the keys and values of labels.
pub(super) fn labels(labels: &Field<'_>, errors: &mut Vec<FieldError>) {
    for (key, value) in labels.entries() {
        let error = |shown: &str, fault: String| FieldError::invalid(labels.path.clone(), shown, fault);
        errors.extend(qualified_name(key).into_iter().map(|fault| error(key, fault)));
        errors.extend(label_value(value.text()).into_iter().map(|fault| error(value.text(), fault)));
    }
}

/// Checks a label selector, if there is one.
pub(super) fn selector(selector: &Field<'_>, errors: &mut Vec<FieldError>) {
    if let Some(value) = selector.value {
        super::selector::check(&Place::new(&selector.path, value), errors);
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
