//! Faults of requests: one is added to a step.

use serde_json::{Value as Json, json};

use super::story::Story;
use super::template::NAME;
use crate::json::{items, member, set, text};

/// Adds a fault to a step.
pub(super) fn add(story: &mut Story<'_>, step: &mut Json) {
    let json_patch = text(step, "verb") == "json";
    match story.rng.below(if json_patch { 2 } else { 20 }) {
        0 => option(story, step),
        1 => raw(story, step),
        2..5 => identity(story, step),
        5..8 => managed(story, step),
        8..13 => value(story, step),
        13..16 => known(story, step, "bad"),
        16..18 => known(story, step, "immutable"),
        18 => metadata(story, step),
        _ => unknown(story, step),
    }
}

/// Adds to a list of the step.
fn push(step: &mut Json, list: &str, item: Json) {
    if let Some(members) = step.as_object_mut()
        && let Some(items) = members.entry(list).or_insert(json!([])).as_array_mut()
    {
        items.push(item);
    }
}

fn put(step: &mut Json, pointer: &str, value: Json) {
    push(step, "set", json!([pointer, value]));
}

fn option(story: &mut Story<'_>, step: &mut Json) {
    let choices = [
        "fieldValidation=Loud",
        "dryRun=Some",
        "fieldManager=%00",
        "force=true",
        "force=maybe",
        "fieldManager=",
        "dryRun=",
        "fieldManager=aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggghhhhhhhhhhiiiiiiiiiijjjjjjjjjjkkkkkkkkkkllllllllllmmmmmmmmmm",
        "",
        "unknown=1",
        "dryRun=All&dryRun=All",
    ];
    if story.rng.chance(25) {
        let types = [
            "application/json",
            "application/merge-patch+json",
            "text/plain",
            "application/yaml",
            "application/strategic-merge-patch+json",
            "application/json; charset=utf-8",
        ];
        set(step, "type", story.rng.name(&types));
        return;
    }
    set(step, "query", story.rng.name(&choices));
}

/// A body that is not an object.
fn raw(story: &mut Story<'_>, step: &mut Json) {
    let texts = [
        "",
        "null",
        "[]",
        "1",
        "\"a\"",
        "{",
        "{}",
        "{\"a\":1",
        "[{}]",
        "[1]",
        "true",
        "a: b: c",
        "{\"kind\":\"X\"}",
        "[null]",
        "{\"metadata\":{\"name\":\"%NAME%\"}}",
        "{\"metadata\":null}",
        "{\"metadata\":[]}",
        "{\"a\":1,\"a\":2}",
        "[{\"op\":\"add\"}]",
        "{\"metadata\":{\"labels\":{\"a\":\"1\",\"a\":\"2\"}}}",
        "[{\"op\":\"test\",\"path\":\"/kind\",\"value\":\"X\"}]",
        "{\"apiVersion\":1}",
        "[{\"op\":\"replace\",\"path\":\"\",\"value\":{}}]",
        "{\"spec\":[]}",
        "{\"kind\":{}}",
        "\u{0}",
    ];
    if let Some(members) = step.as_object_mut() {
        for name in ["body", "base", "carry", "drop", "set"] {
            members.remove(name);
        }
    }
    set(step, "text", story.rng.name(&texts));
}

fn identity(story: &mut Story<'_>, step: &mut Json) {
    let apply = text(step, "verb") == "apply";
    let (pointer, value) = match story.rng.below(14) {
        0 => ("/kind", json!("Other")),
        1 => ("/kind", json!("")),
        2 => ("/apiVersion", json!("v9")),
        3 => ("/apiVersion", json!("example.com/v1")),
        4 => ("/apiVersion", json!("a/b/c")),
        5 => ("/apiVersion", json!("")),
        6 | 7 => ("/metadata/uid", json!("00000000-0000-0000-0000-000000000000")),
        8 => ("/metadata/resourceVersion", json!(if apply { "1" } else { "2" })),
        9 => ("/metadata/resourceVersion", json!("abc")),
        10 => ("/metadata/resourceVersion", json!("0")),
        11 => ("/metadata/namespace", json!("other")),
        12 => ("/metadata/name", json!("other")),
        _ => ("/metadata/name", json!("")),
    };
    if story.rng.chance(15) {
        push(step, "drop", json!(pointer));
        return;
    }
    put(step, pointer, value);
}

/// Managed fields by hand.
fn managed(story: &mut Story<'_>, step: &mut Json) {
    let base = "/metadata/managedFields";
    let entry = |manager: &str, api: &str, operation: &str, fields: Json| {
        json!({"manager": manager, "apiVersion": api, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields,
            "time": "2026-01-01T00:00:00Z"})
    };
    let api = story.kind.api_version(&story.kind.version);
    let labels = json!({"f:metadata": {"f:labels": {"f:app": {}}}});
    if text(step, "verb") == "update" && story.rng.chance(55) {
        // Edits of the live entries.
        push(step, "carry", json!("managedFields"));
        if let Some(members) = step.as_object_mut() {
            members.remove("drop");
        }
        let (part, value) = match story.rng.below(12) {
            0 => ("manager", json!("edited")),
            1 => ("operation", json!("Apply")),
            2 => ("operation", json!("Wrong")),
            3 => ("apiVersion", json!("v9")),
            4 => ("apiVersion", json!("example.com/v9")),
            5 => ("apiVersion", json!("")),
            6 => ("fieldsV1", json!({"bad": 1})),
            7 => ("fieldsType", json!("Other")),
            8 => ("fieldsV1", labels),
            9 => ("subresource", json!("status")),
            10 => ("time", json!("2020-01-01T00:00:00Z")),
            _ => ("fieldsV1", Json::Null),
        };
        put(step, &format!("{base}/0/{part}"), value);
        return;
    }
    let value = match story.rng.below(9) {
        0 => Json::Null,
        1 => json!([]),
        2 | 3 => json!([{}]),
        4 => json!([entry("hand", &api, "Apply", labels)]),
        5 => json!([entry("hand", &api, "Update", labels), entry("a", &api, "Apply", json!({"f:spec": {}}))]),
        6 => json!([entry("hand", "bad/v9", "Update", labels)]),
        7 => json!([entry("hand", &api, "Odd", labels)]),
        _ => json!([entry("hand", &api, "Update", json!({"f:metadata": 1}))]),
    };
    put(step, base, value);
}

