//! Objects that a server creates when it starts.

use std::thread;
use std::time::Duration;

use serde_json::Value as Json;

use super::error::Error;
use super::server::{JSON, Server};

/// Stands for the time at which the server started.
const START: &str = "@start";
/// Stands for its day.
const DAY: &str = "@day";
/// Resources whose objects belong to one process, follow other objects, or are not stored.
const LEFT_OUT: [&str; 4] = ["leases", "endpoints", "events", "componentstatuses"];

/// All objects of a server that only just started, without what differs from start to start. A list of all objects is
/// repeated until it is the same twice.
pub(super) fn record(
    server: &Server,
    resources: &Json,
    idle: Duration,
) -> Result<Vec<Json>, Error> {
    let mut objects = list(server, resources)?;
    loop {
        thread::sleep(idle);
        let now = list(server, resources)?;
        if now == objects {
            return Ok(objects);
        }
        objects = now;
    }
}

fn list(server: &Server, resources: &Json) -> Result<Vec<Json>, Error> {
    let mut out = Vec::new();
    for resource in resources.as_array().into_iter().flatten() {
        let part = |name: &str| {
            resource
                .get(name)
                .and_then(Json::as_str)
                .unwrap_or_default()
        };
        let (group, version, plural) = (part("group"), part("version"), part("plural"));
        if resource.get("columns").is_none() || LEFT_OUT.contains(&plural) {
            continue;
        }

        let root = if group.is_empty() {
            "/api".to_owned()
        } else {
            format!("/apis/{group}")
        };
        let list = server.json(&format!("{root}/{version}/{plural}"), JSON)?;

        for item in list
            .get("items")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
        {
            // Items of a list have no kind and version of their own.
            let mut object = item.clone();
            let api_version = if group.is_empty() {
                version.to_owned()
            } else {
                format!("{group}/{version}")
            };
            if let Json::Object(members) = &mut object {
                members.insert("apiVersion".to_owned(), Json::from(api_version));
                members.insert("kind".to_owned(), Json::from(part("kind")));
            }

            normalize(&mut object);
            // Another version of a group has the same objects.
            let id = |object: &Json| (object.get("kind").cloned(), object.get("metadata").cloned());
            if !out.iter().any(|known| id(known) == id(&object)) {
                out.push(object);
            }
        }
    }
    // Other objects are in namespaces, so these come first.
    out.sort_by_key(|object| object.get("kind").and_then(Json::as_str) != Some("Namespace"));

    Ok(out)
}

fn normalize(value: &mut Json) {
    match value {
        Json::Object(members) => {
            for name in ["uid", "resourceVersion"] {
                members.remove(name);
            }
            for (name, member) in members.iter_mut() {
                match name.as_str() {
                    "creationTimestamp" | "time" | "lastTransitionTime" | "lastUpdateTime"
                        if member.is_string() =>
                    {
                        *member = Json::from(START);
                    }
                    // When the tracking of tokens began, in a ConfigMap.
                    "since" if member.is_string() => *member = Json::from(DAY),
                    // The port of the server is that of the Service `kubernetes`.
                    "targetPort" => *member = Json::from(6443),
                    _ => normalize(member),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(normalize),
        _ => {}
    }
}
