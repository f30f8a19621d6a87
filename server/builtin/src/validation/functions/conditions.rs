//! Conditions of a status.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldError;

use super::field::Field;
use crate::place::Errors;
use crate::validation::syntax;

const MOST_REASON_BYTES: usize = 1024;
const MOST_MESSAGE_BYTES: usize = 32 * 1024;

/// Checks the conditions, which have different types.
pub(super) fn check(conditions: &Field<'_>, errors: &mut Errors) {
    let mut types = BTreeSet::new();
    for condition in conditions.items() {
        let ty = condition.get("type");
        // The path is that of the condition.
        ty.moved(condition.path.clone()).unique(&mut types, errors);
        ty.require("is required", errors);
        if !ty.is_empty() {
            ty.qualified(errors);
        }
        condition
            .get("status")
            .require_one_of(&["False", "True", "Unknown"], errors);
        let generation = condition.get("observedGeneration");
        let detail = "must be greater than or equal to zero";
        generation.invalid_if(generation.number() < 0, detail, errors);

        condition.get("lastTransitionTime").require("", errors);
        let reason = condition.get("reason");
        reason.require("", errors);
        reason_syntax(&reason, errors);
        reason.at_most(MOST_REASON_BYTES, errors);
        condition.get("message").at_most(MOST_MESSAGE_BYTES, errors);
    }
}

/// Checks conditions of types of their own, which need a type alone.
pub(super) fn have_types(conditions: &Field<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for condition in conditions.items() {
        let ty = condition.get("type");
        ty.unique(&mut seen, errors);
        ty.require("", errors);
    }
}

/// Checks the syntax of the reasons of conditions that have one.
pub(super) fn have_reasons(conditions: &Field<'_>, errors: &mut Errors) {
    for condition in conditions.items() {
        reason_syntax(&condition.get("reason"), errors);
    }
}

fn reason_syntax(reason: &Field<'_>, errors: &mut Errors) {
    if !reason.is_empty() {
        reason.faults(syntax::condition_reason(reason.text()), errors);
    }
}

/// Whether the condition of a type is true.
pub(super) fn is_true(conditions: &Field<'_>, ty: &str) -> bool {
    let mut of_type = conditions
        .items()
        .filter(|condition| condition.get("type").text() == ty);
    of_type
        .next()
        .is_some_and(|condition| condition.get("status").text() == "True")
}

/// An error that shows the conditions.
pub(super) fn contradict(conditions: &Field<'_>, detail: &str, errors: &mut Errors) {
    // Go writes the fields in the order of the struct.
    const NAMES: [&str; 6] = [
        "type",
        "status",
        "observedGeneration",
        "lastTransitionTime",
        "reason",
        "message",
    ];
    let shown: Vec<String> = conditions
        .items()
        .map(|condition| {
            let fields = NAMES
                .iter()
                .filter_map(|name| Some((name, condition.get(name).value?)));
            let fields: Vec<String> = fields
                .map(|(name, value)| format!("\"{name}\":{}", value.to_json()))
                .collect();
            format!("{{{}}}", fields.join(","))
        })
        .collect();

    let shown = format!("[{}]", shown.join(","));
    errors.push(FieldError::invalid_shown(
        conditions.path.clone(),
        &shown,
        detail,
    ));
}
