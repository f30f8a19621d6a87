//! The oracle of the suite: sends the steps of a sequence to a server, and returns its answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::client::Client;
use super::kinds::{Catalog, Kind};
use super::request::{Answer, DEFINITIONS, Request, Step};
use super::template::NAME;
use crate::Error;
use crate::json::{items, member, set, text};
use crate::oracle::Oracle;

/// The number of attempts to see a definition of custom resources in a state in which the server leaves it.
const SETTLE: usize = 100;

/// The finalizer of definitions, which the server removes itself.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// A server that answers sequences. Runs of the same sequence are about objects of different names.
pub struct Live {
    client: Client,
    runs: Arc<AtomicU64>,
}

impl Live {
    /// Creates the oracle; `runs` counts the sequences that the server has had.
    pub fn new(url: &str, runs: Arc<AtomicU64>) -> Self {
        Live { client: Client::new(url), runs }
    }

    /// Creates the definitions of the custom kinds, and returns them as the server stores them, when it serves them.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, or refuses a definition.
    pub fn define(&self) -> Result<Vec<Json>, Error> {
        let path = "apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        for definition in Catalog::get()?.definitions() {
            let request = Request {
                method: "POST",
                path: path.to_owned(),
                content_type: "application/json".to_owned(),
                body: definition.to_string().into_bytes(),
                ..Request::default()
            };
            let answer = self.client.send(&request)?;
            if !answer.is_success() && answer.code != 409 {
                return Err(Error::Request(answer.body.to_string()));
            }
        }
        let mut out = Vec::new();
        for kind in Catalog::get()?.kinds.iter() {
            let Some(definition) = &kind.definition else { continue };
            let name = definition.pointer("/metadata/name").and_then(Json::as_str).unwrap_or_default();
            let mut stored = self.settled(&format!("{path}/{name}"))?;
            if let Some(metadata) = stored.get_mut("metadata").and_then(Json::as_object_mut) {
                metadata.remove("managedFields");
            }
            out.push(stored);
            for version in std::iter::once(&kind.version).chain(&kind.also) {
                let mut answer = self.client.get(&kind.path_at(version))?;
                while answer.code == 404 {
                    thread::sleep(Duration::from_millis(50));
                    answer = self.client.get(&kind.path_at(version))?;
                }
            }
        }
        // The schema of a definition is published shortly after its kind is served.
        thread::sleep(Duration::from_secs(2));
        Ok(out)
    }

    /// A definition after the server's own writes to it; null if there is none.
    fn settled(&self, path: &str) -> Result<Json, Error> {
        let mut last = Json::Null;
        let mut same = 0;
        for _ in 0..SETTLE {
            let answer = self.client.get(path)?;
            if !answer.is_success() {
                return Ok(Json::Null);
            }
            same = if answer.body == last { same + 1 } else { 0 };
            last = answer.body;
            let settled = items(member(&last, "status"), "conditions").iter().any(|condition| {
                matches!(
                    (text(condition, "type"), text(condition, "status")),
                    ("Established", "True") | ("NamesAccepted", "False")
                )
            });
            // The server deletes a definition after its objects.
            let ends = last.pointer("/metadata/deletionTimestamp").is_some()
                && last.pointer("/metadata/finalizers/0").and_then(Json::as_str) == Some(CLEANUP);
            if same > 3 && !ends && (settled || same > 20) {
                break;
            }
            thread::sleep(Duration::from_millis(15));
        }
        Ok(last)
    }

    fn stored(&self, kind: &Kind, path: &str) -> Result<Json, Error> {
        if kind.group == DEFINITIONS {
            return self.settled(path);
        }
        let answer = self.client.get(path)?;
        Ok(if answer.is_success() { answer.body } else { Json::Null })
    }

    /// The answers to the steps of a sequence, each with the object that is stored afterwards if it is not obvious.
    fn sequence(&mut self, case: &Json) -> Result<Json, Error> {
        let kind = Catalog::get()?.find(text(case, "path"), text(case, "kind"));
        let kind = kind.ok_or_else(|| Error::Request(text(case, "path").to_owned()))?;
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{run}", text(case, "name"));
        let collection = kind.path_at(kind.read_version());
        let mut path = format!("{collection}/{}", kind.object_name().replace(NAME, &name));
        let mut live = Json::Null;
        let mut answers = Vec::new();
        for step in items(case, "steps") {
            let step = Step::new(step, kind);
            if step.is_skipped(&live) {
                answers.push(Json::Null);
                continue;
            }
            let answer = self.ask(&step.request(kind, &live, &name))?;
            let mut out = answer.to_json();
            let terminating = live.pointer("/metadata/deletionTimestamp").is_some();
            if step.makes_another(&live) {
                answers.push(out);
                continue;
            }
            if let Some(stored) = stored_by(&step, kind, &answer).filter(|_| !terminating) {
                live = stored;
                if let Some(found) = live.pointer("/metadata/name").and_then(Json::as_str) {
                    path = format!("{collection}/{found}");
                }
            } else if answer.is_success() && !step.is_dry_run() {
                live = self.stored(kind, &path)?;
                set(&mut out, "live", live.clone());
            }
            answers.push(out);
        }
        if !live.is_null() {
            self.delete(&path)?;
        }
        Ok(json!({"name": name, "answers": answers}))
    }

    /// The answer to a request. A server that panics closes the connection; its answer has code 0.
    fn ask(&self, request: &Request) -> Result<Answer, Error> {
        match self.client.send(request) {
            Err(Error::Http { message, .. }) => {
                // The server must still be there.
                self.client.get("readyz")?;
                Ok(Answer { code: 0, warnings: Vec::new(), body: Json::String(message) })
            }
            answer => answer,
        }
    }

    fn delete(&self, path: &str) -> Result<(), Error> {
        let query = "gracePeriodSeconds=0".to_owned();
        self.client.send(&Request {
            method: "DELETE",
            path: path.to_owned(),
            query,
            ..Request::default()
        })?;
        if self.client.get(path)?.is_success() {
            self.client.send(&Request {
                method: "PATCH",
                path: path.to_owned(),
                content_type: "application/merge-patch+json".to_owned(),
                body: br#"{"metadata":{"finalizers":null}}"#.to_vec(),
                ..Request::default()
            })?;
        }
        Ok(())
    }
}

/// The stored object, if the answer is that object.
pub(super) fn stored_by(step: &Step<'_>, kind: &Kind, answer: &Answer) -> Option<Json> {
    let stored = answer.is_success() && step.answers_object(kind) && !step.is_dry_run();
    stored.then(|| answer.body.clone())
}

impl Oracle for Live {
    fn run(&mut self, requests: &[Json]) -> Result<Vec<Json>, Error> {
        requests.iter().map(|case| self.sequence(case)).collect()
    }

    fn variants(&mut self, request: &Json, _: usize) -> Result<Vec<Json>, Error> {
        self.sequence(request).map(|answer| vec![answer])
    }
}
