//! Checks the fields that the subresource `scale` reads.

use fieldmanager_structural::crd::ScalePaths;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Str, Value};

use crate::go_value::{accessor_error, nested};

/// The faults of the desired replicas.
pub(super) fn validate_spec(scale: &ScalePaths, object: &Value, errors: &mut Vec<FieldError>) {
    replicas(&scale.spec_replicas, object, errors);
}

/// The faults of the observed replicas and the label selector.
pub(super) fn validate_status(scale: &ScalePaths, object: &Value, errors: &mut Vec<FieldError>) {
    replicas(&scale.status_replicas, object, errors);
    let Some(path) = &scale.label_selector else {
        return;
    };
    let names = names(path);
    let fault = match nested(object, &names) {
        Ok(None | Some(Value::String(_))) => return,
        Ok(Some(other)) => accessor_error(&names, other, "string"),
        Err(fault) => fault,
    };
    errors.push(FieldError::invalid(
        FieldPath::root(path.clone()),
        "",
        fault,
    ));
}

fn replicas(path: &Str, object: &Value, errors: &mut Vec<FieldError>) {
    let names = names(path);
    let here = || FieldPath::root(path.clone());
    match nested(object, &names) {
        Ok(None) => {}
        Ok(Some(Value::Int(number))) => {
            let detail = match number {
                ..0 => "should be a non-negative integer".to_owned(),
                number if *number > i64::from(i32::MAX) => {
                    format!("should be less than or equal to {}", i32::MAX)
                }
                _ => return,
            };
            errors.push(FieldError::invalid(here(), *number, detail));
        }
        Ok(Some(other)) => {
            errors.push(FieldError::invalid(
                here(),
                0,
                accessor_error(&names, other, "int64"),
            ));
        }
        Err(fault) => errors.push(FieldError::invalid(here(), 0, fault)),
    }
}

fn names(path: &Str) -> Vec<&str> {
    path.strip_prefix('.').unwrap_or(path).split('.').collect()
}
