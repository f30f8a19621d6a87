//! The requests below `/test`.

use std::collections::BTreeMap;
use std::time::Duration;

use fieldmanager_access::User;
use fieldmanager_managedfields::Time;
use http::{Method, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::collector::{CollectorChange, CollectorStep};
use crate::endpoint::Failure;
use crate::fault::{Fault, FaultHandle};
use crate::http::{Body, full, json as reply, response};
use crate::log::{Log, LogEntry};
use crate::object::in_group;
use crate::query::Query;
use crate::server::ApiServer;
use crate::snapshot::{MAX_SNAPSHOTS, Snapshot};
use crate::source::Random;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clock {
    time: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    seconds: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seed {
    seed: u64,
}

/// A user to whom a token is given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewUser {
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    extra: BTreeMap<String, Vec<String>>,
}

/// Answers a request to a path below `/test`.
pub(super) async fn answer(
    server: &ApiServer,
    method: &Method,
    path: &[String],
    query: &Query,
    body: &[u8],
) -> Answered {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    // HEAD has the answer of GET, whose body HTTP leaves out.
    let method = match method.as_str() {
        "HEAD" => "GET",
        method => method,
    };

    match path.as_slice() {
        ["snapshots", rest @ ..] => answer_snapshots(server, method, rest).await,
        ["faults", rest @ ..] => answer_faults(server, method, rest, body),
        ["clock", rest @ ..] => answer_clock(server, method, rest, body),
        ["collect", rest @ ..] => answer_collector(server, method, rest).await,
        ["log"] => answer_log(server, method, query),
        ["reset"] if method == "POST" => {
            let revision = server.reset().await?;
            ok(json!({ "revision": revision.to_string() }))
        }
        ["seed"] if method == "POST" => {
            // One seed decides about uids, names and probabilities of faults, so that a test has one number to repeat.
            let Seed { seed } = read(body)?;
            random(server)?.set_seed(seed);
            server.faults().set_seed(seed);
            ok(json!({ "seed": seed }))
        }
        ["users"] if method == "POST" => add_user(server, read(body)?),
        // Another method of a known path is 405 and not 404, here and in the functions for a part of the paths.
        ["reset" | "seed" | "users"] => Err(Failure::method_not_allowed()),
        _ => Err(Failure::path_not_found()),
    }
}

type Answered = Result<Response<Body>, Failure>;

async fn answer_snapshots(server: &ApiServer, method: &str, path: &[&str]) -> Answered {
    match (method, path) {
        ("POST", []) => {
            let snapshot = server.snapshot().await?;
            // The snapshot is made before the lock is taken, which is not held across an await.
            let mut snapshots = server.test.snapshots();
            if snapshots.kept.len() >= MAX_SNAPSHOTS {
                let message = format!("there are {MAX_SNAPSHOTS} snapshots: delete some first");
                return Err(Failure::new(403, "Forbidden", message));
            }
            snapshots.last += 1;
            let id = snapshots.last;
            let answer = described(id, &snapshot);
            snapshots.kept.insert(id, snapshot);

            Ok(reply(201, &answer))
        }
        ("GET", []) => {
            let snapshots = server.test.snapshots();
            let items: Vec<Json> = snapshots
                .kept
                .iter()
                .map(|(id, snapshot)| described(*id, snapshot))
                .collect();
            ok(json!({ "items": items }))
        }
        ("DELETE", []) => {
            server.test.snapshots().kept.clear();
            Ok(done())
        }
        ("DELETE", [id]) => {
            let removed = number(id).and_then(|id| server.test.snapshots().kept.remove(&id));
            removed
                .map(|_| done())
                .ok_or_else(|| missing("snapshot", id))
        }
        ("POST", [id, "restore"]) => {
            // A snapshot remains when it is restored, so that each case of a test can begin with it.
            let snapshot = number(id).and_then(|id| server.test.snapshots().kept.get(&id).cloned());
            let snapshot = snapshot.ok_or_else(|| missing("snapshot", id))?;
            let revision = server.restore(&snapshot).await?;
            ok(json!({ "revision": revision.to_string() }))
        }
        (_, [] | [_] | [_, "restore"]) => Err(Failure::method_not_allowed()),
        _ => Err(Failure::path_not_found()),
    }
}

fn answer_faults(server: &ApiServer, method: &str, path: &[&str], body: &[u8]) -> Answered {
    let faults = server.faults();
    match (method, path) {
        ("POST", []) => {
            let fault: Fault = read(body)?;
            let added = faults.add(fault);
            let added = added.map_err(|error| bad_request(&error.to_string()))?;
            Ok(reply(201, &rule(&added)))
        }
        ("GET", []) => {
            let items: Vec<Json> = faults.list().iter().map(rule).collect();
            ok(json!({ "items": items }))
        }
        ("GET", [id]) => {
            let mut all = faults.list().into_iter();
            let found = all.find(|fault| Some(fault.id()) == number(id));
            found
                .map(|fault| reply(200, &rule(&fault)))
                .ok_or_else(|| missing("fault", id))
        }

        // A rule that is gone is missing for a second deletion too, as an object is.
        ("DELETE", []) => {
            faults.clear();
            Ok(done())
        }
        ("DELETE", [id]) => {
            if number(id).is_some_and(|id| faults.remove(id)) {
                Ok(done())
            } else {
                Err(missing("fault", id))
            }
        }
        (_, [] | [_]) => Err(Failure::method_not_allowed()),
        _ => Err(Failure::path_not_found()),
    }
}

fn answer_clock(server: &ApiServer, method: &str, path: &[&str], body: &[u8]) -> Answered {
    match (method, path) {
        ("GET", []) => Ok(clock(server.core.source.now())),
        ("PUT", []) => {
            let Clock { time } = read(body)?;
            let time = time
                .parse()
                .map_err(|error| bad_request(&format!("time: {error}")))?;
            random(server)?.set_time(time);
            Ok(clock(time))
        }
        ("POST", ["advance"]) => {
            let Advance { seconds } = read(body)?;
            let time = random(server)?.advance(Duration::from_secs(seconds));
            time.map(clock)
                .map_err(|error| bad_request(&format!("seconds: {error}")))
        }
        (_, [] | ["advance"]) => Err(Failure::method_not_allowed()),
        _ => Err(Failure::path_not_found()),
    }
}

async fn answer_collector(server: &ApiServer, method: &str, path: &[&str]) -> Answered {
    match (method, path) {
        ("POST", []) => {
            let steps: Vec<Json> = server.collect().await?.iter().map(step).collect();
            ok(json!({ "steps": steps }))
        }
        ("POST", ["step"]) => {
            let made = server.collect_step().await?;
            ok(json!({ "step": made.as_ref().map(step) }))
        }
        (_, [] | ["step"]) => Err(Failure::method_not_allowed()),
        _ => Err(Failure::path_not_found()),
    }
}

fn answer_log(server: &ApiServer, method: &str, query: &Query) -> Answered {
    match method {
        "GET" => {
            let body = selected(&server.log(), query)?.to_json_lines();
            Ok(response(200, "application/jsonl", full(body)))
        }
        "DELETE" => {
            server.clear_log();
            Ok(done())
        }
        _ => Err(Failure::method_not_allowed()),
    }
}

fn add_user(server: &ApiServer, asked: NewUser) -> Answered {
    let groups: Vec<&str> = asked.groups.iter().map(String::as_str).collect();
    let user = User {
        uid: asked.uid,
        extra: asked.extra,
        ..User::new(&asked.name, &groups)
    };
    let failed = |error: std::io::Error| Failure::new(500, "InternalError", error.to_string());
    let token = crate::browser::secret().map_err(failed)?;
    server.core.access.add(token.clone(), user);
    Ok(reply(201, &json!({ "token": token })))
}

/// 200.
fn ok(body: Json) -> Result<Response<Body>, Failure> {
    Ok(reply(200, &body))
}

/// 204.
fn done() -> Response<Body> {
    response(204, "application/json", full(""))
}

fn described(id: u64, snapshot: &Snapshot) -> Json {
    json!({ "id": id.to_string(), "revision": snapshot.revision().to_string(), "objects": snapshot.count() })
}

fn rule(fault: &FaultHandle) -> Json {
    json!({ "id": fault.id(), "matched": fault.matched(), "fired": fault.fired(), "rule": fault.fault() })
}

fn clock(time: Time) -> Response<Body> {
    reply(200, &json!({ "time": time.to_string() }))
}

fn step(step: &CollectorStep) -> Json {
    let parts = step.key.parts();
    let mut object = json!({
        "resource": in_group(parts.plural, parts.group),
        "namespace": parts.namespace.unwrap_or_default(),
        "name": parts.name,
    });
    let (change, detail) = match &step.change {
        CollectorChange::Delete(propagation) => (
            "delete",
            Some(("propagation", Json::from(format!("{propagation:?}")))),
        ),
        CollectorChange::RemoveOwners(uids) => ("removeOwners", Some(("owners", json!(uids)))),
        CollectorChange::UnblockOwners => ("unblockOwners", None),
        CollectorChange::RemoveFinalizer(name) => {
            ("removeFinalizer", Some(("finalizer", json!(name))))
        }
    };

    let refused = step
        .refused
        .as_ref()
        .map(|reason| ("refused", json!(reason)));
    let members = [("change", json!(change))]
        .into_iter()
        .chain(detail)
        .chain(refused);
    if let Some(fields) = object.as_object_mut() {
        fields.extend(members.map(|(name, value)| (name.to_owned(), value)));
    }

    object
}

/// The parameters of the log.
const PARAMETERS: [&str; 9] = [
    "manager",
    "user",
    "verb",
    "resource",
    "namespace",
    "name",
    "status",
    "path",
    "since",
];

/// The entries that a query selects.
fn selected(log: &Log, query: &Query) -> Result<Log, Failure> {
    type Field = fn(&LogEntry) -> &str;
    if let Some(unknown) = query.names().find(|name| !PARAMETERS.contains(name)) {
        let accepted = PARAMETERS.join(", ");
        return Err(bad_request(&format!(
            "unknown parameter {unknown:?}: accepted are {accepted}"
        )));
    }

    let since = query
        .number("since")?
        .and_then(|number| u64::try_from(number).ok())
        .unwrap_or_default();
    let fields: [(&str, Field); 6] = [
        ("manager", |entry| &entry.manager),
        ("user", |entry| &entry.user),
        ("verb", |entry| &entry.verb),
        ("resource", |entry| &entry.resource),
        ("namespace", |entry| &entry.namespace),
        ("name", |entry| &entry.name),
    ];

    Ok(log.only(|entry| {
        fields
            .iter()
            .all(|(name, field)| query.get(name).is_none_or(|wanted| wanted == field(entry)))
            && query
                .get("status")
                .is_none_or(|wanted| wanted == entry.status.to_string())
            && query.get("path").is_none_or(|path| entry.touches(path))
            && entry.number > since
    }))
}

fn random(server: &ApiServer) -> Result<&Random, Failure> {
    server.random().ok_or_else(|| {
        Failure::new(
            501,
            "NotImplemented",
            "the program that started the server controls its clock and numbers",
        )
    })
}

fn number(id: &str) -> Option<u64> {
    id.parse().ok()
}

fn missing(what: &str, id: &str) -> Failure {
    Failure::new(404, "NotFound", format!("{what} {id:?} not found"))
}

fn bad_request(message: &str) -> Failure {
    Failure::bad_request(message)
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|error| bad_request(&error.to_string()))
}
