//! The library as an API server for one object: resolves a request, and gives it to the handlers.

use std::collections::BTreeMap;
use std::sync::Arc;

use fieldmanager_handlers::{Action, Outcome, Refused, Request as Handled, Resource, Subresource};
use fieldmanager_managedfields::{RequestOptions, Time};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::CustomResource;
use serde_json::{Value as Json, json};

use super::kinds::{Catalog, Kind};
use super::request::{Answer, Request};
use crate::json::{back, member, own, text};

/// A server that can be compared.
pub trait Server {
    /// Answers a request.
    fn send(&mut self, request: &Request) -> Answer;
}

/// The choices of a server, taken over from the answer of the real one.
#[derive(Clone, Debug, Default)]
pub(super) struct Inputs {
    pub(super) now: String,
    pub(super) uid: String,
    pub(super) suffix: String,
}

/// A kind at a version, as a path names it.
type Place = (String, String);

/// The library with the object that is stored.
pub struct Library {
    resources: BTreeMap<Place, Result<Resource, String>>,
    definitions: Arc<Vec<Json>>,
    pub(super) live: Option<Json>,
    pub(super) inputs: Inputs,
    /// The effect of the last request.
    pub(super) action: Option<Action>,
}

impl Library {
    /// Creates the server with definitions of custom resources.
    pub fn new(definitions: Arc<Vec<Json>>) -> Self {
        Library {
            resources: BTreeMap::new(),
            definitions,
            live: None,
            inputs: Inputs::default(),
            action: None,
        }
    }

    fn resource(&mut self, kind: &Kind, version: &str) -> Result<Resource, String> {
        let place = (kind.kind.clone(), kind.api_version(version));
        let definitions = &self.definitions;
        let resource = self.resources.entry(place).or_insert_with(|| {
            let resource = if kind.definition.is_none() {
                let named = GroupVersionKind::from_api_version_kind(&kind.api_version(version), &kind.kind);
                Resource::builtin(&named).map_err(|error| error.to_string())?
            } else {
                let named = |document: &&Json| {
                    document.pointer("/spec/names/kind").and_then(Json::as_str) == Some(&kind.kind)
                };
                let document = definitions.iter().find(named).ok_or("the recording lacks the definition")?;
                let definition =
                    CustomResource::from_value(&own(document)).map_err(|error| error.to_string())?;
                Resource::custom(&definition, version).map_err(|error| error.to_string())?
            };
            Ok(resource.server_answers(true))
        });
        resource.clone()
    }
}

impl Server for Library {
    fn send(&mut self, request: &Request) -> Answer {
        self.action = None;
        let Some(place) = Route::of(request) else {
            return Answer { code: 404, warnings: Vec::new(), body: json!("404 page not found\n") };
        };
        let resource = match self.resource(place.kind, &place.version) {
            Ok(resource) => resource,
            Err(error) => return Answer { code: 0, warnings: Vec::new(), body: json!(error) },
        };
        let Ok(now) = self.inputs.now.parse::<Time>() else {
            return Answer { code: 0, warnings: Vec::new(), body: json!("no time") };
        };
        let Some(subresource) = Subresource::of(&place.sub) else {
            return Answer { code: 404, warnings: Vec::new(), body: json!("404 page not found\n") };
        };
        let namespace = if place.kind.is_namespaced() { "default" } else { "" };
        let handled = Handled::new(now)
            .subresource(subresource)
            .namespace(namespace)
            .name(&place.name)
            .content_type(&request.content_type)
            .user_agent(&request.agent)
            .options(options(&request.query))
            .uid(&self.inputs.uid)
            .name_suffix(&self.inputs.suffix);
        let live = self.live.as_ref().map(own);
        let result = match request.method {
            "POST" => resource.create(&handled, live.as_ref(), &request.body),
            "PUT" => resource.update(&handled, live.as_ref(), &request.body),
            _ => resource.patch(&handled, live.as_ref(), &request.body),
        };
        self.action = result.as_ref().ok().map(|outcome| outcome.action);
        answer(result)
    }
}

fn answer(result: Result<Outcome, Refused>) -> Answer {
    match result {
        Ok(outcome) => {
            let body = back(outcome.answer());
            Answer { code: outcome.code(), body, warnings: outcome.warnings }
        }
        Err(refused) => Answer {
            code: refused.status.code,
            body: serde_json::to_value(&refused.status).unwrap_or_default(),
            warnings: refused.warnings,
        },
    }
}

