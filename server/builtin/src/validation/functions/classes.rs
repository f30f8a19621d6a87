//! Disruption budgets, and classes of priorities and of runtimes.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_structural::{FieldError, FieldErrorKind};
use fieldmanager_value::Value;

use super::field::Field;
use super::pods::{resources, scheduling};
use super::{conditions, mandatory, workloads};
use crate::place::{Errors, Place};
use crate::shown;

/// The prefix of the names that belong to Kubernetes.
const SYSTEM: &str = "system-";
/// The priority classes of Kubernetes.
const SYSTEM_CLASSES: [(&str, i64); 2] = [
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];
/// The largest number of queues of a priority level.
const MOST_QUEUES: i64 = 10_000_000;
/// The number of bits of a hash that choose the queues of a flow.
const MOST_BITS: u8 = 60;
/// An annotation of an earlier version of the API.
const KEEPS_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
/// The highest priority of other classes.
const HIGHEST: i64 = 1_000_000_000;

pub(crate) fn priority_class(class: &Field<'_>, errors: &mut Errors) {
    if class.is_update() {
        let value = class.get("value");
        value.forbid_if(
            value.is_changed(),
            "may not be changed in an update.",
            errors,
        );
        class.get("preemptionPolicy").immutable(errors);
    } else {
        new_priority_class(class, errors);
    }
}

fn new_priority_class(class: &Field<'_>, errors: &mut Errors) {
    let (name, value) = (class.get("metadata").get("name"), class.get("value"));
    // Names with this prefix are for the classes of Kubernetes, which have fixed values.
    if name.text().starts_with(SYSTEM) {
        if let Some(fault) = system_fault(class, name.text()) {
            let words = "priority class names with 'system-' prefix are reserved for system use only. error:";
            name.forbid(&format!("{words} {fault}"), errors);
        }
    } else if value.number() > HIGHEST {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        value.forbid(&detail, errors);
    }

    let policy = class.get("preemptionPolicy");
    if policy.is_set() {
        policy.require_one_of(&["PreemptLowerPriority", "Never"], errors);
    }
}

/// The fault of a class whose name belongs to Kubernetes.
fn system_fault(class: &Field<'_>, name: &str) -> Option<String> {
    let Some((_, value)) = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    let is_default = class.get("globalDefault").value == Some(&Value::Bool(true));
    if class.get("value").number() == *value {
        is_default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
    } else {
        Some(format!("value of {name} PriorityClass must be {value}"))
    }
}

/// Checks a priority level of requests. What the unions of its types require is checked last, as in kube-apiserver.
pub(crate) fn priority_level(level: &Field<'_>, errors: &mut Errors) {
    let spec = level.get("spec");
    let (ty, limited, exempt) = (spec.get("type"), spec.get("limited"), spec.get("exempt"));
    let annotations = level.get("metadata").get("annotations");
    let detail = format!("annotation '{KEEPS_ZERO}' is forbidden");
    annotations.forbid_if(annotations.get(KEEPS_ZERO).is_set(), &detail, errors);
    // There is one exempt level, which Kubernetes creates under this name.
    if (level.get("metadata").get("name").text() == "exempt") != (ty.text() == "Exempt") {
        ty.invalid_text("must be 'Exempt' if and only if `name` is 'exempt'", errors);
    }
    let (response, queuing) = (
        limited.get("limitResponse"),
        limited.get("limitResponse").get("queuing"),
    );

    // An absent type is reported below, with the unions.
    match ty.text() {
        "Exempt" => concurrency(&exempt, errors),
        "Limited" if limited.is_set() => limits(&limited, errors),
        "Limited" | "" => {}
        _ => ty.one_of(&["Exempt", "Limited"], errors),
    }

    mandatory::priority_level(level, errors);

    // An exempt level may leave out its member; a limited one may not.
    require_member(&exempt, ty.text() == "Exempt", true, errors);
    require_member(&limited, ty.text() == "Limited", false, errors);
    ty.require("", errors);

    if limited.is_set() {
        let response = response.get("type");
        require_member(&queuing, response.text() == "Queue", false, errors);
        response.require("", errors);
    }
}

/// Checks that a member of a union is there if, and only if, the discriminator wants it.
fn require_member(member: &Field<'_>, is_wanted: bool, may_be_absent: bool, errors: &mut Errors) {
    match member.is_set() {
        true if !is_wanted => member.forbid("", errors),
        false if is_wanted && !may_be_absent => member.missing("", errors),
        _ => {}
    }
}

/// Checks the conditions of a priority level, which have different types.
pub(crate) fn priority_level_status(level: &Field<'_>, errors: &mut Errors) {
    conditions::have_types(&level.get("status").get("conditions"), errors);
}

/// Checks the share of a priority level.
fn concurrency(level: &Field<'_>, errors: &mut Errors) {
    let shares = level.get("nominalConcurrencyShares");
    shares.invalid_if(
        shares.number() < 0,
        "must be a non-negative integer",
        errors,
    );
    lendable(level, errors);
}

