//! Tables of generated objects.

use std::time::{SystemTime, UNIX_EPOCH};

use fieldmanager_comparison::server::Request;
use fieldmanager_value::Value;
use serde_json::{Map, Value as Json, json};

use super::error::Error;
use super::server::{JSON, Server};

/// The number of objects of a kind without `count`.
const COUNT: u64 = 200;
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Creates objects of all kinds in tables.yaml, and records the tables of their lists, with the objects and the time of
/// the request. The definitions that tests use must exist.
pub(super) fn record(server: &Server) -> Result<Json, Error> {
    let templates = Value::from_yaml(include_str!("tables.yaml")).map(|value| value.to_json());
    let templates: Json = templates
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
        .map_err(|message| Error::Document {
            path: "tables.yaml".to_owned(),
            message,
        })?;
    let empty = Map::new();
    let parts = templates
        .get("parts")
        .and_then(Json::as_object)
        .unwrap_or(&empty);

    let mut out = Map::new();
    let mut refused = Vec::new();
    for (at, kind) in templates
        .get("kinds")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        let path = kind.get("path").and_then(Json::as_str).unwrap_or_default();
        // Each kind has a seed of its own, so that a new template does not change the objects of other kinds.
        let mut expand = Expand {
            parts,
            random: at as u64 + 1,
            now: now(),
        };
        for number in 0..kind.get("count").and_then(Json::as_u64).unwrap_or(COUNT) {
            refused.extend(create(server, path, kind, number, &mut expand)?);
        }

        // Cells have ages, so a test needs the time of the request.
        let url = format!("/{path}?includeObject=Object");
        let before = now();
        let mut table = server.json(&url, TABLE)?;
        without_managed_fields(&mut table);
        out.insert(
            path.to_owned(),
            json!({ "now": time(before), "table": table }),
        );
    }

    // A template that the release refuses would make tables silently smaller.
    if let Some(message) = refused.first() {
        let message = format!(
            "{} objects are refused, the first one with {message}",
            refused.len()
        );
        return Err(Error::Document {
            path: "tables.yaml".to_owned(),
            message,
        });
    }

    // A single object and a list without objects have tables too.
    for (name, path) in [
        ("one", "/api/v1/namespaces/default"),
        ("none", "/api/v1/namespaces?includeObject=None"),
    ] {
        let before = now();
        let mut table = server.json(path, TABLE)?;
        without_managed_fields(&mut table);
        out.insert(
            name.to_owned(),
            json!({ "now": time(before), "table": table }),
        );
    }

    Ok(Json::Object(out))
}

/// Creates an object; returns the message if it is refused.
fn create(
    server: &Server,
    path: &str,
    kind: &Json,
    number: u64,
    expand: &mut Expand<'_>,
) -> Result<Option<String>, Error> {
    let null = Json::Null;
    let mut object = expand.value(kind.get("object").unwrap_or(&null));
    merge(
        &mut object,
        &json!({ "metadata": { "name": format!("n{number}") } }),
    );
    let send = |method, path: String, body: &Json| {
        let body = body.to_string().into_bytes();
        server.client.send(&Request {
            method,
            path,
            content_type: JSON.to_owned(),
            body,
            ..Request::default()
        })
    };

    // Bodies without a kind are refused for custom resources only.
    if path.starts_with("apis/example.com/v1/") {
        let kind = if path.ends_with("shops") {
            "Shop"
        } else {
            "Owner"
        };
        merge(
            &mut object,
            &json!({ "apiVersion": "example.com/v1", "kind": kind }),
        );
    }

    let answer = send("POST", path.to_owned(), &object)?;
    if answer.code != 201 {
        return Ok(Some(format!("{}: {object}", answer.body)));
    }
    let item = format!("{path}/n{number}");

    if let Some(status) = kind.get("status") {
        let status = expand.value(status);
        let patch = json!({ "status": status });
        let body = patch.to_string().into_bytes();
        let content_type = "application/merge-patch+json".to_owned();
        let path = format!("{item}/status");

        // A status that contradicts itself is refused, and the object stays without.
        server.client.send(&Request {
            method: "PATCH",
            path,
            content_type,
            body,
            ..Request::default()
        })?;
    }

    // A finalizer keeps the object after its deletion, so that the table shows one that terminates.
    if object.pointer("/metadata/finalizers/0").is_some() {
        send("DELETE", item, &Json::Null)?;
    }
    Ok(None)
}

/// Makes values of templates; the same for the same seed, but for times.
struct Expand<'t> {
    parts: &'t Map<String, Json>,
    random: u64,
    now: u64,
}

impl Expand<'_> {
    fn below(&mut self, limit: u64) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit.max(1)
    }

    fn value(&mut self, template: &Json) -> Json {
        match template {
            Json::String(text) => {
                match text.strip_prefix('$').and_then(|name| self.parts.get(name)) {
                    Some(part) => self.value(part),
                    None => template.clone(),
                }
            }
            Json::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Json::Object(members) => self.object(members),
            other => other.clone(),
        }
    }

    fn object(&mut self, members: &Map<String, Json>) -> Json {
        // Members are sorted by name, so `$with` and `$one` come before the members that replace theirs.
        let mut out = Json::Object(Map::new());
        for (name, template) in members {
            match name.as_str() {
                "$one" => {
                    let items = template.as_array().map(Vec::as_slice).unwrap_or_default();
                    let at = self.below(items.len() as u64);
                    // A choice that is an object adds members, any other choice is the value.
                    let chosen = items
                        .get(at as usize)
                        .map(|item| self.value(item))
                        .unwrap_or_default();
                    if !chosen.is_object() {
                        return chosen;
                    }
                    merge(&mut out, &chosen);
                }
                "$some" => {
                    let items = template.as_array().into_iter().flatten();
                    let mut chosen = Vec::new();
                    for item in items {
                        if self.below(3) > 0 {
                            chosen.push(self.value(item));
                        }
                    }
                    return Json::Array(chosen);
                }
                "$with" => {
                    let with = self.value(template);
                    merge(&mut out, &with);
                }
                "$ago" => {
                    return Json::from(time(self.now - self.below(template.as_u64().unwrap_or(1))));
                }
                _ => {
                    let optional = name.strip_suffix('~');
                    if optional.is_none() || self.below(2) == 0 {
                        let value = self.value(template);
                        merge(&mut out, &json!({ optional.unwrap_or(name): value }));
                    }
                }
            }
        }

        out
    }
}

fn merge(to: &mut Json, from: &Json) {
    match (to, from) {
        (Json::Object(to), Json::Object(from)) => {
            for (name, value) in from {
                merge(to.entry(name.clone()).or_insert(Json::Null), value);
            }
        }
        (to, from) => *to = from.clone(),
    }
}

fn without_managed_fields(value: &mut Json) {
    match value {
        Json::Object(members) => {
            members.remove("managedFields");
            members.values_mut().for_each(without_managed_fields);
        }
        Json::Array(items) => items.iter_mut().for_each(without_managed_fields),
        _ => {}
    }
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// Seconds since 1970 as a time of RFC 3339.
fn time(seconds: u64) -> String {
    jiff::Timestamp::from_second(i64::try_from(seconds).unwrap_or_default())
        .unwrap_or_default()
        .to_string()
}
