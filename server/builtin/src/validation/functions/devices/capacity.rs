//! Which parts of a capacity of a device may be requested.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldError;

use crate::amount::Amount;
use crate::place::{Errors, NOT_NEGATIVE};
use crate::validation::functions::field::Field;

const MOST_VALUES: usize = 10;

/// Checks a policy about requests of a capacity: a list of values or a range, with a default.
pub(super) fn policy(capacity: &Field<'_>, policy: &Field<'_>, errors: &mut Errors) {
    let [values, range, default] =
        ["validValues", "validRange", "default"].map(|name| policy.get(name));
    let kind = match (values.is_empty(), range.is_set()) {
        (false, true) => {
            let detail = "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the \
                          same time";
            return policy.forbid(detail, errors);
        }
        (true, false) => return,
        (false, false) => "validValues",
        (true, true) => "validRange",
    };

    if !default.is_set() {
        default.missing(&format!("required when {kind} is defined"), errors);
    } else if range.is_set() {
        check_range(capacity, &default, &range, errors);
    } else {
        check_values(capacity, &default, &values, errors);
    }
}

/// A quantity as Kubernetes writes it, which is zero if there is none.
fn written(quantity: &Field<'_>) -> String {
    match quantity.text() {
        "" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// An error that shows a quantity.
fn fault(at: &Field<'_>, quantity: &Field<'_>, detail: impl Into<String>) -> FieldError {
    FieldError::invalid(at.path.clone(), written(quantity), detail)
}

fn check_values(
    capacity: &Field<'_>,
    default: &Field<'_>,
    values: &Field<'_>,
    errors: &mut Errors,
) {
    let mut before: Option<Amount> = None;
    for value in values.items() {
        if before.is_some_and(|before| before > value.amount()) {
            let detail = "values must be sorted in ascending order";
            errors.push(fault(&value, &value, detail));
        }
        before = Some(value.amount());
    }

    let mut has_default = false;
    if values.at_most_items(MOST_VALUES, errors) {
        for value in values.items() {
            if value.amount() > capacity.amount() {
                let most = written(capacity);
                let detail = format!("option is larger than capacity value: {most}");
                errors.push(fault(&value, &value, detail));
            }
            has_default |= value.amount() == default.amount();
        }
        let mut seen = BTreeSet::new();
        for value in values.items() {
            // Values are the same if they are rounded to the same whole number.
            let number = value.amount().whole();
            if !seen.insert(number) {
                errors.push(FieldError::duplicate(value.path, number.to_string()));
            }
        }
    }
    if !has_default {
        let detail = "default value is not valid according to the requestPolicy";
        errors.push(fault(values, default, detail));
    }
}

fn check_range(capacity: &Field<'_>, default: &Field<'_>, range: &Field<'_>, errors: &mut Errors) {
    let [min, max, step] = ["min", "max", "step"].map(|name| range.get(name));
    // The path of the default is one of the range, as in Kubernetes.
    let default = default.moved(range.get("default").path);
    if !min.is_set() {
        min.missing("required when validRange is defined", errors);
        return;
    }
    let most = written(capacity);
    let mut check = |is_fault: bool, at: &Field<'_>, shown: &Field<'_>, detail: String| {
        if is_fault {
            errors.push(fault(at, shown, detail));
        }
    };
    let is_more = |one: &Field<'_>, other: &Field<'_>| one.amount() > other.amount();

    let detail = format!("min is larger than capacity value: {most}");
    check(is_more(&min, capacity), &min, &min, detail);
    let detail = format!("default is less than min: {}", written(&min));
    check(is_more(&min, &default), &default, &default, detail);
    if max.is_set() {
        let detail = format!("min is larger than max: {}", written(&max));
        check(is_more(&min, &max), &max, &min, detail);
        let detail = format!("max is larger than capacity value: {most}");
        check(is_more(&max, capacity), &max, &max, detail);
        let detail = format!("default is more than max: {}", written(&max));
        check(is_more(&default, &max), &default, &default, detail);
    }
    check_step(capacity, [&default, &min, &max, &step], errors);
}

/// Checks the step of a range, by which the default and the largest value are reached from the smallest one.
fn check_step(capacity: &Field<'_>, range: [&Field<'_>; 4], errors: &mut Errors) {
    let [default, min, max, step] = range;
    if !step.is_set() {
        return;
    }
    if step.amount() <= Amount::default() {
        errors.push(fault(step, step, "must be greater than zero"));
        return;
    }

    let end = min.amount().plus(step.amount());
    if end > capacity.amount() {
        let model = if min.amount().is_zero() { step } else { min };
        let end = end.write_like(model.text());
        let most = written(capacity);
        let detail = format!("one step {end} is larger than capacity value: {most}");
        errors.push(fault(step, step, detail));
    }
    if !in_bounds(range, errors) {
        return;
    }
    let whole = |part: &Field<'_>| part.amount().whole();
    for value in [default, max].into_iter().filter(|value| value.is_set()) {
        let way = whole(value).checked_sub(whole(min));
        if way.and_then(|way| way.checked_rem(whole(step))) != Some(0) {
            let (step_text, min_text) = (written(step), written(min));
            let detail =
                format!("value is not a multiple of a given step ({step_text}) from ({min_text})");
            errors.push(fault(step, value, detail));
        }
    }
}

/// Requires whole numbers with which Kubernetes can compute.
fn in_bounds(range: [&Field<'_>; 4], errors: &mut Errors) -> bool {
    let before = errors.len();
    for part in range.iter().filter(|part| part.is_set()) {
        if part.amount() < Amount::default() {
            errors.push(fault(part, part, NOT_NEGATIVE));
        } else if part.amount() > Amount::of_whole(i64::MAX) {
            let detail = "must not be larger than 9223372036854775807";
            errors.push(fault(part, part, detail));
        }
    }
    errors.len() == before
}
