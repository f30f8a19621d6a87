//! Classes of priorities and of runtimes.

use std::collections::BTreeSet;

use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::field::{Field, duplicate_struct};
use super::pods;
use crate::place::Place;
use crate::shown;
use crate::validation::operation::Operation;

/// The prefix of the names that belong to Kubernetes.
const SYSTEM: &str = "system-";
/// The priority classes of Kubernetes.
const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];
/// The highest priority of other classes.
const HIGHEST: i64 = 1_000_000_000;

/// Checks a new priority class.
pub(super) fn priority_class(
    path: &FieldPath,
    class: &Value,
    _: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    let class = Field::new(path, class);
    let (name, value) = (class.get("metadata").get("name"), class.get("value"));
    if name.text().starts_with(SYSTEM) {
        errors.extend(system_fault(&class, name.text()).map(|fault| {
            name.forbidden(&format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {fault}"
            ))
        }));
    } else if value.number() > HIGHEST {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        errors.push(value.forbidden(&detail));
    }
    let policy = class.get("preemptionPolicy");
    match policy.is_set() && policy.is_empty() {
        true => errors.push(policy.required("")),
        false if policy.is_set() => errors.extend(policy.one_of(&["PreemptLowerPriority", "Never"])),
        false => {}
    }
}

/// The fault of a class whose name belongs to Kubernetes.
fn system_fault(class: &Field<'_>, name: &str) -> Option<String> {
    let Some((_, value)) = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    let is_default = class.get("globalDefault").value == Some(&Value::Bool(true));
    match class.get("value").number() == *value {
        false => Some(format!("value of {name} PriorityClass must be {value}")),
        true => is_default.then(|| format!("globalDefault of {name} PriorityClass must be false")),
    }
}

/// Checks the tolerations of a runtime class, which must differ in more than their seconds.
pub(super) fn unique_tolerations(
    path: &FieldPath,
    scheduling: &Value,
    _: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    pods::tolerations(&Place::new(path, scheduling), errors);
    let mut seen = BTreeSet::new();
    for toleration in Field::new(path, scheduling).get("tolerations").items() {
        let key = ["key", "operator", "value", "effect"].map(|name| toleration.get(name).text());
        if !seen.insert(key) {
            errors.push(duplicate_struct(&toleration, &shown::json("Toleration", toleration.value)));
        }
    }
}
