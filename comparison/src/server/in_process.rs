//! The server of this project in this process, with one object: the one that the real server had before a request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fieldmanager_apiserver::store::{
    BoxWatch, Entry, Key, List, Memory, Page, Prefix, Read, Result as Stored, Revision,
    Snapshot as Objects, Store, StoreError, Write,
};
use fieldmanager_apiserver::{ApiServer, Collection, Snapshot, Source};
use fieldmanager_managedfields::Time;
use fieldmanager_value::Value;
use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use serde_json::Value as Json;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;
use ureq::http;

use super::client::{body_of, warnings};
use super::compare::{take_allocations, version_of};
use super::exchange::{Candidate, Choices, Exchange};
use super::kinds::Kind;
use super::request::{Answer, Request};
use crate::Error;
use crate::json::{member, own, set, text};

/// A server with the times, uids and names of the real one.
pub(super) struct InProcess {
    runtime: Runtime,
    server: ApiServer,
    start: Snapshot,
    object: Arc<OneObject>,
    choices: Chosen,
}

/// The source of what the real server chose.
#[derive(Clone)]
struct Chosen(Arc<Mutex<Choices>>);

/// A store that has the object of a request in place of all objects of its resource, at the version of the real server.
#[derive(Default)]
struct OneObject {
    others: Memory,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The plural name of the resource, and its object.
    plural: String,
    object: Option<(Value, Revision)>,
    /// Whether the request wrote the object; `None` if it removed it.
    written: Option<bool>,
}

impl InProcess {
    /// Starts a server with definitions of custom resources.
    pub(super) fn new(definitions: &[Json]) -> Result<Self, Error> {
        let failed = |what: String| Error::Engine(format!("the server in process: {what}"));
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        let object = Arc::new(OneObject::default());
        let choices = Chosen(Arc::new(Mutex::new(Choices::first()?)));
        let builder = ApiServer::builder()
            .store(object.clone())
            .source(choices.clone());
        // Without the task of the collector and the revisions of the page, only requests change the store.
        // kube-apiserver enforces no unions, and the one that was recorded had no admission plugins and no flow schemas in effect.
        let builder = builder
            .admission_plugins(&[])
            .collection(Collection::Stepped)
            .page(false)
            .priority_and_fairness(false)
            .unions(false);

        // Each request starts from this snapshot, so that it finds nothing of the requests before it.
        let start = async {
            let server = builder.build().await.map_err(|error| error.to_string())?;
            for definition in definitions {
                server
                    .load(&own(&without_version(definition)))
                    .await
                    .map_err(|error| error.to_string())?;
            }
            let start = server.snapshot().await.map_err(|error| error.to_string())?;
            Ok((server, start))
        };
        let (server, start) = runtime.block_on(start).map_err(failed)?;

        Ok(InProcess {
            runtime,
            server,
            start,
            object,
            choices,
        })
    }

    /// The answer to a request, with what only the store of the real server can give.
    pub(super) fn answer(&mut self, exchange: &Exchange<'_>) -> Result<Candidate, Error> {
        // The server asks for both while it answers, so they are in place before the request is sent.
        *locked(&self.choices.0) = exchange.choices.clone();
        *locked(&self.object.state) = State::before(exchange.kind, exchange.found());
        let answer = self.send(&exchange.request)?;
        let written = std::mem::take(&mut *locked(&self.object.state)).written;
        // What the request wrote to other resources must not reach the next one.
        let restored = self.runtime.block_on(self.server.restore(&self.start));
        restored.map_err(|error| Error::Engine(error.to_string()))?;
        Ok(Candidate {
            answer: aligned(exchange, answer),
            written,
        })
    }

