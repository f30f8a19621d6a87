//! Parts of objects as configurations and patches.

use serde_json::{Value as Json, json};

use crate::generate::random::Random;
use crate::json::{places, set};

/// The members that identify an item of a list, or without which an object is refused.
const KEYS: &[&str] = &[
    "name",
    "containerPort",
    "port",
    "protocol",
    "ip",
    "type",
    "key",
    "mountPath",
    "topologyKey",
    "whenUnsatisfiable",
    "uid",
    "kind",
    "apiVersion",
    "id",
    "k",
    "metadata",
];

/// A random part of an object, with the members that identify it.
pub(super) fn part(rng: &mut Random, object: &Json, identity: bool) -> Json {
    let Json::Object(members) = object else {
        return object.clone();
    };
    let percent = *rng.pick(&[20, 45, 80]).unwrap_or(&45);
    let mut out = json!({});

    // A configuration names its kind and its object. A part without `spec` or `status` says little, so that most parts
    // have them.
    for (name, value) in members {
        let kept = match name.as_str() {
            "apiVersion" | "kind" => identity || rng.chance(10),
            "metadata" => identity || rng.chance(40),
            "spec" | "status" => rng.chance(90),
            _ => rng.chance(percent),
        };

        if kept {
            set(
                &mut out,
                name,
                below(
                    rng,
                    value,
                    percent,
                    if name == "metadata" && identity { 3 } else { 0 },
                ),
            );
        }
    }

    // The path of the request names the object of a patch.
    if let (false, Some(metadata)) = (
        identity,
        out.get_mut("metadata").and_then(Json::as_object_mut),
    ) {
        metadata.remove("name");
        metadata.remove("namespace");
    }

    out
}

/// Deep parts are mostly whole, since many members are required there.
fn below(rng: &mut Random, value: &Json, percent: u32, depth: usize) -> Json {
    if depth >= 2 && rng.chance(70) {
        return value.clone();
    }
    // Depth 3 is the metadata of a configuration, whose members identify the object.
    let whole = depth == 3;
    match value {
        Json::Object(members) => {
            let mut out = json!({});
            // Keys stay, since an item of an associative list without its key is refused.
            for (name, value) in members {
                if whole || KEYS.contains(&name.as_str()) || rng.chance(percent) {
                    set(
                        &mut out,
                        name,
                        below(
                            rng,
                            value,
                            percent,
                            if whole { 1 } else { (depth + 1).min(2) },
                        ),
                    );
                }
            }

            out
        }
        Json::Array(items) if items.iter().all(Json::is_object) => {
            // In an apply, a list with fewer items prunes those that the manager applied before.
            let items = items.iter().filter(|_| rng.chance(80)).collect::<Vec<_>>();
            items
                .into_iter()
                .map(|item| below(rng, item, percent, 2))
                .collect()
        }
        _ => value.clone(),
    }
}

/// Turns some members into deletions: nulls, and the directives of strategic merge patches.
pub(super) fn deletions(rng: &mut Random, patch: &mut Json, strategic: bool) {
    match patch {
        Json::Object(members) => {
            // Null deletes a member, in strategic merge patches and in JSON merge patches.
            for (name, value) in members.iter_mut() {
                if rng.chance(6) && name != "metadata" {
                    *value = Json::Null;
                } else {
                    deletions(rng, value, strategic);
                }
            }

            // `odd` is an unknown directive: Go refuses it, or leaves out the map, depending on the place.
            if strategic && rng.chance(5) {
                members.insert(
                    "$patch".to_owned(),
                    json!(rng.name(&["delete", "replace", "merge", "replace", "odd"])),
                );
            }

            // A directive about a list is a member of the same map as the list. It gives the order of maps that are merged
            // by key, or the deleted values of a list of scalars.
            let names: Vec<String> = members.keys().cloned().collect();
            for name in names {
                match members.get(&name) {
                    Some(Json::Array(items)) if strategic && rng.chance(10) => {
                        let items = items.clone();
                        let directive = if items.iter().all(Json::is_object) {
                            "$setElementOrder"
                        } else {
                            "$deleteFromPrimitiveList"
                        };
                        members.insert(format!("{directive}/{name}"), Json::Array(items));
                    }
                    Some(Json::Object(_)) if strategic && rng.chance(3) => {
                        members.insert("$retainKeys".to_owned(), json!([name]));
                    }
                    _ => {}
                }
            }
        }
        Json::Array(items) => items
            .iter_mut()
            .for_each(|item| deletions(rng, item, strategic)),
        _ => {}
    }
}

/// A JSON patch that sets or removes members of an object.
pub(super) fn operations(rng: &mut Random, object: &Json) -> Json {
    // A change of the type or of the name is refused, whatever else the patch does.
    let mut places = places(object);
    places.retain(|(path, _)| {
        !path.starts_with("/apiVersion") && !path.starts_with("/kind") && path != "/metadata/name"
    });
    let mut out = Vec::new();

    for _ in 0..rng.between(1, 3) {
        let Some((path, value)) = rng.pick(&places) else {
            break;
        };
        // The last cases are malformed: unknown operations, a pointer without a slash, no value, and a place that is
        // missing.
        out.push(match rng.below(20) {
            0..6 => json!({"op": "add", "path": path, "value": value}),
            6..11 => json!({"op": "replace", "path": path, "value": value}),
            11..13 => json!({"op": "remove", "path": path}),
            13 => json!({"op": "test", "path": path, "value": value}),
            14 => json!({"op": "copy", "from": path, "path": "/metadata/labels/copied"}),
            15 => json!({"op": "move", "from": "/metadata/labels/app", "path": "/metadata/labels/moved"}),
            16 => json!({"op": "add", "path": "/metadata/labels", "value": {"patched": rng.name(&["1", "2"])}}),
            17 => json!({"op": "add", "path": "/metadata/annotations", "value": {"patched": rng.name(&["1", "2"])}}),
            18 => json!({"op": "replace", "path": "/metadata/labels/app", "value": rng.name(&["p", "q"])}),
            _ => match rng.below(4) {
                0 => json!({"op": rng.name(&["odd", ""]), "path": path}),
                1 => json!({"op": "add", "path": "no-slash", "value": 1}),
                2 => json!({"op": "add", "path": path}),
                _ => json!({"op": "remove", "path": "/spec/missing/member"}),
            },
        });
    }

    Json::Array(out)
}

/// Merges changes into an object; items of lists by their position.
pub(super) fn merge_by_name(object: &mut Json, changes: &Json) {
    match (object, changes) {
        (Json::Object(members), Json::Object(changes)) => {
            for (name, change) in changes {
                merge_by_name(members.entry(name.clone()).or_insert(Json::Null), change);
            }
        }
        (Json::Array(items), Json::Array(changes)) if changes.iter().all(Json::is_object) => {
            items
                .iter_mut()
                .zip(changes)
                .for_each(|(item, change)| merge_by_name(item, change));
        }
        (object, change) => *object = change.clone(),
    }
}
