//! Runs cases on both sides and compares the answers.

use fieldmanager_builtin::{
    Kind, defaulted, prepare_create, prepare_update, validate_create, validate_update,
};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::internal::cause_reason;
use fieldmanager_value::Value as Own;
use serde_json::{Value, json};

use super::{BuiltInSuite, generate};
use crate::json::{back, member, own, same_value, text};
use crate::suite::caught;
use crate::{Difference, Error, Verdict};

/// The suite.
pub struct Defaults;

impl BuiltInSuite for Defaults {
    const NAME: &'static str = "defaults";
    const ORACLE: &'static str = "server/cmd/defaults";

    fn generate(seed: u64) -> Value {
        generate::defaults(seed)
    }

    fn judge(case: &Value, reference: &Value) -> Result<Verdict, Error> {
        Ok(judge(case, reference))
    }

    fn documents() -> Vec<(String, Value)> {
        let lines = include_str!("faults.jsonl").lines().enumerate();
        let case = |(at, line)| {
            Some((
                format!("faults {}", at + 1),
                serde_json::from_str(line).ok()?,
            ))
        };
        lines.filter_map(case).collect()
    }

    fn is_sound(case: &Value) -> bool {
        ["object", "old"].iter().all(|side| {
            let object = member(case, side);
            let metadata = member(object, "metadata");
            let kind = format!("{}/{}", text(object, "apiVersion"), text(object, "kind"));
            let is_named = ["name", "namespace"]
                .iter()
                .all(|name| !text(metadata, name).is_empty());
            object.is_null() || (is_named && kind == text(case, "kind"))
        })
    }
}

/// Compares the answer of Go to a case with that of the library.
fn judge(case: &Value, reference: &Value) -> Verdict {
    let mut out = Verdict::default();
    out.tally.count("kinds", text(case, "kind").to_owned());
    let operation = match case.get("old") {
        None => "create".to_owned(),
        Some(_) => format!("update {}", text(case, "subresource"))
            .trim()
            .to_owned(),
    };

    // There is nothing to compare without an answer of Go; the reasons are counted, so that such cases stay rare.
    if let Some(failure) = reference.get("failure").and_then(Value::as_str) {
        let words: String = failure
            .chars()
            .take_while(|letter| *letter != ':')
            .collect();
        out.tally.count("failures", words);
        out.tally
            .count("operations", format!("{operation}: no answer"));
        return out;
    }

    out.tally.count("operations", operation);
    let candidate = caught(|| answer(case));
    // Each part is computed from the one before it, so only the first difference counts.
    for part in ["panic", "defaulted", "prepared"] {
        let reference = without_clock(case, member(reference, part));
        let candidate = if is_stamped(case) {
            without_clock(case, member(&candidate, part))
        } else {
            member(&candidate, part).clone()
        };
        if !same_value(&reference, &candidate) {
            out.difference = Some(Difference::of(part, &reference, &candidate));
            break;
        }
    }

    // Errors about different objects cannot be compared.
    if out.difference.is_none() {
        compare_errors(
            text(case, "kind"),
            member(reference, "errors"),
            member(&candidate, "errors"),
            &mut out,
        );
    }

    out
}

/// The rule for what Go's validation functions check and the library does not.
const FEWER_ERRORS: &str = "validation-of-built-in-kinds";

/// The errors of the library are those of Go, or some of them in the same order.
fn compare_errors(kind: &str, reference: &Value, candidate: &Value, out: &mut Verdict) {
    let (go, own) = (&in_order(reference), &in_order(candidate));
    // Errors have the order of the checks, so those of the library must be a subsequence of those of Go.
    let mut rest = go.iter();
    let extra = own
        .iter()
        .find(|error| !rest.any(|other| same_error(other, error)));

    // An error of the library alone is always a difference; fewer errors are a listed deviation.
    match extra {
        Some(extra) => {
            let label = format!("errors: {}", text(extra, "type"));
            out.difference = Some(Difference {
                label,
                ..Difference::of("errors", reference, candidate)
            });
        }
        None if own != go => {
            // The counts of missing checks show which ones are worth adding.
            let mut left = own.iter().peekable();
            for error in go {
                if left.next_if(|own| same_error(error, own)).is_none() {
                    out.tally.count("checks of Go alone", missing(kind, error));
                }
            }

            out.deviations.push(FEWER_ERRORS);
            out.tally.count(
                "verdicts",
                if own.is_empty() {
                    "refused by Go"
                } else {
                    "refused by both, fewer errors"
                },
            );
        }
        None => out.tally.count(
            "verdicts",
            if go.is_empty() {
                "accepted by both"
            } else {
                "refused by both, equal"
            },
        ),
    }
}