fn lendable(level: &Field<'_>, errors: &mut Errors) {
    let percent = level.get("lendablePercent");
    let is_percent = (0..=100).contains(&percent.number());
    percent.invalid_if(!is_percent, "must be between 0 and 100, inclusive", errors);
}

/// Checks the limits of a priority level, and its queues.
fn limits(limited: &Field<'_>, errors: &mut Errors) {
    let shares = limited.get("nominalConcurrencyShares");
    shares.invalid_if(
        shares.number() < 0,
        "must be a non-negative integer",
        errors,
    );
    let response = limited.get("limitResponse");

    match response.get("type").text() {
        "Queue" if response.get("queuing").is_set() => queues(&response.get("queuing"), errors),
        "Queue" | "Reject" | "" => {}
        _ => response.get("type").one_of(&["Queue", "Reject"], errors),
    }

    lendable(limited, errors);
    let borrowing = limited.get("borrowingLimitPercent");
    borrowing.invalid_if(
        borrowing.number() < 0,
        "if specified, must be a non-negative integer",
        errors,
    );
}

/// Checks the numbers of queues.
fn queues(queuing: &Field<'_>, errors: &mut Errors) {
    let [length, queues, hand] =
        ["queueLengthLimit", "queues", "handSize"].map(|name| queuing.get(name));
    for (number, most) in [(&length, None), (&queues, Some(MOST_QUEUES)), (&hand, None)] {
        if number.number() <= 0 {
            errors.push(FieldError::invalid(
                number.path.clone(),
                number.number(),
                "must be positive",
            ));
        } else if let Some(most) = most.filter(|most| number.number() > *most) {
            number.invalid(format!("must not be greater than {most}"), errors);
        }
    }

    // Each flow is dealt a hand of queues, so there have to be as many.
    if hand.number() > 0 && hand.number() > queues.number() {
        hand.invalid(
            format!("should not be greater than queues ({})", queues.number()),
            errors,
        );
    } else if hand.number() > 0 {
        // A hand is chosen by the bits of one hash.
        let (cards, size) = (queues.number(), hand.number());
        let bits = (cards as f64).log2() * size as f64;
        let detail = format!(
            "required entropy bits of deckSize {cards} and handSize {size} should not be greater than {MOST_BITS}"
        );
        hand.invalid_if(bits.ceil() > f64::from(MOST_BITS), &detail, errors);
    }
}

/// Checks a disruption budget.
pub(crate) fn budget(budget: &Field<'_>, errors: &mut Errors) {
    let Some(spec) = budget.get("spec").place() else {
        return;
    };
    let numbers = ["minAvailable", "maxUnavailable"].map(|name| (name, spec.get(name).is_some()));
    // Each number implies the other for a given number of pods, so only one may be set.
    if numbers.iter().all(|(_, is_set)| *is_set) {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        budget
            .get("spec")
            .invalid_as("PodDisruptionBudgetSpec", detail, errors);
    }

    for (name, _) in numbers.iter().filter(|(_, is_set)| *is_set) {
        workloads::number_or_percent(&spec, name, errors);
        workloads::at_most_all(&spec, name, errors);
    }
    budget.get("spec").get("selector").selector(errors);
    spec.one_of(
        "unhealthyPodEvictionPolicy",
        &["AlwaysAllow", "IfHealthyBudget"],
        errors,
    );
}

pub(crate) fn budget_status(budget: &Field<'_>, errors: &mut Errors) {
    let status = budget.get("status");
    conditions::check(&status.get("conditions"), errors);
    for name in [
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
    ] {
        status.get(name).non_negative(errors);
    }
}

pub(crate) fn runtime_class(class: &Field<'_>, errors: &mut Errors) {
    let (overhead, handler) = (class.get("overhead"), class.get("handler"));
    if overhead.is_set() {
        resources::overhead(&overhead.path, overhead.get("podFixed").shown(), errors);
    }

    class.get("scheduling").get("nodeSelector").labels(errors);
    if let Some(scheduling) = class.get("scheduling").place() {
        tolerations(&scheduling, errors);
    }
    handler.immutable_hidden(errors);
    handler.require_name(NameSyntax::Label, "", errors);
}

fn tolerations(scheduling: &Place<'_>, errors: &mut Errors) {
    scheduling::tolerations(scheduling, errors);
    let mut found = BTreeSet::new();
    for toleration in scheduling.items("tolerations") {
        let key = ["key", "operator", "value", "effect"].map(|name| toleration.text(name));
        // The seconds do not distinguish tolerations of the same taint.
        if !found.insert(key) {
            let detail = shown::json("Toleration", Some(toleration.value));
            let kind = FieldErrorKind::Duplicate;
            errors.push(FieldError {
                path: toleration.path,
                kind,
                value: None,
                detail,
            });
        }
    }
}
