//! Empty lists and maps, which Go distinguishes from absent ones.

use serde_json::Value as Json;

use super::causes::sorted;
use super::patches::drop_empty;
use crate::json::{items, member, set, text};
use crate::server::pointer::remove_pointer;
use crate::server::request::{Answer, Step};

/// A status with null instead of empty lists and maps in the structs that its messages show.
pub(in crate::server) fn without_empty(status: &Json) -> Json {
    let filled = |text: &str| text.replace("\":{}", "\":null").replace("\":[]", "\":null");
    let mut out = status.clone();
    set(&mut out, "message", filled(text(status, "message")));
    let causes = out.pointer_mut("/details/causes").and_then(Json::as_array_mut);
    for cause in causes.into_iter().flatten() {
        let message = filled(text(cause, "message"));
        set(cause, "message", message);
    }
    sorted(&out)
}

/// Whether the real server refuses nothing but empty maps in place of absent ones in an immutable object.
pub(in crate::server) fn empties_immutable(step: &Step<'_>, real: &Answer, ours: &Answer) -> bool {
    let found = items(member(&ours.body, "details"), "causes");
    let causes = items(member(&real.body, "details"), "causes");
    let is_found = |cause: &&Json| ours.code == 422 && found.contains(cause);
    let causes: Vec<&Json> = causes.iter().filter(|cause| !is_found(cause)).collect();
    let mut body = member(step.json, "body").clone();
    items(step.json, "drop")
        .iter()
        .filter_map(Json::as_str)
        .for_each(|place| remove_pointer(&mut body, place));
    // A patch that removes the members of an absent map makes an empty one.
    let is_left_empty = |value: &Json| (step.verb == "merge" || step.is_strategic()) && value.is_null();
    let is_empty = |cause: &Json| {
        let map = member(&body, text(cause, "field")).as_object();
        text(cause, "message").contains("field is immutable when")
            && map.is_some_and(|map| map.values().all(is_left_empty))
    };
    !causes.is_empty() && causes.into_iter().all(is_empty)
}

/// Whether the library refuses nothing but a claim whose requests became empty: Go does not compare those that are there.
pub(in crate::server) fn empties_requests(real: &Json, ours: &Answer) -> bool {
    let theirs = items(member(real, "details"), "causes");
    let found = items(member(&ours.body, "details"), "causes");
    let mut extra = found.iter().filter(|cause| !theirs.contains(cause)).peekable();
    let is_empty = |cause: &Json| text(cause, "message").contains("\n+  \"Requests\": null\n");
    ours.code == 422
        && theirs.iter().all(|cause| found.contains(cause))
        && extra.peek().is_some()
        && extra.all(is_empty)
}

/// Whether two answers have the same causes, apart from empty values that they show. A difference of two values in a
/// message shows the lines around, so it is compared as a whole.
pub(in crate::server) fn same_but_empty(real: &Json, ours: &Json) -> bool {
    let shows_empty = |text: &str| text.contains("[]") || text.contains("{}");
    let causes = |status: &Json| -> Vec<Vec<String>> {
        let causes = items(member(status, "details"), "causes");
        let shown = |cause: &Json| {
            let message = text(cause, "message");
            let shown = message.split("\n@@").next().unwrap_or_default();
            let shown = shown.replace("[]", "null").replace("{}", "null");
            vec![text(cause, "field").to_owned(), text(cause, "reason").to_owned(), shown]
        };
        causes.iter().map(shown).collect()
    };
    shows_empty(text(real, "message")) && causes(real) == causes(ours)
}

/// Whether the library misses nothing but faults of empty lists of policies, which it takes for absent ones with defaults.
pub(in crate::server) fn empties_policies(real: &Json, ours: &Answer) -> bool {
    let found = if ours.code == 422 { items(member(&ours.body, "details"), "causes") } else { &[] };
    let theirs = items(member(real, "details"), "causes");
    let is_empty = |cause: &Json| {
        text(cause, "field").ends_with(".policies")
            && text(cause, "message") == "Required value: must specify at least one Policy"
    };
    let mut missing = theirs.iter().filter(|cause| !found.contains(cause)).peekable();
    found.iter().all(|cause| theirs.contains(cause)) && missing.peek().is_some() && missing.all(is_empty)
}

/// Whether a request ended a terminating object: the answer shows it before it is stored.
fn ends(answer: &Json) -> bool {
    let metadata = member(answer, "metadata");
    !member(metadata, "deletionTimestamp").is_null() && items(metadata, "finalizers").is_empty()
}

/// Whether two answers to a request that ended an object differ in empty labels and annotations alone, which are null in
/// the real one.
pub(in crate::server) fn ends_with_null(real: &Json, ours: &Json) -> bool {
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
pub(in crate::server) fn ends_with_empty(real: &Json, ours: &Json) -> bool {
    let filled = |object: &Json| {
        let mut object = object.clone();
        drop_null(&mut object);
        drop_empty(&mut object);
        object
    };
    ends(real) && filled(real) == filled(ours)
}

/// Removes members that are null.
fn drop_null(value: &mut Json) {
    match value {
        Json::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(drop_null);
        }
        Json::Array(items) => items.iter_mut().for_each(drop_null),
        _ => {}
    }
}
