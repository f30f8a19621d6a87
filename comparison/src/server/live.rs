//! The oracle of the suite: sends the steps of a sequence to a server, and returns its answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::client::Client;
use super::kinds::Catalog;
use super::request::{Request, Step};
use super::session::{Session, settled};
use crate::Error;
use crate::json::{items, set, text};
use crate::oracle::Oracle;

/// A server that answers sequences. Runs of the same sequence are about objects of different names.
pub struct Live {
    client: Client,
    runs: Arc<AtomicU64>,
}

impl Live {
    /// Creates the oracle; `runs` counts the sequences that the server has had.
    pub fn new(url: &str, runs: Arc<AtomicU64>) -> Self {
        Live {
            client: Client::new(url),
            runs,
        }
    }

    /// Creates the definitions of the custom kinds, and returns them as the server stores them, when it serves them.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, or refuses a definition.
    pub fn define(&self) -> Result<Vec<Json>, Error> {
        create(&self.client, Catalog::get()?.definitions())?;
        let mut out = Vec::new();
        for kind in Catalog::get()?.kinds.iter() {
            let Some(definition) = &kind.definition else {
                continue;
            };
            let name = definition
                .pointer("/metadata/name")
                .and_then(Json::as_str)
                .unwrap_or_default();
            let mut stored = settled(&self.client, &format!("{DEFINITIONS}/{name}"))?;
            if let Some(metadata) = stored.get_mut("metadata").and_then(Json::as_object_mut) {
                metadata.remove("managedFields");
            }

            out.push(stored);
            // A version is served some time after the definition is stored. Until then its path does not exist.
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

    /// The answers to the steps of a sequence, each with the object that is stored afterwards if it is not obvious.
    fn sequence(&mut self, case: &Json) -> Result<Json, Error> {
        let kind = Catalog::get()?.of(case)?;
        // A name of its own for each run, since a sequence is repeated when it is shrunk, and objects may remain.
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{run}", text(case, "name"));
        let mut session = Session::new(&self.client, kind, &name);
        let mut answers = Vec::new();

        for step in items(case, "steps") {
            let step = Step::new(step, kind);
            if step.is_skipped(&session.live) {
                answers.push(Json::Null);
                continue;
            }
            let answer = session.send(&step)?;
            let mut out = answer.to_json();
            if session.update(&step, &answer)? {
                set(&mut out, "live", session.live.clone());
            }
            answers.push(out);
        }
        session.end()?;

        Ok(json!({"name": name, "answers": answers}))
    }
}

/// The collection of definitions of custom resources.
const DEFINITIONS: &str = "apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Creates definitions of custom resources that do not exist.
pub(super) fn create<'a>(
    client: &Client,
    definitions: impl IntoIterator<Item = &'a Json>,
) -> Result<(), Error> {
    for definition in definitions {
        let answer = client.send(&Request {
            method: "POST",
            path: DEFINITIONS.to_owned(),
            content_type: "application/json".to_owned(),
            body: definition.to_string().into_bytes(),
            ..Request::default()
        })?;
        // A definition that exists is from an earlier run with the same server.
        if !answer.is_success() && answer.code != 409 {
            return Err(Error::Request(answer.body.to_string()));
        }
    }

    Ok(())
}

impl Oracle for Live {
    fn run(&mut self, requests: &[Json]) -> Result<Vec<Json>, Error> {
        requests.iter().map(|case| self.sequence(case)).collect()
    }

    fn variants(&mut self, request: &Json, _: usize) -> Result<Vec<Json>, Error> {
        self.sequence(request).map(|answer| vec![answer])
    }
}