/// The field below which Go walks a map, in an order that no two runs share.
const WITHOUT_ORDER: &str = "status.allocatedResourceStatuses";

/// The errors in the order of their checks. Those that have no order get that of their texts.
fn in_order(errors: &Value) -> Vec<Value> {
    let mut errors = errors.as_array().cloned().unwrap_or_default();
    for run in errors.chunk_by_mut(|one, other| {
        text(one, "field") == WITHOUT_ORDER && text(other, "field") == WITHOUT_ORDER
    }) {
        run.sort_by(|one, other| text(one, "body").cmp(text(other, "body")));
    }
    errors
}

/// A check of Go that the library does not make: the kind, the field and the reason, without numbers and values.
fn missing(kind: &str, error: &Value) -> String {
    let field: String = text(error, "field")
        .chars()
        .filter(|letter| !letter.is_ascii_digit())
        .collect();
    let body = text(error, "body");

    // The value may be any JSON, so that the reason is behind the last colon.
    let reason = body.rsplit_once(": ").map_or(body, |(_, reason)| reason);
    let reason: String = reason
        .chars()
        .filter(|letter| !letter.is_ascii_digit())
        .take(60)
        .collect();
    format!("{kind} {field}: {reason}")
}

/// Go shows the members of a selector in the order of its struct, the library in that of their names.
fn same_error(go: &Value, own: &Value) -> bool {
    let has_selector = |error: &Value| text(error, "body").contains("\"matchLabels\"");
    let is_equal = |member: &str| text(go, member) == text(own, member);
    is_equal("type")
        && is_equal("field")
        && (is_equal("body") || (has_selector(go) && has_selector(own)))
}

/// Whether a registry stamps the object with the time of the update.
fn is_stamped(case: &Value) -> bool {
    text(case, "kind") == "v1/PersistentVolume" && text(case, "subresource") == "status"
}

/// Times that a registry reads from the clock are those of the library: the creation of the object, or none.
fn without_clock(case: &Value, object: &Value) -> Value {
    let mut object = object.clone();
    let created = object.pointer("/metadata/creationTimestamp").cloned();
    let is_new = case.get("old").is_none();
    // A time from the clock is removed or replaced; one that the request of a creation has stays.
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut)
        && text(case, "kind") == "v1/PersistentVolume"
    {
        let written = case.pointer("/object/status/lastPhaseTransitionTime");
        if is_stamped(case) {
            status.remove("lastPhaseTransitionTime");
        } else if is_new && status.get("lastPhaseTransitionTime") != written {
            status.remove("lastPhaseTransitionTime");
            if let Some(created) = &created {
                status.insert("lastPhaseTransitionTime".to_owned(), created.clone());
            }
        }
    }

    // A new Pod with scheduling gates gets the condition with the current time.
    if is_new && text(case, "kind") == "v1/Pod" {
        for condition in object
            .pointer_mut("/status/conditions")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if text(condition, "reason") == "SchedulingGated" {
                crate::json::set(
                    condition,
                    "lastTransitionTime",
                    created.clone().unwrap_or_default(),
                );
            }
        }
    }

    object
}

/// The answer of the library.
fn answer(case: &Value) -> Value {
    let (api_version, name) = text(case, "kind").rsplit_once('/').unwrap_or_default();
    let gvk = GroupVersionKind::from_api_version_kind(api_version, name);
    let Some(kind) = Kind::of(&gvk) else {
        return json!({"panic": "not built in"});
    };
    // As in a request, registries get objects that are decoded and have their defaults.
    let read = |side: &str| -> Result<Own, Value> {
        match kind.decode(&own(member(case, side))) {
            Ok(decoded) => Ok(defaulted(&gvk, &decoded.object)),
            Err(error) => Err(json!({"panic": error.to_string()})),
        }
    };
    let object = match read("object") {
        Ok(object) => object,
        Err(answer) => return answer,
    };

    let subresource = text(case, "subresource");
    // Validation follows what a registry drops or keeps: a field that it drops is not an error.
    let (prepared, errors) = match case.get("old") {
        None => {
            let prepared = prepare_create(&gvk, &object);
            let errors = validate_create(&gvk, &prepared);
            (prepared, errors)
        }
        Some(_) => match read("old") {
            Ok(old) => {
                let prepared = prepare_update(&gvk, subresource, &object, &old);
                let errors = validate_update(&gvk, subresource, &prepared, &old);
                (prepared, errors)
            }
            Err(answer) => return answer,
        },
    };
    let error = |error: &fieldmanager_structural::FieldError| json!({"type": cause_reason(error.kind), "field": error.path.to_string(), "body": error.message()});
    let errors: Vec<Value> = errors.iter().map(error).collect();

    json!({"defaulted": back(&object), "prepared": back(&prepared), "errors": errors})
}
