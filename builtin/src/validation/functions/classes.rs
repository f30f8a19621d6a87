//! Disruption budgets, and classes of priorities and of runtimes.

use std::collections::BTreeSet;

use fieldmanager_structural::{FieldError, FieldErrorKind, FieldPath};
use fieldmanager_value::{Map, Value};

use super::pods::{resources, scheduling};
use super::{selector, workloads};
use crate::place::{Errors, Place};
use crate::shown;
use crate::validation::operation::Operation;

/// The greatest priority of a class that users define.
const MAX_PRIORITY: i64 = 1_000_000_000;

/// Checks the spec of a disruption budget.
pub(super) fn budget(path: &FieldPath, spec: &Value, _: Operation<'_>, errors: &mut Errors) {
    let spec = Place::new(path, spec);
    let numbers = ["minAvailable", "maxUnavailable"].map(|name| (name, spec.get(name).is_some()));
    if numbers.iter().all(|(_, is_set)| *is_set) {
        let shown = shown::json("PodDisruptionBudgetSpec", Some(spec.value));
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(shown::invalid(spec.path.clone(), &shown, detail));
    }
    for (name, _) in numbers.iter().filter(|(_, is_set)| *is_set) {
        workloads::number_or_percent(&spec, name, errors);
        workloads::at_most_all(&spec, name, errors);
    }
    if let Some(selected) = spec.child("selector") {
        selector::check(&selected, errors);
    }
}

/// Checks the value of a new class of priorities.
pub(super) fn priority(path: &FieldPath, value: &Value, _: Operation<'_>, errors: &mut Errors) {
    if value.as_i64().is_some_and(|value| value > MAX_PRIORITY) {
        let detail = format!("maximum allowed value of a user defined priority is {MAX_PRIORITY}");
        errors.push(FieldError::forbidden(path.clone(), detail));
    }
}

/// Checks the overhead of a class of runtimes, whose amounts have the path of limits.
pub(super) fn overhead(path: &FieldPath, overhead: &Value, _: Operation<'_>, errors: &mut Errors) {
    let amounts = overhead.get("podFixed").cloned().unwrap_or_default();
    let limits = Value::Map(Map::single("limits", amounts));
    resources::of_container(&Place::new(path, &limits), &BTreeSet::new(), errors);
}

/// Checks the tolerations of a class of runtimes.
pub(super) fn tolerations(path: &FieldPath, value: &Value, _: Operation<'_>, errors: &mut Errors) {
    let scheduling = Place::new(path, value);
    scheduling::tolerations(&scheduling, errors);
    let mut found = BTreeSet::new();
    for toleration in scheduling.items("tolerations") {
        let key = ["key", "operator", "value", "effect"].map(|name| toleration.text(name));
        if !found.insert(key) {
            let detail = shown::json("Toleration", Some(toleration.value));
            let kind = FieldErrorKind::Duplicate;
            errors.push(FieldError { path: toleration.path, kind, value: None, detail });
        }
    }
}
