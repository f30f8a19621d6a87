//! Empty lists and maps, which Go distinguishes from absent ones.

use serde_json::Value as Json;

use super::causes::sorted;
use super::deviation::{Deviation, Question, adds_only, causes, causes_of_invalid};
use crate::json::{drop_empty, each, items, member, remove_pointer, set, text};
use crate::server::in_process::InProcess;
use crate::server::request::{Answer, DEFINITIONS, Step};

/// A value in a message: Go tells an empty list or map from an absent one.
pub(super) struct EmptyValues;

impl Deviation for EmptyValues {
    const NAME: &'static str = "server-empty-values";

    fn explains(question: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let Question {
            exchange,
            ours,
            found,
        } = question;
        let (kind, real) = (exchange.kind, exchange.real);
        // The answer shows the object before it is stored: a custom resource with null for an empty label, and a
        // built-in one with its empty lists.
        let is_empty_object = match kind.definition {
            None => ends_with_empty(&found.reference, &found.candidate),
            Some(_) => ends_with_null(&found.reference, &found.candidate),
        };
        if question.is_in("object") && is_empty_object {
            return true;
        }

        // Defaulting and validation of these kinds distinguish an empty value from an absent one.
        let is_of_kind = || match kind.kind.as_str() {
            "PersistentVolumeClaim" => empties_requests(&real.body, ours),
            "HorizontalPodAutoscaler" => empties_policies(&real.body, ours),
            _ => false,
        };
        let is_immutable = || {
            let is_comparable = ours.is_success() || ours.code == 422;
            is_comparable && empties_immutable(&exchange.step, real, ours)
        };
        let is_shown = || question.is_same_refusal(422) && same_but_empty(&real.body, &ours.body);

        real.code == 422 && (is_immutable() || is_of_kind() || is_shown())
    }
}

/// A definition in a message, with an empty list or map where the library has none.
pub(super) struct EmptyShown;

impl Deviation for EmptyShown {
    const NAME: &'static str = "server-empty-shown";

    fn explains(question: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let Question { exchange, ours, .. } = question;
        exchange.kind.group == DEFINITIONS
            && question.is_same_refusal(422)
            && without_empty(&exchange.real.body) == without_empty(&ours.body)
    }
}

/// A status with null instead of empty lists and maps in the structs that its messages show.
fn without_empty(status: &Json) -> Json {
    let filled = |text: &str| text.replace("\":{}", "\":null").replace("\":[]", "\":null");
    let mut out = status.clone();
    set(&mut out, "message", filled(text(status, "message")));
    let causes = out
        .pointer_mut("/details/causes")
        .and_then(Json::as_array_mut);
    for cause in causes.into_iter().flatten() {
        let message = filled(text(cause, "message"));
        set(cause, "message", message);
    }

    sorted(&out)
}

/// Whether the real server refuses nothing but empty maps in place of absent ones in an immutable object.
fn empties_immutable(step: &Step<'_>, real: &Answer, ours: &Answer) -> bool {
    let found = causes_of_invalid(ours);
    // The library may find other causes; only those that it misses need the reason.
    let mut missing = causes(&real.body)
        .iter()
        .filter(|cause| !found.contains(cause))
        .peekable();
    let mut body = member(step.json, "body").clone();
    for place in items(step.json, "drop").iter().filter_map(Json::as_str) {
        remove_pointer(&mut body, place);
    }

    // A patch that removes the members of an absent map makes an empty one.
    let is_left_empty =
        |value: &Json| (step.verb == "merge" || step.is_strategic()) && value.is_null();
    let is_empty = |cause: &Json| {
        let map = member(&body, text(cause, "field")).as_object();
        text(cause, "message").contains("field is immutable when")
            && map.is_some_and(|map| map.values().all(is_left_empty))
    };

    missing.peek().is_some() && missing.all(is_empty)
}

/// Whether the library refuses nothing but a claim whose requests became empty: Go does not compare those that are there.
fn empties_requests(real: &Json, ours: &Answer) -> bool {
    let is_empty = |cause: &Json| text(cause, "message").contains("\n+  \"Requests\": null\n");
    adds_only(causes_of_invalid(ours), causes(real), is_empty)
}

/// Whether two answers have the same causes, apart from empty values that they show. A difference of two values in a
/// message shows the lines around, so it is compared as a whole.
fn same_but_empty(real: &Json, ours: &Json) -> bool {
    let shows_empty = |text: &str| text.contains("[]") || text.contains("{}");
    let shown = |status: &Json| -> Vec<Vec<String>> {
        let shown = |cause: &Json| {
            let message = text(cause, "message");
            // What follows is a difference of two values with the lines around it, which has no fixed form.
            let shown = message.split("\n@@").next().unwrap_or_default();
            let shown = shown.replace("[]", "null").replace("{}", "null");
            vec![
                text(cause, "field").to_owned(),
                text(cause, "reason").to_owned(),
                shown,
            ]
        };

        causes(status).iter().map(shown).collect()
    };

    shows_empty(text(real, "message")) && shown(real) == shown(ours)
}

/// Whether the library misses nothing but faults of empty lists of policies, which it takes for absent ones with defaults.
fn empties_policies(real: &Json, ours: &Answer) -> bool {
    adds_only(causes(real), causes_of_invalid(ours), |cause| {
        text(cause, "field").ends_with(".policies")
            && text(cause, "message") == "Required value: must specify at least one Policy"
    })
}

/// Whether a request ended a terminating object: the answer shows it before it is stored.
fn ends(answer: &Json) -> bool {
    let metadata = member(answer, "metadata");
    !member(metadata, "deletionTimestamp").is_null() && items(metadata, "finalizers").is_empty()
}

/// Whether two answers to a request that ended an object differ in empty labels and annotations alone, which are null in
/// the real one.
fn ends_with_null(real: &Json, ours: &Json) -> bool {
    // The store decodes null in a map of strings as an empty string, which is what the library answers.
    let stored = |object: &Json| {
        let mut object = object.clone();
        for place in ["/metadata/labels", "/metadata/annotations"] {
            let members = object.pointer_mut(place).and_then(Json::as_object_mut);
            members
                .into_iter()
                .flat_map(|members| members.values_mut())
                .filter(|value| value.is_null())
                .for_each(|value| *value = Json::from(""));
        }
        object
    };

    ends(real) && stored(real) == *ours
}

/// Whether two answers to a request that ended an object differ in empty values alone.
fn ends_with_empty(real: &Json, ours: &Json) -> bool {
    let filled = |object: &Json| {
        let mut object = object.clone();
        each(&mut object, &mut |part| {
            if let Json::Object(members) = part {
                members.retain(|_, value| !value.is_null());
            }
        });
        drop_empty(&mut object);
        object
    };

    ends(real) && filled(real) == filled(ours)
}