    fn send(&self, request: &Request) -> Result<Answer, Error> {
        let failed = |message: String| Error::Http {
            url: request.path.clone(),
            message,
        };
        let mut uri = format!("/{}", request.path);
        if !request.query.is_empty() {
            uri = format!("{uri}?{}", request.query);
        }

        let sent = http::Request::builder().method(request.method).uri(uri);
        let sent = sent
            .header("Content-Type", &request.content_type)
            .header("User-Agent", &request.agent);
        let sent = sent.body(Full::<bytes::Bytes>::from(request.body.clone()));
        let sent = sent.map_err(|error| failed(error.to_string()))?;
        // The server gets the request as over HTTP, but without a connection.
        self.runtime.block_on(async {
            let response = self
                .server
                .clone()
                .oneshot(sent)
                .await
                .unwrap_or_else(|never| match never {});
            let (code, warnings) = (response.status().as_u16(), warnings(response.headers()));
            let body = response.into_body().collect().await;
            let body = body.map_err(|error| failed(error.to_string()))?.to_bytes();

            Ok(Answer {
                code,
                warnings,
                body: body_of(&body),
            })
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An object without the `resourceVersion` that stores do not have.
fn without_version(object: &Json) -> Json {
    let mut out = object.clone();
    if let Some(metadata) = out.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    out
}

impl Source for Chosen {
    fn now(&self) -> Time {
        locked(&self.0).now
    }

    fn uid(&self) -> String {
        locked(&self.0).uid.clone()
    }

    fn suffix(&self) -> String {
        locked(&self.0).suffix.clone()
    }
}

impl State {
    fn before(kind: &Kind, live: &Json) -> Self {
        // In stores, the `resourceVersion` is a property of the entry and not of the object.
        let object = (!live.is_null()).then(|| {
            let revision = Revision::parse(version_of(live)).unwrap_or(Revision::FIRST);
            (own(&without_version(live)), revision)
        });
        let plural = kind.path.rsplit('/').next().unwrap_or_default();
        State {
            plural: plural.to_owned(),
            object,
            written: Some(false),
        }
    }

    /// Whether a key is one of the resource.
    fn has(&self, key: &Key) -> bool {
        key.parts().plural == self.plural
    }

    fn entry(&self, key: &Key) -> Option<Entry> {
        let (object, revision) = self.object.clone()?;
        Some(Entry {
            key: key.clone(),
            object,
            revision,
        })
    }
}

impl Store for OneObject {
    fn revision(&self) -> BoxFuture<'_, Stored<Revision>> {
        self.others.revision()
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Stored<Read>> {
        Box::pin(async move {
            let read = self.others.get(key, at).await?;
            let state = locked(&self.state);
            Ok(if state.has(key) {
                Read {
                    entry: state.entry(key),
                    ..read
                }
            } else {
                read
            })
        })
    }

    fn list(&self, list: List) -> BoxFuture<'_, Stored<Page>> {
        self.others.list(list)
    }

    fn write<'a>(&'a self, key: &'a Key, write: Write) -> BoxFuture<'a, Stored<Revision>> {
        let mut state = locked(&self.state);
        if !state.has(key) {
            drop(state);
            return self.others.write(key, write);
        }
        // As in every store, a write states the revision that it expects, and conflicts with any other.
        let current = state.entry(key);
        let revision = current
            .as_ref()
            .map_or(Revision::FIRST, |entry| entry.revision)
            .next();
        let written = match (write, &current) {
            (Write::Create(object), None) => Some((object, revision)),
            (Write::Update { object, expected }, Some(entry)) if expected == entry.revision => {
                Some((object, revision))
            }
            (Write::Delete { expected }, Some(entry)) if expected == entry.revision => None,
            _ => {
                let conflict = StoreError::Conflict {
                    key: key.clone(),
                    current,
                };
                return Box::pin(std::future::ready(Err(conflict)));
            }
        };
        // An object that is gone after the write was removed.
        state.written = written.is_some().then_some(true);
        state.object = written;

        Box::pin(std::future::ready(Ok(revision)))
    }

    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, Stored<BoxWatch>> {
        self.others.watch(prefix, after)
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Stored<()>> {
        self.others.compact(oldest)
    }

    fn close(&self) -> BoxFuture<'_, Stored<()>> {
        self.others.close()
    }

    fn snapshot(&self) -> Stored<Objects> {
        self.others.snapshot()
    }

    fn restore(&self, snapshot: &Objects) -> Stored<Revision> {
        self.others.restore(snapshot)
    }
}

/// The answer of the server in process with what only the store of the real one can give.
fn aligned(exchange: &Exchange<'_>, mut ours: Answer) -> Answer {
    let Exchange {
        kind, step, real, ..
    } = exchange;
    // A refusal shows nothing that a store gives.
    if !real.is_success() || !ours.is_success() {
        return ours;
    }

    let mut out = std::mem::take(&mut ours.body);
    let metadata = member(&real.body, "metadata");
    if let (Some(version), Some(target)) =
        (metadata.get("resourceVersion"), out.get_mut("metadata"))
    {
        set(target, "resourceVersion", version.clone());
    }

    // The server reads its clock again for managed fields.
    if let (201, Some(time), Some(target)) = (
        real.code,
        metadata
            .get("creationTimestamp")
            .filter(|time| time.is_string()),
        out.pointer_mut("/metadata/creationTimestamp")
            .filter(|time| time.is_string()),
    ) {
        *target = time.clone();
    }

    // The server names a LimitRange without a name by another uid.
    if kind.kind == "LimitRange"
        && text(member(&out, "metadata"), "name") == text(member(&out, "metadata"), "uid")
        && let (Some(name), Some(target)) = (metadata.get("name"), out.get_mut("metadata"))
    {
        set(target, "name", name.clone());
    }

    // The addresses and ports that each server allocates.
    if kind.kind == "Service" && step.sub.is_empty() {
        take_allocations(&mut out, &real.body, |place, ours, theirs| {
            let (live, sent) = (exchange.live.pointer(place), exchange.sent.pointer(place));
            ![live, sent].contains(&Some(ours)) && sent != Some(theirs)
        });
    }
    Answer { body: out, ..ours }
}
