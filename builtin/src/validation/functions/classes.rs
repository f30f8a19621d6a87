//! Disruption budgets, and classes of priorities and of runtimes.

use std::collections::BTreeSet;

use fieldmanager_structural::{FieldError, FieldErrorKind, FieldPath};
use fieldmanager_value::{Map, Value};

use super::field::Field;
use super::pods::{resources, scheduling};
use super::{selector, workloads};
use crate::place::{Errors, Place};
use crate::shown;
use crate::validation::operation::Operation;

/// The prefix of the names that belong to Kubernetes.
const SYSTEM: &str = "system-";
/// The priority classes of Kubernetes.
const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];
/// The largest number of queues of a priority level.
const MOST_QUEUES: i64 = 10_000_000;
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

/// Checks a priority level of requests. What the unions of its types require is checked last, as in kube-apiserver.
pub(super) fn priority_level(path: &FieldPath, level: &Value, _: Operation<'_>, errors: &mut Errors) {
    let level = Field::new(path, level);
    let spec = level.get("spec");
    let (ty, limited, exempt) = (spec.get("type"), spec.get("limited"), spec.get("exempt"));
    if (level.get("metadata").get("name").text() == "exempt") != (ty.text() == "Exempt") {
        errors.push(ty.invalid_text("must be 'Exempt' if and only if `name` is 'exempt'"));
    }
    let (response, queuing) = (limited.get("limitResponse"), limited.get("limitResponse").get("queuing"));
    match ty.text() {
        "Exempt" => concurrency(&exempt, errors),
        "Limited" if limited.is_set() => limits(&limited, errors),
        "Limited" | "" => {}
        _ => errors.extend(ty.one_of(&["Exempt", "Limited"])),
    }
    let mut require = |field: &Field<'_>, is_wanted: bool, may_be_absent: bool| match field.is_set() {
        true if !is_wanted => errors.push(field.forbidden("")),
        false if is_wanted && !may_be_absent => errors.push(field.required("")),
        _ => {}
    };
    require(&exempt, ty.text() == "Exempt", true);
    require(&limited, ty.text() == "Limited", false);
    require(&ty, true, false);
    if limited.is_set() {
        require(&queuing, response.get("type").text() == "Queue", false);
        require(&response.get("type"), true, false);
    }
}

/// Checks the conditions of a priority level, which have different types.
pub(super) fn priority_level_status(path: &FieldPath, level: &Value, _: Operation<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for condition in Field::new(path, level).get("status").get("conditions").items() {
        let ty = condition.get("type");
        if !seen.insert(ty.text()) {
            errors.push(FieldError::duplicate(ty.path.clone(), ty.text()));
        }
        if ty.is_empty() {
            errors.push(ty.required(""));
        }
    }
}

/// Checks the share of a priority level.
fn concurrency(level: &Field<'_>, errors: &mut Errors) {
    let shares = level.get("nominalConcurrencyShares");
    if shares.number() < 0 {
        errors.push(shares.invalid("must be a non-negative integer"));
    }
    let percent = level.get("lendablePercent");
    if !(0..=100).contains(&percent.number()) {
        errors.push(percent.invalid("must be between 0 and 100, inclusive"));
    }
}

/// Checks the limits of a priority level, and its queues.
fn limits(limited: &Field<'_>, errors: &mut Errors) {
    let shares = limited.get("nominalConcurrencyShares");
    if shares.number() < 0 {
        errors.push(shares.invalid("must be a non-negative integer"));
    }
    let response = limited.get("limitResponse");
    match response.get("type").text() {
        "Queue" if response.get("queuing").is_set() => queues(&response.get("queuing"), errors),
        "Queue" | "Reject" | "" => {}
        _ => errors.extend(response.get("type").one_of(&["Queue", "Reject"])),
    }
    let percent = limited.get("lendablePercent");
    if !(0..=100).contains(&percent.number()) {
        errors.push(percent.invalid("must be between 0 and 100, inclusive"));
    }
    let borrowing = limited.get("borrowingLimitPercent");
    if borrowing.number() < 0 {
        errors.push(borrowing.invalid("if specified, must be a non-negative integer"));
    }
}

/// Checks the numbers of queues.
fn queues(queuing: &Field<'_>, errors: &mut Errors) {
    let [length, queues, hand] = ["queueLengthLimit", "queues", "handSize"].map(|name| queuing.get(name));
    for (number, most) in [(&length, None), (&queues, Some(MOST_QUEUES)), (&hand, None)] {
        if number.number() <= 0 {
            errors.push(FieldError::invalid(number.path.clone(), number.number(), "must be positive"));
        } else if let Some(most) = most.filter(|most| number.number() > *most) {
            errors.push(number.invalid(format!("must not be greater than {most}")));
        }
    }
    if hand.number() > 0 && hand.number() > queues.number() {
        errors.push(hand.invalid(format!("should not be greater than queues ({})", queues.number())));
    }
}

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