/// Pointers to all values of the body.
fn pointers(value: &Json, path: &str, out: &mut Vec<(String, Json)>) {
    let children: Vec<(String, &Json)> = match value {
        Json::Object(members) => {
            members.iter().map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Json::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (name, value) in children {
        let path = format!("{path}/{name}");
        pointers(value, &path, out);
        out.push((path, value.clone()));
    }
}

/// A value of a wrong type, a missing member, or an item twice.
fn value(story: &mut Story<'_>, step: &mut Json) {
    let mut places = Vec::new();
    pointers(member(step, "body"), "", &mut places);
    if story.rng.chance(70) {
        // Names and versions have faults of their own.
        places.retain(|(path, _)| {
            path.starts_with("/spec") || !path.starts_with("/metadata") && path.matches('/').count() > 1
        });
    }
    let Some((pointer, value)) = story.rng.pick(&places).cloned() else { return };
    match story.rng.below(3) {
        0 => {
            let wrong = [
                json!(1),
                json!("x"),
                json!(true),
                json!([]),
                json!({}),
                json!(null),
                json!(1.5),
                json!("1"),
                json!([null]),
                json!(-1),
            ];
            put(step, &pointer, story.rng.pick(&wrong).cloned().unwrap_or_default());
        }
        1 => push(step, "drop", json!(pointer)),
        _ => {
            let lists: Vec<_> = places
                .iter()
                .filter(|(_, value)| value.as_array().is_some_and(|items| !items.is_empty()))
                .collect();
            match story.rng.pick(&lists) {
                Some((pointer, Json::Array(items))) => {
                    let mut items = items.clone();
                    items.extend(items.first().cloned());
                    put(step, pointer, Json::Array(items));
                }
                _ => put(step, &pointer, if value.is_string() { json!(7) } else { json!("text") }),
            }
        }
    }
}

/// One of the values that the kind refuses, in a complete object.
pub(super) fn known(story: &mut Story<'_>, step: &mut Json, list: &str) {
    let faults = items(&story.kind.rest, list);
    let Some(Json::Object(fault)) = story.rng.pick(faults) else { return value(story, step) };
    let verb = text(step, "verb").to_owned();
    let status = text(step, "sub") == "status";
    if !status && text(step, "sub").is_empty() && text(step, "base") != "live" && verb != "strategic" {
        let version = text(step, "version").to_owned();
        let version = if version.is_empty() { story.kind.version.clone() } else { version };
        set(step, "body", story.object("", &version));
    }
    for (pointer, value) in fault {
        put(step, pointer, value.clone());
    }
}

fn metadata(story: &mut Story<'_>, step: &mut Json) {
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"});
    let (pointer, value) = match story.rng.below(16) {
        0 => ("/metadata/labels", json!({"a b": "c"})),
        1 => ("/metadata/labels", json!({"a": "b c"})),
        2 => ("/metadata/labels", json!({"a": 1})),
        3 => ("/metadata/annotations", json!({"a b": "c"})),
        4 => ("/metadata/annotations", json!({"a": true})),
        5 => ("/metadata/finalizers", json!(["no slash here"])),
        6 => ("/metadata/finalizers", json!(["example.com/a", "example.com/a"])),
        7 => ("/metadata/ownerReferences", json!([owner, owner])),
        8 => ("/metadata/ownerReferences", json!([{"kind": "Pod"}])),
        9 => (
            "/metadata/ownerReferences",
            json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true}, {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "v", "controller": true}]),
        ),
        10 => ("/metadata/name", json!(format!("Bad_{NAME}"))),
        11 => ("/metadata/labels", json!("x")),
        12 => ("/metadata/generation", json!(7)),
        13 => ("/metadata/creationTimestamp", json!("2020-01-01T00:00:00Z")),
        14 => ("/metadata/deletionTimestamp", json!("2020-01-01T00:00:00Z")),
        _ => ("/metadata/selfLink", json!("/x")),
    };
    put(step, pointer, value);
}

fn unknown(story: &mut Story<'_>, step: &mut Json) {
    let mut places = Vec::new();
    pointers(member(step, "body"), "", &mut places);
    places.retain(|(_, value)| value.is_object());
    let place = story.rng.pick(&places).map(|(path, _)| path.clone()).unwrap_or_default();
    let name = story.rng.name(&["unknown", "Name", "extra"]);
    put(step, &format!("{place}/{name}"), json!(story.rng.name(&["1", "x"])));
    if story.rng.chance(25) {
        put(step, "/metadata/unknown", json!({"a": 1}));
    }
}
