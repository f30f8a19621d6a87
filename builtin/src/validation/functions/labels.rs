//! Labels and their selectors.

use fieldmanager_structural::internal::{NameSyntax, qualified_name};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::field::Field;
use crate::place::{self, Place};
use crate::validation::operation::Operation;

/// Checks the keys and values of labels.
pub(super) fn labels(labels: &Field<'_>, errors: &mut Vec<FieldError>) {
    place::labels(&labels.path, labels.value, errors);
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