/// The parts of a path.
struct Route<'a> {
    kind: &'a Kind,
    version: String,
    name: String,
    sub: String,
}

impl Route<'static> {
    fn of(request: &Request) -> Option<Self> {
        for kind in &Catalog::get().ok()?.kinds {
            for version in std::iter::once(&kind.version).chain(&kind.also) {
                let Some(rest) = request.path.strip_prefix(&kind.path_at(version)) else { continue };
                if !rest.is_empty() && !rest.starts_with('/') {
                    continue;
                }
                let mut rest = rest.trim_start_matches('/').split('/').map(str::to_owned);
                let (name, sub) = (rest.next().unwrap_or_default(), rest.next().unwrap_or_default());
                return Some(Route { kind, version: version.clone(), name, sub });
            }
        }
        None
    }
}

/// The options of a query, as `k8s.io/apimachinery` converts them.
fn options(query: &str) -> RequestOptions {
    let mut options = RequestOptions::default();
    let mut seen = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value);
        // Of a parameter that occurs again only the first value counts, but for lists.
        let first = !seen.contains(&name);
        seen.push(name);
        options = match name {
            "dryRun" => options.dry_run(value),
            "fieldManager" if first => options.field_manager(value),
            "fieldValidation" if first => options.field_validation(value),
            "force" if first => options.force(!(value.eq_ignore_ascii_case("false") || value == "0")),
            _ => options,
        };
    }
    options
}

/// A value of a query without percent-encoding.
fn decoded(value: &str) -> String {
    let mut out = Vec::with_capacity(value.len());
    let mut bytes = value.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let digits = [bytes.next().unwrap_or_default(), bytes.next().unwrap_or_default()];
                let digits = std::str::from_utf8(&digits).unwrap_or_default();
                out.extend(u8::from_str_radix(digits, 16).ok());
            }
            b'+' => out.push(b' '),
            byte => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The time of the newest entry of an object, or that of the object.
pub(super) fn newest(object: &Json) -> String {
    let metadata = member(object, "metadata");
    let entries = member(metadata, "managedFields").as_array().into_iter().flatten();
    let newest = entries.map(|entry| text(entry, "time")).max().filter(|time| !time.is_empty());
    newest.unwrap_or(text(metadata, "creationTimestamp")).to_owned()
}

/// The choices of the real server in its answer; `live` is the object before the request, and `sent` its body.
pub(super) fn inputs(live: &Json, sent: &Json, real: &Answer) -> Inputs {
    let metadata = real.body.get("metadata").cloned().unwrap_or_default();
    let entries = |object: &Json| -> Vec<Json> {
        object.pointer("/metadata/managedFields").and_then(Json::as_array).cloned().unwrap_or_default()
    };
    // The time of the request is that of the newest entry, if it wrote one. If it changed nothing, any later time shows
    // whether the library would have changed something.
    let entries = entries(&real.body);
    let newest = entries.iter().map(|entry| text(entry, "time")).max().filter(|time| !time.is_empty());
    // A volume has the time of a change of its phase.
    let newest = newest.or_else(|| real.body.pointer("/status/lastPhaseTransitionTime")?.as_str());
    let created = text(&metadata, "creationTimestamp");
    let now = match newest {
        Some(time) if real.body != *live => time,
        _ if real.code == 201 && !created.is_empty() => created,
        _ => "2030-01-01T00:00:00Z",
    };
    // A refused object has its generated name in the details of the answer.
    let details = real.body.get("details").cloned().unwrap_or_default();
    let (base, name) = match text(&metadata, "generateName") {
        "" => (text(member(sent, "metadata"), "generateName"), text(&details, "name")),
        base => (base, text(&metadata, "name")),
    };
    let suffix = name.strip_prefix(base).filter(|_| !base.is_empty());
    // Of an object that was refused, the messages show the uid at most in a label.
    let label = "batch.kubernetes.io/controller-uid\":\"";
    let shown = text(&real.body, "message").split_once(label).and_then(|(_, rest)| rest.split('"').next());
    let uid = Some(text(&metadata, "uid")).filter(|uid| !uid.is_empty()).or(shown);
    Inputs {
        now: now.to_owned(),
        uid: uid.unwrap_or("00000000-0000-0000-0000-00000000000a").to_owned(),
        // Some refusals name no object.
        suffix: suffix.unwrap_or("00000").to_owned(),
    }
}
